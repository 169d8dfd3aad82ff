// SPDX-License-Identifier: Apache-2.0
//
// Round numbers along an axis.

export function valueTicks(least: number, most: number, about: number): number[] {
  const step = niceStep((most - least) / Math.max(1, about));
  const ticks: number[] = [];
  for (let tick = Math.ceil(least / step) * step; tick <= most + step * 1e-9; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

// 1, 2 or 5 times a power of ten, not below `rough`.
export function niceStep(rough: number): number {
  if (!(rough > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const digit = rough / power;
  return (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10) * power;
}

const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

// In seconds; on whole minutes, hours and days of the viewer's own time.
export function timeTicks(from: number, to: number, about: number, isElapsed = false): number[] {
  const rough = (to - from) / Math.max(1, about);
  const step = timeSteps.find((one) => one >= rough) ?? Math.ceil(rough / 86_400) * 86_400;
  const shift = isElapsed ? 0 : new Date(from * 1000).getTimezoneOffset() * 60;
  const ticks: number[] = [];
  for (let tick = Math.ceil((from - shift) / step) * step + shift; tick <= to; tick += step) ticks.push(tick);
  return ticks;
}

const two = (value: number) => String(value).padStart(2, '0');

// What stands below a tick, given how far apart ticks are.
export function timeTickText(at: number, step: number, isElapsed = false): string {
  if (isElapsed) {
    const whole = Math.round(at);
    if (step >= 86_400) return `${Math.round(whole / 86_400)} d`;
    if (step >= 3600 || whole >= 36_000) return `${Math.floor(whole / 3600)}:${two(Math.floor((whole % 3600) / 60))} h`;
    return step >= 60 ? `${Math.round(whole / 60)} min` : `${Math.floor(whole / 60)}:${two(whole % 60)}`;
  }
  const time = new Date(at * 1000);
  if (step >= 86_400) return `${time.getDate()} ${time.toLocaleString('en', { month: 'short' })}`;
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return step < 60 ? `${clock}:${two(time.getSeconds())}` : clock;
}
