// SPDX-License-Identifier: Apache-2.0
//
// Which of the hues a job has on the map.

export const hues = 12; // --hue-1 to --hue-12

// The one a job would have if it were alone. Jobs that came after one another are often beside one another:
// neighbours in number differ.
export function firstChoice(job: number): number {
  return (job * 5) % hues;
}

// No two jobs share a hue as long as there are enough. A job keeps the hue it had `before`, unless it shared it.
export function huesOf(jobs: Iterable<number>, before: ReadonlyMap<number, number> = new Map()): Map<number, number> {
  const ids = [...jobs];
  if (ids.length > hues) return new Map(ids.map((id) => [id, before.get(id) ?? firstChoice(id)]));
  ids.sort((a, b) => a - b);
  const given = new Map<number, number>();
  const taken = new Set<number>();
  const give = (id: number, hue: number | undefined) => {
    if (hue === undefined || given.has(id) || taken.has(hue)) return;
    given.set(id, hue);
    taken.add(hue);
  };
  for (const id of ids) give(id, before.get(id));
  for (const id of ids) give(id, firstChoice(id));
  for (const id of ids) for (let hue = 0; hue < hues && !given.has(id); ++hue) give(id, hue);
  return given;
}
