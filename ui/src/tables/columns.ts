// SPDX-License-Identifier: Apache-2.0
//
// What a table shows: one description for the screen, for sorting and for export.

export interface Column<Row> {
  key: string;
  title: string;
  width: string; // of a CSS grid: "minmax(120px, 2fr)"
  isNumber?: boolean; // right-aligned
  text(row: Row): string; // in the cell
  value?(row: Row): number | string | boolean | null; // for sorting and export; default: the text
  hint?: string; // in the header
}

export interface Sorting {
  key: string;
  isDescending: boolean;
}

// "name" or "-name", as an address has it.
export function readSorting(text: string | null, fallback: Sorting): Sorting {
  if (!text) return fallback;
  return text.startsWith('-') ? { key: text.slice(1), isDescending: true } : { key: text, isDescending: false };
}
export function sortingText(sorting: Sorting): string {
  return (sorting.isDescending ? '-' : '') + sorting.key;
}

type Value = number | string | boolean | null;

function valueOf<Row>(column: Column<Row>, row: Row): Value {
  return column.value ? column.value(row) : column.text(row);
}

// Numbers before texts, nothing last in either direction.
function compare(a: Value, b: Value, direction: number): number {
  const aIsNothing = a === null || a === '' || Number.isNaN(a);
  const bIsNothing = b === null || b === '' || Number.isNaN(b);
  if (aIsNothing || bIsNothing) return Number(aIsNothing) - Number(bIsNothing);
  if (typeof a === typeof b) return a === b ? 0 : (a as never) < (b as never) ? -direction : direction;
  return (typeof a === 'number' ? -1 : 1) * direction;
}

// Stable; 10,000 rows within a frame, so texts are compared by their code, not by a language's rules.
export function sortedRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sorting: Sorting): Row[] {
  const column = columns.find((one) => one.key === sorting.key);
  if (!column) return [...rows];
  const direction = sorting.isDescending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: valueOf(column, row) }))
    .sort((a, b) => compare(a.value, b.value, direction))
    .map(({ row }) => row);
}

// A cell that a spreadsheet would run as a formula is written as text.
function csvCell(value: Value): string {
  if (value === null) return '';
  let text = String(value);
  if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function tableCsv<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const lines = [columns.map((column) => csvCell(column.key)).join(',')];
  for (const row of rows) lines.push(columns.map((column) => csvCell(valueOf(column, row))).join(','));
  return lines.join('\r\n') + '\r\n';
}

export function tableJson<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const objects = rows.map((row) => Object.fromEntries(columns.map((column) => [column.key, valueOf(column, row)])));
  return JSON.stringify(objects, null, 1) + '\n';
}
