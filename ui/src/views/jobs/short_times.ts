// SPDX-License-Identifier: Apache-2.0
//
// Times for narrow columns: one unit, two digits or so. The whole time shows on hover.

// "45 s", "85 min", "30 h", "4 d"
export function shortDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  const sign = seconds < 0 ? '−' : '';
  const size = Math.abs(seconds);
  const [amount, unit] = size < 99.5 ? [size, 's'] : size < 5970 ? [size / 60, 'min'] : size < 172_800 ? [size / 3600, 'h'] : [size / 86_400, 'd'];
  return `${sign}${Math.round(amount)} ${unit}`;
}

// "in 85 min", "4 d ago", "now"; times are milliseconds.
export function shortRelative(time: number, now: number): string {
  const seconds = (time - now) / 1000;
  if (!Number.isFinite(seconds)) return '–';
  if (Math.abs(seconds) < 1.5) return 'now';
  return seconds > 0 ? `in ${shortDuration(seconds)}` : `${shortDuration(-seconds)} ago`;
}
