// SPDX-License-Identifier: Apache-2.0
//
// Every view: its name, its address, its key. The server gives the page for these addresses only
// (src/dashboard), so a new one is added there, too.
import type { Component } from 'svelte';
import type { IconName } from '../components/icons';
import Cluster from './Cluster.svelte';
import Job from './Job.svelte';
import Jobs from './Jobs.svelte';
import Overview from './Overview.svelte';
import Simulations from './Simulations.svelte';
import Submit from './Submit.svelte';

export interface View {
  name: string;
  path: string;
  key: string; // after g
  icon: IconName;
  component: Component;
  observed?: string; // its name beside another scheduler; '': there is nothing to do there
}

function view(name: string, path: string, key: string, icon: IconName, component: Component, observed?: string): View {
  return { name, path, key, icon, component, observed };
}

export const views: readonly View[] = [
  view('Overview', '/', 'o', 'overview', Overview),
  view('Cluster', '/cluster', 'c', 'cluster', Cluster),
  view('Jobs', '/jobs', 'j', 'jobs', Jobs, 'Pods'),
  view('Submit', '/submit', 's', 'submit', Submit, ''),
  view('Simulations', '/simulations', 'm', 'simulations', Simulations),
];
const oneJob = view('Job', '/jobs', '', 'jobs', Job, 'Pod');

// What can be gone to. A server that only observes takes no jobs.
export function viewsOf(isObserving: boolean): readonly View[] {
  return isObserving ? views.filter(({ observed }) => observed !== '') : views;
}

export function nameOf(one: View, isObserving: boolean): string {
  return (isObserving && one.observed) || one.name;
}

export function titleOf(one: View, segments: readonly string[], isObserving: boolean): string {
  const name = nameOf(one, isObserving);
  return one === oneJob ? `${name} ${segments[1]}` : segments[1] ? `${segments[1]} · ${name}` : name;
}

export function viewFor(segments: string[]): View | undefined {
  const [first = '', ...rest] = segments;
  if (first === 'jobs' && rest.length === 1) return oneJob;
  if (rest.length > (first === 'cluster' ? 1 : 0)) return undefined;
  return views.find((one) => one.path === `/${first}`);
}
