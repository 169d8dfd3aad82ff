// SPDX-License-Identifier: Apache-2.0
//
// When a waiting workload will start. Times are milliseconds since 1970.
import type { PendingWorkload } from '../../api/types';
import { parsedTime, relativeText } from '../../text/times';

export interface Prediction {
  low: number;
  median: number;
  high: number;
  basis: string;
}

export function predictionOf(waits: PendingWorkload): Prediction | null {
  const given = waits.predicted_start;
  if (!given) return null;
  return { low: parsedTime(given.low), median: parsedTime(given.median), high: parsedTime(given.high), basis: given.basis };
}

// "in 5 min"; a time that has passed says that it may be any moment.
export function startText(time: number, now: number): string {
  if (!Number.isFinite(time)) return '–';
  return time <= now ? 'any moment' : relativeText(time, now);
}

// "4 min to 1 h from now"
export function bandText({ low, high }: Prediction, now: number): string {
  if (high <= now) return 'overdue';
  const away = (time: number) => relativeText(Math.max(time, now), now).replace(/^in /, '');
  return `${away(low)} to ${away(high)}${away(low) === 'now' ? '' : ' from now'}`;
}

// Where the band lies on an axis that begins now and ends a little after it: shares from 0 to 1.
export interface BandPlace {
  low: number;
  median: number;
  high: number;
}
const beyond = 1.08;

export function bandPlace({ low, median, high }: Prediction, now: number): BandPlace {
  const length = Math.max(1000, (high - now) * beyond);
  const share = (time: number) => Math.max(0, Math.min(1, (time - now) / length));
  return { low: share(low), median: share(median), high: share(Math.max(high, low)) };
}
