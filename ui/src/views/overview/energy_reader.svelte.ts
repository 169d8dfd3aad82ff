// SPDX-License-Identifier: Apache-2.0
//
// How the cluster stands with its energy, for as long as somebody looks.
import type { Energy } from '../../api/types';
import { session } from '../../state/session.svelte';

const every = 10_000; // ms

export class EnergyReader {
  energy = $state.raw<Energy | null>(null);

  // Until what it returns is called. What cannot be had now is asked for again: the page says elsewhere
  // that the server does not answer.
  follow(): () => void {
    const api = session.api;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const fetchOne = async () => {
      try {
        const fetched = await api.energy();
        if (isOver) return;
        this.energy = fetched;
      } catch {
        if (isOver) return;
      }
      timer = setTimeout(() => void fetchOne(), every);
    };
    void fetchOne();
    return () => { isOver = true; clearTimeout(timer); };
  }
}
