// SPDX-License-Identifier: Apache-2.0
import { isOver, type Job } from '../../api/types';
import type { Tone } from '../jobs/job_facts';

// What became of the promise, in a word or two; nothing for a refused job, which says more itself.
export function promiseOf(job: Job): { text: string; tone: Tone } | null {
  if (job.phase === 'refused') return null;
  if (!job.deadline) return { text: 'no deadline', tone: 'muted' };
  if (job.phase === 'finished' && job.met_deadline !== undefined) {
    const what = job.promised ? 'promise' : 'deadline';
    return job.met_deadline ? { text: `${what} ${job.promised ? 'kept' : 'met'}`, tone: 'good' } : { text: `${what} ${job.promised ? 'broken' : 'missed'}`, tone: 'bad' };
  }
  if (isOver(job.phase)) return { text: job.promised ? 'was promised' : 'was not promised', tone: 'muted' };
  return job.promised ? { text: 'promised', tone: 'good' } : { text: 'not promised', tone: 'muted' };
}
