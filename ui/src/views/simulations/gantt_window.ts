// SPDX-License-Identifier: Apache-2.0
//
// The part of a chart of bars that is in sight: which bars it has, zooming, moving, and what lies under
// the pointer.
import type { Bars, Detail } from './simulation';

export interface TimeWindow { from: number; to: number }

// Finds the bars of a window without looking at all of them.
export class BarIndex {
  private readonly latest: Float64Array; // the latest end of a bar and all before it

  constructor(readonly bars: Bars) {
    this.latest = new Float64Array(bars.to.length);
    let latest = -Infinity;
    for (let i = 0; i < bars.to.length; ++i) this.latest[i] = latest = Math.max(latest, bars.to[i]);
  }

  // Positions from `first` up to, not including, `end`. Some in between may be over before it begins.
  within(window: TimeWindow): { first: number; end: number } {
    const first = lowest(this.latest.length, (i) => this.latest[i] > window.from);
    const end = lowest(this.bars.from.length, (i) => this.bars.from[i] >= window.to);
    return { first, end: Math.max(first, end) };
  }

  // The bar at a time and a row, -1 for none. Of several the last.
  at(time: number, row: number): number {
    const { bars } = this;
    const { first, end } = this.within({ from: time, to: time + 1e-9 });
    for (let i = end - 1; i >= first; --i) {
      if (bars.from[i] <= time && time < bars.to[i] && bars.row[i] <= row && row < bars.row[i] + bars.gpus[i]) return i;
    }
    return -1;
  }
}

// The first of 0 .. count for which it is true; it is true for all after it.
function lowest(count: number, isTrue: (i: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Nothing beyond the whole, nothing finer than a hundred-thousandth of it.
export function zoomed(window: TimeWindow, whole: TimeWindow, at: number, factor: number): TimeWindow {
  const length = whole.to - whole.from;
  const wanted = Math.min(length, Math.max(length / 1e5, (window.to - window.from) * factor));
  const share = (at - window.from) / (window.to - window.from || 1);
  return moved({ from: at - share * wanted, to: at + (1 - share) * wanted }, whole, 0);
}

export function moved(window: TimeWindow, whole: TimeWindow, by: number): TimeWindow {
  const length = Math.min(window.to - window.from, whole.to - whole.from);
  const from = Math.max(whole.from, Math.min(whole.to - length, window.from + by));
  return { from, to: from + length };
}

export interface NodeRow { row: number; rows: number; label: string }

export interface Rows { count: number; nodes: NodeRow[] }
const known = new WeakMap<Detail, Rows>(); // asked for with every move of the pointer

export function nodeRows(detail: Detail): Rows {
  let rows = known.get(detail);
  if (rows === undefined) known.set(detail, (rows = countedRows(detail)));
  return rows;
}

function countedRows(detail: Detail): Rows {
  const nodes: NodeRow[] = [];
  let count = 0;
  for (const pool of detail.pools) {
    for (let node = 0; node < pool.nodes && nodes.length < 20_000; ++node) nodes.push({ row: count + node * pool.stride, rows: pool.stride, label: `${pool.name} ${node + 1}` });
    count += pool.nodes * pool.stride;
  }
  const used = detail.bars.row.reduce((most, row, i) => Math.max(most, row + detail.bars.gpus[i]), 1);
  // A report draws 1024 rows at most: the rest would be empty.
  const shown = detail.isAll && count <= 1024 ? Math.max(count, used) : Math.min(Math.max(count, used), Math.max(used, 1));
  return { count: shown, nodes: nodes.filter((node) => node.row < shown) };
}
