// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { held, release } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';

const banner = (page) => page.getByRole('status').getByText(/Stale since/);

pageTest('a server that is killed makes the page say so; when it is back, what happened meanwhile shows without a reload',
  { losesServer: true }, async ({ server, page }) => {
    const { id } = await server.submit(held(server, 'outlives'));
    await server.running(id);
    await page.goto('/jobs');
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'outlives' }) });
    await row.getByText('running', { exact: true }).waitFor();
    await page.evaluate(() => { globalThis.isTheSamePage = true; });
    assert.equal(await banner(page).count(), 0);

    await server.kill();
    await banner(page).waitFor();
    assert.match(await banner(page).innerText(), /^Stale since \d\d:\d\d:\d\d/);
    await row.getByText('running', { exact: true }).waitFor(); // what was known stays in sight

    release(server, 'outlives'); // it ends while nobody watches
    await server.restart();
    await banner(page).waitFor({ state: 'hidden' });
    await server.isOver(id);
    await row.getByText('finished', { exact: true }).waitFor();
    const later = await server.submit(held(server, 'came-later'));
    await page.getByRole('link', { name: 'came-later' }).waitFor();
    await server.running(later.id);
    assert.equal(await page.evaluate(() => globalThis.isTheSamePage), true, 'the page was loaded anew');
  });

pageTest('a page that is opened while the server is away cannot load; one that is open survives two losses', { losesServer: true },
  async ({ server, page }) => {
    const { id } = await server.submit(held(server, 'steady'));
    await page.goto(`/jobs/${id}`);
    await page.getByRole('heading', { level: 1, name: 'steady' }).waitFor();
    await page.getByRole('region', { name: 'What it has printed' }).getByText('started').waitFor();
    for (let loss = 0; loss < 2; ++loss) {
      await server.kill();
      await banner(page).waitFor();
      await server.restart();
      await banner(page).waitFor({ state: 'hidden' });
    }
    release(server, 'steady');
    await page.getByRole('region', { name: 'What it has printed' }).getByText('released').waitFor();
    await eventually('the page knows that it has finished', () => page.getByText('finished', { exact: true }).first().isVisible());
  });

pageTest('what is done while the server is away is told to have failed', { losesServer: true }, async ({ server, page }) => {
  const { id } = await server.submit(held(server, 'unstopped'));
  await page.goto(`/jobs/${id}`);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel unstopped?' });
  await dialog.waitFor();
  await server.kill();
  await dialog.getByRole('button', { name: 'Cancel the job' }).click();
  await page.getByRole('status').getByText(/could not be cancelled/).waitFor();
  await server.restart();
  assert.equal((await server.running(id)).phase, 'running');
});
