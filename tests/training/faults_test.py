#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch jobs under a real `weir serve`, and what may go wrong: the job ends right, nothing runs twice, nothing is left.

    tests/training/faults_test.py BIN     BIN has weir and weir-supervisor; without PyTorch exit code 77: skipped
"""
import os
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

import start_tests

if __name__ == "__main__":
    start_tests.need_torch()

import torch

from live_job import Cluster
from ranks import run, script
from results import difference, mistakes_in, torch_parameters, trace_of

STEPS = 200
TOLERANCE = 1e-13  # as in exact_test.py
HANG_NOTICED_S = 20


def manifests_in(folder):
    return sorted(folder.glob("checkpoint-*.manifest"))


def step_in(manifest):
    return int(manifest.read_text().splitlines()[1].split()[1])


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """What the job gives when it is left alone."""
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        codes, lines = run(cls.elastic(folder), 1, folder)
        assert codes == [0], "".join(lines)
        cls.alone = torch_parameters(folder / "saved")[1]
        cls.trace_alone = trace_of(folder / "trace")

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.cluster = Cluster(self, start_tests.program(self, "weir"), self.folder)

    @staticmethod
    def elastic(folder, *more):
        return [*script("elastic.py"), "--double", "--steps", str(STEPS), "--checkpoint", str(folder / "saved"),
                "--trace", str(folder / "trace"), "--print-every", "1", "--save-every", "0.5", *more]

    def submit_elastic(self, pause="0.02", **more):
        job = self.cluster.submit_training("elastic", self.elastic(self.folder / "elastic", "--pause", pause), STEPS,
                                           reports_progress=True, **more)
        job.wait_for_step(10)
        self.assertEqual(job.view()["gpus"], 2)
        return job

    def check_right(self, job, restarts=0):
        """It ended as the one alone. Steps after the last checkpoint may have been done again, with the same samples."""
        view = job.wait_until_over()
        self.assertEqual((view["phase"], view["restarts"]), ("finished", restarts), job.log()[-500:])
        trace = trace_of(job.folder / "trace")
        self.assertEqual(sorted(set(trace)), self.trace_alone)
        self.assertEqual(mistakes_in(sorted(set(trace))), [])
        step, parameters = torch_parameters(job.folder / "saved")
        self.assertEqual(step, STEPS)
        self.assertLess(difference(self.alone, parameters)[0], TOLERANCE)
        job.check_no_double_run(self)

    def test_resized_by_the_server_without_a_fault_no_step_is_done_twice(self):
        job = self.submit_elastic()
        self.cluster.take_a_slot(2)
        job.wait_until("on one slot", lambda view: view["gpus"] == 1)
        job.wait_until("on two slots", lambda view: view["gpus"] == 2)
        self.check_right(job)
        self.assertEqual(trace_of(job.folder / "trace"), self.trace_alone)
        self.assertEqual([len(job.pids(generation)) for generation in job.generations()], [2, 1, 2])

    def test_a_rank_is_killed(self):
        job = self.submit_elastic(retries=2)
        job.wait_until("saved", lambda _: manifests_in(job.folder / "saved"))
        job.kill(rank=1)
        self.check_right(job, restarts=1)
        self.assertGreater(job.first_step(job.generations()[-1]), 0)

    def test_the_newest_checkpoint_is_truncated(self):
        job = self.submit_elastic(retries=2)
        saved = job.folder / "saved"
        job.wait_until("saved twice", lambda _: len(manifests_in(saved)) >= 2)
        job.signal(signal.SIGSTOP)  # so that no newer one is written meanwhile
        before, newest = (step_in(path) for path in manifests_in(saved)[-2:])
        damaged = manifests_in(saved)[-1].with_suffix("")
        os.truncate(damaged, damaged.stat().st_size // 2)
        job.kill()
        self.check_right(job, restarts=1)
        self.assertLess(before, newest)
        self.assertEqual(job.first_step(job.generations()[-1]), before)

    def test_a_script_ignores_the_request_to_stop(self):
        checkpoint, save_every = self.folder / "plain.pt", 20
        plain = " ".join([*script("plain.py"), "--steps", str(STEPS), "--checkpoint", str(checkpoint), "--save-every",
                          str(save_every), "--print-every 1 --pause 0.02"])
        job = self.cluster.submit_training("plain", f"trap '' TERM; exec {plain}", STEPS, grace="1s",
                                           progress_line="step {step} loss {loss}")
        job.wait_for_step(30)
        first = job.view()["generation"]
        asked_at = time.monotonic()
        self.cluster.take_a_slot(3)
        job.wait_until("on one slot", lambda view: view["gpus"] == 1)
        job.wait_until("started again", lambda _: job.generations()[-1] > first)
        self.assertGreaterEqual(time.monotonic() - asked_at, 1)  # the grace
        view = job.wait_until_over()
        self.assertEqual((view["phase"], view["restarts"]), ("finished", 0), job.log()[-500:])
        last, resumed = max(job.steps(first)), job.first_step(first + 1)
        newest = last // save_every * save_every
        self.assertIn(resumed, {newest} if last != newest else {newest, newest - save_every})
        self.assertEqual(torch.load(checkpoint)["step"], STEPS)
        job.check_no_double_run(self)

    def test_the_server_is_killed_during_resizes(self):
        """At once, while processes leave, and while the new ones start."""
        job = self.submit_elastic(pause="0.03")
        for seconds in (0, 0.3, 1):
            generation = job.view()["generation"]
            other = self.cluster.take_a_slot(2)
            job.wait_until("about to be resized", lambda view: view["generation"] > generation)
            time.sleep(seconds)
            self.cluster.kill_and_restart()
            self.assertEqual(other.wait_until_over()["phase"], "finished")
            job.wait_until("on two slots", lambda view: view["gpus"] == 2)
            job.wait_until("at work", lambda view: job.steps(view["generation"]))
        self.check_right(job)
        self.assertGreaterEqual(len(job.generations()), 4)

    def test_a_rank_hangs(self):
        job = self.submit_elastic(retries=1, hang_after="5s", grace="2s")
        job.wait_until("saved", lambda _: manifests_in(job.folder / "saved"))
        job.signal(signal.SIGSTOP, rank=1)
        job.wait_until("taken for hung", lambda view: view["restarts"] == 1, HANG_NOTICED_S)
        self.check_right(job, restarts=1)


if __name__ == "__main__":
    start_tests.main()
