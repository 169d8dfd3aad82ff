// SPDX-License-Identifier: Apache-2.0
//
// Waiting for something to become true, never for a time to pass.

export const patience = 20_000; // ms; for a busy machine, nobody waits so long when all is well

// Asks `holds` again and again until it gives something true, and gives that. What it throws counts as
// "not yet", and is told at the end, unless `finalErrors`.
export async function eventually(what, holds, { timeout = patience, every = 50, finalErrors = false, describe = () => '' } = {}) {
  const until = Date.now() + timeout;
  let trouble = '';
  for (;;) {
    try {
      const found = await holds();
      if (found) return found;
      trouble = '';
    } catch (error) {
      if (finalErrors) throw error;
      trouble = error.message ?? String(error);
    }
    if (Date.now() > until) throw new Error(`not after ${timeout / 1000} s: ${what}${[trouble, describe()].filter(Boolean).map((text) => `\n${text}`).join('')}`);
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}
