// SPDX-License-Identifier: Apache-2.0
//
// A job's YAML as the form reads and changes it. The text is the truth: a change touches one field, and
// comments and fields that the form does not know stay.
import { isMap, isScalar, isSeq, Pair, parseDocument, Scalar, stringify, YAMLMap, type Document } from 'yaml';
import schema from '../../../../docs/reference/job.schema.json';

export type FieldName = keyof typeof schema.properties;
export type Entry = readonly [key: string, value: string];

const order = Object.keys(schema.properties) as FieldName[];
const compact: ReadonlySet<FieldName> = new Set(['command', 'throughput', 'warm_start']); // [a, b] and {1: 2}

export function hintOf(field: FieldName): string {
  return schema.properties[field].description.replaceAll('`', '');
}
export function isField(name: string): name is FieldName {
  return name in schema.properties;
}

export class JobText {
  private readonly document: Document;

  constructor(readonly text: string) {
    this.document = parseDocument(text, { prettyErrors: true });
  }

  // Why the form cannot show it; empty when it can.
  get trouble(): string {
    const [error] = this.document.errors;
    if (error) {
      const line = error.linePos?.[0].line;
      return `The YAML cannot be read${line ? ` (line ${line})` : ''}: mend it there.`;
    }
    const { contents } = this.document;
    if (contents !== null && !isMap(contents)) return 'A job is a map of fields: “name: hello” …';
    return this.has('jobs') ? 'From here one job is submitted at a time; this has several.' : '';
  }

  has(field: string): boolean {
    return isMap(this.document.contents) && this.document.contents.has(field);
  }

  // As it is written, so that what is typed comes back as it was typed.
  scalar(field: FieldName): string {
    const node = this.node(field);
    return isScalar(node) ? scalarText(node) : '';
  }
  isTrue(field: FieldName): boolean {
    const node = this.node(field);
    return isScalar(node) && node.value === true;
  }
  list(field: FieldName): string[] | undefined {
    const node = this.node(field);
    return isSeq(node) ? node.items.map((item) => (isScalar(item) ? scalarText(item) : '')) : undefined;
  }
  entries(field: FieldName): Entry[] {
    const node = this.node(field);
    if (!isMap(node)) return [];
    return node.items.map(({ key, value }) => [isScalar(key) ? scalarText(key) : String(key), isScalar(value) ? scalarText(value) : '']);
  }
  // It is there, but not as a form could show it.
  isBeyondForm(field: FieldName, shape: 'scalar' | 'list' | 'entries'): boolean {
    const node = this.node(field);
    if (node === undefined || node === null || (isScalar(node) && node.value === null)) return false;
    if (shape === 'scalar') return !isScalar(node);
    if (shape === 'list') return !isScalar(node) && !(isSeq(node) && node.items.every((item) => isScalar(item) && !scalarText(item).includes('\n')));
    return !(isMap(node) && node.items.every(({ key, value }) => isScalar(key) && (isScalar(value) || value === null)));
  }

  // The text with the field changed; undefined takes it away.
  with(field: FieldName, value: string | number | boolean | readonly string[] | undefined): string {
    if (this.trouble !== '') return this.text;
    if (value === undefined) return this.without(field);
    if (!Array.isArray(value)) {
      const spliced = this.spliced(field, value as string | number | boolean);
      if (spliced !== undefined) return spliced;
    }
    const copy = this.copy();
    const map = mapOf(copy);
    const node = copy.createNode(value, { flow: compact.has(field) && Array.isArray(value) });
    if (map.has(field)) copy.setIn([field], node);
    else insert(map, field, copy.createPair(field, node));
    return printed(copy);
  }

  withEntry(field: FieldName, index: number, key: string | number, value: string | number): string {
    if (this.trouble !== '') return this.text;
    const copy = this.copy();
    const map = mapOf(copy);
    if (!isMap(map.get(field))) {
      const made = new YAMLMap();
      made.flow = compact.has(field);
      if (map.has(field)) copy.setIn([field], made);
      else insert(map, field, copy.createPair(field, made));
    }
    const inner = map.get(field) as YAMLMap;
    const pair = inner.items[index];
    if (pair === undefined) {
      inner.items.push(copy.createPair(key, value));
    } else {
      if (!isScalar(pair.key) || scalarText(pair.key) !== String(key)) pair.key = copy.createNode(key);
      if (isScalar(pair.value)) replaceValue(pair.value, value);
      else pair.value = copy.createNode(value);
    }
    return printed(copy);
  }

  withoutEntry(field: FieldName, index: number): string {
    if (this.trouble !== '') return this.text;
    const copy = this.copy();
    const inner = mapOf(copy).get(field);
    if (!isMap(inner)) return this.text;
    inner.items.splice(index, 1);
    if (inner.items.length === 0) copy.deleteIn([field]);
    return printed(copy);
  }

  private without(field: FieldName): string {
    if (!this.has(field)) return this.text;
    const copy = this.copy();
    const map = mapOf(copy);
    const [first, second] = map.items;
    // What stands above the first field is about the whole file.
    const above = isScalar(first.key) && first.key.value === field ? first.key.commentBefore : undefined;
    if (above && second && isScalar(second.key)) second.key.commentBefore = [above, second.key.commentBefore].filter(Boolean).join('\n');
    copy.deleteIn([field]);
    return map.items.length === 0 ? commentText(above ?? copy.commentBefore) : printed(copy);
  }

  // One short value for another, in its place: everything else stays as it is written, byte for byte.
  private spliced(field: FieldName, value: string | number | boolean): string | undefined {
    const node = this.node(field);
    if (!isScalar(node) || !node.range || node.anchor || node.tag) return undefined;
    const written = stringify(value, { lineWidth: 0 }).trimEnd();
    const [from, to] = node.range;
    if (written.includes('\n') || this.text.slice(from, to).includes('\n') || from === to) return undefined;
    const text = this.text.slice(0, from) + written + this.text.slice(to);
    const check = parseDocument(text);
    return check.errors.length === 0 && check.getIn([field]) === value ? text : undefined;
  }

  private node(field: string): unknown {
    return isMap(this.document.contents) ? this.document.contents.get(field, true) : undefined;
  }
  private copy(): Document { return parseDocument(this.text); }
}

function scalarText(node: Scalar): string {
  if (node.value === null) return '';
  return typeof node.value === 'string' ? node.value : node.source ?? String(node.value);
}

function replaceValue(node: Scalar, value: string | number): void {
  if (node.value !== value) {
    node.value = value;
    delete node.source;
    delete (node as { format?: string }).format;
    delete (node as { minFractionDigits?: number }).minFractionDigits;
  }
}

function mapOf(document: Document): YAMLMap {
  if (!isMap(document.contents)) document.contents = new YAMLMap() as never;
  return document.contents as unknown as YAMLMap;
}

// Before the first field that comes later in the reference.
function insert(map: YAMLMap, field: FieldName, pair: Pair): void {
  const rank = order.indexOf(field);
  const later = map.items.findIndex(({ key }) => order.indexOf(String(key) as FieldName) > rank);
  map.items.splice(later < 0 ? map.items.length : later, 0, pair);
}

function printed(document: Document): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function commentText(comment: string | null | undefined): string {
  return comment ? comment.split('\n').map((line) => `#${line}\n`).join('') : '';
}

// A document as the API gives it, in the reference's order.
export function yamlOf(document: Record<string, unknown>): string {
  const rank = (key: string) => (order.indexOf(key as FieldName) + order.length + 1) % (order.length + 1);
  const keys = Object.keys(document).sort((a, b) => rank(a) - rank(b));
  const made = parseDocument('');
  const map = mapOf(made);
  for (const key of keys) {
    const value = key === 'command' ? shellText(document[key]) : document[key];
    const node = made.createNode(key === 'throughput' ? numericKeys(value) : value, { flow: compact.has(key as FieldName) });
    map.items.push(made.createPair(key, node));
  }
  return printed(made);
}

// One text for the shell is kept as its arguments.
function shellText(command: unknown): unknown {
  return Array.isArray(command) && command.length === 3 && command[0] === '/bin/sh' && command[1] === '-c' ? command[2] : command;
}

// {"1": 2} as {1: 2}, smallest first.
function numericKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, rate]) => [Number(key), rate] as const).sort((a, b) => a[0] - b[0]));
}

// What a field that wants a number is given while it is typed: a number where it is one.
export function numberOrText(typed: string): string | number | undefined {
  const text = typed.trim();
  if (text === '') return undefined;
  return /^-?\d+(\.\d+)?$/.test(text) && String(Number(text)) === text ? Number(text) : text;
}
