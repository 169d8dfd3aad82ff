// SPDX-License-Identifier: Apache-2.0
import { readFile } from './read_file';
import type { Simulation } from './simulation';

export type Told = { share: number } | { simulation: Simulation } | { trouble: string };

addEventListener('message', (event: MessageEvent<File>) => {
  let last = 0;
  const tell = (told: Told, moved: Transferable[] = []) => postMessage(told, { transfer: moved });
  readFile(event.data, (share) => {
    if (share - last >= 0.02) tell({ share: (last = share) });
  }).then(
    (simulation) => tell({ simulation }, simulation.details.flatMap(({ bars }) => Object.values(bars).map((column: Float64Array) => column.buffer as ArrayBuffer))),
    (error: unknown) => tell({ trouble: error instanceof Error ? error.message : String(error) }),
  );
});
