// SPDX-License-Identifier: Apache-2.0
//
// What `weir simulate --json` prints, and what its reports carry, as a simulation.
import { emptyBars, keyOf, type Detail, type DetailJob, type Kind, type Run, type Simulation } from './simulation';

export class NotReadable extends Error {}

type Fields = Record<string, unknown>;

export function readJson(file: string, text: string, from: 'report' | 'JSON'): Simulation {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw new NotReadable(`${file} is not whole JSON. Open what “weir simulate --json” prints, all of it.`);
  }
  const fields = asFields(data);
  const list = fields && (Array.isArray(fields.runs) ? fields.runs : Array.isArray(fields.churn) ? fields.churn : null);
  const rows = list?.map(asFields).filter((row): row is Fields => row !== null) ?? [];
  if (!fields || rows.length === 0 || rows.length !== list!.length || rows.some((row) => typeof row.policy !== 'string'))
    throw new NotReadable(`${file} has no runs of a simulation. Open what “weir simulate --json” prints, a file of its “--report”, or one of its “--log”.`);
  const kind: Kind = Array.isArray(fields.churn) ? 'churn' : asFields(rows[0].allocated) ? 'inflation' : 'training';
  return {
    file, from, kind,
    version: typeof fields.version === 'string' ? fields.version : '',
    recipe: typeof fields.recipe === 'string' ? fields.recipe : '',
    runs: meansOverSeeds(rows.map((row) => runOf(kind, row))),
    details: kind === 'training' ? arrayOf(fields.shown).map(asFields).filter((one): one is Fields => one !== null).map(detailOf) : [],
  };
}

// The data within a report. The page itself is not looked at, and never run.
export function readReport(file: string, text: string): Simulation {
  const begins = '<script type="application/json" id="weir-data">';
  const from = text.indexOf(begins);
  const to = from < 0 ? -1 : text.indexOf('</script>', from);
  if (to < 0)
    throw new NotReadable(`${file} carries no data: it is no report of “weir simulate --report”, or of a version before reports carried it. Make it again, or open what “--json” prints.`);
  return readJson(file, text.slice(from + begins.length, to), 'report');
}

function runOf(kind: Kind, row: Fields): Run {
  const run = { policy: String(row.policy), workload: textOf(row.workload), seeds: 1 };
  if (kind === 'training') return { ...run, place: textOf(row.cluster), figures: trainingFigures(row) };
  if (kind === 'churn') return { ...run, place: `${textOf(row.queue)} queue, load ${String(row.load)}`, figures: numbersOf(row) };
  const allocated = curveOf(row.allocated);
  const fragmented = curveOf(row.fragmented);
  const atCapacity = valueAt(allocated, 100);
  return { ...run, place: '', figures: {
    allocated: atCapacity,
    stranded: atCapacity === null ? null : Math.round((100 - atCapacity) * 1e4) / 1e4,
    fragmented: valueAt(fragmented, 100),
    allocated_last: allocated.length > 0 ? allocated[allocated.length - 1][1] : null,
    failed: numberOf(row.failed),
  } };
}

function trainingFigures(row: Fields): Record<string, number | null> {
  const figures = numbersOf(row);
  const { with_deadline: withDeadline, met, missed_after_admission: broken } = figures as Record<string, number | null | undefined>;
  figures.missed = broken ?? (typeof withDeadline === 'number' && typeof met === 'number' ? withDeadline - met : null);
  return figures;
}

// At that percentage of demand, or the last before it.
function valueAt(curve: [number, number][], percent: number): number | null {
  return curve.findLast(([at]) => at <= percent)?.[1] ?? null;
}

function meansOverSeeds(runs: Run[]): Run[] {
  const groups = new Map<string, Run[]>();
  for (const run of runs) groups.set(keyOf(run), [...(groups.get(keyOf(run)) ?? []), run]);
  return [...groups.values()].map((group) => {
    if (group.length === 1) return group[0];
    const figures: Record<string, number | null> = {};
    for (const key of Object.keys(group[0].figures)) {
      const known = group.map((run) => run.figures[key]).filter((value): value is number => typeof value === 'number');
      figures[key] = known.length === group.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
    }
    return { ...group[0], seeds: group.length, figures };
  });
}

function detailOf(shown: Fields): Detail {
  const usage = asFields(shown.usage) ?? {};
  const part = asFields(shown.part) ?? {};
  const length = numberOf(shown.length_s) ?? 0;
  const promised = arrayOf(usage.promised).map((value) => numberOf(value) ?? 0);
  const jobs = arrayOf(shown.jobs).map((job): DetailJob => {
    const { job: id, name, came_s: came, deadline_s: deadline, answer, ended_s: ended } = asFields(job) ?? {};
    return { job: numberOf(id) ?? 0, name: textOf(name), came: numberOf(came) ?? 0, deadline: numberOf(deadline),
      answer: answer === 'promised' || answer === 'refused' ? answer : 'no promise', ended: numberOf(ended) };
  });
  const rows = arrayOf(shown.bars).filter((bar): bar is number[] => Array.isArray(bar) && bar.length >= 7 && bar.every((value) => typeof value === 'number') && bar[0] < jobs.length)
    .sort((a, b) => a[1] - b[1]);
  const bars = emptyBars(rows.length);
  rows.forEach(([job, from, to, row, gpus, needed, reason], i) => {
    bars.job[i] = job; bars.from[i] = from; bars.to[i] = to; bars.row[i] = row; bars.gpus[i] = gpus; bars.promised[i] = needed; bars.reason[i] = reason;
  });
  return {
    name: textOf(shown.name), gpus: numberOf(shown.gpus) ?? 0, length,
    from: numberOf(part.from_s) ?? 0, to: numberOf(part.to_s) ?? length, isAll: part.is_all !== false,
    step: promised.length > 0 ? length / promised.length : length,
    promised, others: arrayOf(usage.left_over).map((value) => numberOf(value) ?? 0),
    pools: arrayOf(shown.pools).map((pool) => {
      const { name, nodes, stride } = asFields(pool) ?? {};
      return { name: textOf(name), nodes: numberOf(nodes) ?? 0, stride: numberOf(stride) ?? 1 };
    }),
    jobs, reasons: arrayOf(shown.reasons).map(textOf), bars,
  };
}

function asFields(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}
function arrayOf(value: unknown): unknown[] { return Array.isArray(value) ? value : []; }
function textOf(value: unknown): string { return typeof value === 'string' ? value : ''; }
function numberOf(value: unknown): number | null { return typeof value === 'number' && Number.isFinite(value) ? value : null; }
function numbersOf(row: Fields): Record<string, number | null> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value === null || typeof value === 'number').map(([key, value]) => [key, numberOf(value)]));
}
function curveOf(value: unknown): [number, number][] {
  const points = Object.entries(asFields(value) ?? {}).map(([at, share]): [number, number] => [Number(at), numberOf(share) ?? NaN]);
  return points.filter(([at, share]) => Number.isFinite(at) && Number.isFinite(share)).sort((a, b) => a[0] - b[0]);
}
