// SPDX-License-Identifier: Apache-2.0
//
// What this browser remembers of its user's taste.

export type Theme = 'system' | 'light' | 'dark';
const place = 'weir.theme';

class Preferences {
  theme = $state<Theme>((localStorage.getItem(place) as Theme | null) ?? 'system');
  private systemIsDark = $state(matchMedia('(prefers-color-scheme: dark)').matches);
  readonly isDark = $derived(this.theme === 'dark' || (this.theme === 'system' && this.systemIsDark));

  constructor() {
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (change) => {
      this.systemIsDark = change.matches;
    });
  }

  set(theme: Theme): void {
    this.theme = theme;
    if (theme === 'system') localStorage.removeItem(place);
    else localStorage.setItem(place, theme);
  }
}

export const preferences = new Preferences();
