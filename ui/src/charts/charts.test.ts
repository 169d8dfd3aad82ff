// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { chartCsv, chartInWords, valueRange, type ChartSpec } from './chart_spec';
import { chartSvg } from './chart_svg';
import { niceStep, timeTicks, valueTicks } from './ticks';

const spec: ChartSpec = {
  title: 'GPUs <in use>', unit: 'GPUs', at: [0, 60, 120], isElapsed: true, least: 0,
  series: [{ label: 'a & "b"', colour: '--series-1', values: [1, null, 3], isStep: true }],
  marks: [{ at: 60, label: '<mark>', colour: '--bad' }],
};

test('the axis has what must be on it', () => {
  expect(valueRange(spec)).toEqual([0, 3]);
  expect(valueRange({ ...spec, series: [] , least: undefined })).toEqual([0, 1]);
});

test('says in words what it shows', () => {
  expect(chartInWords(spec, String)).toBe('GPUs <in use>. a & "b": now 3, from 1 to 3.');
});

test('CSV has a row for each time, and nothing where nothing was known', () => {
  expect(chartCsv(spec)).toBe('time,"a & ""b"""\r\n0,1\r\n60,\r\n120,3\r\n');
});

test('SVG holds texts as texts', () => {
  const svg = chartSvg(spec, () => '#123456');
  expect(svg).not.toMatch(/<in use>|<mark>/);
  expect(svg).toContain('GPUs &lt;in use&gt; (GPUs)');
  expect(svg).toContain('a &amp; &quot;b&quot;');
  expect(svg).not.toContain('NaN');
});

test('ticks are round', () => {
  expect(valueTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(niceStep(0.03)).toBeCloseTo(0.05);
  expect(timeTicks(0, 600, 5, true)).toEqual([0, 120, 240, 360, 480, 600]);
});
