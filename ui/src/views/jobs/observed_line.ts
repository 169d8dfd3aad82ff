// SPDX-License-Identifier: Apache-2.0
//
// The texts of a row where the job is a task of another scheduler.
import type { Job } from '../../api/types';
import { constraintText } from '../../text/constraints';
import { figureText } from '../../text/numbers';
import { fullTimeText } from '../../text/times';
import { factsOf } from './job_facts';
import { shortRelative } from './short_times';

export interface ObservedLine {
  workload: string; // without its namespace, which the name has
  gpus: string;
  constraint: string;
  detail: string;
  start: string;
  startTitle: string | undefined;
  node: string;
  created: string;
  createdTitle: string | undefined;
}

// `now` is milliseconds since 1970.
export function observedLine(job: Job, now: number): ObservedLine {
  const { start, submitted } = factsOf(job);
  const { observed, waits } = job;
  return {
    workload: withoutNamespace(observed?.workload ?? '', observed?.namespace ?? '') || '–',
    gpus: observed?.gpus ? figureText(observed.gpus) : '–',
    constraint: waits ? constraintText(waits.constraint) : '',
    detail: waits?.detail ?? '',
    start: !job.started && start <= now ? 'any moment' : shortRelative(start, now),
    startTitle: timeTitle(start),
    node: (job.nodes ?? []).join(', ') || '–',
    created: shortRelative(submitted, now),
    createdTitle: timeTitle(submitted),
  };
}

// "Job vision/sweep" is "Job sweep".
export function withoutNamespace(workload: string, namespace: string): string {
  return namespace === '' ? workload : workload.replace(` ${namespace}/`, ' ');
}

function timeTitle(time: number): string | undefined {
  return Number.isFinite(time) ? fullTimeText(time) : undefined;
}
