// SPDX-License-Identifier: Apache-2.0
//
// The cluster as one row of cells: every GPU has a number, nodes of one pool follow each other. Who has
// which cell is in flat arrays, so that 10,000 of them cost next to nothing.
import type { ClusterNode } from '../../api/types';

export interface Pool {
  name: string;
  model: string; // '' when its nodes differ, or have none
  firstNode: number;
  endNode: number; // one beyond the last
  gpus: number;
  inUse: number;
}

export interface CellJob {
  id: number;
  name: string;
  gpus: number; // in all
  nodes: number;
}

export interface ClusterModel {
  nodes: readonly ClusterNode[]; // by pool
  pools: readonly Pool[];
  firstCell: Int32Array; // of each node, and the number of cells at the end
  nodeOfCell: Int32Array;
  jobOfCell: Float64Array; // an id; 0: free
  jobs: ReadonlyMap<number, CellJob>;
}

export function modelOf(given: readonly ClusterNode[]): ClusterModel {
  const { nodes, pools } = byPool(given);
  const firstCell = new Int32Array(nodes.length + 1);
  nodes.forEach((node, i) => { firstCell[i + 1] = firstCell[i] + node.gpus; });
  const cells = firstCell[nodes.length];
  const model: ClusterModel = { nodes, pools, firstCell, nodeOfCell: new Int32Array(cells), jobOfCell: new Float64Array(cells), jobs: new Map() };
  nodes.forEach((node, i) => {
    model.nodeOfCell.fill(i, firstCell[i], firstCell[i + 1]);
    placeJobs(model, node, i);
  });
  return model;
}

function byPool(given: readonly ClusterNode[]): { nodes: ClusterNode[]; pools: Pool[] } {
  const groups = new Map<string, ClusterNode[]>();
  for (const node of given) {
    const group = groups.get(node.pool);
    if (group) group.push(node);
    else groups.set(node.pool, [node]);
  }
  const nodes: ClusterNode[] = [];
  const pools: Pool[] = [];
  for (const [name, group] of groups) {
    const model = group.every((node) => node.model === group[0].model) ? group[0].model ?? '' : '';
    const pool = { name, model, firstNode: nodes.length, endNode: nodes.length + group.length, gpus: 0, inUse: 0 };
    for (const node of group) {
      pool.gpus += node.gpus;
      pool.inUse += node.in_use;
      nodes.push(node);
    }
    pools.push(pool);
  }
  return { nodes, pools };
}

function placeJobs(model: ClusterModel, node: ClusterNode, place: number): void {
  const jobs = model.jobs as Map<number, CellJob>;
  for (const { id, name, gpus } of node.jobs ?? []) {
    const job = jobs.get(id) ?? { id, name, gpus: 0, nodes: 0 };
    job.gpus += gpus.length;
    ++job.nodes;
    jobs.set(id, job);
    for (const gpu of gpus) {
      const cell = model.firstCell[place] + gpu;
      if (gpu < node.gpus && model.jobOfCell[cell] === 0) model.jobOfCell[cell] = id;
    }
  }
}

// Everyone on a GPU: it may be shared.
export function usersOf(node: ClusterNode, gpu: number): { id: number; name: string }[] {
  return (node.jobs ?? []).filter((job) => job.gpus.includes(gpu));
}

export type NodeState = 'up' | 'emptying' | 'closed';

export function stateOf(node: ClusterNode): NodeState {
  return node.up ? 'up' : node.in_use > 0 ? 'emptying' : 'closed';
}

export const stateWords: Record<NodeState, string> = {
  up: 'up',
  emptying: 'being emptied',
  closed: 'closed',
};

// A cordoned node keeps what runs there.
export function stateText(node: ClusterNode, isObserving: boolean): string {
  return isObserving && !node.up ? 'cordoned or not ready' : stateWords[stateOf(node)];
}

// Whether all the words are in a node's name, pool or model, or in the name of a job there.
export function words(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter((word) => word !== '');
}
export function nodeMatches(node: ClusterNode, wanted: readonly string[]): boolean {
  const text = `${node.name} ${node.pool} ${node.model ?? ''}`.toLowerCase();
  return wanted.every((word) => text.includes(word));
}
export function jobMatches(job: { id: number; name: string }, wanted: readonly string[]): boolean {
  const name = job.name.toLowerCase();
  return wanted.every((word) => name.includes(word) || word === String(job.id));
}

export interface Found {
  cells: Uint8Array; // 1: found
  nodes: number;
  jobs: number;
}

export function find(model: ClusterModel, text: string): Found | null {
  const wanted = words(text);
  if (wanted.length === 0) return null;
  const foundJobs = new Set<number>();
  for (const job of model.jobs.values()) if (jobMatches(job, wanted)) foundJobs.add(job.id);
  const found: Found = { cells: new Uint8Array(model.nodeOfCell.length), nodes: 0, jobs: foundJobs.size };
  model.nodes.forEach((node, i) => {
    if (!nodeMatches(node, wanted)) return;
    ++found.nodes;
    found.cells.fill(1, model.firstCell[i], model.firstCell[i + 1]);
  });
  model.jobOfCell.forEach((job, cell) => { if (job !== 0 && foundJobs.has(job)) found.cells[cell] = 1; });
  return found;
}
