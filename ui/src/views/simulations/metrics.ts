// SPDX-License-Identifier: Apache-2.0
//
// The figures of each kind of simulation, and which direction is better.
import { figureText, countText } from '../../text/numbers';
import { durationText } from '../../text/times';
import type { Kind } from './simulation';

export type Better = 'more' | 'less' | 'neither';

export interface Metric {
  key: string;
  title: string;
  hint: string;
  better: Better;
  text(value: number): string;
  unit: 'jobs' | 's' | '%' | 'GPU-hours' | '';
}

const percent = (value: number) => `${Number(value.toFixed(1))} %`;
function metric(key: string, title: string, better: Better, unit: Metric['unit'], hint: string): Metric {
  const text = unit === 's' ? durationText : unit === '%' ? percent : unit === 'jobs' || unit === '' ? wholeOrFigure : figureText;
  return { key, title, hint, better, text, unit };
}
// Means over seeds need not be whole.
function wholeOrFigure(value: number): string {
  return Number.isInteger(value) ? countText(value) : String(Number(value.toFixed(1)));
}

export const metrics: Record<Kind, readonly Metric[]> = {
  training: [
    metric('met', 'Deadlines met', 'more', 'jobs', 'Jobs done by their deadline; where a policy promises, of those it promised'),
    metric('refused', 'Refused', 'less', 'jobs', 'Jobs that were not taken, because their deadline could not be promised'),
    metric('missed', 'Missed', 'less', 'jobs', 'Jobs that were taken and did not meet their deadline'),
    metric('mean_jct_s', 'Mean JCT', 'less', 's', 'From submission to finish, of jobs that finished; a policy that refuses long jobs has a lower one'),
    metric('p99_jct_s', 'p99 JCT', 'less', 's', '99 of 100 finished jobs took no longer'),
    metric('mean_queueing_s', 'Mean wait', 'less', 's', 'From submission to the first GPU'),
    metric('rescales', 'Rescales', 'less', '', 'Changes of size'),
    metric('utilisation_percent', 'Utilisation', 'more', '%', 'Of GPU time from the first submission to the end'),
    metric('makespan_s', 'Makespan', 'less', 's', 'From the first submission to the last finish'),
    metric('gpu_hours', 'GPU hours', 'neither', 'GPU-hours', 'Spent in all; refusing jobs spends fewer'),
    metric('finished', 'Finished', 'more', 'jobs', 'Jobs that ended well'),
  ],
  inflation: [
    metric('allocated', 'Allocated', 'more', '%', 'Of the GPUs, when demand equals capacity'),
    metric('stranded', 'Stranded', 'less', '%', 'Of the GPUs: not allocated when demand equals capacity'),
    metric('fragmented', 'Fragmented', 'less', '%', 'Of the GPUs: free, but of no use to a task as usual, when demand equals capacity'),
    metric('allocated_last', 'Allocated at the end', 'more', '%', 'Of the GPUs, when demand is at its highest'),
    metric('failed', 'Failed', 'less', '', 'Tasks that found no place'),
  ],
  churn: [
    metric('wait_mean_s', 'Mean wait', 'less', 's', 'From submission to start'),
    metric('wait_p99_s', 'p99 wait', 'less', 's', '99 of 100 jobs waited no longer'),
    metric('allocated_percent', 'Allocated', 'more', '%', 'Of the GPUs, the mean over time'),
    metric('fragmented_percent', 'Fragmented', 'less', '%', 'Of the GPUs: free, but of no use to a task as usual'),
    metric('makespan_s', 'Makespan', 'less', 's', 'From the first submission to the last finish'),
    metric('never_fit', 'Never fit', 'less', 'jobs', 'Jobs that do not fit the cluster even when it is empty'),
  ],
};

export type Verdict = 'better' | 'worse' | 'same' | 'other';

export function verdict(metric: Metric, a: number | null | undefined, b: number | null | undefined): Verdict {
  if (a === null || b === null || a === undefined || b === undefined) return 'other';
  if (looksSame(metric, a, b)) return 'same';
  if (metric.better === 'neither') return 'other';
  return (b > a) === (metric.better === 'more') ? 'better' : 'worse';
}

// Figures of JSON have four decimals, those of a log have all.
function isSame(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-4 + 1e-9 * Math.max(Math.abs(a), Math.abs(b));
}

// No "−0 % worse": what reads as the same counts as the same.
function looksSame(metric: Metric, a: number, b: number): boolean {
  return isSame(a, b) || metric.text(a) === metric.text(b);
}

export function differenceText(metric: Metric, a: number, b: number): string {
  const difference = looksSame(metric, a, b) ? 0 : b - a;
  const sign = difference > 0 ? '+' : '−';
  return difference === 0 ? '±0' : sign + metric.text(Math.abs(difference));
}
