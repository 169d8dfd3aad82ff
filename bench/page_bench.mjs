#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// What the page costs its reader, in a real Chromium: how soon it shows something, how much travels, whether it ever stands still
// while one filters and scrolls 10,000 jobs and GPUs, and whether it grows. Each figure has its limit beside it; one that is over
// makes the exit code 1.
//
//   bench/page_bench.mjs [--seconds 20] [--memory-seconds 600] [--loads 5] [--jobs 10000] [--gpus 10000] [--only PART...] [--view TEXT]
//
// Parts: load, tasks, memory. --view: of the tasks only those of an activity whose name has the text, for example "scrolling jobs".
// Needs build/release/bin/weir and page_server, Node, ui/node_modules and Chromium (exit code 77 without).
// The trace of the slowest part is kept in out/page-trace.json.gz; Chromium's DevTools and ui.perfetto.dev open it.
// The server with its load and this driver run at the lowest priority: a reader's machine has neither of them.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { parseArgs } from 'node:util';

const limits = {
  paint: 1000, // ms until the largest contentful paint, and until every part of the view is there
  weight: 400, // kB of the page, as it travels
  task: 50, // ms of the main thread at a time
  slope: 0.5, // MB a minute in the second half
  growth: 5, // % over the second half
  nodes: 5, // % more DOM nodes over the second half
};

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' }, 'memory-seconds': { type: 'string', default: '600' }, loads: { type: 'string', default: '5' },
    jobs: { type: 'string', default: '10000' }, gpus: { type: 'string', default: '10000' }, only: { type: 'string', multiple: true },
    view: { type: 'string', default: '' },
  },
});
const number = (name) => {
  const value = Number(options[name]);
  if (!Number.isInteger(value) || value < 1) fail(`--${name} is "${options[name]}", expected a whole number 1 or more`);
  return value;
};
const wants = (part) => !options.only || options.only.includes(part);
const isViewed = (name) => name.toLowerCase().includes(options.view.toLowerCase());

const root = path.resolve(path.dirname(new URL(import.meta.url).pathname), '..');
const programs = path.resolve(process.env.WEIR_BIN ?? path.join(root, 'build/release/bin'));
if (!existsSync(path.join(root, 'ui/node_modules/playwright-core'))) skip('ui/node_modules is not there (tools/install_page_deps.sh)');
const { Chromium, chromiumPath } = await import('../ui/e2e/harness/chromium.mjs');
const { WeirServer } = await import('../ui/e2e/harness/weir_server.mjs');
if (!existsSync(chromiumPath)) skip('Chromium is not installed (tools/install_deps.sh browser)');
for (const program of ['weir', 'page_server']) if (!existsSync(path.join(programs, program))) skip(`${path.join(programs, program)} is not built`);

let isOver = false;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

function row(what, figure, unit, limit, note = '') {
  const isMet = limit === undefined || figure <= limit;
  if (!isMet) isOver = true;
  const bound = limit === undefined ? '' : `limit ${limit} ${unit}${isMet ? '' : '  NOT MET'}`;
  console.log(`${what.padEnd(58)} ${`${format(figure)} ${unit}`.padStart(14)}   ${bound.padEnd(24)} ${note}`.trimEnd());
}
function format(value) { return Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 10 ? 2 : 1); }
function fail(text) {
  console.error(`page_bench: ${text}`);
  process.exit(2);
}
function skip(text) {
  console.log(`skipped: ${text}`);
  process.exit(77);
}

async function smallServer() {
  const server = await WeirServer.start({ cluster: '4x2xCPU' });
  for (let i = 0; i < 6; ++i) await server.submit({ name: `job-${i}`, command: 'sleep 600', gpus: 2 });
  return server;
}
async function busyServer(events) {
  const server = await WeirServer.start({ program: 'page_server', arguments_: ['--gpus', options.gpus, '--jobs', options.jobs, '--events', String(events)], patience: 300_000 });
  setPriority(server.process.pid, constants.priority.PRIORITY_LOW);
  return server;
}

// A window that is signed in before its first load.
async function openWindow(chromium, server, parts = []) {
  const context = await chromium.browser.newContext({ viewport: { width: 1440, height: 900 }, baseURL: server.url });
  context.setDefaultTimeout(60_000);
  await context.addInitScript(([origin, token, parts]) => {
    if (location.origin === origin) sessionStorage.setItem('weir.token', token);
    globalThis.seen = { paint: 0, largest: '', shown: 0, tasks: [] };
    new PerformanceObserver((list) => {
      for (const { startTime, element } of list.getEntries()) Object.assign(globalThis.seen, { paint: startTime, largest: element?.textContent?.slice(0, 40) ?? '' });
    }).observe({ type: 'largest-contentful-paint', buffered: true });
    new PerformanceObserver((list) => { for (const { startTime, duration } of list.getEntries()) globalThis.seen.tasks.push({ at: startTime, ms: duration }); }).observe({ type: 'longtask', buffered: true });
    // When all of these were there for the first time. Chromium counts the first text of an element only, so the largest paint alone
    // would not tell that a part came late.
    new MutationObserver((_, observer) => {
      if (!parts.every((part) => document.querySelector(part))) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => { globalThis.seen.shown = performance.now(); }));
    }).observe(document, { subtree: true, childList: true, attributes: true });
  }, [server.url, server.token, parts]);
  return context;
}

const views = {
  Overview: {
    address: '/', ready: (page) => page.getByRole('region', { name: 'Now' }).and(page.locator('[aria-busy=false]')),
    parts: ['[aria-label=Now][aria-busy=false]', '.lists li', '[role=log] li', '.history[aria-busy=false]'],
  },
  Jobs: { address: '/jobs', ready: (page) => page.getByRole('table', { name: 'Jobs' }).getByRole('link').first(), parts: ['[aria-label=Jobs] a'] },
};

async function measureLoads(chromium, server, name) {
  for (const [view, { address, ready, parts }] of Object.entries(views)) {
    const paints = [];
    const shown = [];
    let weight, tasks, largest;
    for (let load = 0; load < number('loads'); ++load) {
      const context = await openWindow(chromium, server, parts);
      const page = await context.newPage();
      weight = await watchWeight(context, page);
      await page.goto(address);
      await ready(page).waitFor();
      await pause(1500); // a larger paint would come by then
      const seen = await page.evaluate(() => globalThis.seen);
      if (seen.shown === 0) fail(`${view} has not shown all of ${parts.join(', ')}`);
      paints.push(seen.paint);
      shown.push(seen.shown);
      ({ tasks, largest } = seen);
      await context.close();
    }
    row(`largest contentful paint, ${view}, ${name}`, median(paints), 'ms', limits.paint, `of ${paints.map((ms) => Math.round(ms)).join(', ')}; at last "${largest}"`);
    row(`  all parts shown, ${view}`, median(shown), 'ms', limits.paint, `of ${shown.map((ms) => Math.round(ms)).join(', ')}`);
    row(`  page weight, ${view}`, weight.page() / 1000, 'kB', limits.weight, `${weight.requests()} requests; API on first load ${format(weight.api() / 1000)} kB`);
    row(`  longest task while loading`, Math.max(0, ...tasks.map(({ ms }) => ms)), 'ms');
    if (weight.page() === 0) fail('no bytes of the page were seen');
  }
}

// Bytes as they travel, headers included, by what they are of.
async function watchWeight(context, page) {
  const debug = await context.newCDPSession(page);
  await debug.send('Network.enable');
  const addresses = new Map();
  const bytes = new Map();
  debug.on('Network.requestWillBeSent', ({ requestId, request }) => addresses.set(requestId, new URL(request.url).pathname));
  debug.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => bytes.set(requestId, encodedDataLength));
  const sum = (isWanted) => [...bytes].filter(([id]) => isWanted(addresses.get(id) ?? '')).reduce((total, [, size]) => total + size, 0);
  const isApi = (address) => address.startsWith('/v1');
  return { page: () => sum((address) => !isApi(address)), api: () => sum(isApi), requests: () => addresses.size };
}

// What a person does, for so long; each works until `until` (ms since 1970).
const activities = {
  'typing in the filter of Jobs': {
    address: '/jobs', ready: views.Jobs.ready,
    async run(page, until) {
      const search = page.getByLabel('Search jobs by name or id');
      const words = ['bert', 'sweep 1', 'resnet', 'no such job', '99', 'gpt fine'];
      for (let i = 0; Date.now() < until; ++i) {
        await search.click();
        await page.keyboard.type(words[i % words.length], { delay: 70 });
        await pause(200);
        await page.keyboard.press('Escape');
      }
    },
  },
  'scrolling Jobs': { address: '/jobs', ready: views.Jobs.ready, run: (page, until) => scroll(page, until, page.getByRole('table', { name: 'Jobs' })) },
  'scrolling the map of Cluster': {
    address: '/cluster?cell=14', ready: (page) => page.getByRole('application', { name: /^Map/ }),
    run: (page, until) => scroll(page, until, page.getByRole('application', { name: /^Map/ })),
  },
  'scrolling the table of Cluster': {
    address: '/cluster?as=table', ready: (page) => page.getByRole('table', { name: 'Nodes' }).getByRole('link').first(),
    run: (page, until) => scroll(page, until, page.getByRole('table', { name: 'Nodes' })),
  },
  'watching the Overview': { address: '/', ready: views.Overview.ready, run: (_page, until) => pause(until - Date.now()) },
};

async function scroll(page, until, box) {
  await box.hover();
  let moved = 0;
  for (let step = 0; Date.now() < until; ++step) {
    const before = await box.evaluate((element) => element.scrollTop);
    await page.mouse.wheel(0, step % 60 < 40 ? 700 : -1000);
    await pause(40);
    moved += Math.abs((await box.evaluate((element) => element.scrollTop)) - before);
  }
  if (moved < 1000) fail('nothing was scrolled');
}

async function measureTasks(chromium, events) {
  const server = await busyServer(events);
  let slowest = { ms: -1 };
  try {
    for (const [name, { address, ready, run }] of Object.entries(activities)) {
      if (!isViewed(name)) continue;
      const context = await openWindow(chromium, server);
      const page = await context.newPage();
      await page.goto(address);
      await ready(page).waitFor();
      await allLoaded(page, server);
      const records = await recordsSoFar(server);
      const began = Date.now();
      const from = await page.evaluate(() => performance.now());
      await chromium.browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'blink.user_timing', '__metadata'] });
      await run(page, began + number('seconds') * 1000);
      const trace = await chromium.browser.stopTracing();
      const tasks = (await page.evaluate(() => globalThis.seen.tasks)).filter(({ at }) => at >= from);
      const traced = longestTask(JSON.parse(trace.toString('utf8')));
      const rate = ((await recordsSoFar(server)) - records) / ((Date.now() - began) / 1000);
      const ms = Math.max(traced.ms, ...tasks.map((task) => task.ms));
      if (ms > slowest.ms) slowest = { ms, trace };
      row(`longest task, ${name}, ${events} events/s`, ms, 'ms', limits.task, `${tasks.length} over 50 ms; ${traced.tasks} tasks; at most ${traced.cpu.toFixed(1)} ms of CPU; ${Math.round(rate)} records/s came`);
      if (traced.tasks === 0) fail('the trace has no tasks');
      await context.close();
    }
  } finally {
    await server.close();
  }
  return slowest;
}

// Until older jobs are there, too: what is measured is using the page, not opening it.
async function allLoaded(page, server) {
  const { total } = await server.get('/v1/overview').then(({ phases }) => ({ total: Object.values(phases).reduce((sum, count) => sum + count, 0) }));
  if (total < number('jobs') / 2) fail(`page_server has ${total} jobs`);
  await page.waitForFunction(() => !document.body.innerText.includes('being loaded'));
  await pause(2000);
}

// The number of the record that is made next: events carry it as their id.
async function recordsSoFar(server) {
  const reader = (await server.call('/v1/events')).body.getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) fail('the events ended');
    text += Buffer.from(value).toString('utf8');
    const found = /^id: ?(\d+)$/m.exec(text);
    if (!found) continue;
    await reader.cancel();
    return Number(found[1]);
  }
}

// Of the page's main thread: the one with the most tasks among the renderers' main threads.
function longestTask({ traceEvents }) {
  const mains = new Set(traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain').map(({ pid, tid }) => `${pid}/${tid}`));
  const found = { ms: 0, cpu: 0, tasks: 0 };
  for (const { name, ph, dur = 0, tdur = 0, pid, tid } of traceEvents) {
    if (name !== 'ThreadControllerImpl::RunTask' && name !== 'RunTask') continue;
    if (ph !== 'X' || !mains.has(`${pid}/${tid}`)) continue;
    ++found.tasks;
    found.ms = Math.max(found.ms, dur / 1000);
    found.cpu = Math.max(found.cpu, tdur / 1000); // of any task: what it would take on a machine that does nothing else
  }
  return found;
}

// From view to view, as a page that is left open and used now and then; measured on the overview.
async function measureMemory(chromium, events) {
  const server = await busyServer(events);
  try {
    const context = await openWindow(chromium, server);
    const page = await context.newPage();
    const debug = await context.newCDPSession(page);
    await page.goto('/');
    await views.Overview.ready(page).waitFor();
    await allLoaded(page, server);
    const whole = number('memory-seconds') * 1000;
    const every = Math.max(9000, Math.min(30_000, whole / 6));
    const samples = [];
    const began = Date.now();
    const records = await recordsSoFar(server);
    while (Date.now() - began < whole) {
      const end = began + (samples.length + 1) * every;
      const jobs = await visit(page, every / 3);
      await page.keyboard.press('g');
      await page.keyboard.press('o');
      await views.Overview.ready(page).waitFor();
      await pause(end - Date.now());
      samples.push({ minute: (Date.now() - began) / 60_000, jobs, ...(await memoryOf(debug)) });
      const { minute, heap, nodes, listeners } = samples.at(-1);
      console.log(`  ${minute.toFixed(1).padStart(5)} min  heap ${heap.toFixed(1)} MB, ${nodes} DOM nodes, ${listeners} listeners, ${jobs} jobs known`);
    }
    const rate = ((await recordsSoFar(server)) - records) / ((Date.now() - began) / 1000);
    const half = samples.slice(Math.floor(samples.length / 2));
    row(`heap, slope over the second half, ${events} events/s`, slope(half), 'MB/min', limits.slope, `${samples.length} samples in ${Math.round(whole / 60_000)} min; ${Math.round(rate)} records/s came`);
    row('heap, growth over the second half', 100 * (half.at(-1).heap / half[0].heap - 1), '%', limits.growth, `${half[0].heap.toFixed(1)} to ${half.at(-1).heap.toFixed(1)} MB`);
    row('heap, last minus second minute', half.at(-1).heap - (samples.find(({ minute }) => minute >= 2) ?? samples[0]).heap, 'MB', undefined, 'the list of jobs may fill up to 20,000');
    row('DOM nodes, growth over the second half', 100 * (half.at(-1).nodes / half[0].nodes - 1), '%', limits.nodes);
    await context.close();
  } finally {
    await server.close();
  }
}

async function visit(page, ms) {
  await page.keyboard.press('g');
  await page.keyboard.press('j');
  const status = page.locator('.page-head [role=status]');
  await views.Jobs.ready(page).waitFor();
  await pause(ms);
  const jobs = Number((await status.innerText()).replace(/jobs?[^]*/, '').replace(/\D/g, ''));
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await page.getByRole('application', { name: /^Map/ }).waitFor();
  await pause(ms);
  return jobs;
}

async function memoryOf(debug) {
  for (let i = 0; i < 2; ++i) await debug.send('HeapProfiler.collectGarbage');
  const { usedSize } = await debug.send('Runtime.getHeapUsage');
  const { nodes, jsEventListeners } = await debug.send('Memory.getDOMCounters');
  return { heap: usedSize / 1e6, nodes, listeners: jsEventListeners };
}

// Least squares, in MB a minute.
function slope(samples) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const x = mean(samples.map(({ minute }) => minute));
  const y = mean(samples.map(({ heap }) => heap));
  const above = samples.reduce((sum, { minute, heap }) => sum + (minute - x) * (heap - y), 0);
  const below = samples.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0);
  return below === 0 ? 0 : above / below;
}

if (!Object.keys(activities).some(isViewed)) fail(`--view is "${options.view}", expected a part of one of: ${Object.keys(activities).join('; ')}`);
const chromium = await Chromium.launch();
setPriority(constants.priority.PRIORITY_LOW); // this process only; Chromium has started
try {
  console.log(`Chromium ${chromium.browser.version()}, window 1440x900; page_server: ${options.gpus} GPUs, ${options.jobs} jobs`);
  if (wants('load')) {
    for (const [start, name] of [[smallServer, 'weir serve with 6 jobs'], [() => busyServer(100), `${options.jobs} jobs, 100 events/s`]]) {
      const server = await start();
      try {
        await measureLoads(chromium, server, name);
      } finally {
        await server.close();
      }
    }
  }
  if (wants('tasks')) {
    let slowest = { ms: -1 };
    for (const events of [100, 500]) {
      const found = await measureTasks(chromium, events);
      if (found.ms > slowest.ms) slowest = found;
    }
    mkdirSync(path.join(root, 'out'), { recursive: true });
    writeFileSync(path.join(root, 'out/page-trace.json.gz'), gzipSync(slowest.trace));
    console.log('trace of the slowest part: out/page-trace.json.gz');
  }
  if (wants('memory')) await measureMemory(chromium, 500);
} finally {
  await chromium.close();
}
process.exit(isOver ? 1 : 0);
