// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { held } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';

const query = (page, key) => new URL(page.url()).searchParams.get(key);
const shown = (page) => page.getByRole('table', { name: 'Jobs' }).getByRole('link').allInnerTexts();

async function someJobs(server) {
  for (const name of ['sweep-1', 'sweep-2', 'notebook']) await server.submit(held(server, name));
  await server.submit({ name: 'sweep-done', command: 'true' });
  for (const name of ['sweep-1', 'sweep-2', 'notebook']) await server.running(name);
  await server.isOver('sweep-done');
}

pageTest('a filter and an order stand in the address, survive a reload and can be linked to', {}, async ({ server, page }) => {
  await someJobs(server);
  await page.goto('/jobs');
  await page.getByLabel('Search jobs by name or id').fill('sweep');
  await page.getByRole('button', { name: /^running/ }).click();
  await page.getByRole('button', { name: /^running/, pressed: true }).waitFor();
  await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
  await eventually('the address has it all', () => query(page, 'q') === 'sweep' && query(page, 'phase') === 'running' && query(page, 'sort') === 'name');
  await eventually('two rows', async () => (await shown(page)).join() === 'sweep-1,sweep-2');

  await page.reload();
  await eventually('the same rows', async () => (await shown(page)).join() === 'sweep-1,sweep-2');
  assert.equal(await page.getByLabel('Search jobs by name or id').inputValue(), 'sweep');
  await page.goto('/jobs?phase=finished');
  await eventually('one row', async () => (await shown(page)).join() === 'sweep-done');
  await page.getByLabel('Search jobs by name or id').fill('no such job');
  await page.getByText('No job is like that').waitFor();
  await page.getByRole('button', { name: 'Show all jobs' }).click();
  await eventually('all rows', async () => (await shown(page)).length === 4);
});

pageTest('the back button goes back through views and choices', {}, async ({ server, page }) => {
  await someJobs(server);
  const { id } = await server.job('notebook');
  await page.goto('/jobs?q=note');
  await page.getByRole('link', { name: 'notebook' }).click();
  await page.getByRole('heading', { level: 1, name: 'notebook' }).waitFor();
  assert.equal(new URL(page.url()).pathname, `/jobs/${id}`);
  await page.getByRole('navigation').getByRole('link', { name: 'Cluster' }).click();
  await page.getByRole('heading', { level: 1, name: 'Cluster' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'notebook' }).waitFor();
  await page.goBack();
  await eventually('the list with its filter', async () => (await shown(page)).join() === 'notebook');
  await page.goForward();
  await page.getByRole('heading', { level: 1, name: 'notebook' }).waitFor();
});

pageTest('a job is opened by its number or by its name, with what was chosen on its page', {}, async ({ server, page }) => {
  const older = await server.submit({ name: 'twice', command: 'echo the older' });
  await server.isOver(older.id);
  const newer = await server.submit({ name: 'twice', command: 'echo the newer' });
  await server.isOver(newer.id);
  await page.goto(`/jobs/${older.id}?reasons=oldest`);
  await page.getByRole('region', { name: 'What it has printed' }).getByText('the older').waitFor();
  const why = page.getByRole('region', { name: 'Why' });
  await why.getByRole('button', { name: 'Oldest first' }).waitFor();
  assert.match(await why.getByRole('listitem').first().innerText(), /^Submitted/);
  await why.getByRole('button', { name: 'Oldest first' }).click();
  await eventually('the address forgets it', () => query(page, 'reasons') === null);
  await eventually('the newest is first', async () => /^Finished/.test(await why.getByRole('listitem').first().innerText()));
  await page.goto('/jobs/twice');
  await page.getByRole('region', { name: 'What it has printed' }).getByText('the newer').waitFor();
});

pageTest('a node, a view of the cluster and a range of time can be linked to', { cluster: '3x2xCPU' }, async ({ server, page }) => {
  const [{ name: node }] = (await server.get('/v1/nodes')).nodes;
  await page.goto(`/cluster/${node}?as=table&sort=-name`);
  await page.getByRole('region', { name: `Node ${node}` }).waitFor();
  assert.equal(await page.getByRole('columnheader', { name: 'Node' }).getAttribute('aria-sort'), 'descending');
  await page.goto('/?range=24h');
  await page.getByRole('button', { name: '24 h', pressed: true }).or(page.getByRole('group', { name: 'Range' }).locator('[aria-pressed=true]', { hasText: '24' })).first().waitFor();
});

pageTest('what is not there is said to be not there', { statuses: [404] }, async ({ server, page }) => {
  await page.goto('/jobs/4711');
  await page.getByText('There is no such job').waitFor();
  await page.goto('/cluster/nowhere');
  await page.getByText('There is no such node').waitFor();
  const answer = await page.goto('/jobs/1/2');
  assert.equal(answer.status(), 404);
  assert.equal((await server.call('/jobs/1/2')).status, 404);
});
