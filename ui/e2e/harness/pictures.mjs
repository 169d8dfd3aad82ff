// SPDX-License-Identifier: Apache-2.0
//
// Pictures of views: light and dark, wide and narrow.
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const sizes = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } };

// `views`: by name, each with an address; prepare(page) before the picture; isLong: all of it; isSignedOut. Files in the folder
// that `isOurs` are replaced.
export async function takePictures(chromium, server, views, { folder, isOurs, mostBytes }) {
  mkdirSync(folder, { recursive: true });
  for (const file of readdirSync(folder).filter(isOurs)) rmSync(path.join(folder, file));
  const kinds = ['light', 'dark'].flatMap((theme) => Object.keys(sizes).map((size) => [theme, size]));
  for (const [name, view] of Object.entries(views))
    await Promise.all(kinds.map(async ([theme, size]) => writeFileSync(path.join(folder, `${name}-${theme}-${size}.webp`), await photograph(chromium, server, view, theme, size))));
  const files = readdirSync(folder).filter(isOurs);
  const bytes = files.reduce((sum, file) => sum + statSync(path.join(folder, file)).size, 0);
  console.log(`${files.length} pictures, ${(bytes / 1e6).toFixed(2)} MB, in ${path.relative(process.cwd(), folder)}`);
  if (bytes > mostBytes) throw new Error(`more than ${mostBytes / 1e6} MB`);
}

async function photograph(chromium, server, view, theme, size) {
  const context = await chromium.browser.newContext({ viewport: sizes[size], colorScheme: theme, baseURL: server.url, reducedMotion: 'reduce' });
  context.setDefaultTimeout(60_000);
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
  const { data } = await debug.send('Page.captureScreenshot', { format: 'webp', quality: 70 });
  return Buffer.from(data, 'base64');
}
