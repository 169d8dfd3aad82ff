// SPDX-License-Identifier: Apache-2.0
//
// Jobs to start from.

export interface Example {
  name: string;
  text: string;
}

export const examples: readonly Example[] = [
  {
    name: 'Hello',
    text: `# The smallest job: a name and a command.
name: hello
command: echo hello
`,
  },
  {
    name: 'A program with a deadline',
    text: `name: report
command: sleep 20 && echo report written
duration: 20s        # how long it takes; weir plans with it
deadline: 5m         # after submission; promised or refused
`,
  },
  {
    name: 'Training with a deadline',
    text: `# A training job may run on more or fewer GPUs: weir decides how many, at each moment.
name: bert
command: [python3, train.py]
directory: /srv/bert      # where train.py is
iterations: 20000
batch: 128
throughput: {1: 2.5, 2: 4.8, 4: 9.1}   # iterations per second by GPUs, a first guess
deadline: 6h
ranks: per-gpu            # a process for each GPU
reports_progress: true    # it tells weir how far it is
retries: 2
`,
  },
  {
    name: 'An unmodified torchrun script',
    text: `# A script that knows nothing of weir, started by torchrun as it always was.
name: unmodified
command: [torchrun, train.py]
directory: /srv/unmodified    # where train.py is
iterations: 20000
profile: true                 # nobody knows its speed: measure it first
ranks: torchrun
progress_line: "step {step} loss {loss}"   # how far it is, read from what it prints
retries: 2
`,
  },
];
