// SPDX-License-Identifier: Apache-2.0
//
// The runs of two simulations beside each other.
import type { ChartSpec } from '../../charts/chart_spec';
import { keyOf, type Detail, type Run, type Simulation } from './simulation';

export interface Pairing {
  label: string; // of the row: "weir"
  workload: string;
  place: string;
  a: Run | null;
  b: Run | null;
}

// By workload, policy and place. Where the two have no such run in common: one run with one run, or by
// policy when each policy is there once.
export function paired(a: Simulation | null, b: Simulation | null): Pairing[] {
  const runsA = a?.runs ?? [];
  const runsB = b?.runs ?? [];
  let keyA: (run: Run) => string = keyOf;
  const common = new Set(runsA.map(keyOf));
  if (a && b && !runsB.some((run) => common.has(keyOf(run))) && isOncePerPolicy(runsA) && isOncePerPolicy(runsB)) keyA = (run) => run.policy;
  if (runsA.length === 1 && runsB.length === 1) keyA = () => 'the only one';
  const byKey = new Map(runsB.map((run) => [keyA(run), run]));
  const rows = runsA.map((run): Pairing => {
    const other = byKey.get(keyA(run)) ?? null;
    byKey.delete(keyA(run));
    return { label: both(run.policy, other?.policy), workload: both(run.workload, other?.workload), place: both(run.place, other?.place), a: run, b: other };
  });
  for (const run of byKey.values()) rows.push({ label: run.policy, workload: run.workload, place: run.place, a: null, b: run });
  return rows;
}

function both(a: string, b: string | undefined): string {
  return b === undefined || a === b ? a : `${a} → ${b}`;
}

function isOncePerPolicy(runs: Run[]): boolean {
  return new Set(runs.map((run) => run.policy)).size === runs.length;
}

// GPUs in use over time: of one run in two layers, of two runs one line each.
export function usageSpec(a: Detail | null, b: Detail | null): ChartSpec | null {
  const only = a && b ? null : a ?? b;
  if (only) {
    const at = only.promised.map((_, i) => i * only.step);
    return { title: `GPUs in use: ${only.name}`, unit: 'GPUs', isElapsed: true, least: 0, most: only.gpus, at: [...at, only.length], series: [
      { label: 'In use', colour: '--series-1', isStep: true, isFilled: true, values: closed(only.promised.map((use, i) => use + only.others[i])) },
      { label: only.bars.promised[0] === -1 ? 'By jobs with a promise' : 'Needed by promises', colour: '--series-3', isStep: true, values: closed(only.promised) },
    ] };
  }
  if (!a || !b) return null;
  const at = [...new Set([...times(a), ...times(b)])].sort((x, y) => x - y);
  return { title: 'GPUs in use', unit: 'GPUs', isElapsed: true, least: 0, most: Math.max(a.gpus, b.gpus), at, series: [
    { label: `A: ${a.name}`, colour: '--series-1', isStep: true, values: sampled(a, at) },
    { label: `B: ${b.name}`, colour: '--series-2', isStep: true, values: sampled(b, at) },
  ] };
}

function closed(values: number[]): number[] {
  return values.length > 0 ? [...values, values[values.length - 1]] : [];
}
function times(detail: Detail): number[] {
  return [...detail.promised.map((_, i) => i * detail.step), detail.length];
}
function sampled(detail: Detail, at: number[]): (number | null)[] {
  return at.map((time) => {
    if (time > detail.length * (1 + 1e-12)) return null;
    const i = Math.min(detail.promised.length - 1, Math.floor(time / detail.step + 1e-9));
    return i < 0 ? null : detail.promised[i] + detail.others[i];
  });
}
