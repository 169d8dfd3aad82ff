// SPDX-License-Identifier: Apache-2.0
//
// Debian's Chromium, kept at home: it can find no other machine, and it notes every request that leaves it
// (a net log), whichever part of the page made it.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';

export const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';

const flags = [
  '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--disable-default-apps', '--disable-domain-reliability', '--no-pings', '--no-default-browser-check',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
];

export class Chromium {
  static async launch(more = []) {
    const folder = mkdtempSync(path.join(tmpdir(), 'weir-chromium-'));
    const netLog = path.join(folder, 'net.json');
    const browser = await chromium.launch({ executablePath: chromiumPath, args: [...flags, `--log-net-log=${netLog}`, ...more] });
    return new Chromium(browser, folder, netLog);
  }

  constructor(browser, folder, netLog) {
    this.browser = browser;
    this.folder = folder;
    this.netLog = netLog;
  }

  // Gives the addresses of all requests that pages have made in it.
  async close() {
    await this.browser.close();
    const requests = existsSync(this.netLog) ? requestsIn(readFileSync(this.netLog, 'utf8')) : null;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    return requests;
  }
}

// The page's requests: those that a page has caused, and whole pages. Chromium's own (is there an update? what
// time is it?) are not. One event per line.
export function requestsIn(netLog) {
  const found = new Set();
  for (const line of netLog.split('\n')) {
    if (!line.includes('"initiator"')) continue;
    const { initiator, request_type: type, url } = JSON.parse(line.replace(/,\s*$/, '').replace(/\]\}$/, '')).params;
    if (initiator !== 'not an origin' || type !== 'other') found.add(url);
  }
  return [...found];
}
