// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { Job } from '../../api/types';
import { jobLine } from './job_line';

const now = Date.parse('2026-01-01T00:30:00Z');
const job: Job = { id: 7, name: 'train', tenant: 'default', phase: 'running', submitted: '2026-01-01T00:00:00Z', gpus: 4, generation: 1, restarts: 0 };

test('a row has short texts, and the whole of them on hover', () => {
  const line = jobLine({ ...job, iterations: 200, done: 50, deadline: '2026-01-01T02:00:00Z', expected_finish: '2026-01-01T01:00:00Z' }, now);
  expect(line).toMatchObject({ gpus: '4', progress: '25 %', deadline: 'in 90 min', slack: '60 min', slackTone: undefined, finish: 'in 30 min', submitted: '30 min ago' });
  expect(line.slackTitle).toBe('1 h');
  for (const title of [line.deadlineTitle, line.finishTitle, line.submittedTitle]) expect(title).toMatch(/2026/);
});

test('what nobody knows is a dash, without a text on hover', () => {
  const line = jobLine({ ...job, phase: 'queued', gpus: 0 }, now);
  expect(line).toMatchObject({ gpus: '–', progress: '–', deadline: '–', slack: '–', slackTone: 'muted', finish: '–' });
  expect([line.deadlineTitle, line.slackTitle, line.finishTitle]).toEqual([undefined, undefined, undefined]);
});

test('a deadline that is missed is told by its colour', () => {
  const late = { ...job, deadline: '2026-01-01T00:20:00Z', expected_finish: '2026-01-01T01:00:00Z' };
  expect(jobLine(late, now)).toMatchObject({ slack: '−40 min', slackTone: 'bad', deadline: '10 min ago' });
});
