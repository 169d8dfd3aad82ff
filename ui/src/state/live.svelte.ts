// SPDX-License-Identifier: Apache-2.0
//
// What the page knows of the cluster, kept up to date. The event stream says that something was
// decided; what has changed since is then fetched by revision, a few times a second at most, so a busy
// cluster costs the page no more than a quiet one. When the connection is lost everything says so. A tab
// that nobody sees lets go of its connection: a browser has few of them for all its tabs.
import { ApiError, type ApiClient } from '../api/client';
import { readEvents, type StreamEvent } from '../api/event_stream';
import type { ClusterNode, Job, JobPage, Overview } from '../api/types';
import { clock } from './clock.svelte';
import { JobBook } from './job_book';
import { session } from './session.svelte';

const changesEvery = 300; // ms
const figuresEvery = 1000;
const quietEvery = 5000; // without events: expected times move on, too
const jobsPerPage = 1000; // of changes
const olderPerPage = 500; // small, so that reading one is not felt
const firstThings = 1500; // ms for what the view itself asks for, before older jobs are fetched
const longestPause = 5000; // between two attempts to connect
const goodWhile = 5000; // a connection that lasted so long was a good one
const mostActivity = 200;
const earlier = 500; // records from before the page was opened
const silence = 25_000; // heartbeats come every 15 s
const hiddenFor = 30_000; // then a tab in the background lets go
const notOver = ['running', 'queued', 'waiting', 'paused'] as const;

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
  private revision = -1; // what is known up to here; -1: nothing
  private heard: StreamEvent[] = [];
  private figuresAt = 0;
  private updatedAt = 0; // when all that had changed was known
  private connection: AbortController | null = null;
  private isAwake = false; // there may be something new
  private wakeUp: () => void = () => undefined;

  constructor() {
    let hiding: ReturnType<typeof setTimeout> | undefined;
    document.addEventListener('visibilitychange', () => {
      clearTimeout(hiding);
      if (document.hidden) hiding = setTimeout(() => this.connection?.abort(), hiddenFor);
    });
  }

  start(): void {
    this.stop();
    void this.stayConnected(++this.generation, session.api);
  }

  stop(): void {
    ++this.generation;
    this.connection?.abort();
    this.connection = null;
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
    this.updatedAt = 0;
  }

  // A view that shows the machines calls this, and the result when it goes.
  needNodes(): () => void {
    ++this.wantsNodes;
    this.figuresAt = 0;
    this.wake();
    return () => { --this.wantsNodes; };
  }

  find(id: number): Job | undefined { return this.book.find(id); }

  // A job that this page has made or fetched itself. One that is known already may be newer here.
  note(job: Job): void {
    if (!this.book.find(job.id)) {
      this.book.take([job]);
      this.jobs = this.book.list();
    }
    this.wake();
  }

  // Look soon what has changed.
  wake(): void {
    this.isAwake = true;
    this.wakeUp();
  }

  private async stayConnected(mine: number, api: ApiClient): Promise<void> {
    let pause = 250;
    while (mine === this.generation) {
      await beSeen();
      const began = Date.now();
      await this.connect(mine, api);
      if (mine !== this.generation) return;
      pause = Date.now() - began > goodWhile ? 250 : Math.min(pause * 2, longestPause);
      await pauseFor(pause);
    }
  }

  // Returns when the connection is lost, however.
  private async connect(mine: number, api: ApiClient): Promise<void> {
    const giveUp = new AbortController();
    this.connection = giveUp;
    const bound = api.until(giveUp.signal);
    try {
      const resume: Record<string, string> = this.lastEvent === '' ? {} : { 'Last-Event-ID': this.lastEvent };
      // At the same time: what comes first is shown first. Changes are followed once both are there, so none is missed.
      await Promise.all([this.listen(bound, resume, giveUp), this.revision < 0 ? this.loadAll(mine, bound) : undefined]);
      await this.follow(mine, bound, giveUp.signal);
      this.lost(mine, document.hidden ? 'The tab was in the background.' : 'The server has ended the connection.');
    } catch (error) {
      this.failed(mine, error);
    } finally {
      giveUp.abort();
    }
  }

  // Returns when the events have begun; they are read until the connection ends.
  private async listen(api: ApiClient, resume: Record<string, string>, giveUp: AbortController): Promise<void> {
    const tooLong = setTimeout(() => giveUp.abort(), silence);
    const answer = await api.stream(`/v1/events?last=${earlier}`, resume, giveUp.signal);
    clearTimeout(tooLong);
    const reading = readEvents(answer, (events) => this.hear(events), giveUp, silence);
    reading.catch(() => undefined).finally(() => giveUp.abort());
  }

  // Fetches what has changed, again and again, until the connection ends.
  private async follow(mine: number, api: ApiClient, ended: AbortSignal): Promise<void> {
    ended.addEventListener('abort', () => this.wakeUp());
    while (!ended.aborted && mine === this.generation) {
      this.isAwake = false;
      await this.fetchChanges(mine, api);
      if (Date.now() - this.figuresAt >= figuresEvery) await this.fetchFigures(mine, api);
      if (ended.aborted || mine !== this.generation) return;
      this.publishActivity();
      this.updated();
      await pauseFor(changesEvery);
      if (!this.isAwake && !ended.aborted) await this.sleep(quietEvery);
    }
  }

  private sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private updated(): void {
    this.updatedAt = Date.now();
    this.isConnected = true;
    this.staleSince = null;
    this.trouble = '';
  }

  private lost(mine: number, why: string): void {
    if (mine !== this.generation) return;
    this.isConnected = false;
    this.trouble = why;
    this.staleSince ??= this.updatedAt || Date.now();
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
    // Progress is in the jobs; it would crowd out what was decided.
    this.heard.push(...events.filter(({ type }) => type !== 'job_observed').slice(-mostActivity));
    if (this.heard.length > mostActivity) this.heard.splice(0, this.heard.length - mostActivity);
    this.publishFirst();
    this.wake();
  }

  // The newest jobs at once, the others meanwhile.
  private async loadAll(mine: number, api: ApiClient): Promise<void> {
    const [first] = await Promise.all([this.loadNewest(mine, api), this.fetchFigures(mine, api)]);
    if (mine !== this.generation) return;
    this.revision = first.revision;
    if (first.next !== undefined) void this.loadOlder(mine, api, first.next);
  }

  private async loadNewest(mine: number, api: ApiClient): Promise<JobPage> {
    const first = await api.jobs({ limit: 200 });
    if (mine !== this.generation) return first;
    this.book.clear();
    this.takeUnknown(first.jobs);
    this.isLoading = first.next !== undefined;
    this.publishFirst();
    return first;
  }

  private async loadOlder(mine: number, api: ApiClient, after: number): Promise<void> {
    try {
      await pauseFor(firstThings);
      // All that are not over, however old; then as many others as there is room for.
      for (const phase of notOver) await this.loadPages(mine, api, { phase }, undefined);
      await this.loadPages(mine, api, {}, after);
      if (mine === this.generation) this.isLoading = false;
    } catch (error) {
      if (mine !== this.generation) return;
      this.revision = -1; // all of it again when the server is back
      this.failed(mine, error);
      this.connection?.abort();
    }
  }

  private async loadPages(mine: number, api: ApiClient, query: { phase?: string }, after: number | undefined): Promise<void> {
    for (let next = after; ;) {
      const page = await api.jobs({ limit: olderPerPage, after: next, ...query });
      await pauseFor(20); // reading the page and showing it are two tasks
      if (mine !== this.generation) return;
      this.takeUnknown(page.jobs);
      next = page.next;
      if (next === undefined) return;
      if (query.phase === undefined && this.book.size >= this.book.most - olderPerPage) {
        this.book.isPartial = true;
        return;
      }
    }
  }

  // What is known already is newer than a page that was asked for before it changed.
  private takeUnknown(jobs: Job[]): void {
    this.book.take(jobs.filter((job) => this.book.find(job.id) === undefined));
    this.jobs = this.book.list();
  }

  private async fetchChanges(mine: number, api: ApiClient): Promise<void> {
    let changed = 0;
    for (let after: number | undefined = this.revision; after !== undefined;) {
      const page = await api.jobs({ changed_after: after, limit: jobsPerPage });
      if (mine !== this.generation || this.revision < 0) return;
      if (page.revision < this.revision) {
        this.revision = -1; // another store: an older copy, perhaps
        this.lastEvent = '';
        throw new Error('the store has changed');
      }
      await pauseFor(0); // reading the page and showing it are two tasks
      if (mine !== this.generation) return;
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

  // The first decisions at once, as soon as there are jobs to name in them; later ones with what has changed.
  private publishFirst(): void {
    if (this.activity.length === 0 && this.jobs.length > 0) this.publishActivity();
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

// At once when the tab is in sight, or else when it comes there.
function beSeen(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
  });
}

function pauseFor(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export const live = new Live();
