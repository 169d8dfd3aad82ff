// SPDX-License-Identifier: Apache-2.0
//
// A deadline that could be promised, as it is offered: a round time, not before the earliest one. A
// moment is added, because the earliest one moves on while it is read.

export function offeredDeadline(earliest: number, now: number): number {
  const ahead = Math.max(0, earliest - now);
  const step = ahead < 120_000 ? 5_000 : ahead < 3_600_000 ? 30_000 : 60_000;
  const toRead = Math.min(30_000, Math.max(5_000, ahead * 0.05));
  return Math.ceil((earliest + toRead) / step) * step;
}

// RFC 3339 in UTC, without fractions that are nothing.
export function deadlineText(time: number): string {
  return new Date(time).toISOString().replace('.000Z', 'Z');
}
