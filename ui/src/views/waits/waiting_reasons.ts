// SPDX-License-Identifier: Apache-2.0
import type { PendingWorkload } from '../../api/types';
import { parsedTime } from '../../text/times';

export interface WaitingReason {
  constraint: string;
  workloads: number;
  pods: number; // none where nobody makes them yet
  gpus: number;
}

// Those with the most GPUs first.
export function waitingByReason(pending: readonly PendingWorkload[]): WaitingReason[] {
  const reasons = new Map<string, WaitingReason>();
  for (const { constraint, pods, gpus } of pending) {
    const reason = reasons.get(constraint) ?? { constraint, workloads: 0, pods: 0, gpus: 0 };
    ++reason.workloads;
    reason.pods += pods.length;
    reason.gpus += gpus;
    reasons.set(constraint, reason);
  }
  return [...reasons.values()].sort((a, b) => b.gpus - a.gpus || b.workloads - a.workloads || (a.constraint < b.constraint ? -1 : 1));
}

// "Job vision/sweep": what a link to one has.
export function workloadKey({ workload }: PendingWorkload): string {
  return `${workload.kind} ${workload.namespace ? `${workload.namespace}/` : ''}${workload.name}`;
}

export function waitingLongest(pending: readonly PendingWorkload[], most: number): PendingWorkload[] {
  return pending.map((one) => ({ one, since: parsedTime(one.since) }))
    .sort((a, b) => a.since - b.since || (workloadKey(a.one) < workloadKey(b.one) ? -1 : 1))
    .slice(0, most).map(({ one }) => one);
}
