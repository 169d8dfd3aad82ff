// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// What axe-core finds on the page as it is: { serious, other }, each as lines. Runs in the page's world by way of the debugger,
// which the Content-Security-Policy does not stop.
export async function axeFindings(page) {
  await page.evaluate(source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const found = { serious: [], other: [] };
  for (const { id, impact, help, nodes } of violations) {
    const lines = nodes.map((node) => `${impact} ${id}: ${help}: ${node.target.join(' ')} ${node.html.slice(0, 160)}${why(node)}`);
    (impact === 'serious' || impact === 'critical' ? found.serious : found.other).push(...lines);
  }
  return found;
}

function why(node) {
  const { fgColor, bgColor, contrastRatio } = node.any[0]?.data ?? {};
  return contrastRatio ? ` (${fgColor} on ${bgColor}: ${contrastRatio})` : '';
}
