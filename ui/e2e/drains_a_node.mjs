// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { held } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';

pageTest('a node is drained after a question, its job moves away, and it comes back', { cluster: '2x2xCPU' }, async ({ server, page }) => {
  const { id } = await server.submit(held(server, 'mover', { gpus: 2, retries: 3, grace: '2s' }));
  const { nodes: [from] } = await server.running(id);
  await page.goto('/cluster?as=table');
  const rows = page.getByRole('table', { name: 'Nodes' });
  await rows.getByRole('row').filter({ hasText: from }).getByRole('link', { name: 'mover' }).waitFor();
  await rows.getByRole('link', { name: from, exact: true }).click();
  const panel = page.getByRole('region', { name: `Node ${from}` });
  await panel.getByText('2 of 2 GPUs in use').waitFor();

  await panel.getByRole('button', { name: 'Drain' }).click();
  const dialog = page.getByRole('dialog', { name: `Drain ${from}?` });
  await dialog.getByText('now 1 job on 2 GPUs').waitFor();
  await dialog.getByRole('button', { name: 'Keep it' }).click();
  assert.ok((await server.get('/v1/nodes')).nodes.every(({ up }) => up), 'drained without an answer');

  await panel.getByRole('button', { name: 'Drain' }).click();
  await dialog.getByRole('button', { name: `Drain ${from}` }).click();
  await page.getByRole('status').getByText(`${from} is being emptied`).waitFor();
  await panel.getByText('No promise is at risk because of it.').waitFor();
  await panel.getByText('closed', { exact: true }).first().waitFor();
  const moved = await server.jobWhen(id, 'runs elsewhere', ({ phase, nodes }) => phase === 'running' && nodes.length > 0 && !nodes.includes(from));
  await rows.getByRole('row').filter({ hasText: moved.nodes[0] }).getByRole('link', { name: 'mover' }).waitFor();
  await panel.getByText('0 of 2 GPUs in use').waitFor();

  await panel.getByRole('button', { name: 'Undrain' }).click();
  await page.getByRole('status').getByText(`${from} is used again`).waitFor();
  await panel.getByText('up', { exact: true }).waitFor();
  await panel.getByRole('button', { name: 'Drain' }).waitFor();
});

pageTest('draining tells which promises are at risk because of it', { cluster: '2x2xCPU' }, async ({ server, page }) => {
  // Both nodes are full of promised work that cannot move: one promise cannot be kept on half of the cluster.
  for (const name of ['left', 'right']) await server.submit({ name, command: 'sleep 300', duration: '5m', deadline: '6m', gpus: 2, grace: '1s' });
  const { nodes: [node] } = await server.running('left');
  await server.running('right');
  await page.goto(`/cluster/${node}`);
  const panel = page.getByRole('region', { name: `Node ${node}` });
  await panel.getByRole('button', { name: 'Drain' }).click();
  await page.getByRole('dialog').getByRole('button', { name: `Drain ${node}` }).click();
  await panel.getByText(/promises? (is|are) at risk because of it/).waitFor();
  const link = panel.getByRole('status').getByRole('link').first();
  const name = await link.innerText();
  await link.click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
  await page.getByText('at risk', { exact: true }).first().waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  await page.getByRole('region', { name: 'Now' }).getByRole('link', { name: 'at risk' }).click();
  await page.getByRole('table', { name: 'Jobs' }).getByRole('link', { name }).waitFor();
});

pageTest('the map is walked by keys, and Enter opens the node', { cluster: '3x2xCPU' }, async ({ server, page }) => {
  await server.submit(held(server, 'on-the-map', { gpus: 2 }));
  const { nodes: [node] } = await server.running('on-the-map');
  await page.goto('/cluster');
  const map = page.getByRole('application', { name: /^Map of the GPUs/ });
  await map.waitFor();
  await page.getByRole('list', { name: 'Legend' }).getByRole('link', { name: 'on-the-map' }).waitFor();
  await map.focus();
  await page.keyboard.press('Home');
  const spoken = page.locator('[aria-live=polite]').filter({ hasText: /GPU/ });
  await spoken.first().waitFor();
  const names = (await server.get('/v1/nodes')).nodes.map((one) => one.name);
  for (let press = 0; press < 12; ++press) {
    if ((await spoken.first().innerText()).includes(node)) break;
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => true);
  }
  await page.keyboard.press('Enter');
  await eventually('a node is open', () => names.some((name) => page.url().endsWith(`/cluster/${name}`)));
  await page.getByRole('region', { name: /^Node / }).waitFor();
  await page.keyboard.press('Escape');
  await eventually('it is closed', () => page.url().endsWith('/cluster'));
  assert.equal(await page.getByRole('region', { name: /^Node / }).count(), 0);
});
