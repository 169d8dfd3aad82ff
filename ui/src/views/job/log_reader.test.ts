// SPDX-License-Identifier: Apache-2.0
import { beforeEach, expect, test, vi } from 'vitest';
import { ApiError, type LogChunk } from '../../api/client';
import { LogReader } from './log_reader.svelte';

interface Place { rank?: number; generation?: number; offset?: number; limit?: number }

// A job's logs by generation, as the server would give them.
const server = vi.hoisted(() => ({
  logs: new Map<number, { text: string; isOver: boolean }>(),
  job: { generation: 1, phase: 'running' },
  asked: [] as Place[],
}));

vi.mock('../../state/live.svelte', () => ({ live: { find: () => server.job } }));
vi.mock('../../state/session.svelte', () => ({ session: { api: { log: async (_job: number, place: Place): Promise<LogChunk> => {
  server.asked.push(place);
  const generation = place.generation ?? Math.max(...server.logs.keys());
  const log = server.logs.get(generation);
  if (!log) throw new ApiError(404, { type: 'about:blank', title: 'Not Found', status: 404 });
  const bytes = new TextEncoder().encode(log.text);
  const offset = place.offset! < 0 ? Math.max(0, bytes.length + place.offset!) : place.offset!;
  const text = bytes.slice(offset, offset + place.limit!);
  const next = offset + text.length;
  return { text, generation, offset, next, isOver: log.isOver && next === bytes.length };
} } } }));

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('document', { hidden: false });
  server.logs.clear();
  server.asked = [];
  server.job = { generation: 1, phase: 'running' };
});

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1000);
function follow(generation: number | null = null): LogReader {
  const reader = new LogReader({ job: 7, rank: 0, generation });
  void reader.follow();
  return reader;
}

test('what is added is read once a second', async () => {
  server.logs.set(1, { text: 'one\n', isOver: false });
  const reader = follow();
  await seconds(0.5);
  server.logs.get(1)!.text += 'two\n';
  await seconds(1);
  expect(reader.text.lines).toEqual(['one', 'two']);
  const soFar = server.asked.length;
  await seconds(10);
  expect(server.asked.length - soFar).toBeLessThanOrEqual(11);
  reader.stop();
});

test('the next generation is taken up by itself, and the end of all is the end', async () => {
  server.logs.set(1, { text: 'one', isOver: true });
  const reader = follow();
  await seconds(2);
  expect(reader.isComplete).toBe(false);
  server.job = { generation: 3, phase: 'running' }; // the second never printed
  await seconds(2);
  server.logs.set(3, { text: 'three\n', isOver: false });
  await seconds(2);
  expect(reader.text.lines).toEqual(['one', '— generation 3 —', 'three']);
  expect(reader.generation).toBe(3);
  server.logs.get(3)!.isOver = true;
  server.job = { generation: 3, phase: 'finished' };
  await seconds(2);
  expect(reader.isComplete).toBe(true);
});

test('one generation that was asked for ends with itself', async () => {
  server.logs.set(1, { text: 'one\n', isOver: true });
  server.logs.set(2, { text: 'two\n', isOver: false });
  server.job.generation = 2;
  const reader = follow(1);
  await seconds(3);
  expect(reader.text.lines).toEqual(['one']);
  expect(reader.isComplete).toBe(true);
});

test('a job that has not run is not asked for its log', async () => {
  server.job.generation = 0;
  const reader = follow();
  await seconds(3);
  expect([reader.isMissing, reader.isComplete, server.asked.length]).toEqual([true, false, 0]);
  server.job.generation = 1;
  server.logs.set(1, { text: 'hello\n', isOver: false });
  await seconds(2);
  expect([reader.isMissing, reader.text.lines[0]]).toEqual([false, 'hello']);
  reader.stop();
});

test('of a long log the end is read, and a job that prints faster than it is read is caught up with', async () => {
  const line = `${'x'.repeat(99)}\n`;
  server.logs.set(1, { text: `${line.repeat(20_000)}end\n`, isOver: false });
  const reader = follow();
  await seconds(0.5);
  expect(reader.text.hasLeftOut).toBe(true);
  expect(reader.text.lines.at(-1)).toBe('end');
  expect(server.asked[0].offset).toBeLessThan(0);
  server.logs.get(1)!.text += `${line.repeat(80_000)}late\n`;
  await seconds(3);
  expect(reader.text.lines.at(-1)).toBe('late');
  expect(reader.text.lines.some((text) => text.includes('left out here'))).toBe(true);
  expect(server.asked.length).toBeLessThan(10);
  reader.stop();
});

test('a download has all of it', async () => {
  server.logs.set(1, { text: 'é\n'.repeat(800_000), isOver: true });
  const reader = follow(1);
  await seconds(2);
  expect((await reader.whole()).size).toBe(2_400_000);
});
