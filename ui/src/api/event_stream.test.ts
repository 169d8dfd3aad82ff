// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { EventParser, readEvents, type StreamEvent } from './event_stream';

const stream = 'id: 1\nevent: job_resized\ndata: {"a":1}\n\n: still here\n\nid: 2\r\ndata: x\r\ndata: y\r\n\r\n';

test('events are the same wherever the stream is cut', () => {
  const whole = new EventParser().take(stream);
  expect(whole).toEqual([
    { id: '1', type: 'job_resized', data: '{"a":1}' },
    { id: '2', type: 'message', data: 'x\ny' },
  ]);
  for (let cut = 1; cut < stream.length; ++cut) {
    const parser = new EventParser();
    expect([...parser.take(stream.slice(0, cut)), ...parser.take(stream.slice(cut))]).toEqual(whole);
  }
});

test('an event without its end is not one', () => {
  expect(new EventParser().take('id: 1\ndata: x\n')).toEqual([]);
});

test('heartbeats are no events', async () => {
  const seen: StreamEvent[] = [];
  await readEvents(new Response(': still here\n\n'), (events) => seen.push(...events), new AbortController());
  expect(seen).toEqual([]);
});

test('a silent stream is given up', async () => {
  const giveUp = new AbortController();
  const silent = new ReadableStream({ start(controller) { giveUp.signal.addEventListener('abort', () => controller.close()); } });
  await readEvents(new Response(silent), () => undefined, giveUp, 10);
  expect(giveUp.signal.aborted).toBe(true);
});
