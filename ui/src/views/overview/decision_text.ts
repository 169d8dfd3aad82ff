// SPDX-License-Identifier: Apache-2.0
//
// A decision in a sentence about its job: "is promised by 14:05: there is room for it beside all
// promises". The names of types and reasons are those of the record log.
import type { Job } from '../../api/types';
import type { Decision } from '../../state/live.svelte';
import { countOf, figureText } from '../../text/numbers';
import { durationText, parsedTime, timeText } from '../../text/times';

export type Kind = 'answer' | 'resize' | 'other';
export type Tone = 'good' | 'bad' | 'warn' | 'plain';

export interface Told {
  kind: Kind;
  tone: Tone;
  job?: { id: number; name: string };
  text: string; // after the job's name, or by itself
}

export interface Context {
  find(id: number): Job | undefined;
  now: number; // ms
}

interface Payload {
  job?: number;
  spec?: { name?: string; deadline_kind?: string; deadline?: number };
  deadline?: number;
  earliest?: number | null;
  expected_start?: number | null;
  expected_finish?: number | null;
  block?: { size?: number };
  placements?: unknown[];
  key?: { model?: string; global_batch?: number };
  gpus?: number;
  by?: number;
  nodes?: { name?: string; is_up?: boolean }[];
}

const never = 9.2e18; // ns; the log's word for a time that nobody knows

function timeOf(ns: number | null | undefined): number {
  return typeof ns === 'number' && ns < never ? ns / 1e6 : NaN;
}

function nameOf(id: number, context: Context): string {
  return context.find(id)?.name ?? `job ${id}`;
}

// Why, in the words of `weir explain`.
export function reasonText(reason: Decision['reason'], context: Context): string {
  const { code, detail } = reason;
  switch (code) {
    case 'no_node_fits': return 'no node has room now';
    case 'never_fits': return 'no node could hold it even if the cluster were empty';
    case 'malformed': return 'the request breaks the rules of a shape or has no replica';
    case 'waits_for_earlier': return `it waits behind ${nameOf(detail, context)}, which came earlier`;
    case 'node_lost': return 'a node under it was lost';
    case 'fits_beside_promises': return 'there is room for it beside all promises';
    case 'fits_after_replan': return `there is room for it once ${countOf(detail, 'other job is', 'other jobs are')} planned anew`;
    case 'makes_room': return `makes room for ${nameOf(detail, context)}`;
    case 'ahead_of_plan': return 'it is ahead of its plan and needs less';
    case 'too_slow_alone': return 'it could not be done by then even with the pool to itself';
    case 'no_room': return 'it cannot be done by then beside the promises already made';
    case 'no_block': return 'the GPUs would be there, but only by moving a job that cannot afford a move';
    case 'spares_cheaper_jobs': return `it would take the room of cheaper jobs; ${detail} of them were refused lately`;
    case 'no_promise_asked': return 'it runs when there are GPUs for it';
    case 'waits_for_a_curve': return 'nobody knows yet how fast it runs';
    case 'as_promised': return 'its promise needs these GPUs';
    case 'left_over': return 'nobody was promised these GPUs, and they save most here';
    case 'reclaimed': return 'others need its GPUs';
    case 'policy_order': return `place ${detail} in the policy’s order`;
    case 'behind_plan': return 'it runs slower than its curve says';
    case 'back_on_plan': return 'its promise can be kept after all';
    case 'gives_way': return `it was not promised yet and gives way to ${nameOf(detail, context)}`;
    case 'larger_than_most': return 'it is much larger than most; it is promised once more of it is done';
    case 'ranks_failed': return `its processes of generation ${detail} failed; they are started again`;
    case 'foreign_use': return 'somebody else uses its GPUs';
    default: return ''; // as reported, or not known here: nothing to add
  }
}

function because(text: string, reason: string): string {
  return reason === '' ? text : `${text}: ${reason}`;
}

type Sentence = Omit<Told, 'job'>;

function acceptedText(payload: Payload, context: Context): Sentence {
  const deadline = payload.spec?.deadline_kind === 'none' ? NaN : timeOf(payload.spec?.deadline);
  const text = Number.isNaN(deadline) ? 'came' : `came, to be done by ${timeText(deadline, context.now)}`;
  return { kind: 'other', tone: 'plain', text };
}

function refusedText(payload: Payload, why: string, context: Context): Sentence {
  const earliest = timeOf(payload.earliest);
  const offer = Number.isNaN(earliest) ? '' : `. It could be promised by ${timeText(earliest, context.now)}`;
  return { kind: 'answer', tone: 'bad', text: because('is refused', why) + offer };
}

function unpromisedText(payload: Payload, why: string, context: Context): Sentence {
  const start = timeOf(payload.expected_start);
  const expected = start > context.now + 1000 ? `. It can expect to start at ${timeText(start, context.now)}` : '';
  return { kind: 'answer', tone: 'plain', text: because('is accepted without a promise', why) + expected };
}

function resizedText(payload: Payload, why: string): Sentence {
  const size = payload.block?.size ?? 0;
  if (size === 0) return { kind: 'resize', tone: 'warn', text: because('gives its GPUs back', why) };
  return { kind: 'resize', tone: 'plain', text: because(`runs on ${countOf(size, 'GPU')}`, size === 1 ? ofOne(why) : why) };
}

function ofOne(why: string): string {
  return why.replace('these GPUs', 'this GPU').replace('they save', 'it saves').replace('its GPUs', 'its GPU');
}

function atRiskText(payload: Payload, why: string, context: Context): Sentence {
  const finish = timeOf(payload.expected_finish);
  const deadline = parsedTime(context.find(payload.job ?? 0)?.deadline);
  const late = (finish - deadline) / 1000;
  const expected = Number.isNaN(finish) ? 'nobody can tell when it will be done'
    : late > 0 ? `expected ${durationText(late)} after its deadline`
      : `expected at ${timeText(finish, context.now)}`;
  return { kind: 'answer', tone: 'bad', text: `is at risk, ${because(expected, why)}` };
}

function releasedText(code: string, job: Job | undefined): Sentence {
  if (code === 'cancelled') return { kind: 'other', tone: 'plain', text: job?.observed ? 'was deleted' : 'was cancelled' };
  if (code === 'failed') return { kind: 'other', tone: 'bad', text: 'has failed' };
  return { kind: 'other', tone: 'good', text: 'has finished' };
}

// What another scheduler did.
function observedDecision(decision: Decision, payload: Payload, context: Context): Sentence | null {
  const job = context.find(payload.job ?? 0);
  if (!job) return null; // one that is not shown: the system's own
  switch (decision.type) {
    case 'job_accepted': return { kind: 'other', tone: 'plain', text: job.observed?.gpus ? `came and asks for ${gpusText(job.observed.gpus)}` : 'came' };
    case 'job_placed': return { kind: 'resize', tone: 'good', text: job.nodes?.length ? `is placed on ${job.nodes.join(', ')}` : 'is placed' };
    default: return null;
  }
}

function gpusText(gpus: number): string {
  return `${figureText(gpus)} ${gpus > 1 ? 'GPUs' : gpus === 1 ? 'GPU' : 'of a GPU'}`;
}

function nodesText(nodes: readonly { name?: string; is_up?: boolean }[]): Sentence | null {
  if (nodes.length === 0) return null;
  if (nodes.length > 1) return { kind: 'other', tone: 'plain', text: `${countOf(nodes.length, 'node')} are there or have changed` };
  const [{ name = 'A node', is_up: isUp }] = nodes;
  return isUp === false ? { kind: 'other', tone: 'warn', text: `Node ${name} is cordoned or not ready` } : { kind: 'other', tone: 'good', text: `Node ${name} takes pods` };
}

function jobDecision(decision: Decision, payload: Payload, context: Context): Sentence | null {
  if (decision.reason.code === 'observed') return observedDecision(decision, payload, context);
  const why = reasonText(decision.reason, context);
  switch (decision.type) {
    case 'job_accepted': return { kind: 'other', tone: 'plain', text: 'came' };
    case 'training_accepted': return acceptedText(payload, context);
    case 'promise_made':
      return { kind: 'answer', tone: 'good', text: because(`is promised by ${timeText(timeOf(payload.deadline), context.now)}`, why) };
    case 'planned_provisionally': return { kind: 'answer', tone: 'plain', text: because('is planned, but not promised yet', why) };
    case 'promise_refused': return refusedText(payload, why, context);
    case 'job_unpromised': return unpromisedText(payload, why, context);
    case 'job_rejected': return { kind: 'answer', tone: 'bad', text: because('is given up', why) };
    case 'timeline_revised':
      return { kind: 'other', tone: decision.reason.code === 'back_on_plan' ? 'good' : 'plain', text: because('is planned anew', why) };
    case 'job_resized': return resizedText(payload, why);
    case 'job_placed': return { kind: 'resize', tone: 'plain', text: 'is placed' };
    case 'job_queued': return { kind: 'other', tone: 'plain', text: because('waits', why) };
    case 'job_interrupted': return { kind: 'resize', tone: 'bad', text: because('is interrupted', why) };
    case 'promise_at_risk': return atRiskText(payload, why, context);
    case 'job_released': return releasedText(decision.reason.code, context.find(payload.job ?? 0));
    default: return null;
  }
}

function clusterDecision(decision: Decision, payload: Payload): Sentence | null {
  switch (decision.type) {
    case 'node_closed':
    case 'pool_node_closed': return { kind: 'other', tone: 'warn', text: 'A node is closed: it is drained or lost' };
    case 'node_opened':
    case 'pool_node_opened': return { kind: 'other', tone: 'good', text: 'A node is used again' };
    case 'nodes_known': return nodesText(payload.nodes ?? []);
    case 'foreign_use_known':
      return { kind: 'other', tone: 'warn', text: payload.gpus ? 'Somebody else uses GPUs of a node' : 'The GPUs of a node are free of others again' };
    case 'curve_adopted':
      return { kind: 'other', tone: 'plain', text: `It is known now how fast ${payload.key?.model ?? 'a model'} runs` };
    case 'rescale_cost_adopted': return { kind: 'other', tone: 'plain', text: 'It is known better what a change of GPUs costs' };
    case 'clock_step_seen':
      return { kind: 'other', tone: 'warn', text: `The machine’s clock was set by ${durationText((payload.by ?? 0) / 1e9)}; times here were not` };
    default: return null;
  }
}

// Null for what nobody wants to read: progress, and what changes nothing.
export function told(decision: Decision, context: Context): Told | null {
  const payload = decision.payload as Payload;
  if (payload.job === undefined) return clusterDecision(decision, payload);
  const what = jobDecision(decision, payload, context);
  return what && { ...what, job: { id: payload.job, name: payload.spec?.name ?? nameOf(payload.job, context) } };
}
