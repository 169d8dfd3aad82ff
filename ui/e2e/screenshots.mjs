// SPDX-License-Identifier: Apache-2.0
//
// Pictures of every view, light and dark, wide and narrow, of a small cluster on a busy day: docs/images/page. The jobs are
// real processes that only wait and count; tools/page_screenshots.sh starts this.
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { Chromium } from './harness/chromium.mjs';
import { held } from './harness/jobs.mjs';
import { eventually } from './harness/waiting.mjs';
import { programs, root, WeirServer } from './harness/weir_server.mjs';

const folder = path.resolve(process.argv[2] ?? path.join(root, 'docs/images/page'));
const sizes = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } };
const most = 3e6; // bytes in all

const cluster = `cluster: {name: lab}
nodes:
  - {name: ash, cpus: 32, memory: 128GiB, gpus: 8, model: CPU}
  - {name: birch, cpus: 32, memory: 128GiB, gpus: 8, model: CPU}
  - {name: cedar, cpus: 32, memory: 128GiB, gpus: 8, model: CPU}
`;

// Counts steps at the speed of so many GPUs, with a loss that falls as losses do; goes on from its checkpoint.
const trainer = `
import json, math, os, random, signal, socket, sys, time
steps, rate = int(sys.argv[1]), float(sys.argv[2])
gpus = int(os.environ['WEIR_GPUS'])
place = os.path.join(os.environ['WEIR_CHECKPOINT_DIR'], 'step')
step = int(open(place).read()) if os.path.exists(place) else 0
line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
address = os.environ['WEIR_PROGRESS'].replace('@', chr(0), 1)
random.seed(steps)
def stop(*_):
    open(place, 'w').write(str(step))
    print(f'saved step {step}; leaving', flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print(f'epoch {step // 1000}: from step {step} of {steps} on {gpus} GPUs', flush=True)
speed = rate * gpus ** 0.92
began, first = time.monotonic(), step
while step < steps:
    time.sleep(0.25)
    step = min(steps, first + int((time.monotonic() - began) * speed * random.uniform(0.985, 1.0)))
    loss = 0.35 + 2.4 * math.exp(-4 * step / steps) * (1 + random.uniform(-0.04, 0.04))
    line.sendto(json.dumps({'step': step, 'loss': round(loss, 4)}).encode(), address)
    if random.random() < 0.3: print(f'step {step} loss {loss:.4f} lr {3e-4 * (1 - step / steps):.2e}', flush=True)
open(place, 'w').write(str(step))
print('done', flush=True)
`;

function training(server, name, { minutes, gpus, deadline, rate = 40, ...more }) {
  const speed = (count) => Number((rate * count ** 0.92).toFixed(1));
  const throughput = Object.fromEntries([1, 2, 4, 8].map((count) => [count, speed(count)]));
  const iterations = Math.round(minutes * 60 * speed(gpus));
  return { name, command: ['python3', path.join(server.folder, 'train.py'), String(iterations), String(rate)], iterations, throughput, deadline, reports_progress: true, grace: '3s', batch: 256, ...more };
}

// An hour in a few minutes: some work is over, some runs, some waits, one promise is at risk, one was refused.
async function play(server) {
  writeFileSync(path.join(server.folder, 'train.py'), trainer);
  const submit = (document) => server.submit(document);
  const program = (name, seconds, more = {}) => ({ name, command: `sleep ${seconds}; echo written`, duration: `${seconds}s`, ...more });
  const shown = {};
  for (const name of ['tokenize-wiki', 'eval-nightly', 'export-onnx']) await submit(program(name, 3, { deadline: '2m' }));
  await submit({ name: 'lint-config', command: 'echo config.yaml:14: unknown key; exit 2' });
  await submit(training(server, 'resnet-sweep-1', { minutes: 0.3, gpus: 2, deadline: '4m' }));
  shown.elastic = (await submit(training(server, 'bert-finetune', { minutes: 14, gpus: 4, deadline: '25m', rate: 55 }))).id;
  for (const i of [2, 3, 4]) await submit(training(server, `resnet-sweep-${i}`, { minutes: 9 + i, gpus: 2, deadline: `${16 + 3 * i}m` }));
  await submit(training(server, 'speech-large', { minutes: 18, gpus: 4, deadline: '40m', rate: 24 }));
  await submit(held(server, 'notebook-ada', { gpus: 1 }));
  await submit(held(server, 'notebook-emil', { gpus: 1 }));
  await eventually('the first jobs are over', async () => (await server.job('resnet-sweep-1')).phase === 'finished', { timeout: 120_000 });
  await submit(program('ads-ranking-eval', 25, { gpus: 8, deadline: '90s' }));
  await eventually('it is over', async () => (await server.job('ads-ranking-eval')).phase === 'finished', { timeout: 120_000 });
  shown.refused = (await submit(program('demo-for-the-board', 900, { gpus: 8, deadline: '5m' }))).id;
  for (const [name, gpus] of [['gpt2-pretrain', 16], ['vit-ablation-a', 8], ['vit-ablation-b', 8]]) await submit(program(name, 1200, { gpus }));
  await submit(program('weekly-report', 240, { gpus: 4, deadline: '6m', kind: 'soft' }));
  const cancelled = await submit(held(server, 'typo-in-config', { gpus: 1 }));
  await server.call(`/v1/jobs/${cancelled.id}/cancel`, { method: 'POST' });
  return shown;
}

function simulations(server) {
  const report = (name, nodes) => {
    const file = path.join(server.folder, `${name}.html`);
    execFileSync(path.join(programs, 'weir'), ['simulate', '--cluster', nodes, '--jobs', 'examples/night.yaml', '--curves', 'examples/curves', '--policy', 'weir,edf', '--report', file], { cwd: root, stdio: 'ignore' });
    return file;
  };
  return [report('four-nodes', '4x8xA100'), report('three-nodes', '3x8xA100')];
}

function views(shown, reports) {
  const yaml = 'name: bert-finetune-2\ncommand: [python3, train.py]\ndirectory: /srv/bert\niterations: 60000\nbatch: 256\nthroughput: {1: 55, 2: 104, 4: 197, 8: 372}\ndeadline: 30m\nreports_progress: true\nretries: 2\n';
  const type = (text) => async (page) => {
    await page.getByLabel('The job as YAML').fill(text);
    await page.getByRole('heading', { level: 2, name: /^Would be|mistake/ }).waitFor();
  };
  return {
    'sign-in': { address: '/', isSignedOut: true },
    overview: { address: '/?range=15m', prepare: (page) => page.getByRole('log').getByRole('listitem').first().waitFor().catch(() => {}) },
    jobs: { address: '/jobs' },
    job: { address: `/jobs/${shown.elastic}`, isLong: true },
    'job-refused': { address: `/jobs/${shown.refused}` },
    cluster: { address: '/cluster' },
    'cluster-node': { address: '/cluster/birch?colour=promise' },
    'cluster-table': { address: '/cluster?as=table' },
    submit: { address: '/submit', prepare: type(yaml) },
    'submit-mistakes': { address: '/submit', prepare: type('name: two words\ncommand: echo\ngpus: 3\ncolour: green\n') },
    simulations: {
      address: '/simulations', isLong: true,
      async prepare(page) {
        for (const [i, slot] of ['A', 'B'].entries()) await page.locator(`input[type=file][aria-label="File ${slot}"]`).setInputFiles(reports[i]);
        await page.getByRole('heading', { level: 2, name: 'A and B beside each other' }).waitFor();
      },
    },
    keys: { address: '/jobs', async prepare(page) { await page.keyboard.press('?'); await page.getByRole('dialog').waitFor(); } },
  };
}

async function photograph(chromium, server, view, theme, size) {
  const context = await chromium.browser.newContext({ viewport: sizes[size], colorScheme: theme, baseURL: server.url, reducedMotion: 'reduce' });
  context.setDefaultTimeout(20_000);
  if (!view.isSignedOut) await context.addInitScript((token) => sessionStorage.setItem('weir.token', token), server.token);
  const page = await context.newPage();
  await page.goto(view.address);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await view.prepare?.(page);
  await new Promise((resolve) => setTimeout(resolve, 2500)); // figures and charts come
  if (view.isLong) {
    // All of it: as tall as what it holds, up to four screens.
    const height = await page.evaluate(() => document.querySelector('main').scrollHeight + (document.documentElement.scrollHeight - document.querySelector('main').clientHeight));
    await page.setViewportSize({ width: sizes[size].width, height: Math.min(height, 4 * sizes[size].height) });
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
  const picture = await webp(page);
  await context.close();
  return picture;
}

// Chromium makes WebP itself, a third of a PNG's size.
async function webp(page) {
  const debug = await page.context().newCDPSession(page);
  const { data } = await debug.send('Page.captureScreenshot', { format: 'webp', quality: 82 });
  return Buffer.from(data, 'base64');
}

const server = await WeirServer.start({ clusterFile: cluster });
const chromium = await Chromium.launch(['--force-color-profile=srgb']);
try {
  const shown = await play(server);
  console.log('the day has been played');
  const all = views(shown, simulations(server));
  mkdirSync(folder, { recursive: true });
  for (const file of readdirSync(folder)) rmSync(path.join(folder, file));
  let isDrained = false;
  for (const [name, view] of Object.entries(all)) {
    if (name === 'cluster' && !isDrained) {
      await server.call('/v1/nodes/cedar/drain', { method: 'POST' });
      isDrained = true;
    }
    for (const theme of ['light', 'dark'])
      for (const size of Object.keys(sizes)) writeFileSync(path.join(folder, `${name}-${theme}-${size}.webp`), await photograph(chromium, server, view, theme, size));
  }
  const files = readdirSync(folder);
  const bytes = files.reduce((sum, file) => sum + statSync(path.join(folder, file)).size, 0);
  console.log(`${files.length} pictures, ${(bytes / 1e6).toFixed(2)} MB, in ${path.relative(process.cwd(), folder)}`);
  if (bytes > most) throw new Error(`more than ${most / 1e6} MB`);
} finally {
  await chromium.close();
  await server.close();
}
