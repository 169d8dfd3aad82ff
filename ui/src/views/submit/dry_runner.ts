// SPDX-License-Identifier: Apache-2.0
//
// Asks what would become of a text, a moment after its last change. Only the newest question counts: an
// older one is given up, and an answer to it that comes all the same is dropped. An answer that is not of
// the text as it is, or that could not be asked for again, is marked as old.
import { ApiError } from '../../api/client';
import type { DryRun, Problem } from '../../api/types';

export type Answer = { kind: 'answered'; run: DryRun } | { kind: 'mistakes'; problem: Problem };

export interface Shown {
  answer: Answer | null;
  text: string; // that it is about
  at: number; // ms
  isOld: boolean;
  isAsking: boolean;
  trouble: string; // why it is old; empty when it is only being asked again
}

export const nothingShown: Shown = { answer: null, text: '', at: 0, isOld: false, isAsking: false, trouble: '' };

export interface DryRunnerSetup {
  ask(text: string, signal: AbortSignal): Promise<DryRun>;
  show(shown: Shown): void;
  now?(): number; // ms, the server's
  pause?: number; // ms after the last change
  again?: number; // ms: what was promised then may not be now
  retry?: number; // ms, when the server is not there
}

export class DryRunner {
  private shown = nothingShown;
  private text = '';
  private newest = 0;
  private inFlight: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly setup: DryRunnerSetup) {}

  change(text: string): void {
    this.text = text;
    this.cancel();
    if (text.trim() === '') return this.tell(nothingShown);
    this.tell({ ...this.shown, isOld: this.shown.answer !== null && this.shown.text !== text, isAsking: true });
    this.timer = setTimeout(() => void this.ask(), this.setup.pause ?? 250);
  }

  // The same text again: the cluster has changed, or the server is back.
  askAgain(): void {
    if (this.text.trim() === '' || this.inFlight) return;
    clearTimeout(this.timer);
    void this.ask();
  }

  stop(): void { this.cancel(); }

  private cancel(): void {
    ++this.newest;
    clearTimeout(this.timer);
    this.inFlight?.abort();
    this.inFlight = null;
  }

  private async ask(): Promise<void> {
    const mine = ++this.newest;
    const giveUp = new AbortController();
    this.inFlight = giveUp;
    const text = this.text;
    this.tell({ ...this.shown, isAsking: true });
    let next = this.setup.again ?? 15_000;
    try {
      const run = await this.setup.ask(text, giveUp.signal);
      if (mine !== this.newest) return;
      this.take({ kind: 'answered', run }, text);
    } catch (error) {
      if (mine !== this.newest) return;
      if (error instanceof ApiError && error.problem.errors?.length) {
        this.take({ kind: 'mistakes', problem: error.problem }, text);
      } else {
        const trouble = error instanceof Error ? error.message : String(error);
        this.tell({ ...this.shown, isOld: this.shown.answer !== null, isAsking: false, trouble });
        next = this.setup.retry ?? 2000;
      }
    }
    this.inFlight = null;
    this.timer = setTimeout(() => void this.ask(), next);
  }

  private take(answer: Answer, text: string): void {
    this.tell({ answer, text, at: (this.setup.now ?? Date.now)(), isOld: false, isAsking: false, trouble: '' });
  }

  private tell(shown: Shown): void {
    this.shown = shown;
    this.setup.show(shown);
  }
}
