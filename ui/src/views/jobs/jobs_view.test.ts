// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { Job, Phase } from '../../api/types';
import { tableCsv } from '../../tables/columns';
import { jobColumns, savedColumns } from './job_columns';
import { factsOf, slackTone } from './job_facts';
import { choicesText, filterJobs, readFilter } from './job_filter';
import { JobOrder } from './job_order';
import { shortDuration, shortRelative } from './short_times';

function job(id: number, rest: Partial<Job> = {}): Job {
  return { id, name: `job-${id}`, tenant: 'default', phase: 'running', submitted: '2026-01-01T00:00:00Z', gpus: 1, generation: 1, restarts: 0, ...rest };
}
const ids = (jobs: readonly Job[]) => jobs.map(({ id }) => id);
const filter = (query: string) => readFilter(new URLSearchParams(query));
const now = Date.parse('2026-01-01T00:30:00Z');

test('a search finds jobs by name or id that have all its words', () => {
  const jobs = [job(117, { name: 'Train-BERT' }), job(2, { name: 'train-gpt' }), job(3, { name: 'sweep-17' })];
  const found = (text: string) => ids(filterJobs(jobs, filter(`q=${text}`)).rows);
  expect(found('')).toEqual([117, 2, 3]);
  expect(found('TRAIN')).toEqual([117, 2]);
  expect(found('17')).toEqual([117, 3]);
  expect(found(' bert  train ')).toEqual([117]);
  expect(found('train sweep')).toEqual([]);
});

test('counts tell what each further choice would show, whatever phases are chosen', () => {
  const jobs = [job(1, { promised: true, at_risk: true }), job(2, { phase: 'paused', promised: true }), job(3, { phase: 'finished' }), job(4, { name: 'x' })];
  const { rows, counts } = filterJobs(jobs, filter('q=job&phase=running,paused&promised=1'));
  expect(ids(rows)).toEqual([1, 2]);
  expect([counts.all, counts.phases.running, counts.phases.finished, counts.promised, counts.atRisk]).toEqual([3, 1, 1, 2, 1]);
  expect(ids(filterJobs(jobs, filter('risk=1')).rows)).toEqual([1]);
});

test('choices come back from the address, and phases that do not exist are passed over', () => {
  const chosen = filter('phase=paused,running,nonsense&risk=1');
  expect(choicesText(chosen)).toEqual({ phase: 'running,paused', risk: '1', promised: null, why: null, namespace: null });
  expect(choicesText(filter(''))).toEqual({ phase: null, risk: null, promised: null, why: null, namespace: null });
});

test('jobs are in the order of a column, unknown values last, the newest first among equals', () => {
  const jobs = [job(4), job(3, { deadline: '2026-01-02T00:00:00Z' }), job(2, { deadline: '2026-01-01T09:00:00Z' }), job(1, { deadline: '2026-01-02T00:00:00Z' })];
  const order = new JobOrder();
  expect(ids(order.sorted(jobs, jobColumns, { key: 'deadline', isDescending: false }))).toEqual([2, 3, 1, 4]);
  expect(ids(order.sorted(jobs, jobColumns, { key: 'deadline', isDescending: true }))).toEqual([3, 1, 2, 4]);
  expect(ids(order.sorted(jobs, jobColumns, { key: 'id', isDescending: false }))).toEqual([1, 2, 3, 4]);
  expect(ids(order.sorted(jobs, jobColumns, { key: 'nonsense', isDescending: false }))).toEqual([4, 3, 2, 1]);
});

test('an order that is kept up to date is the one that would be made anew', () => {
  const kept = new JobOrder();
  let jobs: Job[] = [];
  let seed = 7;
  const random = (below: number) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor((seed / 2147483648) * below); };
  for (let round = 0; round < 40; ++round) {
    jobs = [job(1000 + round, { gpus: random(5) }), ...jobs.map((one) => (random(6) === 0 ? { ...one, gpus: random(5) } : one))];
    if (round % 9 === 8) jobs = jobs.filter(() => random(10) > 0);
    const sorting = { key: round % 10 === 9 ? 'name' : 'gpus', isDescending: round > 20 };
    expect(kept.sorted(jobs, jobColumns, sorting)).toEqual(new JobOrder().sorted(jobs, jobColumns, sorting));
  }
});

test('slack is what lies between the finish and the deadline', () => {
  const planned = job(1, { deadline: '2026-01-01T01:00:00Z', expected_finish: '2026-01-01T00:40:00Z' });
  expect(factsOf(planned).slack).toBe(1200);
  const tones: [Partial<Job>, string | undefined][] = [
    [{}, undefined],
    [{ expected_finish: '2026-01-01T01:00:00Z' }, undefined], // as planned, if with nothing to spare
    [{ expected_finish: '2026-01-01T01:05:00Z' }, 'bad'],
    [{ at_risk: true }, 'bad'],
    [{ expected_finish: undefined }, 'muted'],
    [{ expected_finish: undefined, deadline: '2026-01-01T00:20:00Z' }, 'bad'],
    [{ phase: 'finished' as Phase, ended: '2026-01-01T00:20:00Z' }, 'muted'],
    [{ phase: 'finished' as Phase, ended: '2026-01-01T01:00:01Z' }, 'bad'],
    [{ phase: 'cancelled' as Phase, ended: '2026-01-01T00:20:00Z' }, 'muted'],
    [{ phase: 'refused' as Phase }, 'muted'],
  ];
  expect(factsOf({ ...planned, phase: 'cancelled', ended: '2026-01-01T01:30:00Z' }).slack).toBeNaN(); // it did not miss it
  for (const [rest, tone] of tones) expect(slackTone({ ...planned, ...rest }, now), JSON.stringify(rest)).toBe(tone);
});

test('files have times that programs can read', () => {
  const csv = tableCsv([job(5, { deadline: '2026-01-01T01:00:00Z', iterations: 200, done: 50 })], savedColumns);
  expect(csv.split('\r\n')[1]).toBe('5,job-5,running,1,0.25,2026-01-01T01:00:00.000Z,,,2026-01-01T00:00:00.000Z,,false,false');
});

test('short times have one unit', () => {
  const texts: [number, string][] = [[0, '0 s'], [99, '99 s'], [100, '2 min'], [5100, '85 min'], [6000, '2 h'], [-108_000, '−30 h'], [345_600, '4 d'], [NaN, '–']];
  for (const [seconds, text] of texts) expect(shortDuration(seconds), String(seconds)).toBe(text);
  expect([shortRelative(5000, 0), shortRelative(0, 7_200_000), shortRelative(500, 0)]).toEqual(['in 5 s', '2 h ago', 'now']);
});
