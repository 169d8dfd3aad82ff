// SPDX-License-Identifier: Apache-2.0
//
// How fast a job was, beside what it was planned with.
import type { Job, Progress } from '../../api/types';
import type { ChartSpec } from '../../charts/chart_spec';

export interface RateRow {
  gpus: number;
  predicted: number | null; // iterations per second
  measured: number | null; // the middle one of what was measured
}

type Rates = NonNullable<Job['curve']>['rates'];

export function throughputSpec(name: string, progress: Progress, rates: Rates | undefined): ChartSpec {
  const { at, gpus, values } = rowsOf(progress, progress.rate, (i) => progress.gpus[i] !== progress.gpus[i - 1]);
  const measured = { label: 'measured', colour: '--series-1', values };
  const predicted = {
    label: 'predicted', colour: '--series-2', isDashed: true, isStep: true,
    values: gpus.map((count) => rates?.[String(count)] ?? null),
  };
  return { title: `Throughput of ${name}`, unit: 'it/s', at, least: 0, series: rates ? [measured, predicted] : [measured] };
}

export function lossSpec(name: string, progress: Progress, isLogarithmic: boolean): ChartSpec {
  const { at, values } = rowsOf(progress, progress.loss, (i) => progress.gpus[i] === 0);
  return { title: `Loss of ${name}`, at, isLogarithmic, series: [{ label: 'loss', colour: '--series-3', values }] };
}

// The rows that have the figure, and those where its line is to break. A row that lacks it otherwise
// tells of something else.
function rowsOf(progress: Progress, figures: Progress['rate'], breaksAt: (i: number) => boolean) {
  const kept = figures.map((_, i) => i).filter((i) => figures[i] !== null || breaksAt(i));
  return { at: kept.map((i) => progress.at[i]), gpus: kept.map((i) => progress.gpus[i]), values: kept.map((i) => figures[i]) };
}

export function hasValues(values: readonly (number | null)[] | undefined): boolean {
  return values?.some((value) => value !== null) ?? false;
}

// One row for each number of GPUs that has a prediction or was measured.
export function rateRows(rates: Rates | undefined, progress: Progress | null): RateRow[] {
  const measured = new Map<number, number[]>();
  progress?.rate.forEach((rate, i) => {
    if (rate === null) return;
    const gpus = progress.gpus[i];
    const ofSize = measured.get(gpus);
    if (ofSize) ofSize.push(rate);
    else measured.set(gpus, [rate]);
  });
  const sizes = new Set([...Object.keys(rates ?? {}).map(Number), ...measured.keys()]);
  return [...sizes].sort((a, b) => a - b).map((gpus) => ({
    gpus,
    predicted: rates?.[String(gpus)] ?? null,
    measured: middle(measured.get(gpus) ?? []),
  }));
}

function middle(values: number[]): number | null {
  return values.length === 0 ? null : values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
