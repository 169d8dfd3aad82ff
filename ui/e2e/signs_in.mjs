// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { pageTest } from './harness/page_test.mjs';

const views = ['Overview', 'Cluster', 'Jobs', 'Submit', 'Simulations'];

pageTest('a wrong token is refused in words, the right one opens the view that was asked for', { isSignedIn: false, statuses: [401] },
  async ({ server, page }) => {
    await page.goto('/jobs');
    await page.getByRole('heading', { name: 'Sign in to weir' }).waitFor();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('Paste the token').waitFor();
    await page.getByLabel('Token', { exact: true }).fill('not-the-token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('not the server’s token').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(` ${server.token} `); // as it is copied
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Jobs' }).and(page.locator('[aria-current=page]')).waitFor();
    assert.equal(new URL(page.url()).pathname, '/jobs');
  });

pageTest('the link of `weir dashboard` signs in, and the token leaves the address', { isSignedIn: false }, async ({ server, page }) => {
  await page.goto(`/cluster#token=${server.token}`);
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
  assert.equal(page.url(), `${server.url}/cluster`);
  await page.goBack().catch(() => null);
  assert.ok(!page.url().includes(server.token), 'the token is in the history');
});

pageTest('a tab keeps its token over a reload, and another tab knows nothing of it', {}, async ({ server, page }) => {
  await page.reload();
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
  const other = await page.context().newPage();
  await other.goto(server.url);
  await other.getByRole('heading', { name: 'Sign in to weir' }).waitFor();
});

pageTest('remembered, a token is known to every tab; signing out forgets it everywhere', { isSignedIn: false }, async ({ server, page }) => {
  await page.goto('/');
  await page.getByLabel('Token', { exact: true }).fill(server.token);
  await page.getByLabel('Remember it in this browser').check();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
  const other = await page.context().newPage();
  await other.goto('/');
  await other.getByRole('navigation', { name: 'Views' }).waitFor();
  await other.close();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to weir' }).waitFor();
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  assert.ok(!stored.includes(server.token), stored);
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in to weir' }).waitFor();
});

pageTest('a token that the server does not know any more is asked for again', { isSignedIn: false, statuses: [401] }, async ({ page }) => {
  await page.goto('/#token=of-another-server');
  await page.getByRole('heading', { name: 'Sign in to weir' }).waitFor();
  await page.getByText('does not know this token').waitFor();
});

pageTest('every view has its link, its title and one first heading', {}, async ({ page }) => {
  for (const name of views) {
    const link = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true });
    await link.click();
    await link.and(page.locator('[aria-current=page]')).waitFor();
    await page.getByRole('heading', { level: 1 }).waitFor();
    assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, `${name}: one first heading`);
    assert.equal(await page.title(), `${name} · weir`);
  }
});
