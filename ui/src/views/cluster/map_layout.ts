// SPDX-License-Identifier: Apache-2.0
//
// Where each cell is on the map. Pools stand below each other; within a pool nodes form a grid, and the
// GPUs of a node one or two rows. Cells are as large as the place allows; when the smallest do not fit, the map scrolls.
import type { ClusterModel } from './cluster_model';

export const leastCell = 6;
export const mostCell = 88;
const headHeight = 26; // the pool's name
const beneath = 14; // a pool
const nameHeight = 18; // the node's name
const leastNamed = 64; // narrower nodes have no room for a name

interface PoolLayout {
  firstNode: number;
  endNode: number;
  top: number; // of the head
  bodyTop: number;
  perRow: number;
  blockWidth: number;
  blockHeight: number; // with the name
  stepX: number;
  stepY: number;
  hasNames: boolean;
}

export interface MapLayout {
  cell: number;
  pitch: number; // from one cell to the next
  left: number; // where all begins
  width: number;
  height: number;
  pools: readonly PoolLayout[];
}

export interface Box { x: number; y: number; width: number; height: number }

export function columnsOf(gpus: number): number {
  if (gpus <= 4) return Math.max(1, gpus);
  return Math.min(8, Math.ceil(gpus / 2));
}

interface PoolShape { firstNode: number; endNode: number; columns: number; rows: number } // the most that a node of it has

function shapesOf(model: ClusterModel): PoolShape[] {
  return model.pools.map(({ firstNode, endNode }) => {
    const shape = { firstNode, endNode, columns: 1, rows: 1 };
    for (let i = firstNode; i < endNode; ++i) {
      const columns = columnsOf(model.nodes[i].gpus);
      shape.columns = Math.max(shape.columns, columns);
      shape.rows = Math.max(shape.rows, Math.ceil(model.nodes[i].gpus / columns));
    }
    return shape;
  });
}

function withCell(shapes: readonly PoolShape[], width: number, cell: number): MapLayout {
  const pitch = cell + (cell < 12 ? 1 : cell < 24 ? 2 : 3);
  const edge = cell < 12 ? 3 : 6; // for the outline of a node there
  const between = cell < 12 ? 4 : cell < 24 ? 9 : 16;
  let y = 0;
  const pools = shapes.map(({ firstNode, endNode, columns, rows }): PoolLayout => {
    const blockWidth = columns * pitch - (pitch - cell);
    const hasNames = blockWidth >= leastNamed;
    const blockHeight = rows * pitch - (pitch - cell) + (hasNames ? nameHeight : 0);
    const stepX = blockWidth + between;
    const stepY = blockHeight + between;
    const perRow = Math.max(1, Math.floor((width - 2 * edge + between) / stepX));
    const top = y;
    const bodyTop = top + headHeight;
    y = bodyTop + Math.ceil((endNode - firstNode) / perRow) * stepY - between + beneath;
    return { firstNode, endNode, top, bodyTop, perRow, blockWidth, blockHeight, stepX, stepY, hasNames };
  });
  return { cell, pitch, left: edge, width, height: Math.max(0, y - beneath) + edge, pools };
}

// `wanted`: the size of a cell; without it the largest with which all of it is in sight.
export function layOut(model: ClusterModel, width: number, height: number, wanted?: number): MapLayout {
  const shapes = shapesOf(model);
  if (wanted !== undefined) return withCell(shapes, width, Math.max(leastCell, Math.min(mostCell, wanted)));
  for (let cell = mostCell; cell > leastCell; --cell) {
    const layout = withCell(shapes, width, cell);
    if (layout.height <= height && isWithin(layout)) return layout;
  }
  return withCell(shapes, width, leastCell);
}

function isWithin(layout: MapLayout): boolean {
  return layout.pools.every((pool) => pool.blockWidth + 2 * layout.left <= layout.width);
}

function poolOf(layout: MapLayout, node: number): PoolLayout {
  return layout.pools.find((pool) => node < pool.endNode) ?? layout.pools[layout.pools.length - 1];
}

// With the name, if it has one.
export function nodeBox(layout: MapLayout, node: number): Box {
  const pool = poolOf(layout, node);
  const place = node - pool.firstNode;
  return { x: layout.left + (place % pool.perRow) * pool.stepX, y: pool.bodyTop + Math.floor(place / pool.perRow) * pool.stepY,
    width: pool.blockWidth, height: pool.blockHeight };
}

export function cellBox(layout: MapLayout, model: ClusterModel, cell: number): Box {
  const node = model.nodeOfCell[cell];
  const pool = poolOf(layout, node);
  const box = nodeBox(layout, node);
  const gpu = cell - model.firstCell[node];
  const columns = columnsOf(model.nodes[node].gpus);
  return { x: box.x + (gpu % columns) * layout.pitch, y: box.y + (pool.hasNames ? nameHeight : 0) + Math.floor(gpu / columns) * layout.pitch,
    width: layout.cell, height: layout.cell };
}

// -1 where there is none.
export function nodeAt(layout: MapLayout, x: number, y: number): number {
  const pool = layout.pools.find((one, i) => y >= one.bodyTop && (i + 1 === layout.pools.length || y < layout.pools[i + 1].top));
  if (!pool) return -1;
  const column = Math.floor((x - layout.left) / pool.stepX);
  const row = Math.floor((y - pool.bodyTop) / pool.stepY);
  const node = pool.firstNode + row * pool.perRow + column;
  if (column < 0 || column >= pool.perRow || node >= pool.endNode) return -1;
  const box = nodeBox(layout, node);
  return x < box.x + box.width && y < box.y + box.height ? node : -1;
}

// The seam beside a cell counts as the cell, so that the pointer does not flicker.
export function cellAt(layout: MapLayout, model: ClusterModel, x: number, y: number): number {
  const node = nodeAt(layout, x, y);
  if (node < 0 || model.nodes[node].gpus === 0) return -1;
  const first = cellBox(layout, model, model.firstCell[node]);
  const column = Math.floor((x - first.x) / layout.pitch);
  const row = Math.floor((y - first.y) / layout.pitch);
  const columns = columnsOf(model.nodes[node].gpus);
  const gpu = row * columns + column;
  return row < 0 || column < 0 || column >= columns || gpu >= model.nodes[node].gpus ? -1 : model.firstCell[node] + gpu;
}

export type Direction = 'left' | 'right' | 'up' | 'down';

// The next cell that way, over the edges of nodes and pools; the same cell when there is none.
export function neighbour(layout: MapLayout, model: ClusterModel, cell: number, direction: Direction): number {
  const from = cellBox(layout, model, cell);
  const isAcross = direction === 'left' || direction === 'right';
  const sign = direction === 'left' || direction === 'up' ? -1 : 1;
  let best = cell;
  let least = Infinity;
  for (let other = 0; other < model.nodeOfCell.length; ++other) {
    const { x, y } = cellBox(layout, model, other);
    const along = sign * (isAcross ? x - from.x : y - from.y);
    const aside = Math.abs(isAcross ? y - from.y : x - from.x);
    if (along <= 0 || (isAcross && aside > 0)) continue;
    const distance = isAcross ? along : along * layout.width + aside; // the nearest row counts first
    if (distance < least) {
      least = distance;
      best = other;
    }
  }
  return best;
}
