// SPDX-License-Identifier: Apache-2.0
//
// A small cluster on a busy day, for pictures: some work is over, some runs, some waits, one promise is at risk, one job was
// refused. The jobs are real processes that only wait and count.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { held } from './jobs.mjs';
import { eventually } from './waiting.mjs';

export const busyCluster = `cluster: {name: lab}
nodes:
  - {name: ash, cpus: 32, memory: 128GiB, gpus: 8, model: CPU}
  - {name: birch, cpus: 32, memory: 128GiB, gpus: 8, model: CPU}
  - {name: cedar, cpus: 32, memory: 128GiB, gpus: 8, model: CPU}
  - {name: dogwood, cpus: 32, memory: 128GiB, gpus: 8, model: CPU}
`;

// Counts steps at the speed of so many GPUs, with a loss that falls as losses do; goes on from its checkpoint.
const trainer = `
import json, math, os, random, signal, socket, sys, time
steps, rate = int(sys.argv[1]), float(sys.argv[2])
gpus = int(os.environ['WEIR_GPUS'])
place = os.path.join(os.environ['WEIR_CHECKPOINT_DIR'], 'step')
step = int(open(place).read()) if os.path.exists(place) else 0
line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
address = os.environ['WEIR_PROGRESS'].replace('@', chr(0), 1)
def stop(*_):
    open(place, 'w').write(str(step))
    print(f'saved step {step}; leaving', flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print(f'from step {step} of {steps} on {gpus} GPUs', flush=True)
done, before, printed = float(step), time.monotonic(), time.monotonic()
while step < steps:
    time.sleep(0.25)
    now = time.monotonic()
    done += (now - before) * rate * gpus ** 0.92 * random.uniform(0.97, 1.03)
    before, step = now, min(steps, int(done))
    loss = 0.35 + 2.4 * math.exp(-4 * step / steps) * (1 + random.uniform(-0.04, 0.04))
    line.sendto(json.dumps({'step': step, 'loss': round(loss, 4)}).encode(), address)
    if now - printed >= 1:
        printed = now
        print(f'step {step} loss {loss:.4f} lr {3e-4 * (1 - step / steps):.2e}', flush=True)
open(place, 'w').write(str(step))
print('done', flush=True)
`;

// As much work as so many minutes on `gpus`. It says that it does `rate` steps a second on one; it may do fewer: `truly`.
function training(server, name, { minutes, gpus, deadline, rate = 40, truly = rate, sizes = [1, 2, 4, 8], ...more }) {
  const speed = (count) => Number((rate * count ** 0.92).toFixed(1));
  const iterations = Math.round(minutes * 60 * speed(gpus));
  return {
    name, command: ['python3', path.join(server.folder, 'train.py'), String(iterations), String(truly)], iterations,
    throughput: Object.fromEntries(sizes.map((count) => [count, speed(count)])), deadline, reports_progress: true, grace: '3s', batch: 256, ...more,
  };
}

// Takes some minutes. Gives the ids of the jobs worth a picture.
export async function playBusyDay(server) {
  writeFileSync(path.join(server.folder, 'train.py'), trainer);
  const submit = (document) => server.submit(document);
  const program = (name, seconds, more = {}) => ({ name, command: `sleep ${seconds}; echo written`, duration: `${seconds}s`, ...more });
  const isOver = (name) => eventually(`${name} is over`, async () => (await server.job(name)).phase === 'finished', { timeout: 180_000 });
  const began = Date.now();
  await server.call('/v1/nodes/dogwood/drain', { method: 'POST' }); // somebody repairs it
  for (const name of ['tokenize-wiki', 'eval-nightly', 'export-onnx']) await submit(program(name, 5, { deadline: '3m' }));
  await submit({ name: 'lint-config', command: 'echo config.yaml:14: unknown key; exit 2' });
  await submit(training(server, 'resnet-sweep-1', { minutes: 0.5, gpus: 2, deadline: '6m' }));
  const elastic = (await submit(training(server, 'bert-finetune', { minutes: 28, gpus: 4, deadline: '70m', rate: 55 }))).id;
  // Half as fast as it said, and it can use no more GPUs.
  const atRisk = (await submit(training(server, 'clip-distill', { minutes: 18, gpus: 2, deadline: '24m', truly: 18, sizes: [1, 2] }))).id;
  for (const i of [2, 3]) await submit(training(server, `resnet-sweep-${i}`, { minutes: 30 + i, gpus: 2, deadline: `${60 + 8 * i}m` }));
  await submit(training(server, 'speech-large', { minutes: 40, gpus: 4, deadline: '110m', rate: 24 }));
  await submit(held(server, 'notebook-ada', { gpus: 1 }));
  await submit(held(server, 'notebook-emil', { gpus: 1 }));
  await isOver('resnet-sweep-1');
  await submit(program('ads-ranking-eval', 25, { gpus: 8, deadline: '4m' }));
  await isOver('ads-ranking-eval');
  const refused = (await submit(program('board-demo', 1500, { gpus: 4, deadline: '20m' }))).id;
  for (const [name, gpus] of [['gpt2-pretrain', 16], ['vit-ablation-a', 8], ['vit-ablation-b', 8]]) await submit(program(name, 1200, { gpus }));
  await submit(program('weekly-report', 1500, { gpus: 4, deadline: '45m', kind: 'soft' }));
  const cancelled = await submit(held(server, 'typo-in-config', { gpus: 1 }));
  await server.call(`/v1/jobs/${cancelled.id}/cancel`, { method: 'POST' });
  await eventually('a promise is at risk', async () => (await server.job(atRisk)).at_risk === true, { timeout: 240_000 });
  await eventually('the charts have something to show', () => Date.now() - began > 180_000, { timeout: 240_000 });
  return { elastic, atRisk, refused };
}
