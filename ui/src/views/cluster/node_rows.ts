// SPDX-License-Identifier: Apache-2.0
//
// The nodes as rows of a table.
import type { ClusterNode } from '../../api/types';
import type { Column } from '../../tables/columns';
import { countText } from '../../text/numbers';
import { jobMatches, nodeMatches, stateOf, stateText, stateWords, words } from './cluster_model';

export const nodeColumns: readonly Column<ClusterNode>[] = [
  { key: 'name', title: 'Node', width: 'minmax(130px, 1.2fr)', text: (node) => node.name },
  { key: 'pool', title: 'Pool', width: 'minmax(80px, 0.7fr)', text: (node) => node.pool },
  { key: 'model', title: 'GPU', width: 'minmax(80px, 0.7fr)', text: (node) => node.model ?? '–', value: (node) => node.model ?? null },
  { key: 'gpus', title: 'GPUs', width: '76px', isNumber: true, text: (node) => countText(node.gpus), value: (node) => node.gpus },
  { key: 'in_use', title: 'In use', width: '80px', isNumber: true, text: (node) => countText(node.in_use), value: (node) => node.in_use },
  { key: 'free', title: 'Free', width: '72px', isNumber: true, text: (node) => countText(freeOn(node)), value: freeOn,
    hint: 'GPUs that could be used: none on a node that is closed' },
  { key: 'state', title: 'State', width: '130px', text: (node) => stateWords[stateOf(node)], value: stateOf },
  { key: 'jobs', title: 'Jobs', width: 'minmax(140px, 4fr)', text: jobsOn },
];

// Where another scheduler runs pods there.
const observedNodeColumns: readonly Column<ClusterNode>[] = nodeColumns.map((column) => {
  if (column.key === 'jobs') return { ...column, title: 'Pods' };
  if (column.key === 'state') return { ...column, width: '176px', text: (node) => stateText(node, true) };
  return column.key === 'free' ? { ...column, hint: 'GPUs that could be used: none on a node that is cordoned or not ready' } : column;
});
export function nodeColumnsOf(isObserving: boolean): readonly Column<ClusterNode>[] {
  return isObserving ? observedNodeColumns : nodeColumns;
}

export function freeOn(node: ClusterNode): number {
  return node.up ? Math.max(0, node.gpus - node.in_use) : 0;
}

function jobsOn(node: ClusterNode): string {
  return (node.jobs ?? []).map((job) => job.name).join(', ');
}

// Those that match by themselves, and those with a job that does.
export function nodesFound(nodes: readonly ClusterNode[], text: string): readonly ClusterNode[] {
  const wanted = words(text);
  if (wanted.length === 0) return nodes;
  return nodes.filter((node) => nodeMatches(node, wanted) || (node.jobs ?? []).some((job) => jobMatches(job, wanted)));
}
