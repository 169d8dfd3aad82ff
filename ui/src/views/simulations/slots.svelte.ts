// SPDX-License-Identifier: Apache-2.0
//
// The two files that are open. They stay open while one looks at other views.
import ReadWorker from './read.worker.ts?worker';
import type { Told } from './read.worker';
import type { Simulation } from './simulation';

export class Slot {
  simulation = $state.raw<Simulation | null>(null);
  reading = $state.raw<{ file: string; share: number } | null>(null);
  trouble = $state('');
  private worker: Worker | null = null;

  constructor(readonly name: 'A' | 'B') {}

  open(file: File): void {
    this.close();
    this.reading = { file: file.name, share: 0 };
    const worker = new ReadWorker();
    this.worker = worker;
    worker.onmessage = (event: MessageEvent<Told>) => {
      const told = event.data;
      if ('share' in told) this.reading = { file: file.name, share: told.share };
      else if ('simulation' in told) this.ends(told.simulation, '');
      else this.ends(null, told.trouble);
    };
    worker.onerror = () => this.ends(null, `${file.name} could not be read. Is it still there, and smaller than this machine's memory?`);
    worker.postMessage(file);
  }

  close(): void {
    this.ends(null, '');
  }

  private ends(simulation: Simulation | null, trouble: string): void {
    this.worker?.terminate();
    this.worker = null;
    this.reading = null;
    this.simulation = simulation;
    this.trouble = trouble;
  }
}

export const slots = { a: new Slot('A'), b: new Slot('B') };

// Files that were dropped or chosen: the first goes to the slot, a second to the other one.
export function openFiles(files: FileList | readonly File[], slot: Slot): void {
  const [first, second] = [...files];
  if (first) slot.open(first);
  if (second) (slot === slots.a ? slots.b : slots.a).open(second);
}
