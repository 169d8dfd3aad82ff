// SPDX-License-Identifier: Apache-2.0
//
// The chain of reasons: what became of a job and why, step by step, oldest first.
import type { Job, Story } from '../../api/types';
import { countOf, figureText } from '../../text/numbers';
import { durationText, timeText } from '../../text/times';
import { factsOf, type Tone } from '../jobs/job_facts';

type Explained = Story['explain'];
type Reason = NonNullable<Explained['reason']>;
type Plan = Explained['plans'][number];
type Change = Explained['changes'][number];

export interface ReasonStep {
  at: number; // seconds since 1970
  kind: 'came' | 'answer' | 'plan' | 'change' | 'warning' | 'end';
  title: string;
  lines: string[];
  tone: Tone | 'plain';
  otherJob?: number; // the one the reason speaks of
}

export function reasonSteps(job: Job, told: Explained, now: number): ReasonStep[] {
  const clock = (seconds: number) => timeText(seconds * 1000, now);
  const steps: ReasonStep[] = [came(job, told, clock), ...answer(job, told, clock)];
  told.plans.slice(1).forEach((plan) => steps.push(planned('Planned anew', plan, clock)));
  told.changes.forEach((change, i) => steps.push(changed(change, told.changes.slice(0, i))));
  if (told.warned_s !== undefined) steps.push(warned(job, told, clock));
  steps.push(...ended(job, told));
  return steps.map((step, i) => ({ step, i })).sort((a, b) => a.step.at - b.step.at || a.i - b.i).map(({ step }) => step);
}

type Clock = (seconds: number) => string;

function came(job: Job, told: Explained, clock: Clock): ReasonStep {
  const { deadline } = factsOf(job);
  const lines = [job.iterations ? `It asks for ${countOf(job.iterations, 'iteration')}.` : 'It asks to run a program.'];
  lines.push(Number.isNaN(deadline)
    ? 'It has no deadline.'
    : `It is to be done by ${clock(deadline / 1000)}, ${durationText(deadline / 1000 - told.came_s)} later${job.deadline_kind === 'soft' ? '; late is better than not at all' : ''}.`);
  return { at: told.came_s, kind: 'came', title: 'Submitted', lines, tone: 'plain' };
}

const answers: Record<Explained['answer'], { title: string; tone: ReasonStep['tone'] }> = {
  promised: { title: 'Promised', tone: 'good' },
  planned: { title: 'Planned, not promised yet', tone: 'plain' },
  not_promised: { title: 'Accepted without a promise', tone: 'plain' },
  refused: { title: 'Refused', tone: 'bad' },
  waits_for_a_curve: { title: 'Waits until its throughput is known', tone: 'warn' },
  none: { title: 'Not answered yet', tone: 'muted' },
};

function answer(job: Job, told: Explained, clock: Clock): ReasonStep[] {
  const first = told.plans[0];
  const { title, tone } = answers[told.answer];
  const lines = told.reason ? [sentence(told.reason.text)] : [];
  if (told.earliest_s) lines.push(`The earliest deadline that could be promised was ${clock(told.earliest_s)}.`);
  const throughput = throughputText(job);
  if (throughput) lines.push(throughput);
  if (told.made_room && told.made_room.length > 0) lines.push(`Planned anew for it: ${someOf(told.made_room)}.`);
  if (first) lines.push(planText(first, clock));
  return [{ at: first?.made_s ?? told.came_s, kind: 'answer', title, lines, tone, otherJob: otherJob(told.reason) }];
}

// "Planned with measured throughput: 11.2 it/s on 1 GPU, 21.4 on 2."
function throughputText(job: Job): string {
  const rates = Object.entries(job.curve?.rates ?? {}).map(([gpus, rate]) => ({ gpus: Number(gpus), rate })).sort((a, b) => a.gpus - b.gpus);
  if (!job.curve || rates.length === 0) return '';
  const parts = rates.map(({ gpus, rate }, i) => (i === 0 ? `${figureText(rate)} it/s on ${countOf(gpus, 'GPU')}` : `${figureText(rate)} on ${gpus}`));
  return `Planned with ${originText(job.curve.origin)}: ${parts.join(', ')}.`;
}

export function originText(origin: NonNullable<Job['curve']>['origin']): string {
  if (origin === 'stated') return 'the throughput its file states';
  if (origin === 'assumed') return 'assumed throughput, which nobody has measured';
  if (origin === 'planned') return 'throughput from a plan of its model, which nobody has measured';
  return `${origin} throughput`;
}

const mostNames = 5;
function someOf(names: readonly string[]): string {
  const more = names.length - mostNames;
  return names.slice(0, mostNames).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const mostPlanSteps = 6;
function planText(plan: Plan, clock: Clock): string {
  if (plan.steps.length === 0) return 'Nothing is planned for it.';
  const parts = plan.steps.map(({ from_s, gpus }) => `${countOf(gpus, 'GPU')} from ${clock(from_s)}`);
  const more = parts.length - mostPlanSteps;
  return `The plan: ${parts.slice(0, mostPlanSteps).join(', ')}${more > 0 ? ` and ${countOf(more, 'more step')}` : ''}; it ends at ${clock(plan.end_s)}.`;
}

function planned(title: string, plan: Plan, clock: Clock): ReasonStep {
  return { at: plan.made_s, kind: 'plan', title, lines: [sentence(plan.reason.text), planText(plan, clock)], tone: 'plain', otherJob: otherJob(plan.reason) };
}

function changed(change: Change, earlier: readonly Change[]): ReasonStep {
  const before = earlier.at(-1);
  const lines = [sentence(change.reason.text)];
  if (change.gpus > 0 && change.where !== '') lines.push(`On ${change.where}.`);
  return { at: change.at_s, kind: 'change', title: changeTitle(change, before, earlier.some(({ gpus }) => gpus > 0)), lines, tone: 'plain', otherJob: otherJob(change.reason) };
}

function changeTitle({ gpus, where }: Change, before: Change | undefined, hasRun: boolean): string {
  const size = countOf(gpus, 'GPU');
  const from = before?.gpus ?? 0;
  if (gpus === 0) return 'Gave back its GPUs';
  if (from === 0) return hasRun ? `Went on with ${size}` : gpus === 1 ? 'Got its first GPU' : `Got its first ${size}`;
  if (gpus === from) return where === before?.where ? `Started again on ${size}` : `Moved, ${size} as before`;
  return `${gpus > from ? 'Grew' : 'Shrank'} from ${from} to ${size}`;
}

function warned(job: Job, told: Explained, clock: Clock): ReasonStep {
  const late = told.expected_late_s;
  const text = late === null || late === undefined
    ? 'Nobody could tell when it would be done.'
    : `It was expected at ${clock(late)}, ${besideDeadline(factsOf(job).deadline / 1000 - late)}.`;
  return { at: told.warned_s!, kind: 'warning', title: 'Promise at risk', lines: [text], tone: 'bad' };
}

function ended(job: Job, told: Explained): ReasonStep[] {
  const exit = job.exit ? [sentence(job.exit)] : [];
  if (told.finished_s !== null && told.finished_s !== undefined) {
    const slack = told.slack_s;
    const line = slack === undefined ? [] : [`${sentence(besideDeadline(slack))}`];
    return [{ at: told.finished_s, kind: 'end', title: 'Finished', lines: line, tone: slack !== undefined && slack < 0 ? 'bad' : 'good' }];
  }
  if (told.failed_s !== undefined) return [{ at: told.failed_s, kind: 'end', title: 'Failed', lines: exit, tone: 'bad' }];
  if (told.cancelled_s !== undefined) return [{ at: told.cancelled_s, kind: 'end', title: 'Cancelled', lines: [], tone: 'muted' }];
  return [];
}

// "40 min before its deadline"
export function besideDeadline(slack: number): string {
  if (Math.abs(slack) < 0.05) return 'just at its deadline';
  return `${durationText(Math.abs(slack))} ${slack > 0 ? 'before' : 'after'} its deadline`;
}

export function sentence(text: string): string {
  if (text === '') return '';
  return text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}

// These reasons carry the number of another job.
function otherJob(reason: Reason | undefined): number | undefined {
  return reason && (reason.code === 'makes_room' || reason.code === 'gives_way') && reason.detail > 0 ? reason.detail : undefined;
}
