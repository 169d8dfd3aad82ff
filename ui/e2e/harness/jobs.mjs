// SPDX-License-Identifier: Apache-2.0
//
// Real jobs for the tests. Those that should end at a moment of the test's choosing wait for a file.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './weir_server.mjs';

// Prints `lines`, then runs until `release(server, name)`.
export function held(server, name, { lines = ['started'], ...fields } = {}) {
  const print = lines.map((line) => `printf '%s\\n' '${line.replaceAll("'", `'\\''`)}'`).join('; ');
  return { name, command: `${print}; until [ -e '${gate(server, name)}' ]; do sleep 0.1; done; echo released`, ...fields };
}

export function release(server, name) { writeFileSync(gate(server, name), ''); }

function gate(server, name) { return path.join(server.folder, `${name}.go`); }

// Elastic: weir decides on how many GPUs it runs. It saves, stops and goes on as it is told.
export function training(name, { steps = 4000, secondsPerStep = 0.05, deadline = '10m', ...fields } = {}) {
  const rate = 1 / secondsPerStep;
  return {
    name, command: ['python3', path.join(root, 'examples/live/train.py'), String(steps), String(secondsPerStep)],
    iterations: steps, throughput: { 1: rate, 2: 1.9 * rate, 4: 3.8 * rate }, deadline, reports_progress: true, grace: '3s', ...fields,
  };
}

// Nobody could do this: half a minute of work in ten seconds.
export const tooSoon = { name: 'too-soon', command: 'sleep 30', duration: '30s', deadline: '10s' };
