// SPDX-License-Identifier: Apache-2.0
//
// Times and durations in words. Times are milliseconds since 1970, durations are seconds.

const day = 86_400;

// "45 s", "5 min 10 s", "3 h 20 min", "2 d 4 h": two units at most.
export function durationText(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  const sign = seconds < 0 ? '−' : '';
  const s = Math.abs(seconds);
  if (s < 9.95) return `${sign}${trimmed(s, 1)} s`;
  const whole = Math.round(s);
  if (whole < 60) return `${sign}${whole} s`;
  const two = (large: number, largeName: string, small: number, smallName: string) => {
    const of = Math.floor(whole / large);
    const rest = Math.floor((whole % large) / small);
    return `${sign}${of} ${largeName}${rest > 0 ? ` ${rest} ${smallName}` : ''}`;
  };
  if (whole < 3600) return two(60, 'min', 1, 's');
  if (whole < day) return two(3600, 'h', 60, 'min');
  return two(day, 'd', 3600, 'h');
}

function trimmed(value: number, decimals: number): string {
  return value.toFixed(decimals).replace(/\.?0+$/, '') || '0';
}

// "in 5 min", "3 h ago", "now".
export function relativeText(time: number, now: number): string {
  const seconds = (time - now) / 1000;
  if (Math.abs(seconds) < 1.5) return 'now';
  const rough = Math.abs(seconds) >= 60 ? roughly(Math.abs(seconds)) : Math.abs(seconds);
  return seconds > 0 ? `in ${durationText(rough)}` : `${durationText(rough)} ago`;
}

// Beyond a minute nobody wants to see seconds run, beyond a day no minutes.
function roughly(seconds: number): number {
  const unit = seconds < 600 ? 10 : seconds < 3600 ? 60 : seconds < day ? 300 : 3600;
  return Math.round(seconds / unit) * unit;
}

const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
const dayAndTime = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hour12: false });
const everything = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', hour12: false });

// The time of day when it is within half a day of now, otherwise with the date.
export function timeText(time: number, now: number): string {
  if (!Number.isFinite(time)) return '–';
  return Math.abs(time - now) < day * 500 ? timeOfDay.format(time) : dayAndTime.format(time);
}

export function fullTimeText(time: number): string {
  return Number.isFinite(time) ? everything.format(time) : '–';
}

// An API time; NaN when there is none.
export function parsedTime(text: string | undefined): number {
  return text === undefined ? NaN : Date.parse(text);
}

// "90", "45s", "1h30m", "2d" as seconds, the way weir's files have them; undefined when it is none.
export function parsedDuration(text: string): number | undefined {
  const units: Record<string, number> = { d: day, h: 3600, m: 60, s: 1 };
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)([dhms])/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join('') !== text.trim()) return undefined;
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * units[unit], 0);
}
