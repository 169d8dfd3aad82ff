// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { held } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';

const path = (page) => new URL(page.url()).pathname;

pageTest('each view has its keys, and ? lists them', {}, async ({ page }) => {
  for (const [keys, heading, address] of [['gj', 'Jobs', '/jobs'], ['gc', 'Cluster', '/cluster'], ['gs', 'Submit', '/submit'],
    ['gm', 'Simulations', '/simulations'], ['go', 'Overview', '/']]) {
    for (const key of keys) await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    assert.equal(path(page), address);
  }
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  await help.getByText('Go to Jobs').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('j');
  assert.equal(path(page), '/', 'keys behind a dialog do nothing');
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'hidden' });
});

pageTest('a job is found and opened without a mouse', {}, async ({ server, page }) => {
  for (const name of ['alpha-one', 'beta-two', 'beta-three']) await server.submit(held(server, name));
  await page.keyboard.press('g');
  await page.keyboard.press('j');
  const table = page.getByRole('table', { name: 'Jobs' });
  await table.getByRole('link', { name: 'alpha-one' }).waitFor();
  await page.keyboard.press('/');
  const search = page.getByLabel('Search jobs by name or id');
  await eventually('the search box has the focus', () => search.evaluate((field) => field === document.activeElement));
  await page.keyboard.type('beta');
  await table.getByRole('link', { name: 'alpha-one' }).waitFor({ state: 'detached' });
  assert.equal(await table.getByRole('link').count(), 2);
  await page.keyboard.press('ArrowDown'); // from the search box to the table
  await eventually('the table has the focus', () => table.evaluate((field) => field === document.activeElement));
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown'); // newest first: beta-three, then beta-two
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'beta-two' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  assert.equal(await search.inputValue(), 'beta');
  await search.focus();
  await page.keyboard.press('Escape');
  await table.getByRole('link', { name: 'alpha-one' }).waitFor();
});

pageTest('in a long list the focus stays with its job, and Tab goes from job to job', {}, async ({ server, page }) => {
  for (let i = 1; i <= 90; ++i) await server.submit(held(server, `job-${i}`));
  await page.goto('/jobs');
  const table = page.getByRole('table', { name: 'Jobs' });
  await table.getByRole('link', { name: 'job-90', exact: true }).waitFor();
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  const scrollTo = (top) => table.evaluate((box, at) => { box.scrollTop = at; }, top);
  const names = () => table.getByRole('link').allInnerTexts();

  await table.getByRole('link', { name: 'job-80', exact: true }).focus();
  await scrollTo(60 * 37);
  await table.getByRole('link', { name: 'job-25', exact: true }).waitFor();
  assert.equal(await focused(), 'job-80', 'though it is out of sight');
  await scrollTo(0);
  await server.submit(held(server, 'job-91')); // above it
  await table.getByRole('link', { name: 'job-91', exact: true }).waitFor();
  assert.equal(await focused(), 'job-80');
  for (let job = 79; job >= 20; --job) { // far beyond the rows that were there
    await page.keyboard.press('Tab');
    assert.equal(await focused(), `job-${job}`);
  }
  const row = page.locator('[role=row]:focus-within');
  assert.equal(await row.getAttribute('aria-rowindex'), String(91 - 20 + 2));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'job-20' }).waitFor();

  // Whoever reads the page without seeing it reads it in the order of the list, once scrolling rests.
  await page.goBack();
  await table.getByRole('link', { name: 'job-91', exact: true }).waitFor();
  for (const top of [200, 900, 500, 1500, 1200]) await scrollTo(top);
  await table.getByRole('link', { name: 'job-50', exact: true }).waitFor();
  await eventually('the rows are in order', async () => {
    const numbers = (await names()).map((name) => Number(name.replace('job-', '')));
    return numbers.length > 20 && numbers.includes(50) && numbers.every((number, i) => i === 0 || number === numbers[i - 1] - 1);
  });
});

pageTest('with Tab one gets to the content first, and the focus can be seen', {}, async ({ page }) => {
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'To the content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await page.keyboard.press('g');
  await page.keyboard.press('j');
  await page.keyboard.press('/');
  const search = page.getByLabel('Search jobs by name or id');
  await search.waitFor();
  const outline = () => search.evaluate((field) => { const { outlineStyle, boxShadow } = getComputedStyle(field); return outlineStyle !== 'none' || boxShadow !== 'none'; });
  await eventually('the focus shows', outline);
});

pageTest('t changes between light and dark, which a reload keeps', {}, async ({ page }) => {
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await theme(), 'light');
  const light = await background();
  await page.keyboard.press('t');
  await eventually('it is dark', async () => (await theme()) === 'dark' && (await background()) !== light);
  await page.reload();
  await page.getByRole('button', { name: 'Use light colours' }).waitFor();
  assert.equal(await theme(), 'dark');
  await page.getByRole('button', { name: 'Use light colours' }).click();
  await eventually('it is light', async () => (await theme()) === 'light');
});

pageTest('without a choice the page is as dark as the system', { colorScheme: 'dark' }, async ({ page }) => {
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await eventually('it follows', () => page.evaluate(() => document.documentElement.dataset.theme === 'light'));
});
