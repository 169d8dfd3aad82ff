// SPDX-License-Identifier: Apache-2.0
import type { Phase } from '../api/types';

// Tasks of another scheduler: in the words of kubectl.
export function phaseText(phase: Phase, isObserved: boolean): string {
  if (!isObserved) return phase;
  return phase === 'queued' ? 'pending' : phase === 'cancelled' ? 'deleted' : phase;
}
