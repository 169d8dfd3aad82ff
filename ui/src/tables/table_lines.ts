// SPDX-License-Identifier: Apache-2.0
//
// Which rows of a long table exist as elements, and which element (line) shows which row. Lines are used
// again: a row that stays in sight keeps its line, so scrolling writes only the rows that come into sight.
// Rows beyond the edges, which are there so that scrolling shows no gaps, wait when there is much to
// write, and lines are brought into the order of their rows when scrolling rests.

export interface TableLine {
  slot: number; // which element; never two the same
  row: number;
}

export interface Sight {
  first: number; // row in sight
  end: number; // after the last in sight
  from: number; // rows that shall exist: some more at either end
  to: number;
}

export function sightOf(view: { top: number; height: number; rowHeight: number; around: number; rows: number }): Sight {
  const inSight = Math.ceil(view.height / view.rowHeight) + 1;
  const first = Math.max(0, Math.min(Math.floor(view.top / view.rowHeight), view.rows - inSight));
  const end = Math.min(view.rows, first + inSight);
  return { first, end, from: Math.max(0, first - view.around), to: Math.min(view.rows, end + view.around) };
}

// All rows in sight, and of the others as many as `most` lines written allow. `held`: a row that keeps its line
// wherever it is (-1: none). The lines that stay are the same objects, and in the same order.
export function nextLines(before: readonly TableLine[], sight: Sight, most: number, held = -1): TableLine[] {
  const wanted = missingRows(before, sight, most);
  const spare = spareLines(before, sight, held);
  const lines = before.slice();
  for (const row of wanted) {
    const place = spare.pop();
    if (place === undefined) lines.push({ slot: freeSlot(lines), row });
    else lines[place] = { slot: lines[place].slot, row };
  }
  const enough = sight.to - sight.from + (isBeyond(held, sight) ? 1 : 0);
  const left = new Set(lines.length > enough ? spare.slice(enough - lines.length) : []);
  return left.size === 0 ? lines : lines.filter((_, place) => !left.has(place));
}

// Those in sight first, then the nearest.
function missingRows(lines: readonly TableLine[], sight: Sight, most: number): number[] {
  const shown = new Set(lines.map(({ row }) => row));
  const missing: number[] = [];
  for (let row = sight.first; row < sight.end; ++row) if (!shown.has(row)) missing.push(row);
  for (let away = 1; away <= Math.max(sight.to - sight.end, sight.first - sight.from); ++away) {
    for (const row of [sight.end - 1 + away, sight.first - away]) {
      if (missing.length < most && row >= sight.from && row < sight.to && !shown.has(row)) missing.push(row);
    }
  }
  return missing;
}

// Places of lines whose row need not exist, the farthest last.
function spareLines(lines: readonly TableLine[], sight: Sight, held: number): number[] {
  const distance = (row: number) => Math.max(sight.from - row, row - sight.to + 1);
  return lines.map((_, place) => place)
    .filter((place) => lines[place].row !== held && distance(lines[place].row) > 0)
    .sort((a, b) => distance(lines[a].row) - distance(lines[b].row));
}

function freeSlot(lines: readonly TableLine[]): number {
  const taken = new Set(lines.map(({ slot }) => slot));
  let slot = 0;
  while (taken.has(slot)) ++slot;
  return slot;
}

function isBeyond(row: number, { from, to }: Sight): boolean {
  return row >= 0 && (row < from || row >= to);
}

export function isComplete(lines: readonly TableLine[], sight: Sight): boolean {
  return missingRows(lines, sight, Infinity).length === 0;
}

// A reader who goes through the table without seeing it goes by this order.
export function inOrder(lines: readonly TableLine[]): TableLine[] {
  return lines.slice().sort((a, b) => a.row - b.row);
}
export function isInOrder(lines: readonly TableLine[]): boolean {
  return lines.every(({ row }, i) => i === 0 || lines[i - 1].row < row);
}

// The rows are others now: `count` of them came before those that are shown (negative: went), and there are
// `rows` in all.
export function afterInsertion(lines: readonly TableLine[], count: number, rows: number): TableLine[] {
  return lines.map((line) => (count === 0 ? line : { slot: line.slot, row: line.row + count })).filter(({ row }) => row >= 0 && row < rows);
}

// What was shown as row `from` is row `to` now, and keeps its line.
export function afterMove(lines: readonly TableLine[], from: number, to: number): TableLine[] {
  return lines.map((line) => (line.row === from ? { slot: line.slot, row: to } : line.row === to ? { slot: line.slot, row: from } : line));
}
