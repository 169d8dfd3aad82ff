// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pageTest } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';
import { programs, root } from './harness/weir_server.mjs';

// Writes what `weir simulate` writes, and gives the places.
function simulation(folder, name, policies, cluster = '4x4xT4') {
  const files = { report: path.join(folder, `${name}.html`), log: path.join(folder, `${name}.log`), json: path.join(folder, `${name}.json`) };
  const options = ['simulate', '--cluster', cluster, '--jobs', 'examples/night.yaml', '--curves', 'examples/curves', '--policy'];
  const printed = execFileSync(path.join(programs, 'weir'), [...options, policies, '--report', files.report, '--json'], { cwd: root });
  writeFileSync(files.json, printed);
  execFileSync(path.join(programs, 'weir'), [...options, policies.split(',')[0], '--log', files.log], { cwd: root });
  return files;
}
const open = (page, slot, file) => page.locator(`input[type=file][aria-label="File ${slot}"]`).setInputFiles(file);

pageTest('a report, a log and JSON are opened, and show the figures that were printed', {}, async ({ server, page }) => {
  const files = simulation(server.folder, 'night', 'weir,edf');
  await page.goto('/simulations');
  await page.getByText('Nothing is uploaded').waitFor();
  for (const file of [files.report, files.json, files.log]) {
    await open(page, 'A', file);
    await page.getByRole('region', { name: 'File A' }).getByText(path.basename(file)).waitFor();
    await page.getByRole('rowheader', { name: /weir/ }).first().waitFor();
  }
  await open(page, 'A', files.report);
  await page.getByRole('rowheader', { name: /edf/ }).first().waitFor();
  await page.getByRole('application', { name: /^Who had which GPUs when/ }).waitFor();
});

pageTest('two are compared, better and worse told in words; what is chosen stands in the address', {}, async ({ server, page }) => {
  const large = simulation(server.folder, 'large', 'weir,edf');
  const small = simulation(server.folder, 'small', 'weir,edf', '2x4xT4');
  await page.goto('/simulations');
  await open(page, 'A', large.report);
  await open(page, 'B', small.report);
  await page.getByRole('heading', { level: 2, name: 'A and B beside each other' }).waitFor();
  await page.getByRole('cell').filter({ hasText: /worse|better/ }).first().waitFor();
  await page.getByRole('combobox', { name: 'Policy' }).selectOption('edf');
  await eventually('it is in the address', () => new URL(page.url()).searchParams.get('policy') === 'edf');
  assert.equal(await page.getByRole('rowheader', { name: /^weir/ }).count(), 0);
});

pageTest('a file that is none is refused by its name, with what to open instead', {}, async ({ server, page }) => {
  const wrong = path.join(server.folder, 'holiday.json');
  writeFileSync(wrong, readFileSync(path.join(root, 'ui/package.json')));
  await page.goto('/simulations');
  await open(page, 'A', wrong);
  const told = page.getByRole('region', { name: 'File A' }).getByRole('alert');
  await told.getByText(/holiday\.json/).waitFor();
  await told.getByText(/weir simulate/).waitFor();
});
