// SPDX-License-Identifier: Apache-2.0
//
// axe-core on every view, light and dark, with data and without. Serious and critical findings fail.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { axeFindings } from './harness/axe.mjs';
import { held, tooSoon, training } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';
import { programs, root } from './harness/weir_server.mjs';

async function check(page, what) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const { serious, other } = await axeFindings(page);
  for (const line of other) console.log(`# ${what}: ${line}`);
  assert.deepEqual(serious, [], what);
}

async function checkAll(page, addresses, what) {
  const failures = [];
  for (const [address, ready] of addresses) {
    await page.goto(address);
    await page.getByRole('heading', { level: 1 }).waitFor();
    if (ready) await ready(page).first().waitFor();
    for (const theme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: theme });
      await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
      await check(page, `${what}: ${address}, ${theme}`).catch((error) => failures.push(error.message));
    }
  }
  assert.deepEqual(failures, []);
}

pageTest('the page to sign in', { isSignedIn: false }, async ({ page }) => {
  await checkAll(page, [['/', () => page.getByRole('button', { name: 'Sign in' })]], 'signing in');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await check(page, 'signing in, with a mistake');
});

pageTest('every view, empty', {}, async ({ page }) => {
  const views = ['/', '/cluster', '/cluster?as=table', '/jobs', '/submit', '/simulations'].map((address) => [address]);
  await checkAll(page, views, 'empty');
});

pageTest('what is not there, and the list of keys', { statuses: [404] }, async ({ page }) => {
  await checkAll(page, [['/jobs/4711', () => page.getByText('There is no such job')], ['/cluster/none', () => page.getByText('There is no such node')]], 'not there');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await check(page, 'keys');
});

pageTest('every view, with jobs', { cluster: '3x2xCPU', timeout: 150_000, statuses: [404] }, async ({ server, page }) => {
  const trained = await server.submit(training('bert-finetune'));
  const runs = await server.submit(held(server, 'notebook', { lines: ['a line', 'another'] }));
  // The offer must not pass while the views are looked at.
  const refused = await server.submit({ ...tooSoon, duration: '30m' });
  const failed = await server.submit({ name: 'broken', command: 'echo no; exit 3' });
  for (let i = 0; i < 6; ++i) await server.submit(held(server, `waits-${i}`, { gpus: 2 }));
  await server.jobWhen(trained.id, 'trains', ({ phase, done }) => phase === 'running' && done > 0);
  const { nodes: [node] } = await server.jobWhen(runs.id, 'runs', ({ phase, nodes }) => phase === 'running' && nodes?.length > 0);
  await server.isOver(failed.id);
  const log = () => page.getByRole('region', { name: 'What it has printed' });
  await checkAll(page, [
    ['/', () => page.getByRole('link', { name: 'bert-finetune' })],
    ['/jobs', () => page.getByRole('link', { name: 'notebook' })],
    ['/jobs?phase=running&q=note', () => page.getByRole('link', { name: 'notebook' })],
    ['/cluster', () => page.getByRole('application', { name: /^Map/ })],
    ['/cluster?colour=promise', () => page.getByRole('application', { name: /^Map/ })],
    ['/cluster?as=table', () => page.getByRole('link', { name: 'notebook' })],
    [`/cluster/${node}`, () => page.getByRole('region', { name: `Node ${node}` })],
    [`/jobs/${trained.id}`, log],
    [`/jobs/${runs.id}`, log],
    [`/jobs/${failed.id}`, log],
    [`/jobs/${refused.id}`, () => page.getByRole('link', { name: 'Submit with that deadline' })],
  ], 'with jobs');
  await page.goto(`/jobs/${runs.id}`);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('dialog').waitFor();
  await check(page, 'the question before a job is cancelled');
});

pageTest('submitting: promised, refused, with mistakes', { statuses: [400, 422] }, async ({ page }) => {
  const yaml = page.getByLabel('The job as YAML');
  for (const [text, title] of [['name: a\ncommand: sleep 1\nduration: 1s\ndeadline: 1m\n', 'Would be promised'],
    ['name: a\ncommand: sleep 30\nduration: 30s\ndeadline: 1s\n', 'Would be refused'], ['name: a b\ncommand: echo\ngpus: 3\n', /mistakes?$/]]) {
    await page.goto('/submit');
    await yaml.fill(text);
    await page.getByRole('heading', { level: 2, name: title }).waitFor();
    for (const theme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: theme });
      await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
      await check(page, `submitting: ${title}, ${theme}`);
    }
  }
});

pageTest('a simulation', {}, async ({ server, page }) => {
  const report = path.join(server.folder, 'night.html');
  execFileSync(path.join(programs, 'weir'), ['simulate', '--cluster', '4x4xT4', '--jobs', 'examples/night.yaml', '--curves', 'examples/curves', '--policy', 'weir,edf', '--report', report], { cwd: root });
  await page.goto('/simulations');
  for (const slot of ['A', 'B']) await page.locator(`input[type=file][aria-label="File ${slot}"]`).setInputFiles(report);
  await page.getByRole('heading', { level: 2, name: 'A and B beside each other' }).waitFor();
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme });
    await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
    await check(page, `two simulations, ${theme}`);
  }
});

pageTest('a page that has lost its server', { losesServer: true }, async ({ server, page }) => {
  await server.kill();
  await page.getByRole('status').getByText(/Stale since/).waitFor();
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme });
    await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
    await check(page, `stale, ${theme}`);
  }
});
