// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { held, training } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';

async function saved(page, button) {
  const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return { name: file.suggestedFilename(), content: readFileSync(await file.path()) };
}

pageTest('the jobs that are shown are saved as CSV and JSON', {}, async ({ server, page }) => {
  for (const name of ['kept-a', 'kept-b', 'other']) await server.submit(held(server, name));
  for (const name of ['kept-a', 'kept-b', 'other']) await server.running(name);
  await page.goto('/jobs?q=kept&sort=name');
  const table = page.getByRole('table', { name: 'Jobs' });
  await table.getByRole('link', { name: 'kept-b' }).waitFor();
  const csv = await saved(page, page.getByRole('group', { name: 'Export jobs' }).getByRole('button', { name: 'CSV' }));
  assert.equal(csv.name, 'jobs.csv');
  const lines = csv.content.toString('utf8').trimEnd().split('\r\n');
  const column = lines[0].split(',').indexOf('name');
  assert.ok(column >= 0, lines[0]);
  assert.deepEqual(lines.slice(1).map((line) => line.split(',')[column]), ['kept-a', 'kept-b']);
  const json = await saved(page, page.getByRole('group', { name: 'Export jobs' }).getByRole('button', { name: 'JSON' }));
  assert.deepEqual(JSON.parse(json.content).map(({ name }) => name), ['kept-a', 'kept-b']);
});

pageTest('the nodes are saved as CSV, the map as a picture', { cluster: '3x2xCPU' }, async ({ server, page }) => {
  await page.goto('/cluster?as=table');
  await page.getByRole('table', { name: 'Nodes' }).waitFor();
  const csv = await saved(page, page.getByRole('group', { name: /^Export/ }).getByRole('button', { name: 'CSV' }));
  const names = csv.content.toString('utf8').trimEnd().split('\r\n').slice(1).map((line) => line.split(',')[0]);
  assert.deepEqual(names, (await server.get('/v1/nodes')).nodes.map(({ name }) => name).sort());
  await page.goto('/cluster');
  await page.getByRole('application', { name: /^Map/ }).waitFor();
  const picture = await saved(page, page.getByRole('button', { name: 'PNG' }));
  assert.equal(picture.content.subarray(1, 4).toString(), 'PNG');
});

pageTest('a chart is saved as a picture, a drawing and a table', { cluster: '1x2xCPU' }, async ({ server, page }) => {
  const { id } = await server.submit(training('charted'));
  await server.running(id);
  await page.goto(`/jobs/${id}`);
  const chart = page.getByRole('region', { name: 'GPUs over time' });
  await chart.getByLabel('Save this chart').click();
  const png = await saved(page, chart.getByRole('button', { name: 'PNG' }));
  assert.equal(png.content.subarray(1, 4).toString(), 'PNG');
  if (!(await chart.getByRole('button', { name: 'SVG' }).isVisible())) await chart.getByLabel('Save this chart').click();
  const svg = await saved(page, chart.getByRole('button', { name: 'SVG' }));
  assert.match(svg.content.toString('utf8'), /^<svg|^<\?xml/);
  if (!(await chart.getByRole('button', { name: 'CSV' }).isVisible())) await chart.getByLabel('Save this chart').click();
  const csv = await saved(page, chart.getByRole('button', { name: 'CSV' }));
  assert.ok(csv.content.toString('utf8').split('\n').length > 2, csv.content.toString('utf8'));
});
