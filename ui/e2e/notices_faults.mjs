// SPDX-License-Identifier: Apache-2.0
//
// The harness looks for faults after every test. Here are the faults, so that it is seen to find them.
import assert from 'node:assert/strict';
import { axeFindings } from './harness/axe.mjs';
import { requestsIn } from './harness/chromium.mjs';
import { pageTest } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';

pageTest('requests to others, inline scripts, errors, dialogs and answers of no success are faults', {}, async ({ page, browsing }) => {
  const finds = async (kind, cause) => {
    await page.evaluate(cause);
    await eventually(`${kind} is found`, () => browsing.faults.some((fault) => fault.includes(kind)), { describe: () => browsing.summary() });
    browsing.faults.length = 0;
  };
  await finds('img-src http://elsewhere.example', () => { document.body.append(Object.assign(new Image(), { src: 'http://elsewhere.example/pixel.png' })); });
  await finds('connect-src', () => { fetch('http://elsewhere.example/').catch(() => {}); });
  await finds('script-src', () => { document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' })); });
  await finds('console: broken', () => { console.error('broken'); });
  await finds('thrown: Error: late', () => { setTimeout(() => { throw new Error('late'); }); });
  await finds('a dialog: hello', () => { setTimeout(() => alert('hello')); });
  await finds('404 for GET', () => { void fetch('/nothing-here'); });
  assert.equal(await page.evaluate(() => globalThis.ran), undefined, 'the policy let an inline script run');
  await eventually('the rest has come', () => true);
  browsing.faults.length = 0;
});

pageTest('a button without a name is a serious finding', {}, async ({ page }) => {
  assert.deepEqual((await axeFindings(page)).serious, []);
  await page.evaluate(() => { document.querySelector('main').append(document.createElement('button')); });
  assert.match((await axeFindings(page)).serious.join('\n'), /button-name/);
});

pageTest('the log of requests has those of pages, not those of the browser', {}, async ({ page }) => {
  const line = (params) => JSON.stringify({ params }) + ',';
  const log = [line({ initiator: 'http://127.0.0.1:1', request_type: 'other', url: 'http://elsewhere.example/x' }),
    line({ initiator: 'not an origin', request_type: 'main frame', url: 'http://127.0.0.1:1/' }),
    line({ initiator: 'not an origin', request_type: 'other', url: 'http://updates.example/' })].join('\n');
  assert.deepEqual(requestsIn(log), ['http://elsewhere.example/x', 'http://127.0.0.1:1/']);
  await page.getByRole('heading', { level: 1 }).waitFor();
});
