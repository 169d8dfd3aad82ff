// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { ClusterNode, Job } from '../../api/types';
import { cellWords, spokenCell } from './cell_text';
import { modelOf } from './cluster_model';

const node = (name: string, jobs: ClusterNode['jobs'], up = true): ClusterNode => ({ name, pool: 'A', gpus: 4, up, in_use: 2, jobs });
const model = modelOf([
  node('a-1', [{ id: 7, name: 'train', gpus: [0, 1] }, { id: 8, name: 'sweep', gpus: [1] }]),
  node('a-2', [{ id: 7, name: 'train', gpus: [0, 1] }]),
  node('a-3', [], false),
]);
const find = (id: number) => (id === 7 ? { promised: true } as Job : undefined);
const spoken = (cell: number) => spokenCell(cellWords(model, cell, find));

test('says where it is, whose it is and how much that job has', () => {
  expect(spoken(0)).toBe('a-1, GPU 0: train, job 7, 4 GPUs on 2 nodes, promised.');
  expect(cellWords(model, 0, find).users[0].share).toBe('100 %');
});

test('a shared GPU names all, and claims no shares', () => {
  expect(spoken(1)).toBe('a-1, GPU 1: train, job 7, 4 GPUs on 2 nodes, promised; sweep, job 8, 1 GPU.');
  expect(cellWords(model, 1, find).users.map(({ share }) => share)).toEqual(['shared', 'shared']);
});

test('an unused GPU is free or closed', () => {
  expect(spoken(3)).toBe('a-1, GPU 3: free.');
  expect(spoken(9)).toBe('a-3, GPU 1: closed.');
});

test('of a pod the share it asks for is told, and nothing of promises', () => {
  const pod = (id: number) => (id === 7 ? { observed: { uid: 'u', gpus: 0.25 } } as Job : undefined);
  const { users: [user] } = cellWords(model, 0, pod);
  expect([user.noun, user.share, user.rest]).toEqual(['pod', '25 %', '4 GPUs on 2 nodes']);
  expect(cellWords(model, 1, pod).users[0].share).toBe('shared');
});
