// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { ClusterNode, Job } from '../../api/types';
import { codesOf, colourNames, coloursOn, hueName, legend, modeFor } from './cell_colours';
import { firstChoice, huesOf } from './job_hues';
import { find, modelOf, stateOf, usersOf } from './cluster_model';
import { folded } from './paint_map';
import { cellAt, cellBox, columnsOf, layOut, leastCell, mostCell, neighbour, nodeAt, nodeBox } from './map_layout';

function node(name: string, pool: string, gpus: number, jobs: ClusterNode['jobs'] = [], up = true): ClusterNode {
  return { name, pool, model: pool, gpus, up, in_use: jobs.reduce((sum, job) => sum + job.gpus.length, 0), jobs };
}
const many = (count: number, gpus = 8) => Array.from({ length: count }, (_, i) => node(`a100-${i}`, i % 2 ? 'A100' : 'T4', gpus));

const small = modelOf([
  node('a-1', 'A', 4, [{ id: 7, name: 'train', gpus: [0, 1] }, { id: 8, name: 'Sweep', gpus: [3] }]),
  node('b-1', 'B', 2, [{ id: 7, name: 'train', gpus: [0] }], false),
  node('a-2', 'A', 4, [{ id: 7, name: 'train', gpus: [2] }]),
]);

test('nodes of a pool stand together, each GPU is a cell with its job', () => {
  expect(small.nodes.map(({ name }) => name)).toEqual(['a-1', 'a-2', 'b-1']);
  expect([...small.jobOfCell]).toEqual([7, 7, 0, 8, 0, 0, 7, 0, 7, 0]);
  expect([...small.nodeOfCell]).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
  expect(small.jobs.get(7)).toEqual({ id: 7, name: 'train', gpus: 4, nodes: 3 });
  expect(small.pools.map(({ name, gpus, inUse }) => [name, gpus, inUse])).toEqual([['A', 8, 4], ['B', 2, 1]]);
});

test('a GPU beyond the node is no cell of the next', () => {
  const model = modelOf([node('a', 'A', 2, [{ id: 1, name: 'x', gpus: [5] }]), node('b', 'A', 4)]);
  expect([...model.jobOfCell]).toEqual([0, 0, 0, 0, 0, 0]);
});

test('a shared GPU tells all its users', () => {
  const shared = node('a', 'A', 2, [{ id: 1, name: 'x', gpus: [0] }, { id: 2, name: 'y', gpus: [0, 1] }]);
  expect(usersOf(shared, 0).map(({ id }) => id)).toEqual([1, 2]);
  expect(usersOf(shared, 1).map(({ id }) => id)).toEqual([2]);
});

test('a node is up, being emptied or closed', () => {
  expect(small.nodes.map(stateOf)).toEqual(['up', 'up', 'emptying']);
  expect(stateOf(node('x', 'A', 1, [], false))).toBe('closed');
});

test('finds nodes by name and pool, jobs by name and number', () => {
  expect(find(small, '  ')).toBeNull();
  expect(find(small, 'a-2')).toMatchObject({ nodes: 1, jobs: 0 });
  expect([...find(small, 'sweep')!.cells]).toEqual([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  expect([...find(small, '7')!.cells]).toEqual([1, 1, 0, 0, 0, 0, 1, 0, 1, 0]);
  expect(find(small, 'train x')).toMatchObject({ nodes: 0, jobs: 0 });
});

test('every cell is found where it is drawn, and cells do not overlap', () => {
  for (const [model, width] of [[small, 300], [modelOf(many(50)), 700], [modelOf(many(9, 3)), 120], [modelOf(many(7, 16)), 400]] as const) {
    for (const wanted of [undefined, 6, 20, 48]) {
      const layout = layOut(model, width, 500, wanted);
      const seen = new Set<string>();
      for (let cell = 0; cell < model.nodeOfCell.length; ++cell) {
        const box = cellBox(layout, model, cell);
        expect(cellAt(layout, model, box.x + box.width / 2, box.y + box.height / 2)).toBe(cell);
        expect(nodeAt(layout, box.x + 1, box.y + 1)).toBe(model.nodeOfCell[cell]);
        expect(box.y + box.height).toBeLessThanOrEqual(layout.height);
        seen.add(`${box.x},${box.y}`);
      }
      expect(seen.size).toBe(model.nodeOfCell.length);
    }
  }
});

test('outside there is nothing', () => {
  const layout = layOut(small, 300, 500);
  for (const [x, y] of [[-5, 40], [5, 2], [299, 499], [10_000, 40], [40, 10_000]]) expect(cellAt(layout, small, x, y)).toBe(-1);
});

test('cells are as large as fits, and no smaller than can be seen', () => {
  expect(layOut(modelOf(many(1, 4)), 1000, 600).cell).toBe(mostCell);
  const large = layOut(modelOf(many(1250)), 1150, 660);
  expect(large.cell).toBeGreaterThanOrEqual(leastCell);
  expect(large.height).toBeLessThanOrEqual(660);
  const huge = layOut(modelOf(many(4000)), 800, 500);
  expect(huge.cell).toBe(leastCell);
  expect(huge.height).toBeGreaterThan(500);
});

test('a node never reaches beyond a narrow map', () => {
  const model = modelOf(many(3, 16));
  const layout = layOut(model, 330, 5000);
  const box = nodeBox(layout, 0);
  expect(box.x + box.width).toBeLessThanOrEqual(330);
});

test('a name has room above its cells, where nodes are wide enough for names', () => {
  const model = modelOf(many(4));
  const [wide, narrow] = [layOut(model, 900, 500, 30), layOut(model, 900, 500, 6)];
  expect(cellBox(wide, model, 0).y - nodeBox(wide, 0).y).toBeGreaterThanOrEqual(14);
  expect(cellBox(narrow, model, 0).y).toBe(nodeBox(narrow, 0).y);
});

test('eight GPUs are two rows of four', () => {
  expect([0, 1, 4, 5, 8, 16, 64].map(columnsOf)).toEqual([1, 1, 4, 3, 4, 8, 8]);
});

test('arrows go from cell to cell, over the edges of nodes and pools', () => {
  const layout = layOut(small, 1000, 500);
  expect(neighbour(layout, small, 0, 'right')).toBe(1);
  expect(neighbour(layout, small, 3, 'right')).toBe(4); // the next node
  expect(neighbour(layout, small, 4, 'left')).toBe(3);
  expect(neighbour(layout, small, 0, 'left')).toBe(0);
  expect(neighbour(layout, small, 1, 'down')).toBe(9); // the next pool
  expect(neighbour(layout, small, 8, 'up')).toBe(0);
  expect(neighbour(layout, small, 9, 'down')).toBe(9);
  const two = modelOf(many(1));
  expect(neighbour(layOut(two, 1000, 500), two, 2, 'down')).toBe(6);
});

const jobs: Record<number, Partial<Job>> = { 7: { promised: true, at_risk: true }, 8: { promised: true }, 9: {} };
const finder = (id: number) => jobs[id] as Job | undefined;

test('colours say who, how promised, or where', () => {
  expect([...codesOf(small, 'job', finder)]).toEqual([7, 7, 0, 8, 0, 0, 7, 0, 7, 0].map((id, cell) => (id ? 2 + firstChoice(id) + (cell === 8 ? 64 : 0) : cell === 9 ? 1 : 0)));
  expect([...codesOf(small, 'promise', finder)]).toEqual([4, 4, 0, 2, 0, 0, 4, 0, 64 + 4, 1]);
  expect([...codesOf(small, 'promise', () => undefined)].slice(0, 4)).toEqual([5, 5, 0, 5]);
  expect([...codesOf(small, 'model', finder)]).toEqual([2, 2, 0, 2, 0, 0, 2, 0, 64 + 3, 1]);
  for (const mode of ['job', 'promise', 'model'] as const) {
    expect(Math.max(...codesOf(small, mode, finder).map((code) => code & 63))).toBeLessThan(colourNames(mode).length);
  }
  expect([...codesOf(modelOf([node('a', 'A', 1, [{ id: 9, name: 'x', gpus: [0] }])]), 'promise', finder)]).toEqual([3]);
  expect(modeFor('nonsense')).toBe('job');
});

test('twelve jobs in a row have twelve hues', () => {
  expect(new Set(Array.from({ length: 12 }, (_, i) => firstChoice(100 + i))).size).toBe(12);
});

test('no two jobs share a hue while there are enough, and those that stay keep theirs', () => {
  const first = huesOf([1, 13, 25, 2]); // three of them would like the same
  expect(new Set(first.values()).size).toBe(4);
  expect(first.get(1)).toBe(firstChoice(1));
  const later = huesOf([25, 2, 37, 49], first);
  expect([later.get(25), later.get(2)]).toEqual([first.get(25), first.get(2)]);
  expect(new Set(later.values()).size).toBe(4);
  expect(later).toEqual(huesOf([49, 37, 25, 2], later)); // whatever their order
});

test('more jobs than hues share them, and part when there is room again', () => {
  const many = Array.from({ length: 40 }, (_, i) => i + 1);
  const crowded = huesOf(many);
  expect(new Set(crowded.values()).size).toBe(12);
  const fewer = huesOf([1, 13, 2], crowded);
  expect([fewer.get(1), fewer.get(2)]).toEqual([crowded.get(1), crowded.get(2)]);
  expect(fewer.get(13)).not.toBe(crowded.get(13));
});

test('map and legend give a job the same hue', () => {
  const model = modelOf([node('a', 'A', 2, [{ id: 1, name: 'x', gpus: [0] }, { id: 13, name: 'y', gpus: [1] }])]);
  const jobHues = huesOf(model.jobs.keys());
  const codes = codesOf(model, 'job', finder, jobHues);
  expect(codes[0]).not.toBe(codes[1]);
  expect(legend(model, 'job', codes, jobHues).slice(0, 2).map(({ colour }) => colour)).toEqual([...codes].map((code) => colourNames('job')[code]));
  expect(hueName(13, jobHues)).not.toBe(hueName(1, jobHues));
});

test('a node has the colours that its cells have', () => {
  const { name } = small.nodes[1];
  const codes = codesOf(small, 'promise', finder);
  expect(coloursOn(small, 'promise', codes, name)).toEqual([...codes.slice(small.firstCell[1], small.firstCell[2])].map((code) => colourNames('promise')[code & 63]));
  expect(coloursOn(small, 'promise', codes, 'nobody')).toEqual([]);
});

test('names that are too long for a cell are folded where they have a joint', () => {
  const ctx = { measureText: (text: string) => ({ width: text.length * 9 }) as TextMetrics };
  expect(folded(ctx, 'short', 100)).toEqual(['short']);
  expect(folded(ctx, 'resnet-sweep-12', 100)).toEqual(['resnet-', 'sweep-12']);
  expect(folded(ctx, 'a-b-resnet50-sweep-large', 100)).toEqual(['a-b-', 'resnet50-s…']);
  expect(folded(ctx, 'withoutanyjoint', 100)).toEqual(['withoutany…']);
});

test('the legend counts every cell once', () => {
  for (const mode of ['job', 'promise', 'model'] as const) {
    const entries = legend(small, mode, codesOf(small, mode, finder));
    expect(entries.reduce((sum, { cells }) => sum + cells, 0)).toBe(10);
  }
  expect(legend(small, 'promise', codesOf(small, 'promise', finder)).map(({ name, cells }) => [name, cells]))
    .toEqual([['promised', 1], ['best effort', 0], ['at risk', 4], ['free', 4], ['closed', 1]]);
  expect(legend(small, 'job', codesOf(small, 'job', finder))[0]).toMatchObject({ name: 'train', cells: 4, job: 7 });
});

test('arrows take the nearest row, and stay in theirs', () => {
  const model = modelOf([...['a-1', 'a-2', 'a-3'].map((name) => node(name, 'A', 4)), ...['b-1', 'b-2'].map((name) => node(name, 'B', 4))]);
  const layout = layOut(model, 200, 900, 20);
  expect(nodeBox(layout, 1).y).toBe(nodeBox(layout, 0).y); // two in a row
  expect(nodeBox(layout, 2).y).toBeGreaterThan(nodeBox(layout, 0).y);
  expect(neighbour(layout, model, 7, 'down')).toBe(11); // a-3 is below, if further left than b-2
  expect(neighbour(layout, model, 11, 'right')).toBe(11);
});

test('beside the cells of a narrower node there is nothing', () => {
  const model = modelOf([node('a', 'A', 8), node('b', 'A', 5)]); // four columns, three columns
  const layout = layOut(model, 1000, 500, 20);
  const { x, y } = cellBox(layout, model, model.firstCell[1]);
  expect(cellAt(layout, model, x + 2 * layout.pitch + 1, y + 1)).toBe(model.firstCell[1] + 2);
  expect(cellAt(layout, model, x + 3 * layout.pitch + 1, y + 1)).toBe(-1);
});
