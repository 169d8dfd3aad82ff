#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small GPT that nobody measured: its planned curve beside the measured one, and a job that is answered with the plan, runs,
and is answered with what it made the next time.

    tests/training/curve_test.py BIN     BIN has weir; exit code 77 without PyTorch: skipped
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import start_tests

if __name__ == "__main__":
    start_tests.need_torch()

from live_job import Cluster, Job
from ranks import EXAMPLES

ROOT = EXAMPLES.parents[1]
# By CPU seconds, because others may use this machine. Of the shape, speed on two slots over speed on one. Measured, it is about 1.4 with 16 tokens in a step; a model without
# all-reduce and optimizer says 2, one without any gain 1.
SHAPE_WITHIN = 1.3
# Of the rates themselves. A slot is calibrated in three figures, and PyTorch's small operators are in none of them.
RATE_WITHIN = 2.5
ATTEMPTS = 3
# What a server believes are five steps in five seconds; it hears of them a little later.
BELIEVED_AFTER_S, BELIEVED_STEPS = 12, 12
SLOTS = """gpus:
  - {name: CPU, tflops: 0.005, memory: 16GiB, memory_rate: 5, link_rate: 1, latency: 300, element_bytes: 4}
"""


class Curve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.gpus = cls.folder / "gpus.yaml"

    def setUp(self):
        self.weir = start_tests.program(self, "weir")

    def compare(self):
        """Calibrates, plans and trains."""
        command = [sys.executable, str(ROOT / "tools" / "measure_cpu_curve.py"), self.weir, "--slots", "1,2", "--steps", "30", "--batch", "2",
                   "--seconds", "1", "--clock", "cpu", "--gpus", str(self.gpus), "--json"]
        return json.loads(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, timeout=200).stdout)

    def misses(self):
        """What is off by too much, planned against measured; nothing where all is well."""
        found = self.compare()
        planned, measured = found["planned"], found["measured"]
        shapes = planned["2"] / planned["1"], measured["2"] / measured["1"]
        print(f"slots 1 and 2: planned {planned}, measured {measured}, shapes {shapes[0]:.2f} and {shapes[1]:.2f}")
        print("a slot:", found["gpu"])
        off = {"shape": (shapes[0] / shapes[1], SHAPE_WITHIN), **{f"rate on {slots}": (planned[slots] / measured[slots], RATE_WITHIN) for slots in ("1", "2")}}
        return {name: ratio for name, (ratio, within) in off.items() if not 1 / within < ratio < within}

    def test_the_plan_has_the_shape_of_the_truth(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one core has no second slot")
        # Neighbours of a core slow it down even in CPU seconds, so one run may be spoilt.
        for _ in range(ATTEMPTS):
            missed = self.misses()
            if not missed:
                return
            print("once more, because too far off:", missed)
        self.fail(f"{missed} in the last of {ATTEMPTS} runs")

    def ask_weir(self, cluster, *command):
        environment = {**os.environ, "WEIR_STATE": cluster.server.state, "XDG_CONFIG_HOME": str(self.folder)}
        return subprocess.run([self.weir, *command], check=True, text=True, stdout=subprocess.PIPE, env=environment, cwd=ROOT).stdout

    def submit(self, cluster, name, steps):
        """As a user does: the config lies beside the job's file, and the server never sees its path."""
        (self.folder / "gpt.json").write_text((EXAMPLES / "gpt.json").read_text())
        text = (EXAMPLES / "gpt.yaml").read_text().replace("name: gpt", f"name: {name}").replace("iterations: 400", f"iterations: {steps}")
        text = text.replace("exec python3", f"exec {sys.executable}").replace("gpt.py ", f"gpt.py --steps {steps} ")
        file = self.folder / f"{name}.yaml"
        file.write_text(text)
        answer = json.loads(self.ask_weir(cluster, "submit", "--json", str(file)))["jobs"][0]
        return Job(cluster, answer["id"], name)

    def test_a_job_is_answered_with_the_plan_and_the_next_one_with_what_it_made(self):
        self.gpus.write_text(SLOTS)
        cluster = Cluster(self, self.weir, self.folder / "server", rescale="0.5s", more=["--gpu-file", str(self.gpus)])
        job = self.submit(cluster, "first", steps=1_000_000)
        curve = job.view()["curve"]
        self.assertEqual(curve["origin"], "planned")
        self.assertEqual(set(curve["rates"]), {"1", "2"})
        self.assertIn("from a plan of its model, which nobody has measured", self.ask_weir(cluster, "explain", "first"))
        self.assertIn("not measured", self.ask_weir(cluster, "job", "first"))
        document = self.ask_weir(cluster, "job", "first", "--json")
        self.assertNotIn("gpt.json", document)
        # It has to run for some time to be believed.
        job.wait_for_step(1)
        began = time.monotonic()
        job.wait_until("running for long", lambda _: time.monotonic() - began > BELIEVED_AFTER_S)
        job.wait_for_step(BELIEVED_STEPS)
        cluster.ask("POST", f"/v1/jobs/{job.number}/cancel")
        job.wait_until_over()

        again = self.submit(cluster, "again", steps=10)
        known = again.view()["curve"]
        print(f"planned {curve['rates']}, then known {known['rates']}")
        self.assertEqual(known["origin"], "measured")
        self.assertNotEqual(known["rates"], curve["rates"])
        # Both sizes are known: the one that ran as measured, the other in the planned shape.
        self.assertEqual(set(known["rates"]), {"1", "2"})
        self.assertIn("measured throughput", self.ask_weir(cluster, "explain", "again"))


if __name__ == "__main__":
    start_tests.main()
