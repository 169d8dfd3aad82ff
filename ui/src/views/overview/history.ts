// SPDX-License-Identifier: Apache-2.0
//
// The cluster's figures over time, as charts. Where the server did not run nothing is drawn.
import type { History } from '../../api/types';
import type { ChartSpec } from '../../charts/chart_spec';

export interface Range {
  key: string; // in the address
  name: string;
  words: string; // in titles: "the last hour"
  seconds: number;
}

const hour = 3600;
export const ranges: readonly Range[] = [
  { key: '15m', name: '15 min', words: 'the last 15 minutes', seconds: hour / 4 },
  { key: '1h', name: '1 h', words: 'the last hour', seconds: hour },
  { key: '6h', name: '6 h', words: 'the last 6 hours', seconds: 6 * hour },
  { key: '24h', name: '24 h', words: 'the last 24 hours', seconds: 24 * hour },
  { key: '7d', name: '7 d', words: 'the last 7 days', seconds: 168 * hour },
  { key: '30d', name: '30 d', words: 'the last 30 days', seconds: 720 * hour },
];

export function rangeFor(key: string | null): Range {
  return ranges.find((range) => range.key === key) ?? ranges[1];
}

// Seconds until there may be something new.
export function beat(step: number | undefined): number {
  return Math.max(5, step ?? 5);
}

type Figure = Exclude<keyof History, 'step' | 'at'>;
const figures: readonly Figure[] = [
  'gpus_up', 'gpus_in_use', 'gpus_fragmented', 'running', 'waiting', 'open', 'at_risk', 'kept', 'broken', 'refused',
];
export type Column = (number | null)[];
export type Columns = { at: number[] } & Record<Figure, Column>;

// A row without figures after each row that no other follows within a step and a half.
export function withGaps(history: History): Columns {
  const columns = { at: [] as number[] } as Columns;
  for (const figure of figures) columns[figure] = [];
  history.at.forEach((at, i) => {
    columns.at.push(at);
    for (const figure of figures) columns[figure].push(history[figure][i] ?? null);
    if (!(history.at[i + 1] - at > 1.5 * history.step)) return;
    columns.at.push(at + history.step);
    for (const figure of figures) columns[figure].push(null);
  });
  return columns;
}

// How much a count has grown since the first that is known. An older copy of the store may count less:
// that is no growth.
export function growth(counts: Column): Column {
  let sum = 0;
  let before: number | null = null;
  return counts.map((count) => {
    if (count === null) return null;
    if (before !== null && count > before) sum += count - before;
    before = count;
    return sum;
  });
}

function difference(a: Column, b: Column): Column {
  return a.map((value, i) => (value === null || b[i] === null ? null : Math.max(0, value - (b[i] as number))));
}

export interface Charts {
  utilisation: ChartSpec;
  queue: ChartSpec;
  promises: ChartSpec;
  outcomes: ChartSpec;
  fragmentation: ChartSpec;
}

const shortest = 60; // seconds that an axis shows at least
const fewest = 4; // an axis of counts has whole numbers then

// `jobs`: what they are called here.
export function historyCharts(history: History, range: Range, jobs = 'Jobs'): Charts {
  const columns = withGaps(history);
  const to = columns.at[columns.at.length - 1] ?? 0;
  // A young server fills the charts with what there is.
  const from = Math.max(to - range.seconds, Math.min(columns.at[0] ?? 0, to - shortest));
  const axes = { at: columns.at, from, to, least: 0, most: fewest };
  return {
    utilisation: { ...axes, title: 'GPUs in use', unit: 'GPUs', series: [
      { label: 'in use', colour: '--series-1', values: columns.gpus_in_use, isStep: true, isFilled: true },
      { label: 'up', colour: '--muted', values: columns.gpus_up, isStep: true, isDashed: true },
    ] },
    queue: { ...axes, title: `${jobs} running and waiting`, unit: jobs.toLowerCase(), series: [
      { label: 'running', colour: '--series-1', values: columns.running, isStep: true },
      { label: 'waiting', colour: '--series-2', values: columns.waiting, isStep: true },
    ] },
    promises: { ...axes, title: 'Promises open and at risk', unit: 'jobs', series: [
      { label: 'open', colour: '--series-1', values: columns.open, isStep: true },
      { label: 'at risk', colour: '--bad', values: columns.at_risk, isStep: true, isFilled: true },
    ] },
    outcomes: { ...axes, title: `Outcomes, added up over ${range.words}`, unit: 'jobs', series: [
      { label: 'kept', colour: '--good', values: growth(columns.kept), isStep: true },
      { label: 'broken', colour: '--bad', values: growth(columns.broken), isStep: true },
      { label: 'refused', colour: '--phase-refused', values: growth(columns.refused), isStep: true },
    ] },
    fragmentation: { ...axes, title: 'Free GPUs, and those too scattered to use', unit: 'GPUs', series: [
      { label: 'free', colour: '--muted', values: difference(columns.gpus_up, columns.gpus_in_use), isStep: true },
      { label: 'fragmented', colour: '--series-2', values: columns.gpus_fragmented, isStep: true, isFilled: true },
    ] },
  };
}
