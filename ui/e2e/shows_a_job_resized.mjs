// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { training } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';

const figure = (page, name) => page.getByRole('main').locator('dl').first().locator('div', { has: page.getByText(name, { exact: true }) }).locator('dd').first();

pageTest('a training job gives GPUs to an urgent one and takes them back, and its page tells each step and why', { cluster: '1x4xCPU' },
  async ({ server, page }) => {
    const { id } = await server.submit(training('elastic', { steps: 20000 }));
    await server.jobWhen(id, 'trains on 4 GPUs', ({ phase, gpus, done }) => phase === 'running' && gpus === 4 && done > 0);
    await page.goto(`/jobs/${id}`);
    await eventually('4 GPUs', async () => (await figure(page, 'GPUs now').innerText()) === '4');
    const why = page.getByRole('region', { name: 'Why' });
    await why.getByText('Got its first 4 GPUs').waitFor();

    const urgent = await server.submit({ name: 'urgent', command: 'sleep 3', duration: '3s', gpus: 2, deadline: '15s' });
    assert.equal(urgent.promised, true);
    await why.getByText('Shrank from 4 to 2 GPUs').waitFor();
    await why.getByText('Grew from 2 to 4 GPUs').waitFor();
    await eventually('4 GPUs again', async () => (await figure(page, 'GPUs now').innerText()) === '4');
    assert.equal((await server.isOver(urgent.id)).met_deadline, true);

    // The same in the chart's words, in the list of changes that `weir explain` gives, and in the log of the run that was stopped.
    const chart = page.getByRole('region', { name: 'GPUs over time' }).getByRole('img');
    assert.match(await chart.getAttribute('aria-label'), /from 2 to 4/);
    await page.getByText('As text, as').click();
    await why.getByText(/2 GPUs/).first().waitFor();
    const { generation } = await server.job(id);
    assert.ok(generation >= 3, `generation ${generation}`);
    await page.getByRole('combobox', { name: 'Generation' }).selectOption('1');
    await page.getByRole('region', { name: 'What it has printed' }).getByText(/asked to stop at step \d+; saved/).waitFor();
    await page.getByRole('region', { name: 'Throughput' }).getByRole('img').waitFor();
  });

pageTest('the overview tells of it while it happens', { cluster: '1x4xCPU' }, async ({ server, page }) => {
  const feed = page.getByRole('log', { name: 'Decisions as they are made' });
  await feed.waitFor();
  const now = page.getByRole('region', { name: 'Now' });
  await now.getByText('0 of 4 in use').waitFor();
  const { id } = await server.submit(training('watched'));
  await server.running(id);
  await now.getByText('4 of 4 in use').waitFor();
  await feed.getByRole('link', { name: 'watched' }).first().waitFor();
  await feed.getByRole('link', { name: 'watched' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'watched' }).waitFor();
});
