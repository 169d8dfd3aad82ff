// SPDX-License-Identifier: Apache-2.0
//
// One test of the page: a server of its own, a browser window of its own, and at the end the things that
// must hold for every page: no error in the console, nothing that the Content-Security-Policy had to
// stop, no request to anybody else, no script that came with a text.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Chromium } from './chromium.mjs';
import { patience } from './waiting.mjs';
import { root, WeirServer } from './weir_server.mjs';

const wide = { width: 1440, height: 900 };
const longest = 90_000; // ms for one test
const kept = path.join(root, 'out/page-tests'); // what failed tests leave

let chromium;
const origins = new Set();

before(async () => { chromium = await Chromium.launch(); });
after(async () => {
  const requests = await chromium.close();
  if (requests === null) throw new Error('Chromium has kept no log of its requests');
  const foreign = requests.filter((address) => !origins.has(new URL(address).origin));
  assert.deepEqual(foreign, [], 'requests that left the origin');
  assert.ok(requests.length > 0, 'the log of requests is empty');
});

// `settings`: cluster and arguments_ of the server; isSignedIn (default true); statuses: HTTP errors that
// are part of the test; losesServer: failed requests are; viewport, colorScheme: of the window.
export function pageTest(name, settings, body) {
  test(name, async () => {
    const server = await WeirServer.start(settings);
    try {
      await withPage(server, name, settings, (page, browsing) => body({ server, page, browsing }));
    } finally {
      await server.close();
    }
  });
}

// A window on a server that runs; for tests that share one.
export async function withPage(server, name, settings, body) {
  origins.add(server.url);
  const context = await chromium.browser.newContext({
    viewport: settings.viewport ?? wide, colorScheme: settings.colorScheme ?? 'light', baseURL: server.url, acceptDownloads: true,
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(patience);
  await context.tracing.start({ screenshots: false, snapshots: true });
  const browsing = new Browsing(server, settings);
  await browsing.watch(context);
  const page = await context.newPage();
  try {
    await inTime((async () => {
      if (settings.isSignedIn !== false) await signIn(page, server);
      await body(page, browsing);
      await browsing.check(page);
    })(), settings.timeout ?? longest);
    await context.tracing.stop();
  } catch (error) {
    await keepTraces(context, page, name);
    error.message += `\n  at ${page.url()}; ${browsing.summary()}\n  more in ${path.relative(root, kept)}`;
    throw error;
  } finally {
    await context.close();
  }
}

// The link that `weir dashboard` prints, then, if wanted, another view.
export async function signIn(page, server, address = '/') {
  await page.goto(`/#token=${server.token}`);
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
  if (address !== '/') await page.goto(address);
}

class Browsing {
  constructor(server, { statuses = [], losesServer = false, consoleErrors = [] }) {
    this.origin = server.url;
    this.statuses = statuses;
    this.losesServer = losesServer;
    this.consoleErrors = consoleErrors; // expected, as regular expressions
    this.faults = [];
    this.requests = 0;
  }

  async watch(context) {
    await context.exposeBinding('reportViolation', (_source, text) => this.faults.push(`Content-Security-Policy: ${text}`));
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => globalThis.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile ?? ''}:${event.lineNumber}`));
    });
    context.on('request', (request) => this.see(request.url()));
    context.on('response', (answer) => {
      if (answer.status() >= 400 && !this.statuses.includes(answer.status()) && !isLogToCome(answer))
        this.faults.push(`${answer.status()} for ${answer.request().method()} ${answer.url()}`);
    });
    context.on('requestfailed', (request) => {
      const why = request.failure()?.errorText ?? '';
      if (why !== 'net::ERR_ABORTED' && !this.losesServer) this.faults.push(`${why} for ${request.url()}`);
    });
    context.on('console', (message) => this.hear(message));
    context.on('weberror', (error) => this.faults.push(`thrown: ${error.error().stack ?? error.error()}`));
    context.on('dialog', (dialog) => {
      this.faults.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    context.on('page', (page) => page.on('websocket', (socket) => this.see(socket.url())));
  }

  see(address) {
    ++this.requests;
    const { origin, protocol } = new URL(address);
    if (origin !== this.origin && protocol !== 'data:' && protocol !== 'blob:') this.faults.push(`a request to ${address}`);
  }

  hear(message) {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    // The browser's own note on an answer; `response` and `requestfailed` judge those.
    if (message.text().startsWith('Failed to load resource:')) return;
    if (this.losesServer && /net::ERR_/.test(message.text())) return;
    if (this.consoleErrors.some((expected) => expected.test(message.text()))) return;
    this.faults.push(`console: ${message.text()} (${message.location().url}:${message.location().lineNumber})`);
  }

  async check(page) {
    assert.deepEqual(this.faults, [], 'faults that the browser saw');
    assert.equal(await page.evaluate(() => globalThis.__injected), undefined, 'a script that came with a text ran');
    assert.ok(this.requests > 0, 'no request was seen');
  }

  summary() {
    return `${this.requests} requests, faults: ${this.faults.length ? `\n    ${this.faults.join('\n    ')}` : 'none'}`;
  }
}

// The page asks for the log of a run that has not begun until there is one.
function isLogToCome(answer) {
  return answer.status() === 404 && /\/v1\/jobs\/[^/]+\/logs\?/.test(answer.url());
}

async function keepTraces(context, page, name) {
  const place = path.join(kept, name.replaceAll(/[^A-Za-z0-9]+/g, '-'));
  try {
    mkdirSync(kept, { recursive: true });
    await page.screenshot({ path: `${place}.png`, timeout: 5000 });
    await context.tracing.stop({ path: `${place}.zip` });
  } catch (error) {
    console.error(`no picture of the failure: ${error.message}`);
  }
}

async function inTime(work, ms) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`not done after ${ms / 1000} s`)), ms); });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
