// SPDX-License-Identifier: Apache-2.0
//
// What the page keeps of a simulation, whichever file it came from.

export type Kind = 'training' | 'inflation' | 'churn';

// One run, or the mean of those that differ only by seed.
export interface Run {
  policy: string;
  workload: string;
  place: string; // what else tells it apart: "fifo, load 0.9"
  seeds: number; // how many runs it is the mean of
  figures: Record<string, number | null>;
}

// The bars of a chart of who had which GPUs when: columns of equal length, in the order of `from`.
export interface Bars {
  job: Uint32Array; // position among the jobs
  from: Float64Array; // s since the run began
  to: Float64Array;
  row: Uint32Array; // of its first GPU
  gpus: Uint32Array;
  promised: Int32Array; // of them needed by its promise; -1: not known
  reason: Uint32Array; // position among the reasons
}

export interface DetailJob {
  job: number;
  name: string;
  came: number;
  deadline: number | null;
  answer: 'promised' | 'no promise' | 'refused';
  ended: number | null;
}

export interface Detail {
  name: string;
  gpus: number;
  length: number; // s
  from: number; // of the bars, when they are of a part of the run
  to: number;
  isAll: boolean;
  step: number; // s of one stretch of usage
  promised: number[]; // GPUs in use, by stretch
  others: number[];
  pools: { name: string; nodes: number; stride: number }[];
  jobs: DetailJob[];
  reasons: string[];
  bars: Bars;
}

export interface Simulation {
  file: string;
  from: 'report' | 'JSON' | 'log';
  kind: Kind;
  version: string;
  recipe: string;
  runs: Run[];
  details: Detail[];
}

export function emptyBars(count: number): Bars {
  return {
    job: new Uint32Array(count), from: new Float64Array(count), to: new Float64Array(count), row: new Uint32Array(count),
    gpus: new Uint32Array(count), promised: new Int32Array(count), reason: new Uint32Array(count),
  };
}

export function keyOf(run: Run): string {
  return [run.workload, run.policy, run.place].join('\n');
}
