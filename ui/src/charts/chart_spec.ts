// SPDX-License-Identifier: Apache-2.0
//
// What a chart of figures over time shows: one description for the screen, for SVG and for CSV.

export interface Series {
  label: string;
  colour: string; // a custom property: "--series-1"
  values: readonly (number | null)[]; // one for each of the chart's times
  isStep?: boolean; // holds its value until the next
  isFilled?: boolean; // down to zero
  isDashed?: boolean;
  isPoints?: boolean; // no line
}

export interface Mark { // an upright line
  at: number;
  label: string;
  colour: string;
}

export interface Band { // a stretch of time
  from: number;
  to: number;
  label: string;
  colour: string;
}

export interface ChartSpec {
  title: string;
  at: readonly number[]; // seconds since 1970 (or since the beginning, see isElapsed), ascending
  series: readonly Series[];
  unit?: string; // of the values: "GPUs"
  isElapsed?: boolean; // times are seconds since the beginning of something
  least?: number; // the axis shows at least this much
  most?: number;
  isLogarithmic?: boolean;
  from?: number; // the axis begins and ends there, whatever the data
  to?: number;
  marks?: readonly Mark[];
  bands?: readonly Band[];
}

// The range of the values, with what must be in it.
export function valueRange(spec: ChartSpec): [number, number] {
  let least = spec.least ?? Infinity;
  let most = spec.most ?? -Infinity;
  for (const series of spec.series) {
    for (const value of series.values) {
      if (value === null || !Number.isFinite(value) || (spec.isLogarithmic && value <= 0)) continue;
      if (value < least) least = value;
      if (value > most) most = value;
    }
  }
  if (least > most) return spec.isLogarithmic ? [0.1, 1] : [0, 1];
  if (least === most) return spec.isLogarithmic ? [least / 2, most * 2] : [Math.min(0, least), most === 0 ? 1 : Math.max(most * 1.1, most + 0.1)];
  return [least, most];
}

export function timeRange(spec: ChartSpec): [number, number] {
  const from = spec.from ?? spec.at[0] ?? 0;
  const to = spec.to ?? spec.at[spec.at.length - 1] ?? 1;
  return to > from ? [from, to] : [from - 1, from + 1];
}

// For who cannot see it: the last, least and most of each series.
export function chartInWords(spec: ChartSpec, text: (value: number) => string): string {
  const parts = spec.series.map((series) => {
    const known = series.values.filter((value): value is number => value !== null && Number.isFinite(value));
    if (known.length === 0) return `${series.label}: nothing yet`;
    const least = known.reduce((a, b) => Math.min(a, b));
    const most = known.reduce((a, b) => Math.max(a, b));
    return `${series.label}: now ${text(known[known.length - 1])}, from ${text(least)} to ${text(most)}`;
  });
  return `${spec.title}. ${parts.join('. ')}.`;
}

export function chartCsv(spec: ChartSpec): string {
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const lines = [['time', ...spec.series.map((series) => quoted(series.label))].join(',')];
  spec.at.forEach((at, i) => {
    const time = spec.isElapsed ? String(at) : new Date(at * 1000).toISOString();
    lines.push([time, ...spec.series.map((series) => series.values[i] ?? '')].join(','));
  });
  return lines.join('\r\n') + '\r\n';
}
