// SPDX-License-Identifier: Apache-2.0
//
// The page of a server that observes a Kubernetes cluster: a real API server, the stock kube-scheduler, kwok's kubelets. Skipped where
// build/kubernetes/bin is not there; `make test-kubernetes` builds it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { axeFindings } from './harness/axe.mjs';
import { crowd, explained } from './harness/crowded_cluster.mjs';
import { KubernetesPlane, needKubernetes } from './harness/kubernetes_plane.mjs';
import { withPage } from './harness/page_test.mjs';
import { eventually } from './harness/waiting.mjs';
import { WeirServer } from './harness/weir_server.mjs';

needKubernetes();

const slow = { timeout: 60_000 };
let plane, server, ids;

before(async () => {
  plane = await KubernetesPlane.start();
  await crowd(plane);
  server = await WeirServer.start({ kubeconfig: plane.kubeconfig });
  ids = await explained(server, ['vision/label-server', 'speech/asr-large', 'speech/tts-h100', 'vision/detector-train']);
  await eventually('the sweep is explained', async () => (await observation()).pending.find(({ workload }) => workload.name === 'sweep')?.pods.length === 3, slow);
});
after(async () => {
  await server?.close();
  await plane?.close();
});

const observation = () => server.get('/v1/observation');

function observing(name, settings, body) {
  test(name, () => withPage(server, name, settings, body));
}

async function checkAxe(page, what) {
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme });
    await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.deepEqual((await axeFindings(page)).serious, [], `${what}, ${theme}`);
  }
}

async function checkWidth(page, what) {
  const wide = await page.evaluate(() => {
    const main = document.querySelector('main');
    return Math.max(document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth);
  });
  assert.ok(wide <= 0, `${what} is ${wide} px wider than its place`);
}

observing('nothing that would change the cluster is offered, and the page only reads', {}, async (page) => {
  const methods = new Set();
  page.on('request', (request) => methods.add(request.method()));
  const views = page.getByRole('navigation', { name: 'Views' });
  await views.getByRole('link', { name: 'Pods', exact: true }).waitFor();
  assert.deepEqual(await views.getByRole('listitem').allInnerTexts(), ['Overview', 'Cluster', 'Pods', 'Simulations']);
  await page.goto('/submit');
  await page.getByText('This server only observes').waitFor();
  assert.equal(await page.getByRole('textbox').count(), 0);
  await page.reload(); // the first thing that is shown, too
  await page.getByRole('heading', { level: 1, name: 'Nothing is submitted here' }).waitFor();
  for (const address of ['/', '/jobs', `/jobs/${ids['vision/detector-train']}`, `/jobs/${ids['vision/label-server']}`, '/cluster/gpu-01', '/cluster/gpu-04']) {
    await page.goto(address);
    await page.locator('main a[href^="/jobs"]').first().waitFor();
    assert.equal(await page.getByRole('main').getByRole('button', { name: /cancel|drain|submit/i }).count(), 0, address);
    assert.equal(await page.getByRole('main').getByRole('link', { name: /submit/i }).count(), 0, address);
  }
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keys' });
  await keys.getByText('Go to Pods').waitFor();
  assert.equal(await keys.getByText(/submit|cancel/i).count(), 0);
  assert.deepEqual([...methods], ['GET']);
});

observing('a running pod: its facts, and how to read its logs', {}, async (page) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`/jobs/${ids['vision/detector-train']}`);
  await page.getByRole('heading', { level: 1, name: 'vision/detector-train' }).waitFor();
  await page.getByRole('main').getByText('running', { exact: true }).waitFor();
  const facts = page.getByRole('region', { name: 'Facts' });
  for (const text of ['64Gi', 'nvidia.com/gpu', 'default-scheduler']) await facts.getByText(text).waitFor();
  for (const gone of ['Why it waits', 'Deadline', 'Slack', 'Progress', 'What it has printed', 'As it was submitted'])
    assert.equal(await page.getByRole('main').getByText(gone, { exact: true }).count(), 0, gone);
  const command = 'kubectl logs -n vision detector-train';
  await page.getByRole('region', { name: 'Logs' }).getByText(command).waitFor();
  await page.getByRole('button', { name: `Copy ${command}` }).click();
  await page.getByRole('status').getByText('Copied: the command.').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), command);
});

observing('the list: found by namespace, workload and reason; kept in the address; saved as a file', {}, async (page) => {
  const table = page.getByRole('table', { name: 'Pods' });
  const rows = () => table.getByRole('row').getByRole('link').allInnerTexts();
  const become = (what, wanted) => eventually(`${what}: ${wanted}`, async () => JSON.stringify((await rows()).map((name) => name.replace(/sweep-.*/, 'sweep')).sort()) === JSON.stringify(wanted), { describe: () => '' });
  await page.goto('/jobs');
  const row = table.getByRole('row').filter({ hasText: 'vision/label-server' });
  assert.match(await row.innerText(), /4\s+pending\s+Taint not tolerated\s*dedicated=infra:NoSchedule/);
  const search = page.getByLabel('Search pods by name, namespace, workload or reason');
  await search.fill('job vision/sweep');
  await become('by workload', ['vision/sweep', 'vision/sweep', 'vision/sweep']);
  await search.fill('tolerated');
  await become('by reason', ['vision/label-server']);
  await search.fill('');
  await page.getByLabel('Namespace', { exact: true }).selectOption('speech');
  await become('by namespace', ['speech/asr-large', 'speech/notebook-ada', 'speech/tts-h100']);
  await page.getByRole('button', { name: /^pending/ }).click();
  await become('pending there', ['speech/asr-large', 'speech/tts-h100']);
  await eventually('the address has it', () => new URL(page.url()).search === '?namespace=speech&phase=queued');
  await page.goto('/jobs?why=taint,gpu_product');
  await become('by a link', ['speech/tts-h100', 'vision/label-server']);
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV' }).click();
  const lines = readFileSync(await (await download).path(), 'utf8').trim().split('\r\n');
  assert.equal((await download).suggestedFilename(), 'pods.csv');
  assert.equal(lines.length, 3);
  assert.match(lines.join('\n'), /vision\/label-server,,4,pending,Taint not tolerated: dedicated=infra:NoSchedule,.*,vision,taint,dedicated=infra:NoSchedule,/);
  await table.getByRole('link', { name: 'vision/label-server' }).click();
  await page.getByRole('region', { name: 'Why it waits' }).waitFor();
});

observing('the overview: what waits by reason, what is stranded; a workload without pods is explained, too', {}, async (page) => {
  await page.goto('/');
  await page.getByText('observes Kubernetes').waitFor();
  assert.equal(await page.getByText(/promise/i).count(), 0);
  const { cluster, pending } = await observation();
  const reasons = page.getByRole('region', { name: 'Waiting, by reason' });
  const row = (name) => reasons.getByRole('row').filter({ hasText: name });
  assert.deepEqual(await row('Taint not tolerated').getByRole('cell').allInnerTexts(), ['Taint not tolerated', '1', '1', '4']);
  assert.deepEqual(await row('Quota used up').getByRole('cell').allInnerTexts(), ['Quota used up', '1', '0', '8']);
  assert.equal(await reasons.getByRole('row').count(), 1 + new Set(pending.map(({ constraint }) => constraint)).size);
  const stranded = page.getByRole('region', { name: 'Stranded GPUs' }).getByRole('listitem');
  assert.deepEqual((await stranded.allInnerTexts()).map((text) => text.split(/\s*\n\s*/).join(' ')), ['On cordoned nodes on 1 node 7', 'Behind taints on 1 node 4']);
  const moves = page.getByRole('region', { name: 'Defragmentation' });
  await moves.getByText(cluster.defragmentation.moves === 0 ? 'would free nothing' : 'would free').first().waitFor();

  await page.getByRole('link', { name: 'speech/over-quota' }).click();
  const dialog = page.getByRole('dialog', { name: 'Why Job speech/over-quota waits' });
  await dialog.getByText('requests.nvidia.com/gpu').first().waitFor();
  await page.reload(); // it stands in the address
  await dialog.getByText('Quota used up').waitFor();
  await checkAxe(page, 'a workload in full');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await eventually('the address has it no more', () => new URL(page.url()).search === '');

  await row('Taint not tolerated').getByRole('link').click();
  await page.getByRole('table', { name: 'Pods' }).getByRole('link', { name: 'vision/label-server' }).waitFor();
  assert.equal(new URL(page.url()).search, '?why=taint');
});

observing('the cluster: who has which GPU, and a node that is cordoned while one looks', {}, async (page) => {
  await page.goto('/cluster?as=table');
  const table = page.getByRole('table', { name: 'Nodes' });
  const row = (name) => table.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  await row('gpu-04').getByText('cordoned or not ready').waitFor();
  await row('gpu-01').getByText('up', { exact: true }).waitFor();
  await row('gpu-01').getByRole('link', { name: 'vision/detector-train' }).waitFor();
  await plane.do('patch', 'Node', 'gpu-03', { spec: { unschedulable: true } });
  await row('gpu-03').getByText('cordoned or not ready').waitFor();
  await plane.do('patch', 'Node', 'gpu-03', { spec: { unschedulable: null } });
  await row('gpu-03').getByText('up', { exact: true }).waitFor();
  await page.goto('/cluster/gpu-04');
  const panel = page.getByRole('region', { name: 'Node gpu-04' });
  await panel.getByText('It takes no new pods.').waitFor();
  await panel.getByRole('link', { name: 'speech/notebook-ada' }).first().waitFor();
  assert.deepEqual(await page.getByRole('group', { name: 'Colour by' }).getByRole('button').allInnerTexts(), ['Pod', 'Pool']);
});

observing('every view is accessible, light and dark, and fits a phone', {}, async (page) => {
  const views = [['/', () => page.getByRole('region', { name: 'Waiting longest' }).getByRole('link')], ['/jobs', () => page.getByRole('link', { name: 'vision/label-server' })],
    [`/jobs/${ids['vision/label-server']}`, () => page.getByText('What would start it')], [`/jobs/${ids['vision/detector-train']}`, () => page.getByText('Facts')],
    ['/cluster/gpu-04', () => page.getByText('Pods here')], ['/cluster?as=table', () => page.getByRole('link', { name: 'gpu-04' })], ['/submit', () => page.getByText('This server only observes')]];
  for (const [address, ready] of views) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(address);
    await ready().first().waitFor();
    await checkAxe(page, address);
    await page.setViewportSize({ width: 390, height: 844 });
    await ready().first().waitFor();
    await checkWidth(page, address);
  }
});

observing('what others write is shown as text', {}, async (page) => {
  const image = '<img src=x onerror="window.__injected=1">';
  // Nobody checks the name of a scheduler, nor what one says.
  await plane.do('pod', { name: 'strange', namespace: 'vision', gpus: 1, schedulerName: image });
  await plane.do('pod', { name: 'spoken', namespace: 'vision', gpus: 1, schedulerName: 'site-scheduler' });
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: `0/5 nodes: ${image}` };
  await plane.do('patch', 'Pod', 'spoken', { status: { conditions: [condition] } }, 'vision', 'status');
  const { 'vision/strange': strange } = await explained(server, ['vision/strange']);
  await page.goto(`/jobs/${strange}`);
  const why = page.getByRole('region', { name: 'Why it waits' });
  await why.getByText(image, { exact: true }).waitFor(); // the detail
  await why.getByText(`It asks for the scheduler ${image}`).waitFor();
  await why.getByRole('listitem').getByText(`a scheduler named ${image}`).waitFor();
  await page.getByRole('region', { name: 'Facts' }).getByText(image, { exact: true }).waitFor();
  await page.goto('/jobs?q=strange');
  await page.getByRole('table', { name: 'Pods' }).getByText(image).waitFor();
  assert.equal(await page.locator('main img').count(), 0);
  await page.goto('/jobs?q=spoken');
  await page.getByRole('link', { name: 'vision/spoken' }).click();
  await page.getByRole('region', { name: 'Facts' }).getByText(`0/5 nodes: ${image}`).waitFor();
  for (const address of [`/?waits=${encodeURIComponent(image)}`, `/jobs?why=${encodeURIComponent(image)}&namespace=${encodeURIComponent(image)}`]) {
    await page.goto(address);
    await page.getByRole('heading', { level: 1 }).waitFor();
  }
  assert.equal(await page.getByLabel('Namespace', { exact: true }).inputValue(), image);
  await page.getByRole('button', { name: '<img src=x onerror' }).waitFor(); // the chosen reason
  assert.equal(await page.locator('main img').count(), 0);
  for (const name of ['strange', 'spoken']) await plane.do('delete', 'Pod', name, 'vision');
});

observing('why a pod waits, and the change that the page offers starts it while one looks', {}, async (page) => {
  await page.goto(`/jobs/${ids['vision/label-server']}`);
  const why = page.getByRole('region', { name: 'Why it waits' });
  await why.getByText('Taint not tolerated').first().waitFor();
  await why.getByText('It does not tolerate the taint').waitFor();
  const rows = why.getByRole('row');
  await eventually('every node is counted once', async () => {
    const counts = await rows.locator('td:first-child').allInnerTexts();
    return counts.reduce((sum, text) => sum + Number(text), 0) === 5;
  });
  assert.match(await rows.filter({ hasText: 'Cordoned' }).innerText(), /^1\s+Cordoned\s+gpu-04$/);
  await why.getByText('Remove the taint dedicated=infra:NoSchedule from node infra-01.').waitFor();
  const { waits } = await server.job(ids['vision/label-server']);
  if (waits.predicted_start) await why.getByText('Eight of ten such starts').waitFor();
  else await why.getByText(waits.no_prediction || 'There is no prediction.').waitFor();
  const said = page.getByRole('region', { name: 'Facts' }).getByText(/^0\/5 nodes are available/);
  await said.waitFor();

  const command = await why.getByRole('listitem').first().locator('code').innerText();
  assert.equal(command, 'kubectl taint node infra-01 dedicated=infra:NoSchedule-');
  await page.evaluate(() => { globalThis.isTheSamePage = true; });
  plane.run(command);
  await page.getByRole('main').getByText('running', { exact: true }).waitFor({ timeout: 60_000 });
  await why.waitFor({ state: 'hidden' });
  await page.getByRole('main').getByRole('link', { name: 'infra-01' }).first().waitFor();
  assert.equal(await page.evaluate(() => globalThis.isTheSamePage), true, 'the page was loaded anew');
});

observing('a cluster that is out of sight is said to be, until it is back', { timeout: 240_000 }, async (page) => {
  const banner = page.getByRole('status').getByText('Not the whole picture:');
  await page.goto('/jobs');
  await page.getByRole('link', { name: 'speech/asr-large' }).waitFor();
  assert.equal(await banner.count(), 0);
  await plane.do('kill', 'apiserver');
  await banner.waitFor({ timeout: 60_000 });
  await page.getByRole('link', { name: 'speech/asr-large' }).waitFor(); // what was known stays in sight
  assert.equal(await page.getByText(/Stale since/).count(), 0); // weir itself is there
  await checkAxe(page, 'not the whole picture');
  await page.setViewportSize({ width: 390, height: 844 });
  for (const address of ['/', `/jobs/${ids['speech/asr-large']}`]) {
    await page.goto(address);
    await banner.waitFor();
    await checkWidth(page, `${address} with the banner`);
  }
  await page.getByRole('button', { name: /^\d+ more$/ }).click();
  await page.getByRole('button', { name: 'Less' }).waitFor();
  await checkWidth(page, 'all that is missing');

  await plane.do('start', 'apiserver');
  await banner.waitFor({ state: 'hidden', timeout: 90_000 });
  await plane.do('delete', 'Pod', 'asr-large', 'speech');
  await page.getByRole('main').getByText('deleted', { exact: true }).first().waitFor({ timeout: 60_000 });
});

test('a server that has not seen the cluster yet says that it is looking', async () => {
  await plane.do('kill', 'apiserver');
  const blind = await WeirServer.start({ kubeconfig: plane.kubeconfig, patience: 60_000 });
  try {
    await withPage(blind, 'looking', { statuses: [503], timeout: 240_000 }, async (page) => {
      await page.getByText('weir is looking at the cluster.').first().waitFor();
      assert.equal(await page.getByRole('alert').count(), 0);
      await checkAxe(page, 'looking');
      await plane.do('start', 'apiserver');
      await page.getByRole('region', { name: 'Waiting longest' }).getByRole('link').first().waitFor({ timeout: 90_000 });
      assert.equal(await page.getByText('weir is looking at the cluster.').count(), 0);
    });
  } finally {
    await blind.close();
  }
});
