// SPDX-License-Identifier: Apache-2.0
//
// Follows what one rank of a job prints: the end of it first, then what is added, about once a second. A
// job that is resized or restarted goes on in another log, which is taken up by itself.
import { ApiError, type LogChunk } from '../../api/client';
import { isOver } from '../../api/types';
import { live } from '../../state/live.svelte';
import { session } from '../../state/session.svelte';
import { countText } from '../../text/numbers';
import { LogText } from './log_text';

const pause = 1000; // ms
const pieceBytes = 1_048_576; // the most that the API gives at once
const mostPieces = 3; // one after the other, before it is better to go on from the end
const mostTried = 3; // generations, newest first, when one has ended

export interface LogPlace {
  job: number;
  rank: number;
  generation: number | null; // null: the latest, and those that come
}

export class LogReader {
  text = new LogText();
  version = $state(0); // grows with each change of the text
  generation = $state<number | null>(null); // of what is shown last
  isComplete = $state(false); // nothing more will come
  isMissing = $state(false); // there is no such log (yet)
  trouble = $state('');
  private readonly stopped = new AbortController();
  private offset = -pieceBytes; // of what is read next; negative: from the end
  private reached = 0; // the end of what was read
  private fullPieces = 0;

  constructor(private readonly place: LogPlace) {
    this.generation = place.generation;
  }

  stop(): void { this.stopped.abort(); }

  async follow(): Promise<void> {
    while (!this.stopped.signal.aborted && !this.isComplete) {
      if (!document.hidden && !(await this.readOn())) continue;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  // Whether to rest before the next piece.
  private async readOn(): Promise<boolean> {
    if (live.find(this.place.job)?.generation === 0) return this.missing(); // no run of it has begun
    try {
      const piece = await this.fetch(this.generation ?? undefined, this.offset);
      this.isMissing = false;
      this.trouble = '';
      this.take(piece);
      if (piece.isOver) return await this.ended();
      if (piece.text.length < pieceBytes) return this.rest(this.offset);
      return ++this.fullPieces >= mostPieces && this.rest(-pieceBytes);
    } catch (error) {
      return this.failed(error);
    }
  }

  private rest(offset: number): boolean {
    this.fullPieces = 0;
    this.offset = offset;
    return true;
  }

  private fetch(generation: number | undefined, offset: number): Promise<LogChunk> {
    return session.api.log(this.place.job, { rank: this.place.rank, generation, offset, limit: pieceBytes }, this.stopped.signal);
  }

  private take(piece: LogChunk): void {
    let bytes = piece.text;
    if (this.offset < 0 && piece.offset > this.reached) {
      if (!this.text.isEmpty) this.text.note('… text was left out here; the download has it …');
      this.text.skip();
    } else if (this.offset < 0) {
      bytes = bytes.subarray(this.reached - piece.offset);
    }
    this.generation = piece.generation;
    this.offset = this.reached = piece.next;
    if (bytes.length === 0) return;
    this.text.add(bytes);
    ++this.version;
  }

  // The run is over. Another may have begun, or will.
  private async ended(): Promise<boolean> {
    this.text.end();
    ++this.version;
    const job = live.find(this.place.job);
    if (this.place.generation !== null) {
      this.isComplete = true;
      return false;
    }
    const latest = job?.generation ?? 0;
    const shown = this.generation ?? 0;
    for (let next = Math.max(shown + 1, latest - mostTried + 1); next <= latest; ++next) {
      if (await this.begins(next)) return false;
    }
    this.isComplete = job !== undefined && isOver(job.phase);
    return true;
  }

  private async begins(generation: number): Promise<boolean> {
    try {
      const piece = await this.fetch(generation, 0);
      this.text.note(`— generation ${countText(generation)} —`);
      this.offset = this.reached = 0;
      this.take(piece);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
  }

  private failed(error: unknown): boolean {
    if (this.stopped.signal.aborted) return true;
    if (error instanceof ApiError && error.status === 404) return this.missing();
    this.trouble = error instanceof Error ? error.message : String(error);
    return true;
  }

  private missing(): boolean {
    this.isMissing = true;
    const job = live.find(this.place.job);
    this.isComplete = this.place.generation !== null || (job !== undefined && isOver(job.phase));
    return true;
  }

  // All of the log that is shown last, from its beginning.
  async whole(): Promise<Blob> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for (let offset = 0; ;) {
      const piece = await this.fetch(this.generation ?? undefined, offset);
      parts.push(piece.text as Uint8Array<ArrayBuffer>);
      if (piece.text.length < pieceBytes) return new Blob(parts, { type: 'text/plain' });
      offset = piece.next;
    }
  }
}
