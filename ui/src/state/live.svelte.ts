// SPDX-License-Identifier: Apache-2.0
//
// What the page knows of the cluster, kept up to date. The event stream says that something was
// decided; what has changed since is then fetched by revision, a few times a second at most, so a busy
// cluster costs the page no more than a quiet one. When the connection is lost everything says so.
import { ApiError, type ApiClient } from '../api/client';
import { readEvents, type StreamEvent } from '../api/event_stream';
import type { ClusterNode, Job, Overview } from '../api/types';
import { clock } from './clock.svelte';
import { JobBook } from './job_book';
import { session } from './session.svelte';

const changesEvery = 300; // ms
const figuresEvery = 1000;
const quietEvery = 5000; // without events: expected times move on, too
const jobsPerPage = 1000;
const longestPause = 5000; // between two attempts to connect
const goodWhile = 5000; // a connection that lasted so long was a good one
const mostActivity = 200;

// A decision as the log tells it.
export interface Decision {
  seq: number;
  time: number; // ns since 1970
  type: string;
  reason: { code: string; detail: number };
  payload: Record<string, unknown> & { job?: number };
}

class Live {
  readonly book = new JobBook();
  jobs = $state.raw<Job[]>([]); // newest first
  isLoading = $state(true); // older jobs are still being fetched
  overview = $state.raw<Overview | null>(null);
  nodes = $state.raw<ClusterNode[] | null>(null);
  activity = $state.raw<Decision[]>([]); // newest first
  isConnected = $state(false);
  staleSince = $state<number | null>(null); // ms; what is shown is as old as that
  trouble = $state(''); // why the connection is lost
  tick = $state(0); // grows when something was decided; views that fetch more follow it

  private wantsNodes = 0;
  private generation = 0; // of start(): older loops end
  private lastEvent = '';
  private revision = -1;
  private heard: StreamEvent[] = [];
  private pulling = false;
  private pullAgain = false;
  private figuresAt = 0;
  private lastSign = 0;
  private stream: AbortController | null = null;

  start(): void {
    this.stop();
    const mine = ++this.generation;
    void this.connect(mine, session.api);
    void this.pullNowAndThen(mine, session.api);
  }

  stop(): void {
    ++this.generation;
    this.stream?.abort();
    this.stream = null;
    this.book.clear();
    this.jobs = [];
    this.overview = null;
    this.nodes = null;
    this.activity = [];
    this.isConnected = false;
    this.staleSince = null;
    this.trouble = '';
    this.isLoading = true;
    this.lastEvent = '';
    this.revision = -1;
    this.heard = [];
  }

  // A view that shows the machines calls this, and the result when it goes.
  needNodes(): () => void {
    ++this.wantsNodes;
    this.figuresAt = 0;
    this.wake();
    return () => { --this.wantsNodes; };
  }

  find(id: number): Job | undefined { return this.book.find(id); }

  // A job that this page has changed or fetched itself.
  note(job: Job): void {
    this.book.take([job]);
    this.jobs = this.book.list();
    this.wake();
  }

  wake(): void {
    this.pullAgain = true;
    if (!this.pulling && this.isConnected) void this.pull(this.generation, session.api);
  }

  private async connect(mine: number, api: ApiClient): Promise<void> {
    let pause = 250;
    while (mine === this.generation) {
      let since = Infinity; // when it was connected
      const giveUp = new AbortController();
      this.stream = giveUp;
      try {
        const resume: Record<string, string> = this.lastEvent === '' ? {} : { 'Last-Event-ID': this.lastEvent };
        const answer = await api.stream('/v1/events', resume, giveUp.signal);
        if (mine !== this.generation) return giveUp.abort();
        if (this.revision < 0) await this.loadAll(mine, api);
        this.regained();
        since = Date.now();
        void this.pull(mine, api);
        await readEvents(answer, {
          onSign: () => { this.lastSign = Date.now(); },
          onEvents: (events) => this.hear(events),
        }, giveUp);
        this.lost(mine, 'The server has ended the connection.');
      } catch (error) {
        this.failed(mine, error);
      }
      giveUp.abort();
      if (Date.now() - since > goodWhile) pause = 250;
      await pauseFor(pause);
      pause = Math.min(pause * 2, longestPause);
    }
  }

  private regained(): void {
    this.lastSign = Date.now();
    this.isConnected = true;
    this.staleSince = null;
    this.trouble = '';
  }

  private lost(mine: number, why: string): void {
    if (mine !== this.generation) return;
    this.isConnected = false;
    this.trouble = why;
    this.staleSince ??= this.lastSign || Date.now();
  }

  private failed(mine: number, error: unknown): void {
    if (mine !== this.generation) return;
    if (error instanceof ApiError && error.isSignedOut) {
      session.signOut('The server does not know this token (any more).');
      return;
    }
    this.lost(mine, error instanceof ApiError ? error.message : 'The connection was lost.');
  }

  private hear(events: StreamEvent[]): void {
    this.lastEvent = events[events.length - 1].id || this.lastEvent;
    this.heard.push(...events.slice(-mostActivity));
    if (this.heard.length > mostActivity) this.heard.splice(0, this.heard.length - mostActivity);
    this.wake();
  }

  private async loadAll(mine: number, api: ApiClient): Promise<void> {
    const first = await api.jobs({ limit: 200 });
    if (mine !== this.generation) return;
    this.book.clear();
    this.book.take(first.jobs);
    this.jobs = this.book.list();
    this.isLoading = first.next !== undefined;
    await this.fetchFigures(mine, api);
    this.revision = first.revision;
    if (first.next !== undefined) void this.loadOlder(mine, api, first.next);
  }

  private async loadOlder(mine: number, api: ApiClient, after: number): Promise<void> {
    try {
      for (let next: number | undefined = after; next !== undefined && this.book.size < this.book.most;) {
        const page = await api.jobs({ limit: jobsPerPage, after: next });
        if (mine !== this.generation) return;
        // What has changed meanwhile is newer than this page.
        this.book.take(page.jobs.filter((job) => this.book.find(job.id) === undefined));
        this.jobs = this.book.list();
        next = page.next;
        if (next !== undefined && this.book.size >= this.book.most) this.book.isPartial = true;
      }
      this.isLoading = false;
    } catch (error) {
      this.revision = -1; // all of it again when the server is back
      this.failed(mine, error);
      this.stream?.abort();
    }
  }

  private async pullNowAndThen(mine: number, api: ApiClient): Promise<void> {
    while (mine === this.generation) {
      await pauseFor(quietEvery);
      if (mine === this.generation && this.isConnected && !this.pulling) void this.pull(mine, api);
    }
  }

  private async pull(mine: number, api: ApiClient): Promise<void> {
    if (this.pulling) {
      this.pullAgain = true;
      return;
    }
    this.pulling = true;
    try {
      do {
        this.pullAgain = false;
        const began = Date.now();
        await this.fetchChanges(mine, api);
        if (Date.now() - this.figuresAt >= figuresEvery) await this.fetchFigures(mine, api);
        this.publishActivity();
        await pauseFor(Math.max(0, changesEvery - (Date.now() - began)));
      } while (this.pullAgain && mine === this.generation && this.isConnected);
    } catch (error) {
      this.failed(mine, error);
      this.stream?.abort(); // connects anew
    } finally {
      this.pulling = false;
    }
  }

  private async fetchChanges(mine: number, api: ApiClient): Promise<void> {
    if (this.revision < 0) return;
    let changed = 0;
    for (let after: number | undefined = this.revision; after !== undefined;) {
      const page = await api.jobs({ changed_after: after, limit: jobsPerPage });
      if (mine !== this.generation) return;
      if (page.revision < this.revision) {
        this.revision = -1; // another store: an older copy, perhaps
        throw new Error('the store has changed');
      }
      this.book.take(page.jobs);
      changed += page.jobs.length;
      after = page.next;
      this.revision = after ?? page.revision;
    }
    if (changed > 0) {
      this.jobs = this.book.list();
      ++this.tick;
    }
  }

  private async fetchFigures(mine: number, api: ApiClient): Promise<void> {
    const sent = Date.now();
    const overview = await api.overview();
    clock.adjust(overview.at * 1000, sent, Date.now());
    const nodes = this.wantsNodes > 0 ? await api.nodes() : null;
    if (mine !== this.generation) return;
    this.figuresAt = Date.now();
    this.overview = overview;
    if (nodes) this.nodes = nodes;
  }

  private publishActivity(): void {
    if (this.heard.length === 0) return;
    // Progress would crowd out all else.
    const decisions = this.heard.filter((event) => event.type !== 'job_observed')
      .map(decisionIn).filter((decision) => decision !== null).reverse();
    this.heard = [];
    this.activity = [...decisions, ...this.activity].slice(0, mostActivity);
  }
}

function decisionIn(event: StreamEvent): Decision | null {
  try {
    return JSON.parse(event.data) as Decision;
  } catch {
    return null;
  }
}

function pauseFor(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export const live = new Live();
