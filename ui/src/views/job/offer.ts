// SPDX-License-Identifier: Apache-2.0
import type { Job } from '../../api/types';
import { parsedTime } from '../../text/times';
import { deadlineText, offeredDeadline as withTimeToRead } from '../submit/offer';

// The deadline that a refused job could be promised: who asks for it is to get it, so there is time to read and to click.
export function offeredDeadline(job: Job): string | undefined {
  const earliest = parsedTime(job.earliest_deadline);
  if (job.phase !== 'refused' || Number.isNaN(earliest)) return undefined;
  return deadlineText(withTimeToRead(earliest, parsedTime(job.submitted)));
}
