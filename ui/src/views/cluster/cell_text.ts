// SPDX-License-Identifier: Apache-2.0
//
// A cell in words, for the pointer and for who cannot see the map.
import type { Job } from '../../api/types';
import { countOf, percentText } from '../../text/numbers';
import { usersOf, type CellJob, type ClusterModel } from './cluster_model';

export interface CellWords {
  place: string; // "a100-0001, GPU 3"
  users: { id: number; name: string; noun: string; share: string; rest: string }[];
  state: string; // when nobody uses it: "free"
}

function standing(job: Job | undefined): string {
  if (!job || job.observed) return '';
  return job.at_risk ? 'promise at risk' : job.promised ? 'promised' : 'best effort';
}

function rest(job: CellJob | undefined, known: Job | undefined): string {
  const size = job ? `${countOf(job.gpus, 'GPU')}${job.nodes > 1 ? ` on ${countOf(job.nodes, 'node')}` : ''}` : '';
  return [size, standing(known)].filter((part) => part !== '').join(', ');
}

// How much of a GPU its users have. Jobs have whole GPUs; how several divide one is told of pods only.
export function shareText(users: readonly { id: number }[], find: (id: number) => Job | undefined): string {
  if (users.length > 1) return 'shared';
  const asked = find(users[0]?.id ?? 0)?.observed?.gpus ?? 1;
  return percentText(Math.min(1, asked), 1);
}

export function cellWords(model: ClusterModel, cell: number, find: (id: number) => Job | undefined): CellWords {
  const place = model.nodeOfCell[cell];
  const node = model.nodes[place];
  const gpu = cell - model.firstCell[place];
  const users = usersOf(node, gpu);
  return {
    place: `${node.name}, GPU ${gpu}`,
    users: users.map(({ id, name }) => ({ id, name, noun: find(id)?.observed ? 'pod' : 'job', share: shareText(users, find), rest: rest(model.jobs.get(id), find(id)) })),
    state: node.up ? 'free' : 'closed',
  };
}

export function spokenCell(words: CellWords): string {
  if (words.users.length === 0) return `${words.place}: ${words.state}.`;
  return `${words.place}: ${words.users.map(({ id, name, noun, rest: more }) => `${name}, ${noun} ${id}${more ? `, ${more}` : ''}`).join('; ')}.`;
}
