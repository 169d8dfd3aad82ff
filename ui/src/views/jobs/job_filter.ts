// SPDX-License-Identifier: Apache-2.0
//
// Which jobs are shown. The address has it: ?q=train&phase=running,paused&risk=1&promised=1
import { phases, type Job, type Phase } from '../../api/types';
import { searchedText } from './job_facts';

export interface JobFilter {
  text: string; // words, all of which are in the name or the id
  phases: ReadonlySet<Phase>; // none: all
  isAtRisk: boolean; // only those
  isPromised: boolean;
}

// How many there are of each kind, of those that the text lets through: what a further choice would show.
export interface JobCounts {
  all: number;
  phases: Record<Phase, number>;
  atRisk: number;
  promised: number;
}

export interface FilteredJobs {
  rows: readonly Job[]; // in the order of the jobs
  counts: JobCounts;
}

// In one pass, and without a pass where everything is shown.
export function filterJobs(jobs: readonly Job[], filter: JobFilter): FilteredJobs {
  const words = wordsOf(filter.text);
  const takesAll = words.length === 0 && !isChosen(filter);
  const counts: JobCounts = { all: 0, phases: noPhases(), atRisk: 0, promised: 0 };
  const rows: Job[] = [];
  for (const job of jobs) {
    if (!hasAll(job, words)) continue;
    ++counts.all;
    ++counts.phases[job.phase];
    if (job.at_risk) ++counts.atRisk;
    if (job.promised) ++counts.promised;
    if (takesAll) continue;
    if (filter.phases.size > 0 && !filter.phases.has(job.phase)) continue;
    if ((filter.isAtRisk && !job.at_risk) || (filter.isPromised && !job.promised)) continue;
    rows.push(job);
  }
  return { rows: takesAll ? jobs : rows, counts };
}

export function isChosen(filter: JobFilter): boolean {
  return filter.phases.size > 0 || filter.isAtRisk || filter.isPromised;
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
  };
}

// The text is left out: it is written when the typing rests.
export function choicesText(filter: JobFilter): Record<string, string | null> {
  return {
    phase: [...filter.phases].join(',') || null,
    risk: filter.isAtRisk ? '1' : null,
    promised: filter.isPromised ? '1' : null,
  };
}
