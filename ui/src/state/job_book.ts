// SPDX-License-Identifier: Apache-2.0
//
// The jobs that the page knows, newest first. It forgets the oldest that are over when there are too
// many, so that a page that stays open for weeks does not grow.
import { isOver, type Job } from '../api/types';

export class JobBook {
  private byId = new Map<number, Job>();
  private sorted: Job[] = [];
  private isSorted = true;
  isPartial = false; // there were jobs that it does not know any more

  constructor(readonly most = 12_000) {}

  get size(): number { return this.byId.size; }
  find(id: number): Job | undefined { return this.byId.get(id); }

  take(jobs: Job[]): void {
    for (const job of jobs) this.byId.set(job.id, job);
    if (jobs.length > 0) this.isSorted = false;
    if (this.byId.size > this.most) this.forget();
  }

  clear(): void {
    this.byId.clear();
    this.sorted = [];
    this.isSorted = true;
    this.isPartial = false;
  }

  // A new array after each change.
  list(): Job[] {
    if (!this.isSorted) {
      this.sorted = [...this.byId.values()].sort((a, b) => b.id - a.id);
      this.isSorted = true;
    }
    return this.sorted;
  }

  private forget(): void {
    const over = [...this.byId.values()].filter((job) => isOver(job.phase)).sort((a, b) => a.id - b.id);
    // A tenth more, so that it does not happen with every change.
    const count = Math.min(over.length, this.byId.size - this.most + Math.floor(this.most / 10));
    for (const job of over.slice(0, count)) this.byId.delete(job.id);
    this.isPartial = count > 0 || this.isPartial;
    this.isSorted = false;
  }
}
