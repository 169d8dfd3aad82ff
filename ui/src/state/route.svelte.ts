// SPDX-License-Identifier: Apache-2.0
//
// The address is the state: every view, filter and choice can be linked to and comes back with the
// browser's buttons.

class Route {
  path = $state(location.pathname);
  private search = $state(location.search);
  readonly query = $derived(new URLSearchParams(this.search));
  readonly segments = $derived(this.path.split('/').filter((part) => part !== '').map(decoded));

  constructor() {
    addEventListener('popstate', () => this.read());
  }

  private read(): void {
    this.path = location.pathname;
    this.search = location.search;
  }

  go(address: string, replace = false): void {
    if (address !== location.pathname + location.search)
      history[replace ? 'replaceState' : 'pushState'](null, '', address);
    this.read();
  }

  // Null and '' remove a key. Replaces the entry of the browser's history unless told to push one.
  setQuery(changes: Record<string, string | null>, push = false): void {
    const query = new URLSearchParams(this.search);
    for (const [key, value] of Object.entries(changes)) {
      if (value === null || value === '') query.delete(key);
      else query.set(key, value);
    }
    const text = query.toString();
    this.go(this.path + (text ? `?${text}` : ''), !push);
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = new Route();

// Links within the page do not load it anew.
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.('a[href]') as HTMLAnchorElement | null;
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  event.preventDefault();
  route.go(link.pathname + link.search);
  document.querySelector('main')?.scrollTo(0, 0);
}
