// SPDX-License-Identifier: Apache-2.0
//
// One job and what is known of it. The job itself follows the live data; its story and its progress are
// fetched again when it has changed, once a second at most. A task of another scheduler has only itself.
import { ApiError } from '../../api/client';
import type { Job, Progress, Story } from '../../api/types';
import { live } from '../../state/live.svelte';
import { session } from '../../state/session.svelte';

const refreshEvery = 1000; // ms

export class JobReader {
  story = $state.raw<Story | null>(null);
  progress = $state.raw<Progress | null>(null);
  document = $state.raw<Record<string, unknown> | null>(null);
  trouble = $state.raw<unknown>(null); // why the job is not shown
  partTrouble = $state.raw<unknown>(null); // why its story or progress is not up to date
  private fetched = $state.raw<Job | null>(null);
  readonly job = $derived.by(() => {
    void live.jobs; // the book itself is not reactive
    return live.find(this.fetched?.id ?? this.askedId()) ?? this.fetched;
  });
  readonly isMissing = $derived(this.trouble instanceof ApiError && this.trouble.status === 404);

  private refreshedAt = -Infinity;
  private isRefreshing = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;

  constructor(private readonly asked: string) {} // an id or a name

  // A name has something else than digits.
  private askedId(): number { return /^\d+$/.test(this.asked) ? Number(this.asked) : NaN; }

  // Finds the job; a name means the latest that has it.
  async open(): Promise<void> {
    this.trouble = null;
    try {
      this.fetched = await session.api.job(this.asked);
      live.note(this.fetched);
      if (!this.fetched.observed) this.document = await session.api.document(this.fetched.id);
    } catch (error) {
      this.trouble = error;
    }
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  // Soon: now, or when a second has passed since the last time.
  refresh(): void {
    if (this.isClosed || this.timer !== undefined || this.job?.observed) return;
    const pause = Math.max(0, this.refreshedAt + refreshEvery - performance.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.fetchParts();
    }, pause);
  }

  private async fetchParts(): Promise<void> {
    const job = this.job;
    if (!job || this.isRefreshing || this.isClosed) return;
    this.isRefreshing = true;
    // One may be known without the other: what was decided long ago is forgotten sooner.
    const [story, progress] = await Promise.allSettled([session.api.story(job.id), session.api.progress(job.id)]);
    if (story.status === 'fulfilled') this.story = story.value;
    if (progress.status === 'fulfilled') this.progress = progress.value;
    this.partTrouble = story.status === 'rejected' ? story.reason : progress.status === 'rejected' ? progress.reason : null;
    this.isRefreshing = false;
    this.refreshedAt = performance.now();
    if (this.job !== job) this.refresh(); // it has changed meanwhile
  }
}
