// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { Job, PendingWorkload } from '../../api/types';
import { tableCsv } from '../../tables/columns';
import { choicesText, filterJobs, isChosen, readFilter } from './job_filter';
import { JobOrder } from './job_order';
import { observedColumns, savedObservedColumns } from './observed_columns';
import { observedLine, withoutNamespace } from './observed_line';

const now = Date.parse('2026-01-01T00:30:00Z');
const filter = (query: string) => readFilter(new URLSearchParams(query));
const ids = (jobs: readonly Job[]) => jobs.map(({ id }) => id);

function waits(constraint: string, detail = ''): PendingWorkload {
  return { workload: { kind: 'Job', namespace: 'vision', name: 'sweep' }, pods: [], gpus: 4, since: '2026-01-01T00:00:00Z', constraint, detail, why: 'It does not fit, "now".', nodes: [], changes: [] };
}
function pod(id: number, namespace: string, rest: Partial<Job> = {}, observed: Partial<NonNullable<Job['observed']>> = {}): Job {
  return { id, name: `${namespace}/pod-${id}`, tenant: 'default', phase: 'queued', submitted: '2026-01-01T00:00:00Z', gpus: 0, generation: 0, restarts: 0, ...rest,
    observed: { uid: `u${id}`, namespace, pod: `pod-${id}`, gpus: 4, ...observed } };
}
const pods = [
  pod(4, 'vision', { waits: waits('taint', 'dedicated=infra:NoSchedule') }, { workload: 'Job vision/sweep' }),
  pod(3, 'vision', { waits: waits('fragmented', 'nvidia.com/gpu') }),
  pod(2, 'speech', { waits: waits('taint') }),
  pod(1, 'speech', { phase: 'running', nodes: ['n1'], started: '2026-01-01T00:10:00Z' }, { gpus: 0.5 }),
];

test('pods are found by namespace, workload and reason', () => {
  const found = (text: string) => ids(filterJobs(pods, filter(`q=${encodeURIComponent(text)}`)).rows);
  expect(found('speech')).toEqual([2, 1]);
  expect(found('Job vision/sweep')).toEqual([4]);
  expect(found('tolerated')).toEqual([4, 2]); // the reason in words
  expect(found('taint')).toEqual([4, 2]);
  expect(found('dedicated=infra')).toEqual([4]);
  expect(found('scattered vision')).toEqual([3]);
});

test('pods are chosen by why they wait and by namespace, and counted', () => {
  const { rows, counts } = filterJobs(pods, filter('why=taint,quota&namespace=vision'));
  expect(ids(rows)).toEqual([4]);
  expect([...counts.constraints]).toEqual([['taint', 1], ['fragmented', 1]]);
  expect([...counts.namespaces]).toEqual([['vision', 2], ['speech', 2]]);
  expect([counts.all, counts.phases.queued, counts.phases.running]).toEqual([2, 2, 0]);
  expect(ids(filterJobs(pods, filter('namespace=speech')).rows)).toEqual([2, 1]);
  expect(ids(filterJobs(pods, filter('why=nonsense')).rows)).toEqual([]);
  expect(filterJobs(pods, filter('')).rows).toBe(pods);
});

test('what is chosen comes back from the address', () => {
  expect(choicesText(filter('why=taint,quota&namespace=a'))).toMatchObject({ why: 'taint,quota', namespace: 'a' });
  expect(choicesText(filter('why=&namespace='))).toMatchObject({ why: null, namespace: null });
  expect([isChosen(filter('why=x')), isChosen(filter('namespace=x')), isChosen(filter(''))]).toEqual([true, true, false]);
});

test('a row tells what it asks for, why it waits and when it starts', () => {
  expect(observedLine(pods[0], now)).toMatchObject({ workload: 'Job sweep', gpus: '4', constraint: 'Taint not tolerated', detail: 'dedicated=infra:NoSchedule', start: '–', node: '–', created: '30 min ago' });
  expect(observedLine(pods[3], now)).toMatchObject({ workload: '–', gpus: '0.5', constraint: '', start: '20 min ago', node: 'n1' });
  expect(observedLine({ ...pods[1], expected_start: '2026-01-01T00:40:00Z' }, now)).toMatchObject({ start: 'in 10 min' });
  expect(observedLine({ ...pods[1], expected_start: '2026-01-01T00:20:00Z' }, now)).toMatchObject({ start: 'any moment' });
  expect(withoutNamespace('Job a/b', '')).toBe('Job a/b');
});

test('pods are sorted by why and start, those without last', () => {
  const sorted = (key: string) => ids(new JobOrder().sorted(pods, observedColumns, { key, isDescending: false }));
  expect(sorted('why')).toEqual([3, 2, 4, 1]);
  expect(sorted('gpus')[0]).toBe(1);
  expect(sorted('start')).toEqual([1, 4, 3, 2]);
});

test('files have the names that programs know', () => {
  const [head, first] = tableCsv(pods.slice(0, 1), savedObservedColumns).split('\r\n');
  expect(head).toBe('id,name,workload,gpus,phase,why,start,node,submitted,namespace,constraint,detail,explanation,expected_start,started,ended');
  expect(first).toBe('4,vision/pod-4,Job vision/sweep,4,pending,Taint not tolerated: dedicated=infra:NoSchedule,,,2026-01-01T00:00:00.000Z,vision,taint,dedicated=infra:NoSchedule,"It does not fit, ""now"".",,,');
});
