// SPDX-License-Identifier: Apache-2.0
//
// Keys that do something, wherever the focus is but in a field. A key may be two strokes: "g j".
import { untrack } from 'svelte';

export interface Shortcut {
  keys: string; // "?" or "g j"; as KeyboardEvent.key names them
  what: string; // for the help
  run(): void;
}

const patience = 1200; // ms between two strokes

class Shortcuts {
  list = $state.raw<Shortcut[]>([]);
  private first = '';
  private firstAt = 0;

  // Returns what takes them away again. Views call it in effects, which must not follow the list.
  add(...shortcuts: Shortcut[]): () => void {
    this.list = [...untrack(() => this.list), ...shortcuts];
    return () => { this.list = untrack(() => this.list).filter((one) => !shortcuts.includes(one)); };
  }

  press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isField(event.target)) return;
    if (document.querySelector('dialog[open]')) return;
    const two = this.first !== '' && Date.now() - this.firstAt < patience ? `${this.first} ${event.key}` : '';
    const found = this.list.findLast((one) => one.keys === two) ?? this.list.findLast((one) => one.keys === event.key);
    this.first = found ? '' : event.key;
    this.firstAt = Date.now();
    if (!found) return;
    event.preventDefault();
    found.run();
  }
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));
}

export const shortcuts = new Shortcuts();
