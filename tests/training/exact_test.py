#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program with the two lines of weir_worker that is resized in the middle of epochs gives the result of one that never was.

    tests/training/exact_test.py BIN     BIN has weir, and weir-example-picture where Gloo is; without PyTorch exit code 77: skipped
"""
import tempfile
import unittest
from pathlib import Path

import start_tests

if __name__ == "__main__":
    start_tests.need_torch()

from live_job import Cluster
from ranks import STOPPED_TO_BE_RESUMED, run, script
from results import difference, mistakes_in, picture_parameters, ranks_of, torch_parameters, trace_of

STEPS = 400  # of 15 in an epoch
# Where it is stopped, in the middle of epochs, and on how many ranks it goes on.
SIZES = ((1, 110), (2, 200), (1, None))

# Another number of ranks adds the gradients of the same 256 samples in another order, which changes the last bits of a sum. Each step
# rounds anew and momentum carries it on, so the limit is some hundred units in the last place of a parameter of about 1
# (2e-16 and 1e-7), not one.
DOUBLE = 1e-13
SINGLE = 2e-5


class Exact(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def train(self, command, name, sizes):
        """The folder of its checkpoints, and its trace."""
        saved, trace = self.folder / name, self.folder / (name + ".trace")
        command = [*command, *self.options(saved, trace)]
        for size, stop_at in sizes:
            # Slow enough to be stopped soon after the step that was waited for.
            pause = ["--pause", "0.003"] if stop_at is not None else []
            codes, lines = run([*command, *pause], size, saved, stop_at)
            expected = 0 if stop_at is None else STOPPED_TO_BE_RESUMED
            self.assertEqual(codes, [expected] * size, "".join(lines[-5:]))
        return saved, trace

    @staticmethod
    def options(saved, trace):
        return ["--steps", str(STEPS), "--checkpoint", str(saved), "--trace", str(trace), "--print-every", "1"]

    def train_under_a_server(self, command, name):
        """The same, on two slots of which another job takes one for a while."""
        saved, trace = self.folder / name, self.folder / (name + ".trace")
        cluster = Cluster(self, start_tests.program(self, "weir"), self.folder / "cluster")
        job = cluster.submit_training("picture", [*command, *self.options(saved, trace), "--pause", "0.01"], STEPS,
                                      reports_progress=True)
        job.wait_for_step(20)
        cluster.take_a_slot(1)
        job.wait_until("on one slot", lambda view: view["gpus"] == 1)
        job.wait_until("on two slots", lambda view: view["gpus"] == 2)
        view = job.wait_until_over()
        self.assertEqual((view["phase"], view["generation"]), ("finished", 3), job.log()[-500:])
        return saved, trace

    def check(self, command, parameters, limit):
        self.compare(self.train(command, "alone", ((1, None),)), self.train(command, "resized", SIZES), parameters, limit)

    def compare(self, run_alone, run_resized, parameters, limit):
        (alone, trace_alone), (resized, trace_resized) = run_alone, run_resized
        self.assertEqual(ranks_of(trace_resized), {0, 1})
        # No step is lost or done twice, and each has the samples it has alone, in the same global order.
        self.assertEqual(mistakes_in(trace_of(trace_resized)), [])
        self.assertEqual(trace_of(trace_resized), trace_of(trace_alone))
        (step, one), (step_resized, other) = parameters(alone), parameters(resized)
        self.assertEqual((step, step_resized), (STEPS, STEPS))
        apart, largest = difference(one, other)
        print(f"{self.id()}: parameters up to {largest:.2f} differ by {apart:.1e} at most")
        self.assertLess(apart, limit)
        self.assertGreater(largest, 0.1)

    def test_torch_in_double_precision(self):
        self.check([*script("elastic.py"), "--double"], torch_parameters, DOUBLE)

    def test_torch_in_single_precision(self):
        self.check(script("elastic.py"), torch_parameters, SINGLE)

    def test_gloo_in_double_precision(self):
        self.check([start_tests.program(self, "weir-example-picture")], picture_parameters, DOUBLE)

    def test_gloo_resized_by_a_server(self):
        command = [start_tests.program(self, "weir-example-picture")]
        alone = self.train(command, "alone", ((1, None),))
        self.compare(alone, self.train_under_a_server(command, "resized"), picture_parameters, DOUBLE)


if __name__ == "__main__":
    start_tests.main()
