// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { History } from '../../api/types';
import { beat, growth, historyCharts, rangeFor, ranges, withGaps } from './history';

function history(at: number[], step: number, kept = at.map(() => 0)): History {
  const column = at.map((_, i) => i + 1);
  return { step, at, gpus_up: at.map(() => 100), gpus_in_use: column, gpus_fragmented: column, running: column,
    waiting: column, open: column, at_risk: column, kept, broken: column, refused: column };
}

test('where rows are missing there is a gap', () => {
  const columns = withGaps(history([0, 10, 50, 60], 10));
  expect(columns.at).toEqual([0, 10, 20, 50, 60]);
  expect(columns.gpus_in_use).toEqual([1, 2, null, 3, 4]);
});

test('rows that are a little late leave no gap', () => {
  expect(withGaps(history([0, 14, 20], 10)).at).toEqual([0, 14, 20]);
});

test('counts grow from the first that is known, and never fall', () => {
  expect(growth([null, 5, 7, null, 9])).toEqual([null, 0, 2, null, 4]);
  expect(growth([5, 2, 4])).toEqual([0, 0, 2]); // an older copy of the store
});

test('a young server fills the chart, an old one is cut at the range', () => {
  const young = historyCharts(history([1000, 1005], 5), rangeFor('1h')).utilisation;
  expect([young.from, young.to]).toEqual([945, 1005]);
  const old = historyCharts(history([0, 86_400], 60), rangeFor('1h')).utilisation;
  expect([old.from, old.to]).toEqual([82_800, 86_400]);
});

test('no samples yet make no chart fail', () => {
  const charts = historyCharts(history([], 5), rangeFor('15m'));
  for (const chart of Object.values(charts)) expect(chart.at).toEqual([]);
});

test('free GPUs are those that are up and not in use', () => {
  const { fragmentation } = historyCharts(history([0, 5, 50], 5), rangeFor('1h'));
  expect(fragmentation.series[0].values).toEqual([99, 98, null, 97]);
});

test('an unknown range is an hour, and nothing is fetched more often than every 5 s', () => {
  expect(rangeFor('yesterday').key).toBe('1h');
  expect(rangeFor(null).key).toBe('1h');
  for (const range of ranges) expect(rangeFor(range.key)).toBe(range);
  expect([beat(undefined), beat(1), beat(60)]).toEqual([5, 5, 60]);
});
