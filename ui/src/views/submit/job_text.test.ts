// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { JobText, hintOf, numberOrText, yamlOf } from './job_text';

const written = `# nightly training
name: bert          # as in the paper
command: [python3, train.py]
someday: {unknown: 1}   # not ours
deadline: 6h   # before breakfast
`;

test('one value is replaced in its place, and nothing else moves', () => {
  expect(new JobText(written).with('deadline', '8h')).toBe(written.replace('6h', '8h'));
  expect(new JobText(written).with('name', 'roberta')).toBe(written.replace('bert  ', 'roberta  '));
});

test('comments and unknown fields survive every change', () => {
  let text = written;
  text = new JobText(text).with('gpus', 4);
  text = new JobText(text).with('directory', '/srv/bert');
  text = new JobText(text).withEntry('environment', 0, 'LR', '0.1');
  text = new JobText(text).withEntry('throughput', 0, 1, 2.5);
  text = new JobText(text).with('command', ['python3', 'other.py']);
  text = new JobText(text).with('gpus', undefined);
  for (const kept of ['# nightly training', '# as in the paper', 'someday: {unknown: 1}', '# not ours', '# before breakfast'])
    expect(text).toContain(kept);
  expect(text).not.toContain('gpus');
  expect(new JobText(text).entries('environment')).toEqual([['LR', '0.1']]);
  expect(text).toContain('throughput: {1: 2.5}');
  expect(text).toContain('LR: "0.1"'); // of text, which it must stay
});

test('a new field goes where the reference has it', () => {
  const text = new JobText('name: a\ncommand: b\ndeadline: 6h\n').with('duration', '1h');
  expect(text).toBe('name: a\ncommand: b\nduration: 1h\ndeadline: 6h\n');
  expect(new JobText('').with('name', 'a')).toBe('name: a\n');
  expect(new JobText('# only this\n').with('name', 'a')).toContain('# only this');
});

test('a text that looks like a number stays a text', () => {
  expect(new JobText('name: a\n').with('name', '12')).toBe('name: "12"\n');
  expect(new JobText('name: a\n').with('name', 'yes: no')).toBe('name: "yes: no"\n');
  expect(new JobText(new JobText('name: a\n').with('name', '#x')).scalar('name')).toBe('#x');
});

test('the last field leaves the comments', () => {
  expect(new JobText('# why\nname: a\n').with('name', undefined)).toBe('# why\n');
  expect(new JobText('# why\nname: a\ngpus: 2\n').with('name', undefined)).toBe('# why\ngpus: 2\n');
});

test('entries are renamed, changed and taken away one by one', () => {
  const text = 'throughput: {1: 2.5, 2: 4.8} # first guess\n';
  expect(new JobText(text).withEntry('throughput', 1, 4, 4.8)).toBe('throughput: {1: 2.5, 4: 4.8} # first guess\n');
  expect(new JobText(text).withEntry('throughput', 1, 2, 5)).toBe('throughput: {1: 2.5, 2: 5} # first guess\n');
  expect(new JobText(text).withoutEntry('throughput', 0)).toBe('throughput: {2: 4.8} # first guess\n');
  expect(new JobText('name: a\nenvironment: {A: "1"}\n').withoutEntry('environment', 0)).toBe('name: a\n');
});

test('what cannot be read is left alone and said', () => {
  const broken = new JobText('name: a\ncommand: "b\n');
  expect(broken.trouble).toMatch(/line [23]/);
  expect(broken.with('name', 'c')).toBe(broken.text);
  expect(new JobText('- a\n').trouble).not.toBe('');
  expect(new JobText('jobs: [{name: a}]\n').trouble).toContain('several');
  expect(new JobText('').trouble).toBe('');
});

test('says what a form cannot show', () => {
  expect(new JobText('command: {a: 1}').isBeyondForm('command', 'list')).toBe(true);
  expect(new JobText('command: [a, b]').isBeyondForm('command', 'list')).toBe(false);
  expect(new JobText('command: [a, [b]]').isBeyondForm('command', 'list')).toBe(true);
  expect(new JobText('command: [a, "b\\nc"]').isBeyondForm('command', 'list')).toBe(true);
  expect(new JobText('gpus: [1]').isBeyondForm('gpus', 'scalar')).toBe(true);
  expect(new JobText('environment: {A: {B: 1}}').isBeyondForm('environment', 'entries')).toBe(true);
  expect(new JobText('environment:').isBeyondForm('environment', 'entries')).toBe(false);
});

test('a document becomes YAML in the order of the reference', () => {
  expect(yamlOf({ deadline: '6h', throughput: { '10': 3, '2': 4.8 }, command: ['python3', 'a b.py'], name: 'a', environment: { B: '1' }, odd: 1 })).toBe(
    'name: a\ncommand: [python3, a b.py]\nenvironment:\n  B: "1"\nthroughput: {2: 4.8, 10: 3}\ndeadline: 6h\nodd: 1\n');
});

test('a text for the shell comes back as one', () => {
  expect(yamlOf({ name: 'a', command: ['/bin/sh', '-c', 'sleep 1 && echo done'] })).toBe('name: a\ncommand: sleep 1 && echo done\n');
});

test('numbers as they are typed', () => {
  expect(numberOrText('4')).toBe(4);
  expect(numberOrText('4.')).toBe('4.');
  expect(numberOrText('0.50')).toBe('0.50');
  expect(numberOrText(' ')).toBeUndefined();
  expect(numberOrText('many')).toBe('many');
});

test('hints come from the reference', () => {
  expect(hintOf('gpus')).toMatch(/power of two/);
});
