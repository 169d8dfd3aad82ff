// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { held } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';

pageTest('a job is cancelled only after a question', {}, async ({ server, page }) => {
  const { id } = await server.submit(held(server, 'unwanted', { gpus: 2 }));
  await server.running(id);
  await page.goto(`/jobs/${id}`);
  const dialog = page.getByRole('dialog', { name: 'Cancel unwanted?' });
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await dialog.getByText('its 2 GPUs back').waitFor();
  await dialog.getByRole('button', { name: 'Keep it' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await server.job(id)).phase, 'running');

  await page.keyboard.press('x');
  await dialog.getByRole('button', { name: 'Cancel the job' }).click();
  await page.getByRole('status').getByText('unwanted is cancelled').waitFor();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByRole('main').getByText('cancelled', { exact: true }).waitFor();
  assert.equal((await server.job(id)).phase, 'cancelled');
  assert.ok(await page.getByRole('button', { name: 'Cancel', exact: true }).isDisabled());
});

pageTest('a job that another has cancelled shows so by itself', {}, async ({ server, page }) => {
  const { id } = await server.submit(held(server, 'elsewhere'));
  await server.running(id);
  await page.goto('/jobs');
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'elsewhere' }) });
  await row.getByText('running', { exact: true }).waitFor();
  await server.call(`/v1/jobs/${id}/cancel`, { method: 'POST' });
  await row.getByText('cancelled', { exact: true }).waitFor();
});
