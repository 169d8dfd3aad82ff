// SPDX-License-Identifier: Apache-2.0
//
// The API's types under short names. They are made from docs/openapi.yaml by `npm run types`.
import type { components } from './schema.generated';

type Schemas = components['schemas'];

export type Job = Schemas['Job'];
export type Phase = Schemas['Phase'];
export type JobPage = Schemas['JobPage'];
export type ClusterNode = Schemas['Node'];
export type NodeChange = Schemas['NodeChange'];
export type Overview = Schemas['Overview'];
export type History = Schemas['History'];
export type Progress = Schemas['Progress'];
export type Story = Schemas['Story'];
export type DryRun = Schemas['DryRun'];
export type Problem = Schemas['Problem'];
export type Observation = Schemas['Observation'];
export type Energy = Schemas['Energy'];
export type PendingWorkload = Schemas['PendingWorkload'];
export type SuggestedChange = Schemas['SuggestedChange'];

export const phases: readonly Phase[] = [
  'waiting', 'queued', 'running', 'paused', 'finished', 'failed', 'cancelled', 'refused',
];

export function isOver(phase: Phase): boolean {
  return phase === 'finished' || phase === 'failed' || phase === 'cancelled' || phase === 'refused';
}
