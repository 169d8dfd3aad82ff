// SPDX-License-Identifier: Apache-2.0
//
// Whether the server decides, or only observes another scheduler. Until it has said so, the page goes by
// what it said last: nothing shall be offered and then taken away.
import { live } from './live.svelte';

const place = 'weir.mode';

class ServerMode {
  private before = $state(localStorage.getItem(place) === 'observe');
  readonly isObserving = $derived(live.overview ? live.overview.mode === 'observe' : this.before);

  remember(): void {
    this.before = this.isObserving;
    if (this.before) localStorage.setItem(place, 'observe');
    else localStorage.removeItem(place);
  }
}

export const serverMode = new ServerMode();
