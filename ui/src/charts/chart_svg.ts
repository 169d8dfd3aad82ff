// SPDX-License-Identifier: Apache-2.0
//
// A chart as an SVG file, for papers and slides: light, without the page around it.
import { figureText } from '../text/numbers';
import { timeRange, valueRange, type ChartSpec, type Series } from './chart_spec';
import { timeTickText, timeTicks, valueTicks } from './ticks';

const width = 800;
const height = 320;
const margin = { left: 64, right: 16, top: 40, bottom: 56 };

export type ColourOf = (property: string) => string;

export function chartSvg(spec: ChartSpec, colourOf: ColourOf): string {
  const [from, to] = timeRange(spec);
  const range = valueRange(spec);
  const scaled = (value: number) => (spec.isLogarithmic ? Math.log10(value) : value);
  const [least, most] = [scaled(range[0]), scaled(range[1])];
  const x = (at: number) => margin.left + ((at - from) / (to - from)) * (width - margin.left - margin.right);
  const y = (value: number) => height - margin.bottom - ((scaled(value) - least) / (most - least)) * (height - margin.top - margin.bottom);
  const parts: string[] = [];

  for (const band of spec.bands ?? []) {
    const left = x(Math.max(from, band.from));
    parts.push(`<rect x="${left.toFixed(1)}" y="${margin.top}" width="${Math.max(0, x(Math.min(to, band.to)) - left).toFixed(1)}" height="${height - margin.top - margin.bottom}" fill="${escaped(colourOf(band.colour))}"/>`);
  }
  const values = spec.isLogarithmic ? powersOfTen(range[0], range[1]) : valueTicks(range[0], range[1], 5);
  for (const tick of values) {
    parts.push(`<line x1="${margin.left}" x2="${width - margin.right}" y1="${y(tick).toFixed(1)}" y2="${y(tick).toFixed(1)}" stroke="#e2e6ea"/>`,
      text(margin.left - 8, y(tick) + 4, figureText(tick), 'end'));
  }
  const times = timeTicks(from, to, 7, spec.isElapsed);
  const step = times.length > 1 ? times[1] - times[0] : to - from;
  for (const tick of times) parts.push(text(x(tick), height - margin.bottom + 18, timeTickText(tick, step, spec.isElapsed), 'middle'));
  for (const mark of spec.marks ?? []) {
    if (mark.at < from || mark.at > to) continue;
    parts.push(`<line x1="${x(mark.at).toFixed(1)}" x2="${x(mark.at).toFixed(1)}" y1="${margin.top}" y2="${height - margin.bottom}" stroke="${escaped(colourOf(mark.colour))}" stroke-dasharray="4 3"/>`,
      text(x(mark.at) - 4, margin.top + 12, mark.label, 'end'));
  }
  for (const series of spec.series) parts.push(...drawn(series, spec, x, y, colourOf));
  let left = margin.left;
  for (const series of spec.series) {
    parts.push(`<rect x="${left}" y="${height - 22}" width="14" height="4" fill="${escaped(colourOf(series.colour))}"/>`, text(left + 20, height - 16, series.label, 'start'));
    left += 40 + series.label.length * 7;
  }
  const title = spec.title + (spec.unit ? ` (${spec.unit})` : '');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#333">` +
    `<rect width="${width}" height="${height}" fill="#fff"/><text x="${margin.left}" y="24" font-size="15" font-weight="600">${escaped(title)}</text>${parts.join('')}</svg>\n`;
}

function drawn(series: Series, spec: ChartSpec, x: (at: number) => number, y: (value: number) => number, colourOf: ColourOf): string[] {
  const colour = escaped(colourOf(series.colour));
  const known = spec.at.map((at, i) => ({ at, value: series.values[i] ?? null }));
  const isShown = (value: number | null): value is number => value !== null && Number.isFinite(value) && !(spec.isLogarithmic && value <= 0);
  if (series.isPoints) {
    return known.filter(({ value }) => isShown(value)).map(({ at, value }) => `<circle cx="${x(at).toFixed(1)}" cy="${y(value as number).toFixed(1)}" r="2" fill="${colour}"/>`);
  }
  let path = '';
  let before: number | null = null;
  for (const { at, value } of known) {
    if (isShown(value)) {
      if (before === null) path += `M${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      else path += (series.isStep ? `H${x(at).toFixed(1)}V` : `L${x(at).toFixed(1)} `) + y(value).toFixed(1);
      before = value;
    } else {
      before = null;
    }
  }
  return [`<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.8"${series.isDashed ? ' stroke-dasharray="6 4"' : ''}/>`];
}

function powersOfTen(least: number, most: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.ceil(Math.log10(least)); power <= Math.log10(most); ++power) ticks.push(10 ** power);
  return ticks.length > 0 ? ticks : [least, most];
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

export function escaped(content: string): string {
  return content.replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c] as string);
}
