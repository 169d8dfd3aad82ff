// SPDX-License-Identifier: Apache-2.0
//
// Who is signed in: the server's token, kept in this browser tab, or in the browser when asked to.
import { ApiClient } from '../api/client';

const place = 'weir.token';

function storedToken(): string {
  return sessionStorage.getItem(place) ?? localStorage.getItem(place) ?? '';
}

// `weir dashboard` prints a link with the token behind the #, which browsers do not send.
function tokenFromLink(): string {
  const given = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
  if (given === '') return '';
  history.replaceState(history.state, '', location.pathname + location.search);
  return given;
}

class Session {
  token = $state('');
  why = $state(''); // it is asked for again
  readonly api = $derived(new ApiClient(this.token));

  constructor() {
    this.token = storedToken();
    this.followLink();
    // The link pasted into a tab that shows the page already.
    addEventListener('hashchange', () => this.followLink());
  }

  private followLink(): void {
    const given = tokenFromLink();
    if (given) this.signIn(given, false);
  }

  signIn(token: string, remember: boolean): void {
    (remember ? localStorage : sessionStorage).setItem(place, token);
    this.why = '';
    this.token = token;
  }

  signOut(why = ''): void {
    sessionStorage.removeItem(place);
    localStorage.removeItem(place);
    this.why = why;
    this.token = '';
  }
}

export const session = new Session();
