// SPDX-License-Identifier: Apache-2.0
//
// The texts of a job's row, all at once.
import type { Job } from '../../api/types';
import { percentText } from '../../text/numbers';
import { durationText, fullTimeText } from '../../text/times';
import { factsOf, slackTone, type Tone } from './job_facts';
import { shortDuration, shortRelative } from './short_times';

export interface JobLine {
  gpus: string;
  progress: string;
  deadline: string;
  slack: string;
  slackTone: Tone | undefined;
  finish: string;
  submitted: string;
  // What shows on hover; undefined: nothing.
  deadlineTitle: string | undefined;
  slackTitle: string | undefined;
  finishTitle: string | undefined;
  submittedTitle: string | undefined;
}

// `now` is milliseconds since 1970.
export function jobLine(job: Job, now: number): JobLine {
  const { deadline, slack, finish, submitted } = factsOf(job);
  return {
    gpus: job.gpus > 0 ? String(job.gpus) : '–',
    progress: job.iterations ? percentText(job.done ?? 0, job.iterations) : '–',
    deadline: shortRelative(deadline, now),
    slack: shortDuration(slack),
    slackTone: slackTone(job, now),
    finish: shortRelative(finish, now),
    submitted: shortRelative(submitted, now),
    deadlineTitle: timeTitle(deadline),
    slackTitle: Number.isNaN(slack) ? undefined : durationText(slack),
    finishTitle: timeTitle(finish),
    submittedTitle: timeTitle(submitted),
  };
}

function timeTitle(time: number): string | undefined {
  return Number.isFinite(time) ? fullTimeText(time) : undefined;
}
