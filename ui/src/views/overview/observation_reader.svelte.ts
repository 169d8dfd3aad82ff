// SPDX-License-Identifier: Apache-2.0
//
// The latest look of a server that observes. It looks again every second or so; the page follows more slowly.
import { ApiError } from '../../api/client';
import type { Observation } from '../../api/types';
import { session } from '../../state/session.svelte';

const every = 5000; // ms
const soon = 1000; // until the first look

export class ObservationReader {
  observation = $state.raw<Observation | null>(null);
  trouble = $state.raw<unknown>(null); // why there is none, or no newer one
  // The server has only just started.
  readonly isLooking = $derived(this.trouble instanceof ApiError ? this.trouble.status === 503 : this.trouble === null);

  // Until what it returns is called.
  follow(): () => void {
    const api = session.api;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const fetchOne = async () => {
      try {
        const fetched = await api.observation();
        if (isOver) return;
        this.observation = fetched;
        this.trouble = null;
      } catch (error) {
        if (isOver) return;
        this.trouble = error;
      }
      timer = setTimeout(() => void fetchOne(), this.observation ? every : soon);
    };
    void fetchOne();
    return () => { isOver = true; clearTimeout(timer); };
  }
}
