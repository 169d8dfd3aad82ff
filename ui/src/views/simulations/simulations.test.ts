// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { barRows, barsCsv, barsSvg, mostOf } from './bar_chart';
import { paired, usageSpec } from './comparison';
import { draw, ganttSvg, type Scene } from './gantt_drawing';
import { BarIndex, moved, nodeRows, zoomed } from './gantt_window';
import { differenceText, metrics, verdict } from './metrics';
import { readFile } from './read_file';
import { emptyBars, type Detail, type Run, type Simulation } from './simulation';

const file = (name: string, text: string) => Object.assign(new Blob([text]), { name }) as Blob & { name: string } as never;
const trouble = (name: string, text: string) => readFile(file(name, text)).then(() => 'was read', (error: Error) => error.message);

const training = (policy: string, met: number, seed?: number) =>
  ({ policy, workload: 'night', gpus: 16, jobs: 39, with_deadline: 35, met, missed_after_admission: null, refused: 2, mean_jct_s: 100, ...(seed === undefined ? {} : { seed }) });
const shown = {
  run: 0, name: 'weir, <night>', gpus: 8, length_s: 100, usage: { promised: [2, 0], left_over: [2, 4] }, part: { from_s: 0, to_s: 100, is_all: true },
  pools: [{ name: 'T4', nodes: 2, gpus_per_node: 4, stride: 4 }],
  jobs: [{ job: 1, name: 'a', came_s: 0, deadline_s: 90, answer: 'promised', ended_s: null }, { job: 2, name: '<b>', came_s: 0, deadline_s: null, answer: 'no promise', ended_s: 50 }],
  reasons: ['why'], bars: [[1, 20, 50, 0, 1, 0, 0], [0, 0, 100, 4, 4, 2, 0]],
};
const json = (fields: object) => JSON.stringify(fields);

test('reads what --json prints about training, and counts what was missed', async () => {
  const simulation = await readFile(file('x.json', json({ runs: [training('weir', 23), { ...training('edf', 12), missed_after_admission: 4 }] })));
  expect(simulation).toMatchObject({ kind: 'training', from: 'JSON' });
  expect(simulation.runs.map((run) => [run.policy, run.figures.met, run.figures.missed])).toEqual([['weir', 23, 12], ['edf', 12, 4]]);
});

test('a figure that is not there is not made up', async () => {
  const { runs } = await readFile(file('x.json', json({ runs: [{ policy: 'weir', met: 1 }] })));
  expect(runs[0].figures).toEqual({ met: 1, missed: null });
});

test('runs that differ by seed become their mean', async () => {
  const { runs } = await readFile(file('x.json', json({ runs: [training('weir', 20, 1), training('weir', 23, 2), training('edf', 1, 1)] })));
  expect(runs.map((run) => [run.policy, run.seeds, run.figures.met])).toEqual([['weir', 2, 21.5], ['edf', 1, 1]]);
});

test('reads inflation at the demand that equals capacity, and churn by load', async () => {
  const inflation = await readFile(file('x.json', json({ runs: [{ policy: 'fgd', workload: 'd', seed: 1, failed: 9, allocated: { 0: 0, 99: 94, 110: 95, 130: 96 }, fragmented: { 0: 13, 100: 4 } }] })));
  expect(inflation.kind).toBe('inflation');
  expect(inflation.runs[0].figures).toEqual({ allocated: 94, stranded: 6, fragmented: 4, allocated_last: 96, failed: 9 });
  const churn = await readFile(file('x.json', json({ churn: [{ policy: 'fgd', workload: 'd', queue: 'fifo', load: 0.9, wait_mean_s: 3 }, { policy: 'fgd', workload: 'd', queue: 'fifo', load: 1, wait_mean_s: 4 }] })));
  expect(churn.runs.map((run) => [run.place, run.figures.wait_mean_s])).toEqual([['fifo queue, load 0.9', 3], ['fifo queue, load 1', 4]]);
});

test('reads the data of a report, and nothing else of it', async () => {
  const data = json({ runs: [{ ...training('weir', 23), workload: '</script><img src=x>' }], version: '0.1.0', recipe: 'weir simulate', shown: [shown] }).replaceAll('<', '\\u003c');
  const simulation = await readFile(file('x.html', `<!DOCTYPE html>\n<html><body><script>alert(1)</script><script type="application/json" id="weir-data">\n${data}\n</script></body></html>`));
  expect(simulation).toMatchObject({ from: 'report', version: '0.1.0', recipe: 'weir simulate' });
  expect(simulation.runs[0].workload).toBe('</script><img src=x>');
  const [detail] = simulation.details;
  expect([...detail.bars.from]).toEqual([0, 20]); // in order
  expect(detail.jobs[detail.bars.job[0]].name).toBe('a');
  expect(detail.step).toBe(50);
});

const record = (type: string, time: number, payload: object, code = 'x_y') => json({ schema: 1, seq: 1, time: time * 1e9, type, reason: { code, detail: 0 }, payload, build: '0.1.0' });
const header = json({ schema: 1, type: 'log_header', payload: { cluster: { pools: [{ name: 'T4', nodes: 1, gpus_per_node: 4, stride: 4 }] }, policy: 'weir', workload: 'examples/night.yaml' }, build: '0.1.0' });
const accepted = (job: number, time: number, deadline: number | null) => record('training_accepted', time, { job, spec: { name: `job-${job}`, deadline_kind: deadline === null ? 'none' : 'hard', deadline: (deadline ?? 0) * 1e9 }, pool: 0 });
const log = [header, record('curve_adopted', 5, {}),
  accepted(1, 10, 100), record('promise_made', 10, { job: 1 }), record('job_resized', 10, { job: 1, generation: 1, block: { first: 0, size: 4 } }),
  accepted(2, 20, 30), record('promise_refused', 20, { job: 2, earliest: null }), accepted(3, 20, null), record('job_unpromised', 20, { job: 3 }),
  record('job_resized', 60, { job: 1, generation: 2, block: { first: 0, size: 2 } }), record('job_resized', 60, { job: 3, generation: 1, block: { first: 2, size: 2 } }, 'left_over'),
  record('job_resized', 80, { job: 3, generation: 2, block: { first: 0, size: 0 } }), record('job_released', 110, { job: 1 })].join('\n') + '\n';

test('a log tells its figures and its bars', async () => {
  const simulation = await readFile(file('x.log', log));
  expect(simulation.runs[0]).toMatchObject({ policy: 'weir', workload: 'night' });
  expect(simulation.runs[0].figures).toMatchObject({ jobs: 3, with_deadline: 2, met: 0, refused: 1, missed: 1, finished: 1, mean_jct_s: 100, mean_queueing_s: 20, rescales: 3, makespan_s: 100 });
  expect(simulation.runs[0].figures.utilisation_percent).toBeCloseTo((100 * (50 * 4 + 50 * 2 + 20 * 2)) / 400);
  const { bars, jobs, reasons, promised, others, step } = simulation.details[0];
  expect([...bars.from]).toEqual([0, 50, 50]);
  expect([...bars.to]).toEqual([50, 100, 70]);
  expect(jobs.map((job) => job.answer)).toEqual(['promised', 'refused', 'no promise']);
  expect(reasons).toEqual(['x y', 'left over']);
  const use = (values: number[]) => values.reduce((sum, value) => sum + value * step, 0);
  expect(use(promised)).toBeCloseTo(300);
  expect(use(others)).toBeCloseTo(40);
});

test('what was kept is met', async () => {
  const { runs } = await readFile(file('x.log', log.replace('"time":110000000000', '"time":90000000000')));
  expect(runs[0].figures).toMatchObject({ met: 1, missed: 0 });
});

test('a bad file is named, with what to open instead', async () => {
  expect(await trouble('empty.json', '')).toMatch(/^empty\.json is empty/);
  expect(await trouble('half.json', '{"runs":[')).toMatch(/^half\.json is not whole JSON.*--json/);
  expect(await trouble('other.json', '{"runs":[]}')).toMatch(/^other\.json has no runs/);
  expect(await trouble('other.json', '{"runs":[{"policy":1}]}')).toMatch(/^other\.json has no runs/);
  expect(await trouble('page.html', '<!doctype html><p>hi</p>')).toMatch(/^page\.html carries no data.*again/);
  expect(await trouble('notes.txt', 'hello')).toMatch(/^notes\.txt is nothing that the page can show.*--report/);
  expect(await trouble('cut.log', `${header}\n{"schema":1,"se`)).toMatch(/^cut\.log, line 2/);
  expect(await trouble('x.log', '{"schema":1,"type":"job_released","payload":{}}\n')).toMatch(/^x\.log is no log of weir/);
});

const run = (policy: string, workload: string, met: number): Run => ({ policy, workload, place: '', seeds: 1, figures: { met } });
const simulation = (runs: Run[]): Simulation => ({ file: 'x', from: 'JSON', kind: 'training', version: '', recipe: '', runs, details: [] });

test('runs are paired by workload and policy, and none is lost', () => {
  const rows = paired(simulation([run('weir', 'day', 1), run('edf', 'day', 2)]), simulation([run('edf', 'day', 3), run('fifo', 'day', 4)]));
  expect(rows.map((row) => [row.label, row.a?.figures.met, row.b?.figures.met])).toEqual([['weir', 1, undefined], ['edf', 2, 3], ['fifo', undefined, 4]]);
});

test('other workloads are paired by policy when that is clear', () => {
  expect(paired(simulation([run('weir', 'day', 1)]), simulation([run('weir', 'night', 3)]))).toHaveLength(1);
  expect(paired(simulation([run('weir', 'day', 1)]), simulation([run('edf', 'day', 3)]))[0]).toMatchObject({ label: 'weir → edf', workload: 'day', a: { policy: 'weir' }, b: { policy: 'edf' } });
  expect(paired(simulation([run('weir', 'day', 1), run('weir', 'noon', 1)]), simulation([run('weir', 'night', 3)]))).toHaveLength(3);
});

test('says which direction is better', () => {
  const of = (key: string) => metrics.training.find((metric) => metric.key === key)!;
  expect(verdict(of('met'), 1, 2)).toBe('better');
  expect(verdict(of('mean_jct_s'), 1, 2)).toBe('worse');
  expect(verdict(of('mean_jct_s'), 2, 2)).toBe('same');
  expect(verdict(of('mean_jct_s'), 19176.5173, 19176.517344552332)).toBe('same');
  expect(differenceText(of('mean_jct_s'), 19176.5173, 19176.517344552332)).toBe('±0');
  expect(verdict(of('utilisation_percent'), 99.12, 99.11)).toBe('same'); // both read 99.1 %
  expect(differenceText(of('utilisation_percent'), 99.12, 99.11)).toBe('±0');
  expect(verdict(of('gpu_hours'), 1, 2)).toBe('other');
  expect(verdict(of('met'), null, 2)).toBe('other');
  expect(differenceText(of('met'), 23, 12)).toBe('−11');
  expect(differenceText(of('mean_jct_s'), 60, 120)).toBe('+1 min');
});

function detail(bars: [job: number, from: number, to: number, row: number, gpus: number][], nodes = 2): Detail {
  const columns = emptyBars(bars.length);
  bars.forEach(([job, from, to, row, gpus], i) => { columns.job[i] = job; columns.from[i] = from; columns.to[i] = to; columns.row[i] = row; columns.gpus[i] = gpus; columns.promised[i] = -1; });
  return { name: '<x>', gpus: nodes * 4, length: 100, from: 0, to: 100, isAll: true, step: 50, promised: [1, 2], others: [1, 0], pools: [{ name: 'T4', nodes, stride: 4 }],
    jobs: [{ job: 1, name: '<b>', came: 0, deadline: 10, answer: 'promised', ended: null }], reasons: [''], bars: columns };
}

test('finds the bars of a window, also a long one that began early', () => {
  const index = new BarIndex(detail([[0, 0, 100, 0, 1], [0, 10, 20, 1, 1], [0, 30, 40, 1, 2], [0, 50, 60, 1, 1]]).bars);
  expect(index.within({ from: 32, to: 35 })).toEqual({ first: 0, end: 3 });
  expect(index.at(35, 0)).toBe(0);
  expect(index.at(35, 2.5)).toBe(2);
  expect(index.at(35, 3)).toBe(-1);
  expect(index.at(45, 1)).toBe(-1);
});

test('a window stays within the whole and keeps the point it is zoomed at', () => {
  const whole = { from: 0, to: 100 };
  const near = zoomed(whole, whole, 25, 0.5);
  expect(near).toEqual({ from: 12.5, to: 62.5 });
  expect(zoomed(near, whole, 0, 10)).toEqual(whole);
  expect(moved(near, whole, 1000)).toEqual({ from: 50, to: 100 });
  expect(moved(near, whole, -Infinity)).toEqual({ from: 0, to: 50 });
});

const scene = (of: Detail): Scene => ({ detail: of, index: new BarIndex(of.bars), window: { from: 0, to: 100 }, width: 800, height: 300, chosen: 0, colourOf: () => '#123456' });

test('SVG holds names as text', () => {
  const svg = ganttSvg(scene(detail([[0, 0, 100, 0, 4]])));
  expect(svg).not.toMatch(/<b>|<x>|NaN/);
  expect(svg).toContain('&lt;b&gt;');
});

test('of bars finer than a pixel only some are drawn', () => {
  const many = detail(Array.from({ length: 100_000 }, (_, i): [number, number, number, number, number] => [0, i / 1000, (i + 1) / 1000, i % 8, 1]));
  let drawn = 0;
  draw(scene(many), { rect: () => { ++drawn; }, line() {}, text() {}, frame() {} });
  expect(drawn).toBeGreaterThan(1000);
  expect(drawn).toBeLessThan(8 * 800);
});

test('rows are nodes with their GPUs', () => {
  expect(nodeRows(detail([[0, 0, 1, 0, 1]]))).toEqual({ count: 8, nodes: [{ row: 0, rows: 4, label: 'T4 1' }, { row: 4, rows: 4, label: 'T4 2' }] });
});

test('two runs share one axis, and none goes on after its end', () => {
  const long = { ...detail([]), length: 200, step: 100 };
  const spec = usageSpec(detail([]), long)!;
  expect(spec.at).toEqual([0, 50, 100, 200]);
  expect(spec.series.map((series) => series.values)).toEqual([[2, 2, 2, null], [2, 2, 2, 2]]);
  expect(usageSpec(detail([]), null)!.series[0].values).toEqual([2, 2, 2]);
  expect(usageSpec(null, null)).toBeNull();
});

test('bars of a figure', () => {
  const rows = barRows(paired(simulation([run('=weir', 'day', 4)]), simulation([run('=weir', 'day', 8)])), metrics.training[0]);
  expect(rows).toEqual([{ label: '=weir', place: '', a: 4, b: 8 }]);
  expect(barRows(paired(simulation([run('weir', 'day', 4), run('weir', 'night', 4)]), null), metrics.training[0]).map((row) => row.place)).toEqual(['day', 'night']);
  expect(mostOf(rows)).toBe(8);
  expect(barsCsv(rows, metrics.training[0])).toBe('run,met_a,met_b\r\n"\'=weir",4,8\r\n');
  expect(barsSvg([{ label: '<i>', place: '', a: 1, b: null }], metrics.training[0], () => '#000')).toContain('&lt;i&gt;');
});
