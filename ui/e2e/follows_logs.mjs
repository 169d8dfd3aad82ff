// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { held, release } from './harness/jobs.mjs';
import { pageTest } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';

const log = (page) => page.getByRole('region', { name: 'What it has printed' });
const atEnd = (page) => log(page).evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop < 60);

pageTest('what a job prints appears while it runs, and the end of it', {}, async ({ server, page }) => {
  const { id } = await server.submit(held(server, 'talker', { lines: ['first line', 'grün und später ✓', '\u001b[31mred\u001b[0m alert'] }));
  await page.goto(`/jobs/${id}`);
  await log(page).getByText('first line').waitFor();
  await log(page).getByText('grün und später ✓').waitFor();
  await log(page).getByText('red alert', { exact: true }).waitFor(); // without the codes of its colour
  await page.getByText(/^Following/).waitFor();
  release(server, 'talker');
  await log(page).getByText('released').waitFor();
  await page.getByText(/^Complete.* · 4 lines$/).waitFor();
});

pageTest('scrolling up stops following, a button goes on, and words are found', {}, async ({ server, page }) => {
  const { id } = await server.submit({
    name: 'chatty',
    command: `i=0; until [ -e '${server.folder}/chatty.go' ]; do i=$((i+1)); echo "step $i of many"; [ $i -gt 400 ] && sleep 0.05; done; echo the last line`,
  });
  await page.goto(`/jobs/${id}`);
  await eventually('it follows', async () => (await page.getByText(/^Following/).isVisible()) && (await log(page).evaluate((box) => box.scrollTop)) > 1000);
  await log(page).hover();
  await page.mouse.wheel(0, -3000);
  await page.getByText(/^Not following/).waitFor();
  const place = await log(page).evaluate((box) => box.scrollTop);
  const lines = async () => Number(/([\d,. ]+) lines/.exec(await page.getByText(/^Not following/).innerText())[1].replace(/\D/g, ''));
  const before = await lines();
  await eventually('more was printed', async () => (await lines()) > before + 10);
  assert.equal(await log(page).evaluate((box) => box.scrollTop), place, 'the text one reads has moved');

  await page.getByLabel('Search the log').fill('step 7 of');
  await log(page).locator('mark').getByText('step 7 of').waitFor();
  await page.getByText('1 of 1', { exact: true }).waitFor();
  await page.getByLabel('Search the log').fill('');

  await page.getByRole('button', { name: 'Follow' }).click();
  await page.getByText(/^Following/).waitFor();
  await eventually('it is at the end', () => atEnd(page));
  release(server, 'chatty');
  await log(page).getByText('the last line').waitFor();
});

pageTest('a log is downloaded as it was printed', {}, async ({ server, page }) => {
  const { id } = await server.submit({ name: 'printed', command: 'printf "one\\ntwo <b>bold</b>\\n\\033[1mthree\\n"' });
  await server.isOver(id);
  await page.goto(`/jobs/${id}`);
  await log(page).getByText('three').waitFor();
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
  assert.match(saved.suggestedFilename(), /^printed-.*\.log$/);
  assert.equal(readFileSync(await saved.path(), 'utf8'), 'one\ntwo <b>bold</b>\n\u001b[1mthree\n');
});

pageTest('each rank has its own log', { cluster: '1x2xCPU' }, async ({ server, page }) => {
  const { id } = await server.submit({ name: 'two-ranks', command: 'echo I am rank $RANK of $WORLD_SIZE', ranks: 'per-gpu', gpus: 2 });
  await server.isOver(id);
  await page.goto(`/jobs/${id}`);
  await log(page).getByText('I am rank 0 of 2').waitFor();
  await page.getByRole('combobox', { name: 'Rank' }).selectOption('1');
  await log(page).getByText('I am rank 1 of 2').waitFor();
  assert.equal(new URL(page.url()).searchParams.get('rank'), '1');
});
