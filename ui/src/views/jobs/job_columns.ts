// SPDX-License-Identifier: Apache-2.0
//
// The columns of the list of jobs. The view draws most cells itself; texts and values here are for
// sorting, and for the files that the list is saved as.
import type { Job } from '../../api/types';
import type { Column } from '../../tables/columns';
import { percentText } from '../../text/numbers';
import { durationText, fullTimeText } from '../../text/times';
import { factsOf } from './job_facts';

export interface JobColumn extends Column<Job> {
  order?(job: Job): number; // for sorting, where that is cheaper than the value
}

export function timeColumn(key: string, title: string, width: string, time: (job: Job) => number, hint?: string): JobColumn {
  return {
    key, title, width, hint,
    text: (job) => fullTimeText(time(job)),
    order: time,
    value: (job) => { const ms = time(job); return Number.isNaN(ms) ? null : new Date(ms).toISOString(); },
  };
}

export const id: JobColumn = { key: 'id', title: 'Id', width: '60px', isNumber: true, text: (job) => String(job.id), value: (job) => job.id };
export const name: JobColumn = { key: 'name', title: 'Name', width: 'minmax(150px, 3fr)', text: (job) => job.name };
const phase: JobColumn = { key: 'phase', title: 'Phase', width: '164px', text: (job) => job.phase };
const gpus: JobColumn = { key: 'gpus', title: 'GPUs', width: '60px', isNumber: true, text: (job) => String(job.gpus), value: (job) => job.gpus, hint: 'How many it has now' };
const progress: JobColumn = {
  key: 'progress', title: 'Progress', width: '120px', hint: 'Of its iterations, as last reported',
  text: (job) => (job.iterations ? percentText(job.done ?? 0, job.iterations) : '–'),
  value: (job) => orNull(factsOf(job).share),
};
const deadline = timeColumn('deadline', 'Deadline', '94px', (job) => factsOf(job).deadline);
const slack: JobColumn = {
  key: 'slack', title: 'Slack', width: '84px', isNumber: true, hint: 'From its finish, as it is expected or was, to the deadline',
  text: (job) => durationText(factsOf(job).slack),
  value: (job) => orNull(factsOf(job).slack),
};
const finish = timeColumn('finish', 'Finish', '94px', (job) => factsOf(job).finish, 'When it is expected to finish, or ended');
export const submitted = timeColumn('submitted', 'Submitted', '96px', (job) => factsOf(job).submitted);
const reason: JobColumn = { key: 'reason', title: 'Reason', width: 'minmax(240px, 5fr)', text: (job) => job.reason ?? '', hint: 'Of the last decision' };

function orNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

// What is only saved, not shown.
const promised: JobColumn = { key: 'promised', title: 'Promised', width: '0', text: (job) => String(job.promised ?? false), value: (job) => job.promised ?? false };
const atRisk: JobColumn = { key: 'at_risk', title: 'At risk', width: '0', text: (job) => String(job.at_risk ?? false), value: (job) => job.at_risk ?? false };

export const jobColumns: readonly JobColumn[] = [id, name, phase, gpus, progress, deadline, slack, finish, submitted, reason];
export const savedColumns: readonly JobColumn[] = [...jobColumns, promised, atRisk];

// On a narrow screen: what one looks for on the way, without scrolling aside.
export const narrowColumns: readonly JobColumn[] = [
  { ...name, title: 'Name and phase', width: 'minmax(120px, 2fr)' },
  { ...progress, title: 'Done', width: '66px' },
  { ...deadline, width: '100px' },
];
