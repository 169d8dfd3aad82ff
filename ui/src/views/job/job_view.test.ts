// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { Job, Progress, Story } from '../../api/types';
import { documentText, mostRanks } from './document';
import { LogText, cleaned, pieces, searchFor } from './log_text';
import { offeredDeadline } from './offer';
import { promiseOf } from './promise';
import { reasonSteps } from './reasons';
import { sizeLine, stepAt } from './size_line';
import { lossSpec, rateRows, throughputSpec } from './throughput';

const iso = (seconds: number) => new Date(seconds * 1000).toISOString();
const why = (text: string, code = 'other', detail = 0) => ({ text, code, detail });
function job(rest: Partial<Job> = {}): Job {
  return { id: 7, name: 'train', tenant: 'default', phase: 'running', submitted: iso(1000), deadline: iso(2000), expected_finish: iso(1800), gpus: 4, generation: 2, restarts: 0, ...rest };
}
function told(rest: Partial<Story['explain']> = {}): Story['explain'] {
  return {
    job: 7, name: 'train', policy: 'weir', came_s: 1000, asked: { model: 'train', batch: 0, iterations: 1000, deadline_s: 2000, deadline_kind: 'hard' }, answer: 'promised', reason: why('there is room for it'), made_room: [],
    plans: [
      { made_s: 1000, reason: why('there is room for it'), steps: [{ from_s: 1000, gpus: 2, where: 'a' }], end_s: 1900 },
      { made_s: 1200, reason: why('planned anew to make room for job 9', 'makes_room', 9), steps: [{ from_s: 1200, gpus: 4, where: 'a' }, { from_s: 1600, gpus: 8, where: 'a, b' }], end_s: 1800 },
    ],
    changes: [{ at_s: 1010, gpus: 2, where: 'a', reason: why('its plan says so') }, { at_s: 1200, gpus: 4, where: 'a', reason: why('GPUs were left over') }],
    ...rest,
  };
}

test('the line shows what was up to now and what is planned after', () => {
  const { spec, steps } = sizeLine(job(), told(), 1500);
  expect(spec.at).toEqual([1000, 1010, 1200, 1500, 1600, 1800]);
  expect(spec.series[0].values).toEqual([0, 2, 4, 4, null, null]);
  expect(spec.series[1].values).toEqual([null, null, null, 4, 8, 0]);
  expect(steps.filter(({ isPlanned }) => isPlanned)).toHaveLength(3);
});

test('slack is a band before the deadline, lateness one after it', () => {
  expect(sizeLine(job(), told(), 1500).spec.bands).toEqual([{ from: 1800, to: 2000, label: 'slack', colour: '--band' }]);
  const late = sizeLine(job({ expected_finish: iso(2300) }), told(), 1500).spec;
  expect(late.bands).toEqual([{ from: 2000, to: 2300, label: 'late', colour: '--bad-soft' }]);
  expect(late.to).toBeGreaterThanOrEqual(2300);
  expect(sizeLine(job({ deadline: undefined }), told(), 1500).spec.bands).toEqual([]);
});

test('a deadline that is far away does not squeeze the line', () => {
  const line = sizeLine(job({ deadline: iso(900_000) }), told(), 1500);
  expect(line.isDeadlineBeyond).toBe(true);
  expect(line.spec.to).toBeLessThan(2500);
  expect(line.spec.marks?.map(({ label }) => label)).toEqual(['now']);
});

test('a job that is over has no plan, and its line ends with it', () => {
  const { spec } = sizeLine(job({ phase: 'finished', gpus: 0, ended: iso(1700) }), told({ changes: [...told().changes, { at_s: 1700, gpus: 0, where: '', reason: why('it finished') }] }), 5000);
  expect(spec.series[0].values).toEqual([0, 2, 4, 0]);
  expect(spec.series[1].values.every((value) => value === null)).toBe(true);
  expect(spec.marks?.map(({ label }) => label)).toEqual(['finished', 'deadline']);
  const untold = sizeLine(job({ phase: 'failed', gpus: 0, ended: iso(1700) }), told(), 5000);
  expect(untold.spec.series[0].values).toEqual([0, 2, 4, 0]);
});

test('without a plan a running job is expected to stay as it is', () => {
  const { spec } = sizeLine(job(), told({ plans: [] }), 1500);
  expect(spec.series[1].values.slice(-2)).toEqual([4, 0]);
});

test('pointing tells the step that holds then', () => {
  const line = sizeLine(job(), told(), 1500);
  expect(stepAt(line, 1199)?.reason).toBe('its plan says so');
  expect(stepAt(line, 1300)?.reason).toBe('GPUs were left over');
  expect(stepAt(line, 1650)).toMatchObject({ gpus: 8, isPlanned: true });
  expect(stepAt(line, 900)).toBeUndefined();
});

test('a plan without steps says so', () => {
  const { plans } = told();
  const steps = reasonSteps(job(), told({ plans: [{ ...plans![0], steps: [] }] }), 1_500_000);
  expect(steps.flatMap(({ lines }) => lines)).toContain('Nothing is planned for it.');
});

test('the chain of reasons has every decision in its order', () => {
  const steps = reasonSteps(job({ curve: { origin: 'stated', rates: { 2: 21.4, 1: 11.2 } } }), told({ made_room: ['a', 'b', 'c', 'd', 'e', 'f'], warned_s: 1400, expected_late_s: 2300 }), 1_500_000);
  expect(steps.map(({ title }) => title)).toEqual(['Submitted', 'Promised', 'Got its first 2 GPUs', 'Planned anew', 'Grew from 2 to 4 GPUs', 'Promise at risk']);
  expect(steps[1].lines).toContain('Planned with the throughput its file states: 11.2 it/s on 1 GPU, 21.4 on 2.');
  expect(steps[1].lines).toContain('Planned anew for it: a, b, c, d, e and 1 more.');
  expect(steps[3].otherJob).toBe(9);
  expect(steps[5].lines[0]).toContain('5 min after its deadline');
});

test('a curve from a plan is told to be none that was measured', () => {
  const steps = reasonSteps(job({ curve: { origin: 'planned', rates: { 1: 11.2 } } }), told(), 1_500_000);
  expect(steps[1].lines).toContain('Planned with throughput from a plan of its model, which nobody has measured: 11.2 it/s on 1 GPU.');
});

test('changes are told by what they change', () => {
  const sizes = [0, 2, 2, 2, 0, 1, 0].map((gpus, i) => ({ at_s: 1100 + i, gpus, where: i === 3 ? 'b' : 'a', reason: why('r') }));
  const titles = reasonSteps(job(), told({ plans: [], changes: sizes.slice(1) }), 0).filter(({ kind }) => kind === 'change').map(({ title }) => title);
  expect(titles).toEqual(['Got its first 2 GPUs', 'Started again on 2 GPUs', 'Moved, 2 GPUs as before', 'Gave back its GPUs', 'Went on with 1 GPU', 'Gave back its GPUs']);
});

test('the end says how it ended', () => {
  const last = (rest: Partial<Story['explain']>, of: Partial<Job> = {}) => reasonSteps(job(of), told(rest), 0).at(-1);
  expect(last({ finished_s: 1900, slack_s: 100 })).toMatchObject({ title: 'Finished', lines: ['1 min 40 s before its deadline.'], tone: 'good' });
  expect(last({ finished_s: 2100, slack_s: -100 })).toMatchObject({ lines: ['1 min 40 s after its deadline.'], tone: 'bad' });
  expect(last({ failed_s: 1900 }, { exit: 'exit code 1' })).toMatchObject({ title: 'Failed', lines: ['Exit code 1.'] });
  expect(last({ cancelled_s: 1900 })).toMatchObject({ title: 'Cancelled' });
});

test('predictions follow the GPUs of each moment', () => {
  const progress: Progress = { at: [1, 2, 3, 4], gpus: [1, 1, 2, 4], done: [0, 1, 2, 3], rate: [10, null, 21, 40], loss: [null, null, null, null] };
  const { at, series } = throughputSpec('x', progress, { 1: 11, 2: 22 });
  expect([at, series[0].values, series[1].values]).toEqual([[1, 3, 4], [10, 21, 40], [11, 22, null]]);
  expect(rateRows({ 1: 11, 2: 22, 8: 70 }, progress)).toEqual([
    { gpus: 1, predicted: 11, measured: 10 }, { gpus: 2, predicted: 22, measured: 21 }, { gpus: 4, predicted: null, measured: 40 }, { gpus: 8, predicted: 70, measured: null },
  ]);
});

test('lines break where the GPUs change or are gone, not where a report has no such figure', () => {
  const progress: Progress = { at: [1, 2, 3, 4, 5, 6], gpus: [1, 1, 1, 0, 2, 2], done: [0, 1, 2, 2, 2, 3], rate: [null, 10, null, null, null, 20], loss: [9, null, 8, null, null, 7] };
  expect(throughputSpec('x', progress, undefined).series[0].values).toEqual([null, 10, null, null, 20]);
  expect(lossSpec('x', progress, false).series[0].values).toEqual([9, 8, null, 7]);
});

const bytes = (text: string) => new TextEncoder().encode(text);

test('a log may come in any pieces', () => {
  const whole = bytes('first é\r\nsecond \u001b[31mred\u001b[0m 漢字\nthird');
  for (let cut = 0; cut <= whole.length; ++cut) {
    const text = new LogText();
    text.add(whole.slice(0, cut));
    text.add(whole.slice(cut));
    expect(text.lines, String(cut)).toEqual(['first é', 'second red 漢字']);
    expect(text.last).toBe('third');
    expect(text.count).toBe(3);
  }
});

test('control characters are shown, colours are not, and markup is text', () => {
  expect(cleaned('\u001b[1;32mok\u001b[0m \u001b]0;title\u0007\tbell\u0007 <b>')).toBe('ok \tbell␇ <b>');
  expect(cleaned('a\u0000b\u007f')).toBe('a␀b␡');
});

test('a line that is begun anew is a line of its own', () => {
  const text = new LogText();
  text.add(bytes('10 %\r20 %\r'));
  text.add(bytes('30 %\n'));
  expect(text.lines).toEqual(['10 %', '20 %', '30 %']);
});

test('only the last of a long log is kept, and it says so', () => {
  const text = new LogText(1000, 50);
  for (let i = 0; i < 500; ++i) text.add(bytes(`line ${i}\n`));
  expect(text.hasLeftOut).toBe(true);
  expect(text.lines.length).toBeLessThanOrEqual(50);
  expect(text.lines.at(-1)).toBe('line 499');
  expect(text.dropped + text.lines.length).toBe(500);
  const endless = new LogText(20_000);
  for (let i = 0; i < 100; ++i) endless.add(bytes('x'.repeat(1000)));
  expect(endless.text().length).toBeLessThanOrEqual(25_000);
});

test('what begins within a line is shown from the next on', () => {
  const text = new LogText();
  text.skip();
  text.add(bytes('nd of a line\nwhole\n'));
  expect(text.lines).toEqual(['whole']);
  expect(text.hasLeftOut).toBe(true);
});

test('a search finds words as they are, whatever their case', () => {
  expect(pieces('Loss 1.0 loss', searchFor('LOSS'))).toEqual([{ text: 'Loss', isFound: true }, { text: ' 1.0 ', isFound: false }, { text: 'loss', isFound: true }]);
  expect(pieces('1x0', searchFor('1.0'))).toEqual([{ text: '1x0', isFound: false }]);
  expect(searchFor('')).toBeNull();
});

test('the offer is a round time and leaves some to read it', () => {
  const refused = (earliest?: string) => offeredDeadline(job({ phase: 'refused', submitted: '2026-01-01T09:00:00Z', earliest_deadline: earliest }));
  expect(refused('2026-01-01T09:00:30.000000001Z')).toBe('2026-01-01T09:00:35Z');
  expect(refused('2026-01-01T10:00:00Z')).toBe('2026-01-01T10:01:00Z');
  expect(refused(undefined)).toBeUndefined();
});

test('a job with a process for each GPU has as many logs as it ever had GPUs', () => {
  const story = { text: '', explain: told({ changes: [{ at_s: 1, gpus: 8, where: '', reason: why('') }] }) };
  expect(mostRanks({ ranks: 'per-gpu' }, job(), story)).toBe(8);
  expect(mostRanks({ ranks: 'one' }, job(), story)).toBe(1);
  expect(mostRanks(null, job(), null)).toBe(1);
  expect(documentText({ name: 'a', command: 'x: y' })).toBe('name: a\ncommand: "x: y"\n');
});

test('the head says what became of the promise', () => {
  const text = (rest: Partial<Job>) => promiseOf(job(rest))?.text;
  expect(text({ promised: true })).toBe('promised');
  expect(text({})).toBe('not promised');
  expect(text({ deadline: undefined })).toBe('no deadline');
  expect(text({ phase: 'finished', promised: true, met_deadline: true })).toBe('promise kept');
  expect(text({ phase: 'finished', promised: true, met_deadline: false })).toBe('promise broken');
  expect(text({ phase: 'finished', met_deadline: false })).toBe('deadline missed');
  expect(text({ phase: 'failed', promised: true })).toBe('was promised');
  expect(text({ phase: 'refused' })).toBeUndefined();
});
