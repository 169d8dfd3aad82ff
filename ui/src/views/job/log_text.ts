// SPDX-License-Identifier: Apache-2.0
//
// What a job prints, as lines to show. Bytes come in pieces that may end within a character, a line or
// a colour code. Only the last of it is kept, so a job that prints for weeks does not fill the browser.

const longestLine = 4000; // characters; longer ones go on in the next row

export class LogText {
  lines: string[] = []; // complete
  dropped = 0; // lines that were there once, at the beginning
  hasLeftOut = false; // text before the first line
  private decoder = new TextDecoder();
  private rest = ''; // of a line that has not ended, as it came
  private skipsToLine = false; // what comes first is the end of a line
  private size = 0; // characters in lines

  constructor(readonly most = 2_000_000, readonly mostLines = 200_000) {}

  get isEmpty(): boolean { return this.lines.length === 0 && this.rest === ''; }
  // The line that is still being written.
  get last(): string { return cleaned(this.rest); }
  get count(): number { return this.lines.length + (this.rest === '' ? 0 : 1); }
  line(index: number): string { return index < this.lines.length ? this.lines[index] : this.last; }

  add(bytes: Uint8Array): void {
    this.rest += this.decoder.decode(bytes, { stream: true });
    if (this.skipsToLine) {
      const end = this.rest.indexOf('\n');
      if (end < 0 && this.rest.length < longestLine) return;
      this.rest = this.rest.slice(end + 1);
      this.skipsToLine = false;
    }
    // A lone carriage return begins the line anew on a terminal; here it begins another. One at the
    // very end may be half of a line's end.
    const parts = this.rest.split(/\r?\n|\r(?!$)/);
    this.rest = parts.pop() as string;
    for (const part of parts) this.push(part);
    while (this.rest.length > longestLine) {
      this.push(this.rest.slice(0, longestLine));
      this.rest = this.rest.slice(longestLine);
    }
    this.forget();
  }

  // The run is over: nothing more comes of the last line.
  end(): void {
    this.rest += this.decoder.decode();
    if (this.rest !== '') this.push(this.rest);
    this.rest = '';
    this.decoder = new TextDecoder();
  }

  // A line of ours between the job's.
  note(text: string): void {
    this.end();
    this.push(text);
  }

  // What comes next does not follow what came last, and begins within a line.
  skip(): void {
    this.decoder = new TextDecoder();
    this.rest = '';
    this.skipsToLine = true;
    if (this.lines.length === 0) this.hasLeftOut = true;
  }

  text(): string {
    return this.lines.join('\n') + (this.lines.length > 0 ? '\n' : '') + this.last;
  }

  private push(raw: string): void {
    const line = cleaned(raw);
    for (let at = 0; at === 0 || at < line.length; at += longestLine) this.lines.push(line.slice(at, at + longestLine));
    this.size += line.length + 1;
  }

  // A tenth more than needed, so that it does not happen with every line.
  private forget(): void {
    if (this.size <= this.most && this.lines.length <= this.mostLines) return;
    let count = 0;
    while (count < this.lines.length && (this.size > this.most * 0.9 || this.lines.length - count > this.mostLines * 0.9)) this.size -= this.lines[count++].length + 1;
    this.lines.splice(0, count);
    this.dropped += count;
    this.hasLeftOut = true;
  }
}

// Colours and cursor movements: CSI, then OSC up to its end, then two-character escapes.
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_=>78])/g;
const controls = /[\u0000-\u0008\u000a-\u001f\u007f]/g;

// Without colour codes; other control characters become visible.
export function cleaned(line: string): string {
  return line
    .replace(/\r$/, '')
    .replace(escapes, '')
    .replace(controls, (one) => (one === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + one.charCodeAt(0))));
}

export interface Piece {
  text: string;
  isFound: boolean;
}

// The line in pieces: those that were searched for and those between.
export function pieces(line: string, search: RegExp | null): Piece[] {
  if (!search) return [{ text: line, isFound: false }];
  const all: Piece[] = [];
  let from = 0;
  for (const found of line.matchAll(search)) {
    if (found.index > from) all.push({ text: line.slice(from, found.index), isFound: false });
    all.push({ text: found[0], isFound: true });
    from = found.index + found[0].length;
  }
  if (from < line.length || all.length === 0) all.push({ text: line.slice(from), isFound: false });
  return all;
}

// The words as they are, whatever their case.
export function searchFor(words: string): RegExp | null {
  return words === '' ? null : new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi');
}
