// SPDX-License-Identifier: Apache-2.0
//
// What Tab, Shift+Tab and Enter do to a text with a selection.

export interface Edit {
  from: number;
  to: number; // what is replaced
  text: string; // with what
  selectFrom: number; // afterwards
  selectTo: number;
}

const step = '  ';

export function indent(text: string, from: number, to: number): Edit {
  if (from === to) {
    const column = from - lineStart(text, from);
    const spaces = ' '.repeat(step.length - (column % step.length));
    return { from, to, text: spaces, selectFrom: from + spaces.length, selectTo: from + spaces.length };
  }
  return changeLines(text, from, to, (line) => (line === '' ? line : step + line));
}

export function outdent(text: string, from: number, to: number): Edit {
  return changeLines(text, from, to, (line) => line.replace(/^ {1,2}/, ''));
}

// As deep as the line before.
export function newLine(text: string, from: number, to: number): Edit {
  const start = lineStart(text, from);
  const depth = /^ */.exec(text.slice(start, from))![0];
  const added = `\n${depth}`;
  return { from, to, text: added, selectFrom: from + added.length, selectTo: from + added.length };
}

function changeLines(text: string, from: number, to: number, change: (line: string) => string): Edit {
  const start = lineStart(text, from);
  const lastStart = lineStart(text, to > from && text[to - 1] === '\n' ? to - 1 : to);
  const next = text.indexOf('\n', lastStart);
  const end = next < 0 ? text.length : next;
  const before = text.slice(start, end).split('\n');
  const after = before.map(change);
  const changed = after.join('\n');
  const first = after[0].length - before[0].length;
  const all = changed.length - (end - start);
  return { from: start, to: end, text: changed, selectFrom: Math.max(start, from + first), selectTo: Math.max(start, to + all) };
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1;
}
