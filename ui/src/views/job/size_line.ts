// SPDX-License-Identifier: Apache-2.0
//
// How many GPUs a job had and is to have, over time, with its deadline and what lies between that and
// its finish. Times are seconds since 1970.
import { isOver, type Job, type Story } from '../../api/types';
import type { Band, ChartSpec, Mark } from '../../charts/chart_spec';
import { factsOf } from '../jobs/job_facts';

export type Explained = Story['explain'];

export interface SizeStep {
  from: number;
  gpus: number;
  where: string;
  reason: string;
  isPlanned: boolean;
}

export interface SizeLine {
  spec: ChartSpec;
  steps: SizeStep[]; // ascending: what was, then what is planned
  isDeadlineBeyond: boolean; // too far away to be shown
}

// Of the axis above the most GPUs: the marks' names stand there.
const headroom = 1.25;
// How much longer than all that happens the axis may become to have the deadline on it.
const mostStretch = 4;

export function sizeLine(job: Job, told: Explained, now: number): SizeLine {
  const facts = factsOf(job);
  const finish = facts.finish / 1000;
  const deadline = facts.deadline / 1000;
  const ended = isOver(job.phase) ? (Number.isFinite(finish) ? finish : told.came_s) : undefined;
  const edge = ended ?? now;
  const was = stepsThatWere(told, edge);
  if (ended !== undefined && (was.at(-1)?.gpus ?? 0) > 0) was.push({ from: ended, gpus: 0, where: '', reason: job.phase, isPlanned: false });
  const planned = ended === undefined ? stepsPlanned(job, told, now, finish) : [];

  const last = Math.max(edge, planned.at(-1)?.from ?? edge, Number.isFinite(finish) ? finish : edge);
  const length = Math.max(last - told.came_s, 1);
  const isDeadlineBeyond = deadline > told.came_s + length * mostStretch;
  const to = isDeadlineBeyond ? last + length * 0.5 : Math.max(last, Number.isFinite(deadline) ? deadline : last);

  const at = [...new Set([told.came_s, ...was.map(({ from }) => from), edge, ...planned.map(({ from }) => from)])].sort((a, b) => a - b);
  return {
    steps: [...was, ...planned],
    isDeadlineBeyond,
    spec: {
      title: `GPUs of ${job.name}`,
      unit: 'GPUs',
      at,
      series: [
        { label: 'has had', colour: '--series-1', isStep: true, isFilled: true, values: at.map((time) => (time <= edge ? sizeAt(was, time) : null)) },
        { label: 'is planned', colour: '--series-1', isStep: true, isDashed: true, values: at.map((time) => (planned.length > 0 && time >= planned[0].from ? sizeAt(planned, time) : null)) },
      ],
      least: 0,
      most: headroom * Math.max(1, ...was.map(({ gpus }) => gpus), ...planned.map(({ gpus }) => gpus)),
      from: told.came_s,
      to: to + (to - told.came_s) * 0.02,
      marks: marks(job, ended, now, deadline, isDeadlineBeyond),
      bands: slackBand(finish, deadline, facts.slack),
    },
  };
}

function stepsThatWere(told: Explained, edge: number): SizeStep[] {
  const waits: SizeStep = { from: told.came_s, gpus: 0, where: '', reason: told.changes.length > 0 ? 'it waited' : (told.reason?.text ?? 'it waits'), isPlanned: false };
  const changes = told.changes
    .filter(({ at_s }) => at_s <= edge)
    .map(({ at_s, gpus, where, reason }) => ({ from: at_s, gpus, where, reason: reason.text, isPlanned: false }));
  return changes[0]?.from === told.came_s ? changes : [waits, ...changes];
}

// The latest plan from now on. Without one: as it is, until it is expected to finish.
function stepsPlanned(job: Job, told: Explained, now: number, finish: number): SizeStep[] {
  const plan = told.plans.at(-1);
  if (!plan) {
    if (job.gpus === 0 || !(finish > now)) return [];
    return [
      { from: now, gpus: job.gpus, where: (job.nodes ?? []).join(', '), reason: 'expected: it has no plan of its own', isPlanned: true },
      { from: finish, gpus: 0, where: '', reason: 'it is expected to finish', isPlanned: true },
    ];
  }
  if (plan.end_s <= now) return [];
  const steps = plan.steps.map(({ from_s, gpus, where }) => ({ from: from_s, gpus, where, reason: plan.reason.text, isPlanned: true }));
  const atNow = steps.findLast(({ from }) => from <= now) ?? { from: now, gpus: 0, where: '', reason: 'its plan begins later', isPlanned: true };
  return [
    { ...atNow, from: now },
    ...steps.filter(({ from }) => from > now && from < plan.end_s),
    { from: plan.end_s, gpus: 0, where: '', reason: 'its plan ends', isPlanned: true },
  ];
}

function sizeAt(steps: readonly SizeStep[], time: number): number {
  return steps.findLast(({ from }) => from <= time)?.gpus ?? 0;
}

// The step that holds at a time: of the plan after now, of what was before.
export function stepAt(line: SizeLine, time: number): SizeStep | undefined {
  return line.steps.findLast(({ from }) => from <= time);
}

function marks(job: Job, ended: number | undefined, now: number, deadline: number, isBeyond: boolean): Mark[] {
  const all: Mark[] = [];
  if (ended === undefined) all.push({ at: now, label: 'now', colour: '--muted' });
  else if (job.phase !== 'refused') all.push({ at: ended, label: job.phase, colour: '--muted' });
  if (Number.isFinite(deadline) && !isBeyond) all.push({ at: deadline, label: 'deadline', colour: '--text' });
  return all;
}

function slackBand(finish: number, deadline: number, slack: number): Band[] {
  if (!Number.isFinite(slack)) return [];
  return slack >= 0
    ? [{ from: finish, to: deadline, label: 'slack', colour: '--band' }]
    : [{ from: deadline, to: finish, label: 'late', colour: '--bad-soft' }];
}
