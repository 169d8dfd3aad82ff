// SPDX-License-Identifier: Apache-2.0
//
// The page's picture of the cluster, with a server that is played: what it loads, and when it says that it is stale.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Job, JobPage, Phase } from '../api/types';

const played = vi.hoisted(() => {
  const listeners = new Map<string, (() => void)[]>();
  const storage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  const page = { hidden: false, addEventListener: (type: string, listener: () => void) => listeners.set(type, [...(listeners.get(type) ?? []), listener]), removeEventListener: () => undefined };
  Object.assign(globalThis, {
    sessionStorage: storage, localStorage: storage, document: page,
    location: { hash: '#token=t', pathname: '/', search: '' }, history: { replaceState: () => undefined, state: null }, addEventListener: () => undefined,
  });
  return { page, tell: (type: string) => listeners.get(type)?.forEach((listener) => listener()) };
});

function job(id: number, phase: Phase = 'finished'): Job {
  return { id, name: `job-${id}`, tenant: 'default', phase, submitted: '2026-01-01T00:00:00Z', gpus: 0, generation: 1, restarts: 0 };
}

// A store of jobs, newest last, behind fetch.
class PlayedServer {
  jobs: Job[] = [];
  revision = 1;
  changed: Job[] = [];
  asked: string[] = [];
  isMute = false; // takes requests and answers none
  muted = ''; // likewise, of this path alone
  isDown = false;
  streams: ReadableStreamDefaultController<Uint8Array>[] = [];

  fetch = async (address: RequestInfo | URL, request: RequestInit = {}): Promise<Response> => {
    const url = new URL(String(address), 'http://server');
    this.asked.push(url.pathname + url.search);
    if (this.isDown) throw new TypeError('fetch failed');
    if (url.pathname === '/v1/events') return this.stream(request.signal!);
    if (this.isMute || url.pathname === this.muted) return new Promise((_, refuse) => request.signal!.addEventListener('abort', () => refuse(request.signal!.reason)));
    if (url.pathname === '/v1/overview') return Response.json({ at: Date.now() / 1000 });
    return Response.json(this.page(url.searchParams));
  };

  say(text: string): void { this.streams.at(-1)?.enqueue(new TextEncoder().encode(text)); }

  private stream(signal: AbortSignal): Response {
    return new Response(new ReadableStream({
      start: (controller) => {
        this.streams.push(controller);
        signal.addEventListener('abort', () => { try { controller.error(signal.reason); } catch { /* it has ended */ } });
      },
    }));
  }

  private page(query: URLSearchParams): JobPage {
    if (query.has('changed_after')) return { jobs: this.changed.splice(0), revision: this.revision };
    const after = Number(query.get('after') ?? Infinity);
    const limit = Number(query.get('limit'));
    const found = this.jobs.filter(({ id, phase }) => id < after && (!query.has('phase') || phase === query.get('phase'))).reverse();
    const page = found.slice(0, limit);
    return { jobs: page, revision: this.revision, ...(found.length > limit ? { next: page.at(-1)!.id } : {}) };
  }
}

let server: PlayedServer;
let live: typeof import('./live.svelte')['live'];

beforeEach(async () => {
  vi.useFakeTimers();
  vi.resetModules();
  played.page.hidden = false;
  server = new PlayedServer();
  vi.stubGlobal('fetch', server.fetch);
  ({ live } = await import('./live.svelte'));
});
afterEach(() => {
  live.stop();
  vi.useRealTimers();
});

const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);

test('loads the newest jobs, and every job that is not over, and stops when there is no more room', async () => {
  server.jobs = Array.from({ length: 20_000 }, (_, i) => job(i + 1, i === 5 ? 'running' : 'finished'));
  live.start();
  await pass(1);
  expect(live.isConnected).toBe(true);
  await pass(8);
  expect(live.isLoading).toBe(false);
  expect(live.find(6)?.phase).toBe('running');
  expect(live.find(20_000)).toBeDefined();
  expect(live.jobs.length).toBeGreaterThan(10_000);
  expect(live.jobs.length).toBeLessThanOrEqual(live.book.most);
  expect(live.book.isPartial).toBe(true);
  expect(server.asked.filter((path) => path.includes('after=')).length).toBeLessThan(40);
});

test('shows the jobs and what was decided while the figures are awaited, and the figures while the jobs are', async () => {
  server.jobs = [job(1, 'running')];
  server.muted = '/v1/overview';
  live.start();
  await pass(0.1);
  server.say('id: 9\nevent: job_released\ndata: {"seq":9}\n\n');
  await pass(0.1);
  expect(live.jobs.map(({ id }) => id)).toEqual([1]);
  expect(live.activity.map(({ seq }) => seq)).toEqual([9]);
  expect(live.overview).toBeNull();
  expect(live.isConnected).toBe(false);
  live.stop();
  server.muted = '/v1/jobs';
  live.start();
  await pass(0.1);
  expect(live.overview).not.toBeNull();
  expect(live.jobs).toEqual([]);
});

test('an event makes it look what has changed', async () => {
  server.jobs = [job(1, 'running')];
  live.start();
  await pass(2);
  server.changed = [job(1, 'finished')];
  server.revision = 2;
  server.say('id: 9\nevent: job_released\ndata: {"seq":9}\n\n');
  await pass(1);
  expect(live.find(1)?.phase).toBe('finished');
  expect(live.activity.map(({ seq }) => seq)).toEqual([9]);
});

test('a server that takes requests and answers none makes the page stale, however lively its events are', async () => {
  server.jobs = [job(1)];
  live.start();
  await pass(2);
  expect(live.staleSince).toBeNull();
  const last = Date.now();
  server.isMute = true;
  for (let i = 0; i < 8; ++i) {
    server.say(': still here\n\n');
    await pass(5);
  }
  expect(live.isConnected).toBe(false);
  expect(live.staleSince).toBeLessThanOrEqual(last + 6000);
  server.isMute = false;
  await pass(30);
  expect(live.isConnected).toBe(true);
  expect(live.staleSince).toBeNull();
});

test('it resumes after the last event it heard, and is stale while the server is away', async () => {
  live.start();
  await pass(2);
  server.say('id: 17\nevent: job_resized\ndata: {}\n\n');
  await pass(1);
  server.isDown = true;
  server.streams.at(-1)!.close();
  await pass(8);
  expect(live.staleSince).not.toBeNull();
  server.isDown = false;
  await pass(8);
  expect(live.staleSince).toBeNull();
});

test('an older store is loaded anew', async () => {
  server.jobs = [job(1), job(2)];
  server.revision = 50;
  live.start();
  await pass(2);
  server.jobs = [job(1, 'running')];
  server.revision = 3;
  await pass(20);
  expect(live.jobs.map(({ id, phase }) => [id, phase])).toEqual([[1, 'running']]);
});

test('a tab in the background lets go of its connection and comes back when it is seen', async () => {
  live.start();
  await pass(2);
  played.page.hidden = true;
  played.tell('visibilitychange');
  await pass(60);
  expect(live.isConnected).toBe(false);
  const before = server.asked.length;
  await pass(60);
  expect(server.asked.length).toBe(before);
  played.page.hidden = false;
  played.tell('visibilitychange');
  await pass(5);
  expect(live.isConnected).toBe(true);
});
