// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { pageTest } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';
import { root } from './harness/weir_server.mjs';

const yaml = (page) => page.getByLabel('The job as YAML');
const answer = (page, title) => page.getByRole('heading', { level: 2, name: title });
const submit = (page) => page.getByRole('button', { name: 'Submit', exact: true });
const jobIn = (page) => Number(/\/jobs\/(\d+)$/.exec(new URL(page.url()).pathname)?.[1]);

pageTest('a job is written in the form, submitted, admitted and seen to finish', {}, async ({ server, page }) => {
  await page.goto('/submit');
  await yaml(page).fill('');
  await page.getByLabel('Name', { exact: true }).fill('from-the-form');
  await page.getByLabel('Command', { exact: true }).fill('echo made in a form; echo GREETING is $GREETING');
  await page.getByLabel('Variable of a new row').fill('GREETING');
  await page.getByLabel('Value of a new row').fill('hello');
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByLabel('Duration', { exact: true }).fill('5s');
  await page.getByLabel('Deadline', { exact: true }).selectOption('after submission');
  await page.getByLabel('Deadline, a duration').fill('2m');
  await page.getByLabel('GPUs', { exact: true }).fill('2');
  assert.match(await yaml(page).inputValue(), /name: from-the-form/);
  await answer(page, 'Would be promised').waitFor();
  await submit(page).click();

  await page.getByRole('status').getByText(/from-the-form.* is promised/).waitFor();
  await page.getByRole('heading', { level: 1, name: 'from-the-form' }).waitFor();
  const id = jobIn(page);
  await page.getByRole('region', { name: 'What it has printed' }).getByText('GREETING is hello').waitFor();
  await page.getByText('promise kept').waitFor();
  const job = await server.isOver(id);
  assert.equal(job.phase, 'finished');
  const document = await server.get(`/v1/jobs/${id}/document`);
  assert.deepEqual([document.gpus, document.environment, document.duration], [2, { GREETING: 'hello' }, document.duration]);
});

pageTest('form and text are one: each shows what the other was told, and comments stay', {}, async ({ page }) => {
  await page.goto('/submit');
  await yaml(page).fill('# kept\nname: both   # and this\ncommand: "true"\n');
  await eventually('the form has the name', async () => (await page.getByLabel('Name', { exact: true }).inputValue()) === 'both');
  await page.getByLabel('Name', { exact: true }).fill('changed');
  const text = await yaml(page).inputValue();
  assert.match(text, /# kept/);
  assert.match(text, /name: changed +# and this/);
  await page.reload();
  assert.equal(await yaml(page).inputValue(), text, 'the draft is kept');
});

pageTest('all mistakes show at once, at their lines and at their fields, in the server’s words', { statuses: [400] }, async ({ server, page }) => {
  await page.goto('/submit');
  await yaml(page).fill('name: two words\ncommand: echo\ngpus: 3\ncolour: green\n');
  await answer(page, /mistakes$/).waitFor();
  const told = page.getByRole('region', { name: /mistakes$/ });
  await told.getByRole('button', { name: 'line 1' }).waitFor();
  await told.getByRole('button', { name: 'line 4' }).waitFor();
  const name = page.getByLabel('Name', { exact: true });
  assert.equal(await name.getAttribute('aria-invalid'), 'true');
  const words = page.locator(`[id="${await name.getAttribute('aria-describedby')}"]`);
  assert.notEqual((await words.innerText()).trim(), '');
  await submit(page).click();
  assert.equal((await server.get('/v1/jobs')).jobs.length, 0);
  assert.equal(new URL(page.url()).pathname, '/submit');
  await yaml(page).fill('name: fine\ncommand: echo\n');
  await answer(page, 'Would be queued').waitFor();
  assert.equal(await name.getAttribute('aria-invalid'), 'false');
});

pageTest('a double click makes one job, and Ctrl+Enter submits', {}, async ({ server, page }) => {
  await page.goto('/submit');
  await yaml(page).fill('name: once\ncommand: echo once\n');
  await submit(page).dblclick({ delay: 5 });
  await page.getByRole('heading', { level: 1, name: 'once' }).waitFor();
  assert.equal((await server.get('/v1/jobs?name=once')).jobs.length, 1);

  await page.goto('/submit');
  await yaml(page).fill('name: by-key\ncommand: echo by key\n');
  await yaml(page).press('Control+Enter');
  await page.getByRole('heading', { level: 1, name: 'by-key' }).waitFor();
});

pageTest('a job is submitted again from its page', {}, async ({ server, page }) => {
  const { id } = await server.submit({ name: 'again', command: ['echo', 'twice'], environment: { KEY: 'value' }, gpus: 2 });
  await server.isOver(id);
  await page.goto(`/jobs/${id}`);
  await page.getByRole('link', { name: 'Submit again' }).click();
  await page.getByRole('heading', { level: 1, name: 'Submit' }).waitFor();
  await eventually('its document is there', async () => /name: again/.test(await yaml(page).inputValue()));
  await answer(page, 'Would be queued').waitFor();
  await submit(page).click();
  await page.getByRole('heading', { level: 1, name: 'again' }).waitFor();
  assert.equal(jobIn(page), id + 1);
  assert.deepEqual(await server.get(`/v1/jobs/${id + 1}/document`), await server.get(`/v1/jobs/${id}/document`));
});

pageTest('a training job is written as YAML, promised, and seen to train', { cluster: '1x4xCPU' }, async ({ server, page }) => {
  await page.goto('/submit');
  await yaml(page).fill(`name: trainer
command: [python3, ${root}/examples/live/train.py, "4000", "0.05"]
iterations: 4000
throughput: {1: 20, 2: 38, 4: 76}
deadline: 10m
reports_progress: true
grace: 3s
`);
  await answer(page, 'Would be promised').waitFor();
  await submit(page).click();
  await page.getByRole('heading', { level: 1, name: 'trainer' }).waitFor();
  await server.running(jobIn(page));
  await page.getByRole('main').getByText('running', { exact: true }).waitFor();
  const progress = page.getByRole('progressbar', { name: 'Progress' });
  await eventually('steps are counted', async () => Number(await progress.getAttribute('aria-valuenow')) >= 1);
});
