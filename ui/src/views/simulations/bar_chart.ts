// SPDX-License-Identifier: Apache-2.0
//
// One figure of each run as a bar, of one simulation or of two beside each other.
import { escaped } from '../../charts/chart_svg';
import type { Pairing } from './comparison';
import type { Metric } from './metrics';

export interface BarRow { label: string; place: string; a: number | null; b: number | null }

// Of the workload and the place only what tells the rows apart.
export function barRows(rows: readonly Pairing[], metric: Metric): BarRow[] {
  const isMany = (of: (row: Pairing) => string) => rows.some((row) => of(row) !== of(rows[0]));
  const hasWorkloads = isMany((row) => row.workload);
  const hasPlaces = isMany((row) => row.place);
  return rows.map((row) => ({
    label: row.label,
    place: [hasWorkloads ? row.workload : '', hasPlaces ? row.place : ''].filter(Boolean).join(', '),
    a: row.a?.figures[metric.key] ?? null,
    b: row.b?.figures[metric.key] ?? null,
  }));
}

export function fullLabel(row: BarRow): string {
  return row.place ? `${row.label}, ${row.place}` : row.label;
}

export function mostOf(rows: readonly BarRow[]): number {
  return rows.reduce((most, row) => Math.max(most, row.a ?? 0, row.b ?? 0), 0) || 1;
}

export function barsCsv(rows: readonly BarRow[], metric: Metric): string {
  const { key } = metric;
  const quoted = (text: string) => `"${(/^[=+\-@]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  return [`run,${key}_a,${key}_b`, ...rows.map((row) => [quoted(fullLabel(row)), row.a ?? '', row.b ?? ''].join(','))].join('\r\n') + '\r\n';
}

function shortened(text: string): string {
  return text.length > 30 ? `${text.slice(0, 29)}…` : text;
}

const width = 800;
const left = 200;
const barHeight = 14;

export interface Shape { kind: 'rect' | 'text'; x: number; y: number; width: number; height: number; text: string; colour: string; align: 'start' | 'end' }

// What a file of the chart has on it.
export function barShapes(rows: readonly BarRow[], metric: Metric, colourOf: (property: string) => string): { shapes: Shape[]; height: number } {
  const most = mostOf(rows);
  const shapes: Shape[] = [];
  const text = (x: number, y: number, content: string, align: 'start' | 'end', colour = '--text') => shapes.push({ kind: 'text', x, y, width: 0, height: 0, text: content, colour: colourOf(colour), align });
  text(12, 22, `${metric.title}: ${metric.better === 'neither' ? 'neither direction is better' : `${metric.better} is better`}`, 'start');
  let y = 40;
  for (const row of rows) {
    text(left - 10, y + barHeight - 3, shortened(fullLabel(row)), 'end');
    for (const [value, colour] of [[row.a, '--series-1'], [row.b, '--series-2']] as const) {
      if (value === null) continue;
      const wide = Math.max(0, (value / most) * (width - left - 110));
      shapes.push({ kind: 'rect', x: left, y, width: wide, height: barHeight, text: '', colour: colourOf(colour), align: 'start' });
      text(left + wide + 6, y + barHeight - 3, metric.text(value), 'start');
      y += barHeight + 3;
    }
    y += 8;
  }
  return { shapes, height: y + 8 };
}

export function barsSvg(rows: readonly BarRow[], metric: Metric, colourOf: (property: string) => string): string {
  const { shapes, height } = barShapes(rows, metric, colourOf);
  const drawn = shapes.map((shape) => (shape.kind === 'rect'
    ? `<rect x="${shape.x}" y="${shape.y}" width="${shape.width.toFixed(1)}" height="${shape.height}" fill="${escaped(shape.colour)}"/>`
    : `<text x="${shape.x.toFixed(1)}" y="${shape.y}" fill="${escaped(shape.colour)}" text-anchor="${shape.align}">${escaped(shape.text)}</text>`));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12"><rect width="${width}" height="${height}" fill="${escaped(colourOf('--surface'))}"/>${drawn.join('')}</svg>\n`;
}

export function barsPng(rows: readonly BarRow[], metric: Metric, colourOf: (property: string) => string, done: (blob: Blob) => void): void {
  const { shapes, height } = barShapes(rows, metric, colourOf);
  const canvas = document.createElement('canvas');
  canvas.width = width * 2;
  canvas.height = height * 2;
  const ctx = canvas.getContext('2d')!;
  ctx.scale(2, 2);
  ctx.fillStyle = colourOf('--surface');
  ctx.fillRect(0, 0, width, height);
  ctx.font = '12px system-ui, sans-serif';
  for (const shape of shapes) {
    ctx.fillStyle = shape.colour;
    ctx.textAlign = shape.align;
    if (shape.kind === 'rect') ctx.fillRect(shape.x, shape.y, shape.width, shape.height);
    else ctx.fillText(shape.text, shape.x, shape.y);
  }
  canvas.toBlob((blob) => { if (blob) done(blob); });
}
