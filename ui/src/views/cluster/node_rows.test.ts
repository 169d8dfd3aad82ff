// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { ClusterNode } from '../../api/types';
import { sortedRows, tableCsv } from '../../tables/columns';
import { freeOn, nodeColumns, nodeColumnsOf, nodesFound } from './node_rows';

const nodes: ClusterNode[] = [
  { name: 'a-1', pool: 'A', model: 'A100', gpus: 8, up: true, in_use: 6, jobs: [{ id: 7, name: 'train', gpus: [0, 1, 2, 3, 4, 5] }] },
  { name: 'b-1', pool: 'B', gpus: 4, up: false, in_use: 0, jobs: [] },
  { name: 'b-2', pool: 'B', gpus: 16, up: true, in_use: 16, jobs: [{ id: 8, name: 'x, y', gpus: [0] }, { id: 9, name: 'z', gpus: [1] }] },
];
const names = (rows: readonly ClusterNode[]) => rows.map(({ name }) => name);

test('a closed node has nothing free', () => {
  expect(nodes.map(freeOn)).toEqual([2, 0, 0]);
});

test('found by node, pool, model or job', () => {
  expect(names(nodesFound(nodes, ''))).toEqual(['a-1', 'b-1', 'b-2']);
  expect(names(nodesFound(nodes, 'a100'))).toEqual(['a-1']);
  expect(names(nodesFound(nodes, 'TRAIN'))).toEqual(['a-1']);
  expect(names(nodesFound(nodes, 'b 2'))).toEqual(['b-2']);
  expect(names(nodesFound(nodes, 'nothing'))).toEqual([]);
});

test('sorts by number and by state, and is exported with all jobs', () => {
  expect(names(sortedRows(nodes, nodeColumns, { key: 'gpus', isDescending: true }))).toEqual(['b-2', 'a-1', 'b-1']);
  expect(names(sortedRows(nodes, nodeColumns, { key: 'state', isDescending: false }))).toEqual(['b-1', 'a-1', 'b-2']);
  expect(tableCsv(nodes, nodeColumns).split('\r\n').slice(0, 4)).toEqual(['name,pool,model,gpus,in_use,free,state,jobs',
    'a-1,A,A100,8,6,2,up,train', 'b-1,B,,4,0,0,closed,', 'b-2,B,,16,16,0,up,"x, y, z"']);
});

test('beside another scheduler a node that is not up is cordoned or not ready, and has pods', () => {
  const lines = tableCsv(nodes, nodeColumnsOf(true)).split('\r\n');
  expect(lines.slice(1, 3)).toEqual(['a-1,A,A100,8,6,2,up,train', 'b-1,B,,4,0,0,closed,']);
  expect(nodeColumnsOf(true).find(({ key }) => key === 'state')?.text(nodes[1])).toBe('cordoned or not ready');
  expect(nodeColumnsOf(false)).toBe(nodeColumns);
});
