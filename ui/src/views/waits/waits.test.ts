// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { PendingWorkload } from '../../api/types';
import { logsCommand, shellWord } from './kubectl';
import { bandPlace, bandText, predictionOf, startText } from './prediction';
import { waitingByReason, waitingLongest, workloadKey } from './waiting_reasons';

const now = Date.parse('2026-01-01T00:00:00Z');
const minute = 60_000;

function pending(name: string, rest: Partial<PendingWorkload> = {}): PendingWorkload {
  return { workload: { kind: 'Job', namespace: 'team', name }, pods: [`team/${name}-0`], gpus: 4, since: '2026-01-01T00:00:00Z', constraint: 'taint', detail: '',
    why: '', nodes: [], changes: [], ...rest };
}

test('a start that should have been is any moment', () => {
  expect(startText(now + 5 * minute, now)).toBe('in 5 min');
  expect(startText(now - 5 * minute, now)).toBe('any moment');
  expect(startText(NaN, now)).toBe('–');
});

test('a band has its place between now and a little after its end', () => {
  const prediction = predictionOf(pending('a', { predicted_start: { low: '2026-01-01T00:01:00Z', median: '2026-01-01T00:05:00Z', high: '2026-01-01T00:10:00Z', basis: 'b' } }))!;
  const place = bandPlace(prediction, now);
  expect(place.low).toBeCloseTo(0.0926, 3);
  expect(place.median / place.low).toBeCloseTo(5);
  expect(place.high).toBeLessThan(1);
  expect(bandText(prediction, now)).toBe('1 min to 10 min from now');
  expect(bandPlace(prediction, now + 20 * minute)).toEqual({ low: 0, median: 0, high: 0 });
  expect(bandText(prediction, now + 2 * minute)).toBe('now to 8 min');
  expect(bandText(prediction, now + minute - 500)).toBe('now to 9 min');
  expect(bandText(prediction, now + 20 * minute)).toBe('overdue');
  expect(predictionOf(pending('b', { predicted_start: null }))).toBeNull();
  expect(predictionOf(pending('b'))).toBeNull();
});

test('waiting workloads are counted by reason, the most GPUs first', () => {
  const counted = waitingByReason([pending('a'), pending('b', { constraint: 'quota', gpus: 64, pods: [] }), pending('c', { gpus: 0.5, pods: ['team/c-0', 'team/c-1'] })]);
  expect(counted).toEqual([{ constraint: 'quota', workloads: 1, pods: 0, gpus: 64 }, { constraint: 'taint', workloads: 2, pods: 3, gpus: 4.5 }]);
  expect(waitingByReason([])).toEqual([]);
});

test('those that wait longest come first, and each has a key', () => {
  const all = [pending('new', { since: '2026-01-01T02:00:00Z' }), pending('old'), pending('b-old')];
  expect(waitingLongest(all, 2).map(workloadKey)).toEqual(['Job team/b-old', 'Job team/old']);
  expect(workloadKey(pending('x', { workload: { kind: 'Node', name: 'x' } }))).toBe('Node x');
});

test('a command is safe to paste, whatever a name holds', () => {
  expect(logsCommand('team-a', 'train-0')).toBe('kubectl logs -n team-a train-0');
  const words: [string, string][] = [['a.b_c-d', 'a.b_c-d'], [`it's; rm -rf ~`, `'it'\\''s; rm -rf ~'`], ['$(id)', `'$(id)'`], ['`id`', "'`id`'"], ['a b', `'a b'`], ['', `''`], ['a\nb', `'a\nb'`]];
  for (const [name, word] of words) expect(shellWord(name), name).toBe(word);
});
