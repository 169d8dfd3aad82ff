// SPDX-License-Identifier: Apache-2.0
//
// All jobs in the order of a column. Typing only filters what is in order already, and after a live
// change the order of before is almost right, which a merge sort makes use of: so neither takes long
// with ten thousand jobs. Jobs of equal value: the newest first, so the order is the same however it
// was come by.
import type { Job } from '../../api/types';
import type { Sorting } from '../../tables/columns';
import type { JobColumn } from './job_columns';

type Value = number | string;
interface Entry {
  job: Job;
  value: Value | null; // null comes last, in either direction
}

export class JobOrder {
  private sorting: Sorting | null = null;
  private before: readonly Job[] = [];

  // `jobs` are newest first, as the job book has them.
  sorted(jobs: readonly Job[], columns: readonly JobColumn[], sorting: Sorting): readonly Job[] {
    if (sorting.key === 'id') return sorting.isDescending ? jobs : [...jobs].reverse();
    const column = columns.find(({ key }) => key === sorting.key);
    if (!column) return jobs;
    const isSame = this.sorting?.key === sorting.key && this.sorting.isDescending === sorting.isDescending;
    const entries = (isSame ? inOrderOf(this.before, jobs) : jobs).map((job) => ({ job, value: valueOf(column, job) }));
    const direction = sorting.isDescending ? -1 : 1;
    entries.sort((a, b) => compare(a, b, direction));
    this.sorting = sorting;
    this.before = entries.map(({ job }) => job);
    return this.before;
  }
}

// The jobs, those first that were there before and in that order.
function inOrderOf(before: readonly Job[], jobs: readonly Job[]): readonly Job[] {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const ordered: Job[] = [];
  for (const { id } of before) {
    const job = byId.get(id);
    if (!job) continue;
    ordered.push(job);
    byId.delete(id);
  }
  ordered.push(...byId.values());
  return ordered;
}

function valueOf(column: JobColumn, job: Job): Value | null {
  const value = column.order ? column.order(job) : column.value ? column.value(job) : column.text(job);
  if (value === null || value === '' || Number.isNaN(value)) return null;
  return typeof value === 'boolean' ? Number(value) : value;
}

function compare(a: Entry, b: Entry, direction: number): number {
  if (a.value === null || b.value === null) {
    if (a.value !== b.value) return a.value === null ? 1 : -1;
  } else if (a.value !== b.value) {
    return a.value < b.value ? -direction : direction;
  }
  return b.job.id - a.job.id;
}
