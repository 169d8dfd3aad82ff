// SPDX-License-Identifier: Apache-2.0
import type { Job } from '../../api/types';

// The deadline that a refused job could be promised, on a whole second and not one too early: who asks
// for it is to get it.
export function offeredDeadline(job: Job): string | undefined {
  if (job.phase !== 'refused' || job.earliest_deadline === undefined) return undefined;
  const whole = job.earliest_deadline.replace(/\.\d+/, '');
  const ms = Date.parse(whole);
  if (Number.isNaN(ms)) return undefined;
  const hasMore = /\.\d*[1-9]/.test(job.earliest_deadline);
  return new Date(ms + (hasMore ? 1000 : 0)).toISOString().replace('.000', '');
}
