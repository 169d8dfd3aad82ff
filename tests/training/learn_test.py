#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a server learns from real jobs: how fast they are, and what a change of GPUs costs. The next job is answered with it.

    tests/training/learn_test.py BIN     BIN has weir and weir-example-picture; exit code 77 without PyTorch: skipped
"""
import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import start_tests

if __name__ == "__main__":
    start_tests.need_torch()

from live_job import Cluster
from ranks import script

STEPS_A_SECOND = 50  # at most: it rests after each step
STEPS = 600


class Learn(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.weir = start_tests.program(self, "weir")
        self.cluster = Cluster(self, self.weir, self.folder, rescale="0.1s")

    def submit(self, name, command, steps=STEPS, **more):
        folder = self.folder / name
        folder.mkdir()
        fields = {"iterations": steps, "model": "picture", "batch": 256, "ranks": "per-gpu", "reports_progress": True}
        return self.cluster.submit(name=name, command=[*command, "--steps", str(steps), "--print-every", "1", "--checkpoint", str(folder / "saved")],
                                   directory=str(folder), environment={"OMP_NUM_THREADS": "1"}, **{**fields, **more})

    def ask_weir(self, *command):
        environment = {**os.environ, "WEIR_STATE": self.cluster.server.state, "XDG_CONFIG_HOME": str(self.folder)}
        return subprocess.run([self.weir, *command], check=True, text=True, stdout=subprocess.PIPE, env=environment).stdout

    def explain(self, name):
        return self.ask_weir("explain", name)

    def picture(self):
        return [start_tests.program(self, "weir-example-picture"), "--pause", str(1 / STEPS_A_SECOND)]

    def test_a_job_is_promised_with_what_the_one_before_it_made(self):
        # Four times what it makes: a promise that rests on that cannot be kept.
        stated = {"1": 4.0 * STEPS_A_SECOND, "2": 4.4 * STEPS_A_SECOND}
        first = self.submit("first", self.picture(), throughput=stated, rigid=True)
        self.assertEqual(first.view()["curve"]["origin"], "stated")
        self.assertIn("states", self.explain("first"))
        self.assertEqual(first.wait_until_over()["phase"], "finished")

        again = self.submit("again", self.picture(), throughput=stated, rigid=True, deadline="60s")
        view = again.view()
        measured = view["curve"]["rates"]["1"]
        print(f"stated {stated['1']:.0f} steps/s, measured {measured:.1f}, at most {STEPS_A_SECOND} possible")
        self.assertEqual(view["curve"]["origin"], "measured")
        self.assertTrue(view["promised"])
        self.assertLess(measured, STEPS_A_SECOND)
        self.assertGreater(measured, STEPS_A_SECOND / 4)
        told = self.explain("again")
        print(told)
        self.assertIn("measured throughput", told)
        self.assertTrue(again.wait_until_over()["met_deadline"])

        # By what was stated it would be done in half of this; by what was measured it is not, and the answer says so.
        soon = STEPS / STEPS_A_SECOND / 2
        with self.assertRaises(AssertionError):
            self.submit("too-soon", self.picture(), throughput=stated, rigid=True, deadline=f"{soon:.0f}s")

    def test_what_a_change_costs_is_learnt(self):
        steps = 3 * STEPS
        job = self.submit("job", [*script("elastic.py"), "--pause", "0.02"], steps, throughput={"1": 5.0, "2": 9.5})
        job.wait_for_step(1, 1)
        self.cluster.take_a_slot(8)  # longer than the start of the job on one slot
        job.wait_for_step(1, 2)
        job.wait_for_step(1, 3)
        change = job.wait_until("changed", lambda view: view["last_change"]["stop"] > 0)["last_change"]
        print("one change:", {part: took for part, took in change.items() if took})
        for part in ("save", "stop", "start", "import", "load", "step"):
            self.assertGreater(change[part], 0, part)
        costs = self.costs()
        end = time.monotonic() + 20
        while len(costs) < 2 and time.monotonic() < end:
            time.sleep(0.2)
            costs = self.costs()
        print("planned with, in nanoseconds:", costs)
        self.assertGreater(len(costs), 1, "only what the server was started with")
        # Far more than the server was told.
        self.assertGreater(costs[-1]["base"] + costs[-1]["per_doubling"], 2 * costs[0]["base"])

    def costs(self):
        """What a change was taken to cost, one after the other."""
        self.ask_weir("trace", "export", "--out", str(self.folder / "log"))
        lines = map(json.loads, (self.folder / "log").read_text().splitlines())
        return [line["payload"] for line in lines if line.get("type") == "rescale_cost_adopted"]


if __name__ == "__main__":
    start_tests.main()
