# SPDX-License-Identifier: Apache-2.0
"""A training job that weir stops and starts on other numbers of ranks, with real signals and real checkpoints.

The ranks of the job take their turns in one process, so that nothing is needed to add up their gradients.
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PACKAGE = os.path.join(os.path.dirname(__file__), "..")

SAMPLES, EPOCHS, GLOBAL_BATCH = 200, 3, 24

SCRIPT = """
import json, math, sys, time
from weir_worker import *

ranks, folder, log, pause = int(sys.argv[1]), sys.argv[2], open(sys.argv[3], "a"), float(sys.argv[4])
samples, epochs, batch = map(int, sys.argv[5:])
start()
data = [((i % 17 - 8) / 8, math.sin(i)) for i in range(samples)]
samplers = [ElasticSampler(samples, 5, ranks, rank) for rank in range(ranks)]
plans = [batch_plan(batch, ranks, rank, most_local=5) for rank in range(ranks)]
checkpoints = Checkpoints(folder)
step, weights = 0, [0.0, 0.0]
loaded = checkpoints.load(json.load)
if loaded:
    step, weights = loaded.step, loaded.value["weights"]
    for sampler in samplers: sampler.load_state_dict(loaded.value["sampler"])

def save():
    state = {"weights": weights, "sampler": samplers[0].state_dict()}
    checkpoints.save(step, lambda file: file.write(json.dumps(state).encode()))

print("ready", flush=True)
for epoch in range(samplers[0].epoch, epochs):
    for sampler in samplers: sampler.set_epoch(epoch)
    for parts in zip(*(sampler.batches(plan) for sampler, plan in zip(samplers, plans))):
        gradient = [0.0, 0.0]
        for part in parts:
            for indices, weight in zip(part.micro_batches, part.weights):
                for i in indices:
                    x, y = data[i]
                    error = weights[0] * x + weights[1] - y
                    gradient[0] += weight / len(indices) * 2 * error * x
                    gradient[1] += weight / len(indices) * 2 * error
        weights = [w - 0.1 * g for w, g in zip(weights, gradient)]
        step += 1
        for sampler, part in zip(samplers, parts): sampler.advance(part)
        print(json.dumps([epoch, [i for part in parts for i in part.indices]]), file=log, flush=True)
        report(step)
        time.sleep(pause)
        if should_checkpoint():
            save()
            if should_leave(): leave()
save()
"""


class Together(unittest.TestCase):
    def run_job(self, folder, ranks, stop_after=None):
        pause = "0" if stop_after is None else "0.003"
        sizes = [str(SAMPLES), str(EPOCHS), str(GLOBAL_BATCH)]
        command = [sys.executable, "-c", SCRIPT, str(ranks), str(folder / "saved"), str(folder / "log"), pause, *sizes]
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as job:
            self.assertEqual(job.stdout.readline(), "ready\n")
            if stop_after is not None:
                time.sleep(stop_after)
                job.send_signal(signal.SIGTERM)
            return job.wait(timeout=60)

    def result(self, folder):
        newest = sorted((folder / "saved").glob("checkpoint-????????"))[-1]
        seen = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
        return json.loads(newest.read_bytes())["weights"], seen

    def test_a_resized_job_gives_the_result_of_a_job_alone(self):
        with tempfile.TemporaryDirectory() as name:
            alone, resized = Path(name) / "alone", Path(name) / "resized"
            alone.mkdir()
            resized.mkdir()
            self.assertEqual(self.run_job(alone, ranks=1), 0)
            rng = random.Random(3)
            ends = [self.run_job(resized, ranks, stop_after=rng.uniform(0, 0.03)) for ranks in (1, 2, 4, 3, 1, 5)]
            self.assertGreaterEqual(ends.count(143), 2)
            self.assertEqual(self.run_job(resized, ranks=2), 0)

            weights, seen = self.result(alone)
            weights_resized, seen_resized = self.result(resized)
            # No step is lost or done twice: it saved before it left.
            self.assertEqual(seen_resized, seen)
            for epoch in range(EPOCHS):
                samples = [i for number, batch in seen_resized if number == epoch for i in batch]
                self.assertEqual(sorted(samples), list(range(SAMPLES)))
            # Sums of 24 numbers in another order: a few units in the last place at each of 27 steps.
            for one, other in zip(weights, weights_resized):
                self.assertAlmostEqual(one, other, delta=1e-13)
