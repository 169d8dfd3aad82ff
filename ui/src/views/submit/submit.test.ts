// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ApiError, type Submitted } from '../../api/client';
import type { DryRun } from '../../api/types';
import { DryRunner, type Shown } from './dry_runner';
import { examples } from './examples';
import { JobText } from './job_text';
import { mistakesByLine, mistakesOf } from './mistakes';
import { deadlineText, offeredDeadline } from './offer';
import { Submission } from './submission';

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

const unreachable = new ApiError(0, { type: 'about:blank', title: 'gone', status: 0, detail: 'The server does not answer.' });

class Server {
  asked: { text: string; signal: AbortSignal; answer(run: DryRun): void; fail(error: unknown): void }[] = [];
  shown: Shown[] = [];
  runner = new DryRunner({
    ask: (text, signal) => new Promise((resolve, reject) => { this.asked.push({ text, signal, answer: resolve, fail: reject }); }),
    show: (shown) => { this.shown.push(shown); },
  });
  get last(): Shown { return this.shown[this.shown.length - 1]; }
}
const promised = (reason: string): DryRun => ({ answer: 'promised', reason });
const settle = () => vi.advanceTimersByTimeAsync(0);

test('asks 250 ms after the last change, once', async () => {
  const server = new Server();
  server.runner.change('a');
  await vi.advanceTimersByTimeAsync(200);
  server.runner.change('ab');
  await vi.advanceTimersByTimeAsync(249);
  expect(server.asked).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(server.asked.map(({ text }) => text)).toEqual(['ab']);
});

test('a late answer never covers a newer one, and its request is given up', async () => {
  const server = new Server();
  server.runner.change('old');
  await vi.advanceTimersByTimeAsync(250);
  server.runner.change('new');
  expect(server.asked[0].signal.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(250);
  server.asked[1].answer(promised('new'));
  await settle();
  server.asked[0].answer(promised('old'));
  await settle();
  expect(server.last.answer).toEqual({ kind: 'answered', run: promised('new') });
  expect(server.last).toMatchObject({ text: 'new', isOld: false, isAsking: false });
});

test('a late failure does not mark a newer answer', async () => {
  const server = new Server();
  server.runner.change('old');
  await vi.advanceTimersByTimeAsync(250);
  server.runner.change('new');
  await vi.advanceTimersByTimeAsync(250);
  server.asked[1].answer(promised('new'));
  await settle();
  server.asked[0].fail(unreachable);
  await settle();
  expect(server.last).toMatchObject({ isOld: false, trouble: '' });
});

test('without a server the last answer is old and says why, and it is asked again', async () => {
  const server = new Server();
  server.runner.change('a');
  await vi.advanceTimersByTimeAsync(250);
  server.asked[0].answer(promised('a'));
  await settle();
  server.runner.change('b');
  expect(server.last).toMatchObject({ isOld: true, isAsking: true, text: 'a' });
  await vi.advanceTimersByTimeAsync(250);
  server.asked[1].fail(unreachable);
  await settle();
  expect(server.last).toMatchObject({ isOld: true, isAsking: false, text: 'a', trouble: 'The server does not answer.' });
  await vi.advanceTimersByTimeAsync(2000);
  server.asked[2].answer(promised('b'));
  await settle();
  expect(server.last).toMatchObject({ isOld: false, text: 'b', trouble: '' });
});

test('mistakes are an answer', async () => {
  const server = new Server();
  server.runner.change('a');
  await vi.advanceTimersByTimeAsync(250);
  const problem = { type: 'about:blank', title: 'Bad Request', status: 400, errors: [{ expected: 'x', message: 'y' }] };
  server.asked[0].fail(new ApiError(400, problem));
  await settle();
  expect(server.last).toMatchObject({ answer: { kind: 'mistakes', problem }, isOld: false });
});

test('nothing is asked about nothing', async () => {
  const server = new Server();
  server.runner.change('a');
  server.runner.change(' \n');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.asked).toHaveLength(0);
  expect(server.last.answer).toBeNull();
});

test('mistakes find their line, their field and their words', () => {
  const mistakes = mistakesOf({ type: '', title: '', status: 400, errors: [
    { where: 'body:3', field: 'throughput.2', expected: 'e', message: 'body:3: throughput.2 is "-1", expected e' },
    { where: 'body:99', field: 'jobs[0].name', expected: 'e', message: 'body:99: name is missing' },
    { field: 'field', found: 'wat', expected: 'e', message: 'field is "wat"' },
  ] });
  expect(mistakes).toEqual([
    { line: 3, field: 'throughput', key: '2', text: 'throughput.2 is "-1", expected e' },
    { line: 99, field: 'name', key: undefined, text: 'name is missing' },
    { line: undefined, field: undefined, key: undefined, text: 'field is "wat"' },
  ]);
  expect([...mistakesByLine(mistakes, 5).keys()]).toEqual([3, 5]);
});

function sending() {
  const sent: { text: string; key: string; answer(answer: Submitted): void; fail(error: unknown): void }[] = [];
  let keys = 0;
  const submission = new Submission((text, key) => new Promise((resolve, reject) => {
    sent.push({ text, key, answer: resolve, fail: reject });
  }), () => `key-${++keys}`);
  return { sent, submission };
}
const accepted = { accepted: true, job: { id: 1 } } as Submitted;

test('a double click sends one request', async () => {
  const { sent, submission } = sending();
  const both = [submission.submit('a'), submission.submit('a')];
  expect(sent).toHaveLength(1);
  sent[0].answer(accepted);
  expect(await Promise.all(both)).toEqual([accepted, accepted]);
});

test('a retry after a lost connection has the same key, a changed text another', async () => {
  const { sent, submission } = sending();
  const lost = submission.submit('a');
  sent[0].fail(unreachable);
  await expect(lost).rejects.toBe(unreachable);
  void submission.submit('a');
  expect(sent[1].key).toBe(sent[0].key);
  void submission.submit('b');
  expect(sent[2].key).not.toBe(sent[0].key);
});

test('after an answer the same text is a new job', async () => {
  const { sent, submission } = sending();
  const first = submission.submit('a');
  sent[0].answer(accepted);
  await first;
  void submission.submit('a');
  expect(sent[1].key).not.toBe(sent[0].key);
});

test('an offered deadline is round and never too early', () => {
  const now = Date.parse('2026-11-15T22:54:48.439Z');
  for (const ahead of [0, 1, 999, 30_117, 119_999, 120_001, 3_599_999, 3_600_001, 86_400_000]) {
    const offer = offeredDeadline(now + ahead, now);
    expect(offer).toBeGreaterThanOrEqual(now + ahead + 5000);
    expect(offer % 5000).toBe(0);
  }
  expect(deadlineText(offeredDeadline(now + 30_117, now))).toBe('2026-11-15T22:55:25Z');
});

test('the examples can be read by the form', () => {
  for (const { name, text } of examples) {
    const job = new JobText(text);
    expect(job.trouble, name).toBe('');
    expect(job.scalar('name'), name).not.toBe('');
  }
});
