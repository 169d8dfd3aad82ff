// SPDX-License-Identifier: Apache-2.0
//
// Why a workload of another scheduler waits, and why GPUs are stranded, in a few words. The names are those of
// docs/openapi.yaml.

const constraints: Record<string, string | undefined> = Object.assign(Object.create(null), {
  insufficient: 'Not enough free',
  too_large: 'Larger than any node',
  fragmented: 'Free, but scattered',
  gpu_product: 'Other GPU model',
  node_selector: 'Node selector',
  node_affinity: 'Node affinity',
  node_name: 'Bound to a node by name',
  taint: 'Taint not tolerated',
  unschedulable: 'Cordoned',
  not_ready: 'Node not ready',
  pod_affinity: 'Pod affinity',
  pod_anti_affinity: 'Pod anti-affinity',
  topology_spread: 'Topology spread',
  host_port: 'Host port taken',
  pod_count: 'Node full of pods',
  volume: 'Volume',
  resource_claim: 'Resource claim',
  scheduling_gate: 'Scheduling gate',
  scheduler_name: 'No such scheduler',
  quota: 'Quota used up',
  suspended: 'Suspended',
  gang: 'Gang does not fit',
  kueue: 'Not admitted by Kueue',
  no_nodes: 'No nodes',
  not_seen_yet: 'Not looked at yet',
});
export const constraintNames: readonly string[] = Object.keys(constraints);

export function constraintText(name: string): string {
  return constraints[name] ?? inWords(name);
}

const causes: Record<string, string | undefined> = Object.assign(Object.create(null), {
  cordoned: 'On cordoned nodes',
  not_ready: 'On nodes that are not ready',
  tainted: 'Behind taints',
  cpu: 'No CPU beside them',
  memory: 'No memory beside them',
  pod_count: 'On nodes full of pods',
  shares: 'In pieces too small',
});

export function causeText(name: string): string {
  return causes[name] ?? inWords(name);
}

// One that is newer than this page: "some_name" is "Some name".
function inWords(name: string): string {
  const text = name.replaceAll('_', ' ').trim();
  return text === '' ? 'Unknown' : text[0].toUpperCase() + text.slice(1);
}
