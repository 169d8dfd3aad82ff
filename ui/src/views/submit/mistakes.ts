// SPDX-License-Identifier: Apache-2.0
//
// The server's mistakes, each at its line of the text and at its field of the form.
import type { Problem } from '../../api/types';
import { isField, type FieldName } from './job_text';

export interface Mistake {
  line?: number; // from 1
  field?: FieldName;
  key?: string; // within the field: "2" of throughput.2
  text: string; // the server's words
}

// In the order of the text.
export function mistakesOf(problem: Problem): Mistake[] {
  const mistakes = (problem.errors ?? []).map((error): Mistake => {
    const line = /:(\d+)$/.exec(error.where ?? '')?.[1];
    const [name, ...rest] = (error.field ?? '').replace(/^jobs\[\d+\]\./, '').split('.');
    return {
      line: line ? Number(line) : undefined,
      field: isField(name) ? name : undefined,
      key: rest.length > 0 ? rest.join('.') : undefined,
      text: withoutPlace(error.message, error.where),
    };
  });
  return mistakes.sort((a, b) => (a.line ?? Infinity) - (b.line ?? Infinity) || 0);
}

// "body:3: gpus is ..." is shown at line 3.
function withoutPlace(message: string, where: string | undefined): string {
  return where && message.startsWith(`${where}: `) ? message.slice(where.length + 2) : message;
}

export function mistakesAt(mistakes: readonly Mistake[], field: FieldName): Mistake[] {
  return mistakes.filter((mistake) => mistake.field === field);
}

// By line; those of one line together.
export function mistakesByLine(mistakes: readonly Mistake[], lines: number): Map<number, Mistake[]> {
  const byLine = new Map<number, Mistake[]>();
  for (const mistake of mistakes) {
    if (mistake.line === undefined) continue;
    const line = Math.max(1, Math.min(lines, mistake.line));
    byLine.set(line, [...(byLine.get(line) ?? []), mistake]);
  }
  return byLine;
}
