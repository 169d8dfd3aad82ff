// SPDX-License-Identifier: Apache-2.0
//
// Which jobs are shown. The address has it: ?q=train&phase=running,paused&risk=1&promised=1, and of tasks of another
// scheduler ?why=taint,quota&namespace=team-a
import { phases, type Job, type Phase } from '../../api/types';
import { searchedText } from './job_facts';

export interface JobFilter {
  text: string; // words, all of which are in the name or the id
  phases: ReadonlySet<Phase>; // none: all
  isAtRisk: boolean; // only those
  isPromised: boolean;
  constraints: ReadonlySet<string>; // why it waits; none: all
  namespace: string; // '': all
}

// How many there are of each kind, of those that the text lets through: what a further choice would show.
export interface JobCounts {
  all: number;
  phases: Record<Phase, number>;
  atRisk: number;
  promised: number;
  constraints: Map<string, number>;
  namespaces: Map<string, number>; // whichever is chosen
}

export interface FilteredJobs {
  rows: readonly Job[]; // in the order of the jobs
  counts: JobCounts;
}

// In one pass, and without a pass where everything is shown.
export function filterJobs(jobs: readonly Job[], filter: JobFilter): FilteredJobs {
  const words = wordsOf(filter.text);
  const takesAll = words.length === 0 && !isChosen(filter);
  const counts: JobCounts = { all: 0, phases: noPhases(), atRisk: 0, promised: 0, constraints: new Map(), namespaces: new Map() };
  const rows: Job[] = [];
  for (const job of jobs) {
    if (!hasAll(job, words)) continue;
    const namespace = job.observed?.namespace ?? '';
    if (namespace !== '') count(counts.namespaces, namespace);
    if (filter.namespace !== '' && namespace !== filter.namespace) continue;
    ++counts.all;
    if (job.waits) count(counts.constraints, job.waits.constraint);
    ++counts.phases[job.phase];
    if (job.at_risk) ++counts.atRisk;
    if (job.promised) ++counts.promised;
    if (takesAll) continue;
    if (filter.phases.size > 0 && !filter.phases.has(job.phase)) continue;
    if ((filter.isAtRisk && !job.at_risk) || (filter.isPromised && !job.promised)) continue;
    if (filter.constraints.size > 0 && !filter.constraints.has(job.waits?.constraint ?? '')) continue;
    rows.push(job);
  }
  return { rows: takesAll ? jobs : rows, counts };
}

export function isChosen(filter: JobFilter): boolean {
  return filter.phases.size > 0 || filter.isAtRisk || filter.isPromised || filter.constraints.size > 0 || filter.namespace !== '';
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter((word) => word !== '');
}

function hasAll(job: Job, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = searchedText(job);
  for (const word of words) if (!text.includes(word)) return false;
  return true;
}

function noPhases(): Record<Phase, number> {
  return Object.fromEntries(phases.map((phase) => [phase, 0])) as Record<Phase, number>;
}

export function readFilter(query: URLSearchParams): JobFilter {
  const named = (query.get('phase') ?? '').split(',');
  return {
    text: query.get('q') ?? '',
    phases: new Set(phases.filter((phase) => named.includes(phase))),
    isAtRisk: query.get('risk') === '1',
    isPromised: query.get('promised') === '1',
    constraints: new Set((query.get('why') ?? '').split(',').filter((name) => name !== '')),
    namespace: query.get('namespace') ?? '',
  };
}

// The text is left out: it is written when the typing rests.
export function choicesText(filter: JobFilter): Record<string, string | null> {
  return {
    phase: [...filter.phases].join(',') || null,
    risk: filter.isAtRisk ? '1' : null,
    promised: filter.isPromised ? '1' : null,
    why: [...filter.constraints].join(',') || null,
    namespace: filter.namespace || null,
  };
}
