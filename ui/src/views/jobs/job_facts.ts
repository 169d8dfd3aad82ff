// SPDX-License-Identifier: Apache-2.0
//
// What is worked out from a job as the API tells it. Kept for each job object: the list of jobs is
// filtered and sorted as a whole, often, and a job that has changed is another object.
import { isOver, type Job } from '../../api/types';
import { constraintText } from '../../text/constraints';
import { parsedTime } from '../../text/times';

export interface JobFacts {
  submitted: number; // ms; NaN: there is none
  start: number; // when it started, or is expected to
  deadline: number;
  finish: number; // when it ended, or is expected to
  slack: number; // seconds from the finish to the deadline; NaN: nobody knows
  share: number; // of its iterations that is done; NaN: it counts none
}

const known = new WeakMap<Job, JobFacts>();
const searched = new WeakMap<Job, string>();

// What a search looks at, in lower case. Apart from the rest: the first key typed asks for all of them.
export function searchedText(job: Job): string {
  let text = searched.get(job);
  if (text === undefined) {
    text = `${job.id} ${job.name}${observedText(job)}`.toLowerCase();
    searched.set(job, text);
  }
  return text;
}

// Of a task of another scheduler: what it belongs to and why it waits, too.
function observedText({ observed, waits }: Job): string {
  if (!observed) return '';
  const reason = waits ? `${waits.constraint} ${constraintText(waits.constraint)} ${waits.detail}` : '';
  return ` ${observed.namespace ?? ''} ${observed.workload ?? ''} ${reason}`;
}

export function factsOf(job: Job): JobFacts {
  let facts = known.get(job);
  if (!facts) {
    facts = madeOut(job);
    known.set(job, facts);
  }
  return facts;
}

function madeOut(job: Job): JobFacts {
  const deadline = parsedTime(job.deadline);
  const finish = parsedTime(isOver(job.phase) ? job.ended : job.expected_finish);
  return {
    submitted: parsedTime(job.submitted),
    start: parsedTime(job.started ?? job.expected_start),
    deadline,
    finish,
    slack: mayMeet(job) ? (deadline - finish) / 1000 : NaN,
    share: job.iterations ? Math.min(1, (job.done ?? 0) / job.iterations) : NaN,
  };
}

// A job that was refused or given up neither meets nor misses its deadline.
function mayMeet(job: Job): boolean {
  return job.phase === 'finished' || !isOver(job.phase);
}

export type Tone = 'good' | 'warn' | 'bad' | 'muted';

// A colour only for what asks for attention: a plan that leaves little slack is a plan that holds.
export function slackTone(job: Job, now: number): Tone | undefined {
  const { deadline, slack } = factsOf(job);
  if (!isOver(job.phase) && (job.at_risk || now > deadline)) return 'bad';
  if (Number.isNaN(slack)) return 'muted';
  if (slack < 0) return 'bad';
  return isOver(job.phase) ? 'muted' : undefined;
}
