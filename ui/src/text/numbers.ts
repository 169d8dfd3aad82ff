// SPDX-License-Identifier: Apache-2.0

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

// "12,345"
export function countText(value: number): string {
  return Number.isFinite(value) ? whole.format(value) : '–';
}

// Three digits that count: "0.0123", "1.23", "123", "12,345".
export function figureText(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1000) return whole.format(value);
  if (size < 0.001) return value.toExponential(2);
  return String(Number(value.toPrecision(3)));
}

// "73 %"; a share of something.
export function percentText(part: number, of: number): string {
  if (!(of > 0)) return '–';
  const percent = (100 * part) / of;
  return `${percent > 0 && percent < 1 ? '<1' : Math.round(percent)} %`;
}

// "1 job", "3 jobs"
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}
