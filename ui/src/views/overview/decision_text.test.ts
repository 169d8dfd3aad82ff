// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { Job } from '../../api/types';
import type { Decision } from '../../state/live.svelte';
import { timeText } from '../../text/times';
import { told, type Context } from './decision_text';

const now = Date.parse('2026-01-01T12:00:00Z');
const ns = (ms: number) => ms * 1e6;
const clockAt = (ms: number) => timeText(ms, now);
const train: Job = { id: 7, name: 'train', tenant: 'default', phase: 'running', submitted: '2026-01-01T11:00:00Z', gpus: 4, generation: 2, restarts: 0,
  deadline: '2026-01-01T13:00:00Z' };
const context: Context = { find: (id) => (id === 7 ? train : undefined), now };

function decision(type: string, payload: Decision['payload'], code = 'as_reported', detail = 0): Decision {
  return { seq: 1, time: ns(now), type, reason: { code, detail }, payload };
}
const text = (...of: Parameters<typeof decision>) => told(decision(...of), context)?.text;

test('answers say until when, and why', () => {
  expect(text('promise_made', { job: 7, deadline: ns(now + 3_600_000) }, 'fits_beside_promises'))
    .toBe(`is promised by ${clockAt(now + 3_600_000)}: there is room for it beside all promises`);
  expect(text('promise_made', { job: 7, deadline: ns(now) }, 'fits_after_replan', 1)).toContain('once 1 other job is planned anew');
  expect(text('promise_refused', { job: 9, earliest: ns(now + 60_000) }, 'no_room'))
    .toBe(`is refused: it cannot be done by then beside the promises already made. It could be promised by ${clockAt(now + 60_000)}`);
  expect(text('promise_refused', { job: 9, earliest: null }, 'too_slow_alone')).not.toContain('promised by');
  expect(text('job_unpromised', { job: 9, expected_start: ns(now + 90_000) }, 'no_promise_asked'))
    .toBe(`is accepted without a promise: it runs when there are GPUs for it. It can expect to start at ${clockAt(now + 90_000)}`);
});

test('GPUs that come and go', () => {
  expect(told(decision('job_resized', { job: 7, block: { first: 4, size: 1 } }, 'as_promised'), context))
    .toEqual({ kind: 'resize', tone: 'plain', job: { id: 7, name: 'train' }, text: 'runs on 1 GPU: its promise needs this GPU' });
  expect(text('job_resized', { job: 7, block: { first: 4, size: 8 } }, 'left_over')).toBe('runs on 8 GPUs: nobody was promised these GPUs, and they save most here');
  expect(text('job_resized', { job: 7, block: { first: 0, size: 0 } }, 'reclaimed')).toBe('gives its GPUs back: others need its GPUs');
});

test('a promise at risk says by how much', () => {
  expect(text('promise_at_risk', { job: 7, expected_finish: ns(now + 3_600_000 + 300_000) }, 'behind_plan'))
    .toBe('is at risk, expected 5 min after its deadline: it runs slower than its curve says');
  expect(text('promise_at_risk', { job: 7, expected_finish: 9223372036854775807 })).toBe('is at risk, nobody can tell when it will be done');
});

test('other jobs are called by name where it is known', () => {
  expect(text('timeline_revised', { job: 3 }, 'makes_room', 7)).toBe('is planned anew: makes room for train');
  expect(text('timeline_revised', { job: 3 }, 'makes_room', 8)).toBe('is planned anew: makes room for job 8');
  expect(told(decision('training_accepted', { job: 12, spec: { name: 'fresh', deadline_kind: 'none', deadline: 0 } }), context)?.job?.name).toBe('fresh');
});

test('how a job ended', () => {
  expect(text('job_released', { job: 7 })).toBe('has finished');
  expect(text('job_released', { job: 7 }, 'cancelled')).toBe('was cancelled');
  expect(text('job_released', { job: 7 }, 'failed')).toBe('has failed');
});

test('progress and what changes nothing is not told', () => {
  expect(text('job_observed', { job: 7 })).toBeUndefined();
  expect(text('event_ignored', {})).toBeUndefined();
  expect(text('something_new', { job: 7 })).toBeUndefined();
});

test('what another scheduler does is told, and nothing of what is not shown', () => {
  const pod: Job = { ...train, name: 'vision/train', nodes: ['n1'], observed: { uid: 'u', gpus: 4 } };
  const beside: Context = { find: (id) => (id === 7 ? pod : undefined), now };
  const observed = (type: string, payload: Decision['payload'], code = 'observed') => told(decision(type, payload, code), beside);
  expect(observed('job_accepted', { job: 7 })?.text).toBe('came and asks for 4 GPUs');
  expect(observed('job_placed', { job: 7 })).toMatchObject({ text: 'is placed on n1', job: { id: 7, name: 'vision/train' } });
  expect(observed('job_queued', { job: 7 })).toBeNull();
  expect(observed('job_placed', { job: 8 })).toBeNull();
  expect(observed('job_released', { job: 7 }, 'cancelled')?.text).toBe('was deleted');
  expect(observed('nodes_known', { nodes: [{ name: 'n1', is_up: false }] })?.text).toBe('Node n1 is cordoned or not ready');
  expect(observed('nodes_known', { nodes: [{ name: 'n1', is_up: true }] })?.text).toBe('Node n1 takes pods');
  expect(observed('nodes_known', { nodes: [{}, {}, {}] })?.text).toBe('3 nodes are there or have changed');
});
