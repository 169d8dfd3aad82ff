// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { tooSoon } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';

const yaml = (page) => page.getByLabel('The job as YAML');

pageTest('a refusal says why and by when it could be; accepting that submits it', { statuses: [422] }, async ({ server, page }) => {
  await page.goto('/submit');
  await yaml(page).fill('name: too-soon\ncommand: sleep 30\nduration: 30s\ndeadline: 10s\n');
  await page.getByRole('heading', { level: 2, name: 'Would be refused' }).waitFor();
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('heading', { level: 2, name: /too-soon.* was refused/ }).waitFor();
  await page.getByText('The earliest deadline that could be promised is').waitFor();
  assert.equal((await server.job('too-soon')).phase, 'refused');

  await page.getByRole('button', { name: /^Accept: submit with deadline/ }).click();
  await page.getByRole('heading', { level: 1, name: 'too-soon' }).waitFor();
  await page.getByRole('main').getByText('promised', { exact: true }).waitFor();
  const taken = await server.job('too-soon');
  assert.equal(taken.promised, true);
  assert.ok(Date.parse(taken.deadline) - Date.parse(taken.submitted) >= 30_000, 'the deadline is not the one that was offered');
  await server.running(taken.id);
});

pageTest('the offer can be taken into the text before submitting', {}, async ({ server, page }) => {
  await page.goto('/submit');
  await yaml(page).fill('name: patient\ncommand: sleep 30\nduration: 30s\ndeadline: 10s\n');
  await page.getByRole('button', { name: /^Use this deadline/ }).click();
  await eventually('the text has the deadline', async () => /deadline: \d{4}-\d\d-\d\dT/.test(await yaml(page).inputValue()));
  await page.getByRole('heading', { level: 2, name: 'Would be promised' }).waitFor();
  assert.equal((await server.get('/v1/jobs')).jobs.length, 0, 'nothing was submitted');
});

pageTest('a refused job’s page has the offer, too', {}, async ({ server, page }) => {
  const refused = await server.submit({ ...tooSoon, duration: '10m', deadline: '1m' });
  assert.equal(refused.phase, 'refused');
  await page.goto('/jobs?phase=refused');
  await page.getByRole('link', { name: 'too-soon' }).click();
  const refusal = page.getByRole('region', { name: /^Refused/ });
  await refusal.getByText('Could be promised by').waitFor();
  await refusal.getByRole('link', { name: 'Submit with that deadline' }).click();
  await page.getByRole('heading', { level: 2, name: 'Would be promised' }).waitFor();
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'too-soon' }).waitFor();
  const taken = await server.jobWhen(refused.id + 1, 'is promised', ({ promised }) => promised);
  assert.notEqual(taken.phase, 'refused');
});
