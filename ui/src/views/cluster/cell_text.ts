// SPDX-License-Identifier: Apache-2.0
//
// A cell in words, for the pointer and for who cannot see the map.
import type { Job } from '../../api/types';
import { countOf } from '../../text/numbers';
import { usersOf, type CellJob, type ClusterModel } from './cluster_model';

export interface CellWords {
  place: string; // "a100-0001, GPU 3"
  users: { id: number; name: string; share: string; rest: string }[];
  state: string; // when nobody uses it: "free"
}

function standing(job: Job | undefined): string {
  if (!job) return '';
  return job.at_risk ? 'promise at risk' : job.promised ? 'promised' : 'best effort';
}

function rest(job: CellJob | undefined, known: Job | undefined): string {
  const size = job ? `${countOf(job.gpus, 'GPU')}${job.nodes > 1 ? ` on ${countOf(job.nodes, 'node')}` : ''}` : '';
  return [size, standing(known)].filter((part) => part !== '').join(', ');
}

export function cellWords(model: ClusterModel, cell: number, find: (id: number) => Job | undefined): CellWords {
  const place = model.nodeOfCell[cell];
  const node = model.nodes[place];
  const gpu = cell - model.firstCell[place];
  const users = usersOf(node, gpu);
  return {
    place: `${node.name}, GPU ${gpu}`,
    // Jobs have whole GPUs; how several divide one is not told.
    users: users.map(({ id, name }) => ({ id, name, share: users.length === 1 ? '100 %' : 'shared', rest: rest(model.jobs.get(id), find(id)) })),
    state: node.up ? 'free' : 'closed',
  };
}

export function spokenCell(words: CellWords): string {
  if (words.users.length === 0) return `${words.place}: ${words.state}.`;
  return `${words.place}: ${words.users.map(({ id, name, rest: more }) => `${name}, job ${id}${more ? `, ${more}` : ''}`).join('; ')}.`;
}
