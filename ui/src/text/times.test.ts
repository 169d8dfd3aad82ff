// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { durationText, parsedDuration, relativeText } from './times';

test('durations have two units at most', () => {
  const texts: [number, string][] = [[0, '0 s'], [0.25, '0.3 s'], [9.96, '10 s'], [59.6, '1 min'], [61, '1 min 1 s'], [3600, '1 h'],
    [3725, '1 h 2 min'], [90_000, '1 d 1 h'], [-65, '−1 min 5 s'], [NaN, '–']];
  for (const [seconds, text] of texts) expect(durationText(seconds), String(seconds)).toBe(text);
});

test('times are told from now', () => {
  expect(relativeText(1000, 1000)).toBe('now');
  expect(relativeText(46_000, 1000)).toBe('in 45 s');
  expect(relativeText(0, 3_600_000 * 2)).toBe('2 h ago');
});

test('durations are read as weir writes them', () => {
  expect(parsedDuration('1h30m')).toBe(5400);
  expect(parsedDuration('2d')).toBe(172_800);
  expect(parsedDuration('0.5s')).toBe(0.5);
  for (const wrong of ['', '5', '1h x', 'h', '1h30']) expect(parsedDuration(wrong), wrong).toBeUndefined();
});
