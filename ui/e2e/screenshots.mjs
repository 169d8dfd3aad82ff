// SPDX-License-Identifier: Apache-2.0
//
// Pictures of every view, light and dark, wide and narrow, of a small cluster on a busy day: docs/images/page. tools/page_screenshots.sh
// starts this.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { Chromium } from './harness/chromium.mjs';
import { busyCluster, playBusyDay } from './harness/busy_day.mjs';
import { takePictures } from './harness/pictures.mjs';
import { programs, root, WeirServer } from './harness/weir_server.mjs';

const folder = path.resolve(process.argv[2] ?? path.join(root, 'docs/images/page'));

function simulations(server) {
  const report = (name, nodes) => {
    const file = path.join(server.folder, `${name}.html`);
    execFileSync(path.join(programs, 'weir'), ['simulate', '--cluster', nodes, '--jobs', 'examples/night.yaml', '--curves', 'examples/curves', '--policy', 'weir,edf', '--report', file], { cwd: root, stdio: 'ignore' });
    return file;
  };
  return [report('two-nodes', '2x8xA100'), report('four-nodes', '4x8xA100')];
}

function views(server, shown, reports) {
  let evaluations = 0;
  const yaml = 'name: bert-finetune-2\ncommand: [python3, train.py]\ndirectory: /srv/bert\niterations: 60000\nbatch: 256\nthroughput: {1: 55, 2: 104, 4: 197, 8: 372}\ndeadline: 3h\nreports_progress: true\nretries: 2\n';
  const type = (text) => async (page) => {
    await page.getByLabel('The job as YAML').fill(text);
    await page.getByRole('heading', { level: 2, name: /^Would be|mistake/ }).waitFor();
    await page.evaluate(() => { document.activeElement.blur(); document.querySelector('main').scrollTo(0, 0); window.scrollTo(0, 0); });
  };
  return {
    overview: {
      address: '/?range=15m',
      async prepare(page) { // the page shows decisions from now on: there are to be some
        const job = await server.submit({ name: `eval-step-${++evaluations}000`, command: 'sleep 2; echo written', duration: '2s', deadline: '5m' });
        await server.isOver(job.id);
        await page.getByRole('log').getByRole('listitem').nth(2).waitFor();
      },
    },
    job: { address: `/jobs/${shown.elastic}`, isLong: true },
    jobs: { address: '/jobs' },
    cluster: { address: '/cluster' },
    submit: { address: '/submit', prepare: type(yaml) },
    simulations: {
      address: '/simulations', isLong: true,
      async prepare(page) {
        for (const [i, slot] of ['A', 'B'].entries()) await page.locator(`input[type=file][aria-label="File ${slot}"]`).setInputFiles(reports[i]);
        await page.getByRole('heading', { level: 2, name: 'A and B beside each other' }).waitFor();
      },
    },
    'job-at-risk': { address: `/jobs/${shown.atRisk}`, isLong: true },
    'job-refused': { address: `/jobs/${shown.refused}` },
    'cluster-node': { address: '/cluster/cedar?colour=promise' },
    'cluster-table': { address: '/cluster?as=table' },
    'submit-mistakes': { address: '/submit', prepare: type('name: two words\ncommand: python3 train.py\ngpus: 3\ndeadline: 6h\nduration: 2h\n') },
    'sign-in': { address: '/', isSignedOut: true },
    keys: { address: '/jobs', async prepare(page) { await page.keyboard.press('?'); await page.getByRole('dialog').waitFor(); } },
  };
}

const server = await WeirServer.start({ clusterFile: busyCluster });
const chromium = await Chromium.launch(['--force-color-profile=srgb']);
try {
  const shown = await playBusyDay(server);
  console.log('the day has been played');
  await takePictures(chromium, server, views(server, shown, simulations(server)), { folder, mostBytes: 2.5e6, isOurs: (file) => !file.startsWith('observe-') });
} finally {
  await chromium.close();
  await server.close();
}
