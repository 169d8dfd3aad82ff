// SPDX-License-Identifier: Apache-2.0
//
// What a cell's colour means. A code for each cell: 0 is free, 1 is closed, from 2 on what the mode shows.
// A cell in use on a node that is closed has `onClosed` added.
import type { Job } from '../../api/types';
import type { ClusterModel } from './cluster_model';
import { firstChoice, hues } from './job_hues';

export type Mode = 'job' | 'promise' | 'model';
export const modes: readonly { key: Mode; name: string }[] = [
  { key: 'job', name: 'Job' }, { key: 'promise', name: 'Promise' }, { key: 'model', name: 'Pool' },
];
// Another scheduler promises nothing, and runs pods.
export function modesOf(isObserving: boolean): readonly { key: Mode; name: string }[] {
  return isObserving ? modes.filter(({ key }) => key !== 'promise').map((mode) => (mode.key === 'job' ? { ...mode, name: 'Pod' } : mode)) : modes;
}
export function modeFor(text: string | null, isObserving = false): Mode {
  return modesOf(isObserving).find(({ key }) => key === text)?.key ?? 'job';
}

export const free = 0;
export const closed = 1;
export const firstCode = 2;
export const onClosed = 64;
export const meaning = 63; // of a code, without what was added
const promised = 2;
const bestEffort = 3;
const atRisk = 4;
const unknown = 5; // the job is not loaded yet

// By job, from 0 on. Default: each job's own, which some may share.
export type JobHues = ReadonlyMap<number, number>;
export function hueName(job: number, jobHues?: JobHues): string {
  return `--hue-${hueOf(job, jobHues) + 1}`;
}
function hueOf(job: number, jobHues?: JobHues): number {
  return jobHues?.get(job) ?? firstChoice(job);
}

// A custom property for each meaning.
export function colourNames(mode: Mode): string[] {
  const ends = ['--cell-free', '--cell-free'];
  if (mode === 'promise') return [...ends, '--accent', '--cell-best-effort', '--cell-at-risk', '--cell-unknown'];
  return [...ends, ...Array.from({ length: hues }, (_, i) => `--hue-${i + 1}`)];
}

export function codesOf(model: ClusterModel, mode: Mode, find: (id: number) => Job | undefined, jobHues?: JobHues): Uint8Array {
  const codes = new Uint8Array(model.jobOfCell.length);
  const ofJob = new Map<number, number>();
  const poolOfNode = new Uint8Array(model.nodes.length);
  model.pools.forEach((pool, i) => poolOfNode.fill(i % hues, pool.firstNode, pool.endNode));
  for (let cell = 0; cell < codes.length; ++cell) {
    const id = model.jobOfCell[cell];
    const node = model.nodeOfCell[cell];
    const { up } = model.nodes[node];
    if (id === 0) codes[cell] = up ? free : closed;
    else if (mode === 'job') codes[cell] = firstCode + hueOf(id, jobHues);
    else if (mode === 'model') codes[cell] = firstCode + poolOfNode[node];
    else {
      let code = ofJob.get(id);
      if (code === undefined) ofJob.set(id, code = standingOf(find(id)));
      codes[cell] = code;
    }
    if (id !== 0 && !up) codes[cell] += onClosed;
  }
  return codes;
}

// The colours of a node's GPUs, as custom properties.
export function coloursOn(model: ClusterModel, mode: Mode, codes: Uint8Array, name: string): string[] {
  const node = model.nodes.findIndex((one) => one.name === name);
  if (node < 0) return [];
  const names = colourNames(mode);
  return Array.from(codes.subarray(model.firstCell[node], model.firstCell[node + 1]), (code) => names[code & meaning]);
}

function standingOf(job: Job | undefined): number {
  if (!job) return unknown;
  return job.at_risk ? atRisk : job.promised ? promised : bestEffort;
}

export interface LegendEntry {
  name: string;
  colour: string; // a custom property
  isHatched?: boolean;
  cells: number;
  job?: number;
}

export const mostInLegend = 8;

export function legend(model: ClusterModel, mode: Mode, codes: Uint8Array, jobHues?: JobHues, closedName = 'closed'): LegendEntry[] {
  const counts = new Array<number>(firstCode + Math.max(hues, model.pools.length)).fill(0);
  for (const code of codes) ++counts[code & meaning];
  const rest: LegendEntry[] = [{ name: 'free', colour: '--cell-free', cells: counts[free] }];
  if (counts[closed] > 0) rest.push({ name: closedName, colour: '--cell-free', isHatched: true, cells: counts[closed] });
  if (mode === 'promise') {
    return [{ name: 'promised', colour: '--accent', cells: counts[promised] },
      { name: 'best effort', colour: '--cell-best-effort', cells: counts[bestEffort] },
      { name: 'at risk', colour: '--cell-at-risk', cells: counts[atRisk] },
      ...(counts[unknown] > 0 ? [{ name: 'being loaded', colour: '--cell-unknown', cells: counts[unknown] }] : []), ...rest];
  }
  if (mode === 'model') {
    return [...model.pools.map((pool, i) => ({ name: pool.model && pool.model !== pool.name ? `${pool.name} (${pool.model})` : pool.name,
      colour: `--hue-${(i % hues) + 1}`, cells: pool.inUse })), ...rest];
  }
  return [...largestJobs(model, jobHues), ...rest];
}

function largestJobs(model: ClusterModel, jobHues?: JobHues): LegendEntry[] {
  const jobs = [...model.jobs.values()].sort((a, b) => b.gpus - a.gpus || a.id - b.id).slice(0, mostInLegend);
  return jobs.map(({ id, name, gpus }) => ({ name, colour: hueName(id, jobHues), cells: gpus, job: id }));
}
