// SPDX-License-Identifier: Apache-2.0
//
// Names, logs, reasons and reports come from users. Whatever they hold is shown as it is and never runs: the harness looks for
// window.__injected, dialogs, and anything that the Content-Security-Policy had to stop.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { held } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';
import { programs, root } from './harness/weir_server.mjs';

const image = '<img src=x onerror="window.__injected=1;alert(1)">';
const script = '<script>window.__injected=1</script>';
const breakout = `"></script><svg onload=window.__injected=1>'`;
const template = '{@html "<b>"} ${window.__injected=1} {{constructor.constructor("window.__injected=1")()}}';

pageTest('what a job prints', {}, async ({ server, page }) => {
  const { id } = await server.submit(held(server, 'printer', { lines: [image, script, breakout, template, '\u001b]0;title\u0007after', 'a\u0000b'.replace('\u0000', '\\0')] }));
  await page.goto(`/jobs/${id}`);
  const log = page.getByRole('region', { name: 'What it has printed' });
  for (const text of [image, script, breakout]) await log.getByText(text, { exact: true }).waitFor();
  await log.getByText('{{constructor.constructor').waitFor();
  assert.equal(await log.locator('img, script, svg, b').count(), 0);
  await page.getByLabel('Search the log').fill('<img');
  await log.locator('mark').getByText('<img').waitFor();
  assert.equal(await log.locator('img').count(), 0);
});

pageTest('commands, environments and ways to end', {}, async ({ server, page }) => {
  const { id } = await server.submit({ name: 'strange', command: ['/bin/sh', '-c', `: '${image}' ; kill -9 $$`], environment: { GREETING: script } });
  await server.isOver(id);
  await page.goto(`/jobs/${id}`);
  await page.getByText('As it was submitted').click();
  const document = page.locator('details', { hasText: 'As it was submitted' }).locator('pre');
  await document.getByText('onerror=').waitFor();
  assert.match(await document.innerText(), /<script>window\.__injected=1<\/script>/);
  assert.equal(await page.getByRole('main').locator('pre img, pre script').count(), 0);
  await page.getByText('As text, as').click();
  await page.getByRole('link', { name: 'Submit again' }).click();
  await page.waitForFunction((text) => document.querySelector('textarea[aria-label="The job as YAML"]')?.value.includes(text), '<script>window.__injected=1</script>');
});

pageTest('names of nodes', { clusterFile: `cluster: {name: lab}
nodes:
  - {name: '${image.replaceAll("'", "''")}', cpus: 8, memory: 16GiB, gpus: 2, model: CPU}
  - {name: '${script}', cpus: 8, memory: 16GiB, gpus: 2, model: '<i>CPU</i>', pool: '<b>pool</b>'}
` }, async ({ server, page }) => {
  const job = await server.submit(held(server, 'on-strange-ground', { gpus: 2 }));
  await server.running(job.id);
  await page.goto('/cluster?as=table');
  const table = page.getByRole('table', { name: 'Nodes' });
  for (const name of [image, script]) await table.getByRole('link', { name, exact: true }).waitFor();
  await table.getByText('<b>pool</b>').first().waitFor();
  await table.getByRole('link', { name: image, exact: true }).click();
  const panel = page.getByRole('region', { name: `Node ${image}`, exact: true });
  await panel.getByRole('heading', { level: 2, name: image, exact: true }).waitFor();
  await page.reload(); // the name stands in the address
  await panel.waitFor();
  await panel.getByRole('button', { name: 'Drain' }).click();
  await page.getByRole('dialog', { name: `Drain ${image}?` }).getByRole('button', { name: /^Drain/ }).click();
  await page.getByRole('status').getByText(`${image} is being emptied`).waitFor();
  for (const address of ['/cluster', '/cluster?colour=pool', `/jobs/${job.id}`, '/']) {
    await page.goto(address);
    await page.getByRole('heading', { level: 1 }).waitFor();
  }
  assert.equal(await page.locator('main img').count(), 0);
});

pageTest('a name that no job may have', { statuses: [400] }, async ({ server, page }) => {
  const answer = await server.call('/v1/jobs', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ name: image, command: 'true' }) });
  assert.equal(answer.status, 400);
  await page.goto('/submit');
  await page.getByLabel('The job as YAML').fill(`name: '${image}'\ncommand: 'true'\n${script}: 1\n`);
  const told = page.getByRole('region', { name: /mistakes?$/ });
  await told.getByText('onerror').first().or(told.getByText('name').first()).first().waitFor();
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), image);
  assert.equal(await page.locator('main img[src=x], main script').count(), 0);
});

pageTest('addresses', { statuses: [404] }, async ({ page }) => {
  for (const [address, where] of [[`/jobs/${encodeURIComponent(image)}`, 'There is no such job'], [`/cluster/${encodeURIComponent(image)}`, 'There is no such node']]) {
    await page.goto(address);
    await page.getByText(where).waitFor();
  }
  await page.goto(`/jobs?q=${encodeURIComponent(image)}&sort=${encodeURIComponent(script)}&phase=${encodeURIComponent(breakout)}`);
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  assert.equal(await page.getByLabel('Search jobs by name or id').inputValue(), image);
  await page.goto(`/?range=${encodeURIComponent(script)}`);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
});

pageTest('reports of simulations', {}, async ({ server, page }) => {
  const jobs = path.join(server.folder, 'strange.yaml');
  const report = path.join(server.folder, '<img src=x onerror=alert(1)>.html');
  writeFileSync(jobs, `jobs:
  - {name: '${image}', model: bert, batch: 128, iterations: 1000, submit: 0s, deadline: 2h}
  - {name: '${breakout.replaceAll("'", "''")}', model: bert, batch: 128, iterations: 1000, submit: 0s, deadline: 2h}
`);
  execFileSync(path.join(programs, 'weir'), ['simulate', '--cluster', '4x4xT4', '--jobs', jobs, '--curves', 'examples/curves', '--policy', 'weir', '--report', report], { cwd: root });
  await page.goto('/simulations');
  await page.getByLabel('File A').locator('input[type=file]').or(page.locator('input[type=file][aria-label="File A"]')).first().setInputFiles(report);
  await page.getByRole('region', { name: 'File A' }).getByText('<img src=x onerror=alert(1)>.html').waitFor();
  await page.getByRole('heading', { level: 2, name: 'Figures' }).waitFor();
  assert.equal(await page.locator('main img').count(), 0);
});
