// SPDX-License-Identifier: Apache-2.0
//
// Which jobs to keep an eye on: promises at risk, the next deadlines, those that wait longest. One pass
// over all jobs; only the few that are shown are sorted.
import { isOver, type Job } from '../../api/types';
import { parsedTime } from '../../text/times';

export interface Watch {
  atRisk: Job[]; // the latest first
  next: Job[]; // the nearest deadline first; those at risk are not repeated
  waiting: Job[]; // the longest waiting first
}

interface Times { submitted: number; deadline: number; start: number; finish: number } // ms; NaN: none
const known = new WeakMap<Job, Times>(); // reading the times of 10,000 jobs takes longer than the rest

export function timesOf(job: Job): Times {
  let times = known.get(job);
  if (!times) {
    times = { submitted: parsedTime(job.submitted), deadline: parsedTime(job.deadline),
      start: parsedTime(job.expected_start), finish: parsedTime(job.expected_finish) };
    known.set(job, times);
  }
  return times;
}

// Milliseconds that are left between the expected end and the deadline; negative when it will be late.
export function slackOf(job: Job): number {
  const { deadline, finish } = timesOf(job);
  return deadline - finish;
}

// Keeps the few with the least keys.
class Least {
  readonly jobs: Job[] = [];
  private readonly keys: number[] = [];
  constructor(private readonly most: number) {}

  offer(job: Job, key: number): void {
    if (this.keys.length === this.most && !(key < this.keys[this.most - 1])) return;
    let place = this.keys.length;
    while (place > 0 && key < this.keys[place - 1]) --place;
    this.keys.splice(place, 0, key);
    this.jobs.splice(place, 0, job);
    if (this.keys.length <= this.most) return;
    this.keys.pop();
    this.jobs.pop();
  }
}

export function watched(jobs: readonly Job[], most: number): Watch {
  const atRisk = new Least(most);
  const next = new Least(most);
  const waiting = new Least(most);
  for (const job of jobs) {
    if (isOver(job.phase)) continue;
    const times = timesOf(job);
    // Nobody knows when it will be done: that is worse than any time.
    if (job.at_risk) atRisk.offer(job, Number.isNaN(times.finish) ? -Infinity : slackOf(job));
    else if (!Number.isNaN(times.deadline)) next.offer(job, times.deadline);
    if (job.phase !== 'running') waiting.offer(job, times.submitted);
  }
  return { atRisk: atRisk.jobs, next: next.jobs, waiting: waiting.jobs };
}

// How a job stands before its deadline, as parts of the time from now until then.
export interface Standing {
  work: number; // 0 to 1: until it is expected to be done
  isLate: boolean;
  isKnown: boolean; // when it will be done
}

export function standing(job: Job, now: number): Standing {
  const { deadline, finish } = timesOf(job);
  if (Number.isNaN(finish)) return { work: 0, isLate: false, isKnown: false };
  if (finish > deadline || now >= deadline) return { work: 1, isLate: true, isKnown: true };
  return { work: Math.max(0, Math.min(1, (finish - now) / (deadline - now))), isLate: false, isKnown: true };
}
