// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { Job } from '../../api/types';
import { slackOf, standing, watched } from './watch';

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const job = (id: number, more: Partial<Job> = {}): Job =>
  ({ id, name: `job-${id}`, tenant: 'default', phase: 'running', submitted: at(id), gpus: 1, generation: 1, restarts: 0, ...more });
const ids = (jobs: readonly Job[]) => jobs.map(({ id }) => id);

test('the latest of those at risk comes first, and one of unknown end before it', () => {
  const { atRisk, next } = watched([
    job(1, { at_risk: true, deadline: at(10), expected_finish: at(12) }),
    job(2, { at_risk: true, deadline: at(10), expected_finish: at(30) }),
    job(3, { at_risk: true, deadline: at(10) }),
    job(4, { at_risk: true, phase: 'failed', deadline: at(10), expected_finish: at(99) }),
  ], 5);
  expect(ids(atRisk)).toEqual([3, 2, 1]);
  expect(next).toEqual([]);
});

test('the nearest deadlines, and no more than asked for', () => {
  const jobs = [30, 10, 50, 20, 40].map((minute) => job(minute, { deadline: at(minute) }));
  expect(ids(watched([...jobs, job(1), job(2, { phase: 'finished', deadline: at(1) })], 3).next)).toEqual([10, 20, 30]);
});

test('those without GPUs wait, the oldest first', () => {
  const { waiting } = watched([job(5, { phase: 'queued' }), job(4), job(3, { phase: 'paused' }), job(2, { phase: 'waiting' }),
    job(1, { phase: 'refused' })], 5);
  expect(ids(waiting)).toEqual([2, 3, 5]);
});

test('slack is what is left before the deadline', () => {
  expect(slackOf(job(1, { deadline: at(30), expected_finish: at(20) }))).toBe(600_000);
  expect(slackOf(job(1, { deadline: at(20), expected_finish: at(30) }))).toBe(-600_000);
});

test('stands by how much of the time until the deadline is work', () => {
  const one = job(1, { deadline: at(40), expected_finish: at(10) });
  expect(standing(one, Date.parse(at(0)))).toEqual({ work: 0.25, isLate: false, isKnown: true });
  expect(standing(one, Date.parse(at(20)))).toEqual({ work: 0, isLate: false, isKnown: true });
  expect(standing(one, Date.parse(at(41))).isLate).toBe(true);
  expect(standing(job(1, { deadline: at(10), expected_finish: at(40) }), Date.parse(at(0)))).toEqual({ work: 1, isLate: true, isKnown: true });
  expect(standing(job(1, { deadline: at(10) }), Date.parse(at(0))).isKnown).toBe(false);
});
