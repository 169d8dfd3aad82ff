// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { Job, Phase } from '../api/types';
import { JobBook } from './job_book';

function job(id: number, phase: Phase = 'running'): Job {
  return { id, name: `job-${id}`, tenant: 'default', phase, submitted: '2026-01-01T00:00:00Z', gpus: 1, generation: 1, restarts: 0 };
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

test('whatever comes in whatever order, the list is that of a plain map', () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
  const book = new JobBook(1_000_000);
  const plain = new Map<number, Job>();
  for (let round = 0; round < 300; ++round) {
    const some = Array.from({ length: random(6) }, () => job(1 + random(80), random(2) === 0 ? 'running' : 'finished'));
    for (const one of some) plain.set(one.id, one);
    book.take(some);
    expect(book.list()).toEqual([...plain.values()].sort((a, b) => b.id - a.id));
  }
});
