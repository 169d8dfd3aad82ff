// SPDX-License-Identifier: Apache-2.0
//
// A record log (`weir simulate --log`, `weir trace export`), line by line, as one run with its figures
// and its chart.
import { NotReadable } from './read_json';
import { emptyBars, type Detail, type DetailJob, type Simulation } from './simulation';

const stretches = 360;
const second = 1e9; // ns

interface Span { job: number; from: number; to: number; first: number; size: number; reason: number }
interface LogJob { spec: { name: string; deadline: number | null }; pool: number; came: number; promised: boolean; refused: boolean; started: number | null; ended: number | null; open: Span | null }

interface Payload {
  job?: number;
  spec?: { name?: string; deadline_kind?: string; deadline?: number };
  pool?: number;
  block?: { first?: number; size?: number };
  cluster?: { pools?: { name: string; nodes: number; stride: number; gpus_per_node: number; node_gpus?: number[] }[] };
  policy?: string;
  workload?: string;
}
interface Line { type?: string; time?: number; build?: string; payload?: Payload; reason?: { code?: string } }

export class LogReader {
  private readonly jobs = new Map<number, LogJob>();
  private readonly spans: Span[] = [];
  private readonly reasons = new Map<string, number>();
  private header: Payload | null = null;
  private version = '';
  private lines = 0;
  private begin: number | null = null;
  private end = 0;
  private rescales = 0;
  private promises = false;

  constructor(private readonly file: string) {}

  take(text: string): void {
    if (text === '') return;
    ++this.lines;
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch {
      throw new NotReadable(`${this.file}, line ${this.lines}: no JSON. Open a whole log of “weir simulate --log”.`);
    }
    if (this.lines === 1) return this.begins(line);
    this.hear(line);
  }

  private begins(line: Line): void {
    if (line.type !== 'log_header' || !line.payload?.cluster)
      throw new NotReadable(`${this.file} is no log of weir: its first line must be the header. Open a file of “weir simulate --log”, a report, or what “--json” prints.`);
    this.header = line.payload;
    this.version = line.build ?? '';
  }

  private hear({ type, time, payload, reason }: Line): void {
    if (typeof time !== 'number' || !payload) return;
    this.end = Math.max(this.end, time);
    if (type === 'training_accepted' && payload.job !== undefined) {
      this.begin ??= time;
      const { name = '', deadline_kind: kind, deadline } = payload.spec ?? {};
      this.jobs.set(payload.job, { spec: { name, deadline: kind && kind !== 'none' && deadline !== undefined ? deadline : null },
        pool: payload.pool ?? 0, came: time, promised: false, refused: false, started: null, ended: null, open: null });
      return;
    }
    const job = payload.job === undefined ? undefined : this.jobs.get(payload.job);
    if (!job) return;
    if (type === 'promise_made') { job.promised = true; this.promises = true; }
    else if (type === 'promise_refused') { job.refused = true; this.promises = true; }
    else if (type === 'job_resized') this.resized(job, payload, time, reason?.code ?? '');
    else if (type === 'job_released') { close(job, time); job.ended = time; }
  }

  private resized(job: LogJob, payload: Payload, time: number, reason: string): void {
    close(job, time);
    const { first = 0, size = 0 } = payload.block ?? {};
    if (size === 0) return;
    ++this.rescales;
    job.started ??= time;
    if (!this.reasons.has(reason)) this.reasons.set(reason, this.reasons.size);
    job.open = { job: payload.job!, from: time, to: time, first, size, reason: this.reasons.get(reason)! };
    this.spans.push(job.open);
  }

  result(): Simulation {
    if (!this.header) throw new NotReadable(`${this.file} is empty. Open a file of “weir simulate --log”.`);
    for (const job of this.jobs.values()) close(job, this.end);
    const begin = this.begin ?? 0;
    const workload = (this.header.workload ?? '').replace(/^.*\//, '').replace(/\.(ya?ml|csv)$/, '');
    const policy = this.header.policy ?? '';
    return {
      file: this.file, from: 'log', kind: 'training', version: this.version, recipe: '',
      runs: [{ policy, workload, place: '', seeds: 1, figures: this.figures(begin) }],
      details: [this.detail(begin, [policy, workload].filter(Boolean).join(', '))],
    };
  }

  private pools() { return this.header?.cluster?.pools ?? []; }
  private gpus(): number {
    return this.pools().reduce((sum, pool) => sum + (pool.node_gpus?.reduce((all, gpus) => all + gpus, 0) ?? pool.nodes * pool.gpus_per_node), 0);
  }

  private figures(begin: number): Record<string, number | null> {
    const jobs = [...this.jobs.values()];
    const withDeadline = jobs.filter((job) => job.spec.deadline !== null);
    const inTime = (job: LogJob) => job.ended !== null && job.ended <= job.spec.deadline!;
    const met = withDeadline.filter((job) => inTime(job) && (job.promised || !this.promises)).length;
    const taken = this.promises ? withDeadline.filter((job) => job.promised) : withDeadline;
    const times = jobs.filter((job) => job.ended !== null).map((job) => (job.ended! - job.came) / second).sort((a, b) => a - b);
    const waits = jobs.filter((job) => job.started !== null).map((job) => (job.started! - job.came) / second);
    const used = this.spans.reduce((sum, span) => sum + (span.to - span.from) * span.size, 0);
    const length = this.end - begin;
    return {
      jobs: jobs.length, with_deadline: withDeadline.length, met,
      refused: jobs.filter((job) => job.refused).length,
      missed: taken.filter((job) => !inTime(job)).length,
      finished: times.length, mean_jct_s: mean(times), mean_queueing_s: mean(waits),
      p50_jct_s: ranked(times, 50), p99_jct_s: ranked(times, 99),
      rescales: this.rescales, makespan_s: length / second, gpu_hours: used / second / 3600,
      utilisation_percent: length > 0 && this.gpus() > 0 ? (100 * used) / (length * this.gpus()) : null,
    };
  }

  private detail(begin: number, name: string): Detail {
    const place = new Map<number, number>();
    const jobs: DetailJob[] = [];
    const seconds = (time: number) => (time - begin) / second;
    for (const [id, job] of this.jobs) {
      place.set(id, jobs.length);
      jobs.push({ job: id, name: job.spec.name, came: seconds(job.came), deadline: job.spec.deadline === null ? null : seconds(job.spec.deadline),
        answer: job.refused ? 'refused' : job.promised ? 'promised' : 'no promise', ended: job.ended === null ? null : seconds(job.ended) });
    }
    const firstRows: number[] = [];
    let rows = 0;
    for (const pool of this.pools()) {
      firstRows.push(rows);
      rows += pool.nodes * pool.stride;
    }
    const length = Math.max(0, seconds(this.end));
    const step = length / stretches || 1;
    const promised = new Array<number>(stretches).fill(0);
    const others = new Array<number>(stretches).fill(0);
    const bars = emptyBars(this.spans.length);
    this.spans.sort((a, b) => a.from - b.from);
    this.spans.forEach((span, i) => {
      const job = this.jobs.get(span.job)!;
      bars.job[i] = place.get(span.job)!;
      bars.from[i] = seconds(span.from);
      bars.to[i] = seconds(span.to);
      bars.row[i] = (firstRows[job.pool] ?? 0) + span.first;
      bars.gpus[i] = span.size;
      bars.promised[i] = -1;
      bars.reason[i] = span.reason;
      addUse(job.promised ? promised : others, bars.from[i] / step, bars.to[i] / step, span.size);
    });
    return {
      name, gpus: this.gpus(), length, from: 0, to: length, isAll: true, step, promised, others,
      pools: this.pools().map((pool) => ({ name: pool.name, nodes: pool.nodes, stride: pool.stride })),
      jobs, reasons: [...this.reasons.keys()].map((reason) => reason.replaceAll('_', ' ')), bars,
    };
  }
}

function close(job: LogJob, time: number): void {
  if (job.open) job.open.to = time;
  job.open = null;
}
function mean(values: number[]): number | null {
  return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}
// The nearest rank, of sorted values.
function ranked(sorted: number[], percent: number): number | null {
  return sorted.length > 0 ? sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] : null;
}
// Adds GPUs as a share of each stretch that they were used in.
function addUse(sums: number[], from: number, to: number, gpus: number): void {
  for (let at = from; at < Math.min(to, sums.length);) {
    const index = Math.floor(at);
    const next = Math.min(to, index + 1);
    sums[index] += gpus * (next - at);
    at = next;
  }
}
