// SPDX-License-Identifier: Apache-2.0
//
// Server-sent events over fetch. The browser's EventSource can send no token, and says nothing about
// heartbeats; this reads the same format.

export interface StreamEvent {
  id: string;
  type: string;
  data: string;
}

// Takes the text of a stream in pieces cut anywhere; gives the events that are complete.
export class EventParser {
  private rest = '';
  private id = '';
  private type = '';
  private data: string[] = [];

  take(piece: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    const text = this.rest + piece;
    let begin = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', begin)) {
      const line = text.charCodeAt(end - 1) === 13 ? text.slice(begin, end - 1) : text.slice(begin, end);
      begin = end + 1;
      const event = this.takeLine(line);
      if (event) events.push(event);
    }
    this.rest = text.slice(begin);
    return events;
  }

  private takeLine(line: string): StreamEvent | undefined {
    if (line === '') {
      const event = { id: this.id, type: this.type || 'message', data: this.data.join('\n') };
      const hasData = this.data.length > 0;
      this.type = '';
      this.data = [];
      return hasData ? event : undefined;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'id') this.id = value;
    else if (field === 'event') this.type = value;
    else if (field === 'data') this.data.push(value);
    return undefined;
  }
}

// Reads until the stream ends, however it ends. A stream that is silent for longer than `silence_ms` is
// given up: heartbeats come every 15 s.
export async function readEvents(answer: Response, onEvents: (events: StreamEvent[]) => void, giveUp: AbortController,
                                 silence_ms = 25_000): Promise<void> {
  const body = answer.body?.getReader();
  if (!body) return;
  const decoder = new TextDecoder();
  const parser = new EventParser();
  let watch = setTimeout(() => giveUp.abort(), silence_ms);
  try {
    for (;;) {
      const { done, value } = await body.read();
      if (done) return;
      clearTimeout(watch);
      watch = setTimeout(() => giveUp.abort(), silence_ms);
      const events = parser.take(decoder.decode(value, { stream: true }));
      if (events.length > 0) onEvents(events);
    }
  } finally {
    clearTimeout(watch);
    body.cancel().catch(() => undefined);
  }
}
