// SPDX-License-Identifier: Apache-2.0
//
// A file that a user opens: what it is, is told from how it begins. Runs in a worker, so that a large log
// does not stop the page.
import { NotReadable, readJson, readReport } from './read_json';
import { LogReader } from './read_log';
import type { Simulation } from './simulation';

const mostBytes = 512 * 1024 * 1024;

export interface Readable {
  readonly name: string;
  readonly size: number;
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>;
}

export async function readFile(file: Readable, progress: (share: number) => void = () => {}): Promise<Simulation> {
  if (file.size === 0) throw new NotReadable(`${file.name} is empty. Open a report, a log or the JSON of “weir simulate”.`);
  if (file.size > mostBytes) throw new NotReadable(`${file.name} is larger than 512 MiB. Open its report (“--report”) instead.`);
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let log: LogReader | null = null;
  let seen = 0;
  for (let isFirst = true; ; isFirst = false) {
    const { done, value } = await reader.read();
    if (done) break;
    seen += value.length;
    progress(Math.min(1, seen / file.size));
    text += isFirst ? value.replace(/^\uFEFF/, '') : value;
    if (isFirst && isLog(text)) log = new LogReader(file.name);
    if (log) text = takeLines(log, text);
  }
  if (log) {
    log.take(text);
    return log.result();
  }
  const start = text.slice(0, 2000).trimStart();
  if (/^<(!doctype|html)/i.test(start)) return readReport(file.name, text);
  if (start.startsWith('{')) return readJson(file.name, text, 'JSON');
  throw new NotReadable(`${file.name} is nothing that the page can show. Open a report (“weir simulate --report”), a log (“--log”) or what “--json” prints.`);
}

function isLog(text: string): boolean {
  const line = text.slice(0, text.indexOf('\n') < 0 ? text.length : text.indexOf('\n'));
  return line.startsWith('{"schema"') && line.includes('"type"');
}

// The rest is the beginning of a line.
function takeLines(log: LogReader, text: string): string {
  let from = 0;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
    log.take(text.slice(from, end));
    from = end + 1;
  }
  return text.slice(from);
}
