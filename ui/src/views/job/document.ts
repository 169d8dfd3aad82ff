// SPDX-License-Identifier: Apache-2.0
//
// The job as it was submitted.
import { stringify } from 'yaml';
import type { Job, Story } from '../../api/types';

export function documentText(document: Record<string, unknown>): string {
  return stringify(document, { lineWidth: 100 });
}

// How many processes it may have had at once: each prints a log of its own.
export function mostRanks(document: Record<string, unknown> | null, job: Job, story: Story | null): number {
  if (document?.ranks !== 'per-gpu') return 1;
  return (story?.explain.changes ?? []).reduce((most, { gpus }) => Math.max(most, gpus), Math.max(1, job.gpus));
}
