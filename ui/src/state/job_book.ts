// SPDX-License-Identifier: Apache-2.0
//
// The jobs that the page knows, newest first. It forgets the oldest that are over when there are too
// many, so that a page that stays open for weeks does not grow.
import { isOver, type Job } from '../api/types';

export class JobBook {
  private byId = new Map<number, Job>();
  private sorted: Job[] = [];
  isPartial = false; // there were jobs that it does not know any more

  constructor(readonly most = 12_000) {}

  get size(): number { return this.byId.size; }
  find(id: number): Job | undefined { return this.byId.get(id); }

  take(jobs: Job[]): void {
    if (jobs.length === 0) return;
    // A new array, and most of it as it was: this happens several times a second.
    const sorted = this.sorted.slice();
    const added = new Map<number, Job>();
    for (const job of jobs) {
      if (this.byId.has(job.id) && !added.has(job.id)) sorted[placeOf(sorted, job.id)] = job;
      else added.set(job.id, job);
      this.byId.set(job.id, job);
    }
    this.sorted = added.size > 0 ? merged(sorted, [...added.values()]) : sorted;
    if (this.byId.size > this.most) this.forget();
  }

  clear(): void {
    this.byId.clear();
    this.sorted = [];
    this.isPartial = false;
  }

  // Newest first; a new array after each change.
  list(): Job[] { return this.sorted; }

  private forget(): void {
    // A tenth more, so that it does not happen with every change.
    let tooMany = this.byId.size - this.most + Math.floor(this.most / 10);
    for (let i = this.sorted.length - 1; i >= 0 && tooMany > 0; --i) {
      if (!isOver(this.sorted[i].phase)) continue;
      this.byId.delete(this.sorted[i].id);
      --tooMany;
      this.isPartial = true;
    }
    this.sorted = this.sorted.filter(({ id }) => this.byId.has(id));
  }
}

// Where the job stands in a list with the newest first.
function placeOf(sorted: readonly Job[], id: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle].id > id) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Two lists without a job in common in one, the newest first.
function merged(sorted: Job[], added: Job[]): Job[] {
  added.sort((a, b) => b.id - a.id);
  const all: Job[] = [];
  let i = 0;
  for (const job of added) {
    while (i < sorted.length && sorted[i].id > job.id) all.push(sorted[i++]);
    all.push(job);
  }
  while (i < sorted.length) all.push(sorted[i++]);
  return all;
}
