// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { readSorting, sortedRows, sortingText, tableCsv, tableJson, type Column } from './columns';

interface Row { name: string; gpus: number | null }
const columns: Column<Row>[] = [
  { key: 'name', title: 'Name', width: '1fr', text: (row) => row.name },
  { key: 'gpus', title: 'GPUs', width: '1fr', isNumber: true, text: (row) => String(row.gpus ?? '–'), value: (row) => row.gpus },
];
const rows: Row[] = [{ name: 'b', gpus: 10 }, { name: 'a', gpus: null }, { name: 'c', gpus: 9 }];

test('numbers sort as numbers, and what is not known comes last either way', () => {
  expect(sortedRows(rows, columns, { key: 'gpus', isDescending: false }).map(({ name }) => name)).toEqual(['c', 'b', 'a']);
  expect(sortedRows(rows, columns, { key: 'gpus', isDescending: true }).map(({ name }) => name)).toEqual(['b', 'c', 'a']);
});

test('rows of equal value stay as they were', () => {
  const equal = Array.from({ length: 50 }, (_, i) => ({ name: `n${i}`, gpus: i % 2 }));
  const sorted = sortedRows(equal, columns, { key: 'gpus', isDescending: true });
  expect(sorted.slice(0, 3).map(({ name }) => name)).toEqual(['n1', 'n3', 'n5']);
});

test('the address says how a table is sorted', () => {
  const fallback = { key: 'id', isDescending: true };
  expect(readSorting(null, fallback)).toBe(fallback);
  for (const text of ['name', '-name']) expect(sortingText(readSorting(text, fallback))).toBe(text);
});

test('CSV quotes what needs it and starts no formula', () => {
  const strange = [{ name: '=1+1,"x"\nnext', gpus: -1 }];
  expect(tableCsv(strange, columns)).toBe('name,gpus\r\n"\'=1+1,""x""\nnext",-1\r\n');
  expect(JSON.parse(tableJson(rows, columns))).toEqual(rows);
});
