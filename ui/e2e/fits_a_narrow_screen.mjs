// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { held, tooSoon, training } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';

const views = ['/', '/jobs', '/cluster', '/cluster?as=table', '/submit', '/simulations'];

pageTest('nothing is wider than a phone, in any view', { viewport: { width: 390, height: 844 } }, async ({ server, page }) => {
  const { id } = await server.submit(training('a-job-with-a-rather-long-name-as-sweeps-make-them-0001'));
  const refused = await server.submit(tooSoon);
  const plain = await server.submit(held(server, 'wide-log', { lines: ['x'.repeat(400)] }));
  await server.running(id);
  await server.running(plain.id);
  const { nodes: [node] } = await server.job(plain.id);
  for (const address of [...views, `/jobs/${id}`, `/jobs/${refused.id}`, `/jobs/${plain.id}`, `/cluster/${node}`]) {
    await page.goto(address);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('load');
    // With what it shows: a link to a job or a node, a field to fill in, the facts of a job.
    const shown = address.startsWith('/jobs/') ? page.getByRole('heading', { name: 'Facts' })
      : page.locator('main').locator('a[href^="/jobs/"], a[href^="/cluster/"], textarea, canvas');
    if (address !== '/simulations') await shown.first().waitFor();
    await page.evaluate(() => document.fonts.ready.then(() => new Promise(requestAnimationFrame)));
    const wide = await page.evaluate(() => {
      const main = document.querySelector('main');
      return { document: document.documentElement.scrollWidth, window: innerWidth, main: main.scrollWidth - main.clientWidth };
    });
    assert.ok(wide.document <= wide.window, `${address}: the page is ${wide.document} px wide`);
    assert.ok(wide.main <= 0, `${address}: the content is ${wide.main} px wider than its place`);
  }
});

pageTest('on a phone a job can be found, read and cancelled', { viewport: { width: 390, height: 844 } }, async ({ server, page }) => {
  const { id } = await server.submit(held(server, 'pocket-job'));
  await server.running(id);
  await page.goto('/jobs');
  await page.getByRole('link', { name: 'pocket-job' }).click();
  await page.getByRole('heading', { level: 1, name: 'pocket-job' }).waitFor();
  await page.getByRole('region', { name: 'What it has printed' }).getByText('started').waitFor();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).click();
  await page.getByRole('main').getByText('cancelled', { exact: true }).waitFor();
});
