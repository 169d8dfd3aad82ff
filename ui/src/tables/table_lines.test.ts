// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { afterInsertion, afterMove, inOrder, isComplete, isInOrder, nextLines, sightOf, type Sight, type TableLine } from './table_lines';

const rowHeight = 37;
const sightAt = (row: number, rows = 10_000, height = 700) => sightOf({ top: row * rowHeight, height, rowHeight, around: 4, rows });
const rowsOf = (lines: readonly TableLine[]) => lines.map(({ row }) => row).sort((a, b) => a - b);
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const written = (before: readonly TableLine[], after: readonly TableLine[]) => after.filter((line) => !before.includes(line)).map(({ row }) => row);

// The same numbers each time.
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('the rows that shall exist', () => {
  it('are those in sight and some beyond each edge', () => {
    expect(sightAt(100)).toEqual({ first: 100, end: 120, from: 96, to: 124 });
  });
  it('begin with the first and end with the last', () => {
    expect(sightAt(0)).toEqual({ first: 0, end: 20, from: 0, to: 24 });
    expect(sightAt(10_000)).toEqual({ first: 9980, end: 10_000, from: 9976, to: 10_000 });
  });
  it('are all of a short table', () => {
    expect(sightAt(0, 3)).toEqual({ first: 0, end: 3, from: 0, to: 3 });
    expect(sightAt(7, 0)).toEqual({ first: 0, end: 0, from: 0, to: 0 });
  });
});

describe('lines', () => {
  const settled = inOrder(nextLines([], sightAt(100), 100));

  it('are made for all rows', () => {
    expect(settled.map(({ row }) => row)).toEqual(range(96, 124));
    expect(settled.map(({ slot }) => slot).sort((a, b) => a - b)).toEqual(range(0, 28));
  });
  it('are written only for rows that come, when one scrolls a little', () => {
    const after = nextLines(settled, sightAt(103), 12);
    expect(written(settled, after)).toEqual(expect.arrayContaining([124, 125, 126]));
    expect(written(settled, after)).toHaveLength(3);
    expect(after).toHaveLength(28);
    expect(isComplete(after, sightAt(103))).toBe(true);
  });
  it('are written only for rows in sight, when one jumps; the others come next', () => {
    const jumped = nextLines(settled, sightAt(5000), 12);
    expect(rowsOf(written(settled, jumped).map((row) => ({ slot: 0, row })))).toEqual(range(5000, 5020));
    expect(jumped.map(({ slot }) => slot)).toEqual(settled.map(({ slot }) => slot)); // none is moved
    expect(isComplete(jumped, sightAt(5000))).toBe(false);
    const next = nextLines(jumped, sightAt(5000), 12);
    expect(rowsOf(next)).toEqual(range(4996, 5024));
    expect(isComplete(next, sightAt(5000))).toBe(true);
  });
  it('are brought into order without being written', () => {
    const after = nextLines(settled, sightAt(103), 12);
    expect(isInOrder(after)).toBe(false);
    expect(inOrder(after).map(({ row }) => row)).toEqual(range(99, 127));
    expect(written(after, inOrder(after))).toEqual([]);
    expect(isInOrder(inOrder(after))).toBe(true);
  });
  it('stay with their rows when others are inserted before them', () => {
    const shifted = afterInsertion(settled, 40, 10_040);
    expect(shifted.map(({ slot, row }) => [slot, row - 40])).toEqual(settled.map(({ slot, row }) => [slot, row]));
    expect(nextLines(shifted, sightAt(140), 12)).toEqual(shifted);
    expect(afterInsertion(settled, 0, 10_000)).toEqual(settled);
  });
  it('of rows that are no more are gone', () => {
    expect(rowsOf(afterInsertion(settled, 0, 100))).toEqual(range(96, 100));
    expect(rowsOf(afterInsertion(settled, -100, 10_000))).toEqual(range(0, 24));
  });
  it('of a row that is held stay with it, however far one scrolls', () => {
    const slot = settled.find(({ row }) => row === 105)!.slot;
    let lines: TableLine[] = settled;
    for (const row of [110, 130, 5000, 20, 9000]) lines = nextLines(nextLines(lines, sightAt(row), 12, 105), sightAt(row), 12, 105);
    expect(lines.find(({ row }) => row === 105)!.slot).toBe(slot);
    expect(rowsOf(lines)).toEqual([105, ...range(8996, 9024)]);
    expect(rowsOf(nextLines(lines, sightAt(9000), 12))).toEqual(range(8996, 9024)); // not held any more
  });
  it('follow a row that is elsewhere now', () => {
    const moved = afterMove(settled, 100, 110);
    const slotsOf = (lines: TableLine[], row: number) => lines.filter((line) => line.row === row).map(({ slot }) => slot);
    expect(slotsOf(moved, 110)).toEqual(slotsOf(settled, 100));
    expect(slotsOf(moved, 100)).toEqual(slotsOf(settled, 110));
    expect(slotsOf(afterMove(settled, 100, 7), 7)).toEqual(slotsOf(settled, 100));
  });

  it('are right whatever happens', () => {
    const roll = dice(7);
    let lines: TableLine[] = [];
    let rows = 10_000;
    let at = 0;
    for (let step = 0; step < 5000; ++step) {
      const inserted = roll(4) === 0 ? roll(60) - 20 : 0;
      rows = roll(40) === 0 ? [0, 5, 27, 28, 29, 10_000][roll(6)] : Math.max(0, rows + inserted);
      at = Math.max(0, Math.min(rows, at + inserted + roll(41) - 20 + (roll(10) === 0 ? roll(4000) - 2000 : 0)));
      const sight = sightAt(at, rows, roll(60) === 0 ? 300 + roll(900) : 700);
      const held = roll(3) === 0 && lines.length > 0 ? lines[roll(lines.length)].row + inserted : -1;
      const before = afterInsertion(lines, inserted, rows);
      lines = nextLines(before, sight, 12, held);
      const problem = faultOf(before, lines, sight, held, rows);
      if (problem !== '') expect.fail(`step ${step}: ${problem}`);
      if (roll(5) === 0) lines = inOrder(lines);
    }
  });
});

function faultOf(before: readonly TableLine[], after: readonly TableLine[], sight: Sight, held: number, rows: number): string {
  const shown = new Set(after.map(({ row }) => row));
  if (shown.size !== after.length) return 'a row is shown twice';
  if (new Set(after.map(({ slot }) => slot)).size !== after.length) return 'two lines have the same slot';
  if (after.some(({ row }) => row < 0 || row >= rows)) return 'a row is shown that is not there';
  for (let row = sight.first; row < sight.end; ++row) if (!shown.has(row)) return `row ${row} is in sight and not shown`;
  for (const line of before) if (line.row >= sight.from && line.row < sight.to && !after.includes(line)) return `row ${line.row} was written without need`;
  const heldLine = before.find(({ row }) => row === held);
  if (heldLine && !after.includes(heldLine)) return 'the row that is held has lost its line';
  if (after.length > sight.to - sight.from + 1 && after.length > before.length) return 'there are too many lines';
  const news = written(before, after).length;
  return news > Math.max(12, sight.end - sight.first) ? `${news} lines were written at once` : '';
}
