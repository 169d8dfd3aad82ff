// SPDX-License-Identifier: Apache-2.0
//
// Draws the bars in sight: on a canvas, or as an SVG file.
import { escaped } from '../../charts/chart_svg';
import { timeTicks, timeTickText } from '../../charts/ticks';
import { nodeRows, type BarIndex, type TimeWindow } from './gantt_window';
import type { Detail } from './simulation';

export const margins = { left: 84, right: 10, top: 8, bottom: 26 };
const jobColours = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5'];

export interface Scene {
  detail: Detail;
  index: BarIndex;
  window: TimeWindow;
  width: number;
  height: number;
  chosen: number; // a bar, or -1
  colourOf: (property: string) => string;
}

interface Paper {
  rect(x: number, y: number, width: number, height: number, colour: string, opacity: number): void;
  line(x1: number, y1: number, x2: number, y2: number, colour: string, isDashed?: boolean): void;
  text(x: number, y: number, content: string, colour: string, align: 'left' | 'right' | 'center'): void;
  frame(x: number, y: number, width: number, height: number, colour: string): void;
}

export function scale({ detail, window, width, height }: Scene) {
  const { count, nodes } = nodeRows(detail);
  const inner = { width: width - margins.left - margins.right, height: height - margins.top - margins.bottom };
  return {
    count, nodes,
    x: (time: number) => margins.left + ((time - window.from) / (window.to - window.from || 1)) * inner.width,
    y: (row: number) => margins.top + (row / count) * inner.height,
    time: (x: number) => window.from + ((x - margins.left) / inner.width) * (window.to - window.from),
    row: (y: number) => ((y - margins.top) / inner.height) * count,
  };
}

export function draw(scene: Scene, paper: Paper): void {
  const { detail, window, width, height, colourOf } = scene;
  const { bars } = detail;
  const { x, y, count, nodes } = scale(scene);
  const [left, right, bottom] = [margins.left, width - margins.right, height - margins.bottom];
  const rowHeight = y(1) - y(0);
  const muted = colourOf('--muted');

  let labelled = -Infinity;
  for (const node of nodes) {
    if (node.rows * rowHeight >= 4 || node.row === 0) paper.line(left, y(node.row), right, y(node.row), colourOf('--grid'));
    const middle = y(node.row + node.rows / 2);
    if (middle - labelled < 14) continue;
    paper.text(left - 8, middle + 4, node.label, muted, 'right');
    labelled = middle;
  }
  paper.line(left, bottom, right, bottom, colourOf('--line-strong'));

  const { first, end } = scene.index.within(window);
  // Of each row, up to where it is drawn: what is finer than a pixel is drawn once.
  const covered = new Float64Array(count + 1).fill(-Infinity);
  for (let i = first; i < end; ++i) {
    const row = bars.row[i];
    if (row >= count || bars.to[i] <= window.from) continue;
    const from = Math.max(left, x(bars.from[i]));
    const to = Math.min(right, x(bars.to[i]));
    if (to <= covered[row] + 1) continue;
    covered[row] = to;
    const job = detail.jobs[bars.job[i]];
    const hasPromise = job.answer === 'promised';
    const colour = hasPromise ? colourOf(jobColours[bars.job[i] % jobColours.length]) : muted;
    const top = y(row);
    const high = Math.max(0.75, rowHeight * Math.min(bars.gpus[i], count - row) - (rowHeight > 3 ? 1 : 0));
    const wide = Math.max(0.6, to - from - (to - from > 3 ? 0.5 : 0));
    const isKnown = bars.promised[i] >= 0;
    paper.rect(from, top, wide, high, colour, !isKnown && hasPromise ? 0.85 : 0.32);
    if (isKnown && bars.promised[i] > 0) paper.rect(from, top, wide, Math.min(high, rowHeight * bars.promised[i]), colour, 0.85);
    if (high >= 11 && wide > job.name.length * 6.3 + 8) paper.text(from + 4, top + Math.min(high, 18) / 2 + 4, job.name, colourOf(!isKnown && hasPromise || bars.promised[i] * rowHeight > 11 ? '--surface' : '--text'), 'left');
  }
  if (scene.chosen >= 0) drawChosen(scene, paper);

  const ticks = timeTicks(window.from, window.to, Math.max(2, (right - left) / 110), true);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  for (const tick of ticks) {
    paper.line(x(tick), bottom, x(tick), bottom + 4, colourOf('--line-strong'));
    if (x(tick) < right - 12) paper.text(x(tick), bottom + 17, timeTickText(tick, step, true), muted, 'center');
  }
}

function drawChosen({ detail, window, chosen, width, height, colourOf, ...scene }: Scene, paper: Paper): void {
  const { bars } = detail;
  const { x, y } = scale({ detail, window, chosen, width, height, colourOf, ...scene });
  const from = Math.max(margins.left, x(bars.from[chosen]));
  const to = Math.min(width - margins.right, x(bars.to[chosen]));
  if (to > from) paper.frame(from, y(bars.row[chosen]), Math.max(2, to - from), Math.max(2, y(bars.row[chosen] + bars.gpus[chosen]) - y(bars.row[chosen])), colourOf('--text'));
  const { deadline } = detail.jobs[bars.job[chosen]];
  if (deadline !== null && deadline >= window.from && deadline <= window.to) paper.line(x(deadline), margins.top, x(deadline), height - margins.bottom, colourOf('--bad'), true);
}

export function canvasPaper(ctx: CanvasRenderingContext2D): Paper {
  ctx.font = '11px system-ui, sans-serif';
  return {
    rect(x, y, width, height, colour, opacity) {
      ctx.globalAlpha = opacity;
      ctx.fillStyle = colour;
      ctx.fillRect(x, y, width, height);
      ctx.globalAlpha = 1;
    },
    line(x1, y1, x2, y2, colour, isDashed = false) {
      ctx.strokeStyle = colour;
      ctx.setLineDash(isDashed ? [4, 3] : []);
      ctx.beginPath();
      ctx.moveTo(x1, y1);
      ctx.lineTo(x2, y2);
      ctx.stroke();
    },
    text(x, y, content, colour, align) {
      ctx.fillStyle = colour;
      ctx.textAlign = align;
      ctx.fillText(content, x, y);
    },
    frame(x, y, width, height, colour) {
      ctx.strokeStyle = colour;
      ctx.setLineDash([]);
      ctx.lineWidth = 1.5;
      ctx.strokeRect(x, y, width, height);
      ctx.lineWidth = 1;
    },
  };
}

export function ganttSvg(scene: Scene): string {
  const parts: string[] = [];
  const n = (value: number) => value.toFixed(1);
  const anchors = { left: 'start', right: 'end', center: 'middle' } as const;
  draw(scene, {
    rect: (x, y, width, height, colour, opacity) => { parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" fill="${escaped(colour)}" fill-opacity="${opacity}"/>`); },
    line: (x1, y1, x2, y2, colour, isDashed) => { parts.push(`<line x1="${n(x1)}" y1="${n(y1)}" x2="${n(x2)}" y2="${n(y2)}" stroke="${escaped(colour)}"${isDashed ? ' stroke-dasharray="4 3"' : ''}/>`); },
    text: (x, y, content, colour, align) => { parts.push(`<text x="${n(x)}" y="${n(y)}" fill="${escaped(colour)}" text-anchor="${anchors[align]}">${escaped(content)}</text>`); },
    frame: (x, y, width, height, colour) => { parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" fill="none" stroke="${escaped(colour)}"/>`); },
  });
  const { width, height } = scene;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="11">` +
    `<title>${escaped(`Who had which GPUs when: ${scene.detail.name}`)}</title><rect width="${width}" height="${height}" fill="${escaped(scene.colourOf('--surface'))}"/>${parts.join('')}</svg>\n`;
}
