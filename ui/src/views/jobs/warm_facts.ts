// SPDX-License-Identifier: Apache-2.0
import type { Job } from '../../api/types';
import { factsOf, searchedText } from './job_facts';

const atOnce = 200;

// Works out what sorting and searching ask for, while the browser has nothing else to do: the first key
// typed then does not have to do it for all jobs. Returns what ends it.
export function warmFacts(jobs: readonly Job[]): () => void {
  const soon = window.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 50));
  const notAfterAll = window.cancelIdleCallback ?? clearTimeout;
  let at = 0;
  let waiting = 0;
  const some = () => {
    for (const end = Math.min(jobs.length, at + atOnce); at < end; ++at) {
      factsOf(jobs[at]);
      searchedText(jobs[at]);
    }
    if (at < jobs.length) waiting = soon(some) as number;
  };
  waiting = soon(some) as number;
  return () => notAfterAll(waiting);
}
