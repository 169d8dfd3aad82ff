// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { Job, Phase } from '../api/types';
import { JobBook } from './job_book';

function job(id: number, phase: Phase = 'running'): Job {
  return { id, name: `job-${id}`, phase, submitted: '2026-01-01T00:00:00Z', gpus: 1, generation: 1, restarts: 0 };
}

test('lists the newest first, and each job once, as it was last', () => {
  const book = new JobBook();
  book.take([job(1), job(3), job(2)]);
  book.take([job(2, 'finished')]);
  expect(book.list().map(({ id }) => id)).toEqual([3, 2, 1]);
  expect(book.find(2)?.phase).toBe('finished');
});

test('an unchanged book gives the same list, a changed one another', () => {
  const book = new JobBook();
  book.take([job(1)]);
  const before = book.list();
  expect(book.list()).toBe(before);
  book.take([job(1, 'paused')]);
  expect(book.list()).not.toBe(before);
});

test('forgets the oldest that are over when there are too many, and never one that is not', () => {
  const book = new JobBook(100);
  for (let id = 1; id <= 5000; ++id) book.take([job(id, id % 50 === 0 ? 'running' : 'finished')]);
  expect(book.size).toBeLessThanOrEqual(200);
  expect(book.isPartial).toBe(true);
  expect(book.list().filter(({ phase }) => phase === 'running')).toHaveLength(100);
});
