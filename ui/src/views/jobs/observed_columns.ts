// SPDX-License-Identifier: Apache-2.0
//
// The columns of the list where the jobs are tasks of another scheduler.
import { constraintText } from '../../text/constraints';
import { figureText } from '../../text/numbers';
import { phaseText } from '../../text/phases';
import { id, name, submitted, timeColumn, type JobColumn } from './job_columns';
import { factsOf } from './job_facts';

const workload: JobColumn = { key: 'workload', title: 'Workload', width: 'minmax(120px, 1.6fr)', text: (job) => job.observed?.workload ?? '', hint: 'What the pod belongs to' };
const gpus: JobColumn = {
  key: 'gpus', title: 'GPUs', width: '64px', isNumber: true, hint: 'How many it asks for',
  text: (job) => figureText(job.observed?.gpus), value: (job) => job.observed?.gpus ?? null,
};
const phase: JobColumn = { key: 'phase', title: 'Phase', width: '104px', text: (job) => phaseText(job.phase, true) };
const why: JobColumn = {
  key: 'why', title: 'Why it waits', width: 'minmax(220px, 4fr)',
  text: (job) => (job.waits ? [constraintText(job.waits.constraint), job.waits.detail].filter((part) => part !== '').join(': ') : ''),
};
const start = timeColumn('start', 'Start', '96px', (job) => factsOf(job).start, 'When it started, or is expected to');
const node: JobColumn = { key: 'node', title: 'Node', width: 'minmax(100px, 1.2fr)', text: (job) => (job.nodes ?? []).join(', ') };
const created: JobColumn = { ...submitted, title: 'Created' };

export const observedColumns: readonly JobColumn[] = [{ ...name, width: 'minmax(190px, 2.6fr)' }, workload, gpus, phase, why, start, node, created];

// What is only saved, not shown: as the API has it.
const saved = (key: string, text: JobColumn['text']): JobColumn => ({ key, title: key, width: '0', text });
export const savedObservedColumns: readonly JobColumn[] = [
  id, ...observedColumns,
  saved('namespace', (job) => job.observed?.namespace ?? ''),
  saved('constraint', (job) => job.waits?.constraint ?? ''),
  saved('detail', (job) => job.waits?.detail ?? ''),
  saved('explanation', (job) => job.waits?.why ?? ''),
  saved('expected_start', (job) => job.expected_start ?? ''),
  saved('started', (job) => job.started ?? ''),
  saved('ended', (job) => job.ended ?? ''),
];

export const narrowObservedColumns: readonly JobColumn[] = [
  { ...name, title: 'Name and reason', width: 'minmax(150px, 2fr)' },
  { ...gpus, width: '56px' },
  { ...start, width: '100px' },
];
