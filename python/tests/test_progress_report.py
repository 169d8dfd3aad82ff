# SPDX-License-Identifier: Apache-2.0
import json
import os
import socket
import subprocess
import sys
import time
import unittest

from weir_worker import ProgressReporter

PACKAGE = os.path.join(os.path.dirname(__file__), "..")


class Listener:
    """The end of the socket that weir holds."""

    def __init__(self, name):
        self.address = f"@weir.test.{os.getpid()}.{name}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + self.address[1:])
        self.socket.setblocking(False)

    def read(self):
        messages = []
        while True:
            try:
                messages.append(json.loads(self.socket.recv(4096)))
            except BlockingIOError:
                return messages


class HandClock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class ProgressReport(unittest.TestCase):
    def setUp(self):
        self.listener = Listener(self.id())
        self.addCleanup(self.listener.socket.close)
        self.clock = HandClock()

    def reporter(self, **options):
        reporter = ProgressReporter(self.listener.address, clock=self.clock, **options)
        self.addCleanup(lambda: reporter._socket and reporter._socket.close())
        return reporter

    def test_sends_what_it_is_told(self):
        self.reporter().report(12, samples=1536, loss=0.5)
        self.assertEqual(self.listener.read(), [{"step": 12, "samples": 1536, "loss": 0.5}])

    def test_sends_the_step_alone(self):
        self.reporter().report(12)
        self.assertEqual(self.listener.read(), [{"step": 12}])

    def test_tells_how_the_batch_is_divided(self):
        reporter = self.reporter()
        reporter.note_batch([256, 32, 4])
        reporter.report(1)
        self.assertEqual(self.listener.read(), [{"step": 1, "batch": [256, 32, 4]}])

    def test_tells_milestones_at_once(self):
        reporter = self.reporter()
        reporter.report(1)
        reporter.tell("started")
        reporter.tell("saved", 0.25)
        self.assertEqual(self.listener.read(), [{"step": 1}, {"event": "started"}, {"event": "saved", "seconds": 0.25}])

    def test_a_milestone_that_nobody_hears_does_no_harm(self):
        reporter = self.reporter()
        self.listener.socket.close()
        reporter.tell("saved", 1.0)
        ProgressReporter("").tell("started")
        ProgressReporter(self.listener.address, rank=1).tell("started")

    def test_leaves_out_a_loss_that_is_no_number(self):
        reporter = self.reporter(most_per_second=1)
        for loss in (float("nan"), float("inf")):
            reporter.report(1, loss=loss)
            self.clock.now += 1
        self.assertEqual(self.listener.read(), [{"step": 1}, {"step": 1}])

    def test_sends_at_most_so_many_a_second(self):
        reporter = self.reporter(most_per_second=10)
        steps = []
        for step in range(1000):
            reporter.report(step)
            steps += [message["step"] for message in self.listener.read()]
            self.clock.now += 0.002
        self.assertGreaterEqual(len(steps), 18)
        self.assertLessEqual(len(steps), 21)
        self.assertEqual(steps[0], 0)
        self.assertEqual(steps, sorted(steps))

    def test_keeps_the_newest_for_the_end(self):
        reporter = self.reporter(most_per_second=1)
        for step in range(10):
            reporter.report(step)
        reporter.flush()
        reporter.flush()
        self.assertEqual([message["step"] for message in self.listener.read()], [0, 9])

    def test_reads_a_loss_only_when_it_is_sent(self):
        class Tensor:
            reads = 0

            def __float__(self):
                Tensor.reads += 1
                return 0.5

        reporter = self.reporter(most_per_second=1)
        reporter.report(0)
        for step in range(1, 10):
            reporter.report(step, loss=Tensor())
        self.assertEqual(Tensor.reads, 0)

    def test_only_rank_0_sends(self):
        reporter = self.reporter(rank=1)
        reporter.report(1)
        reporter.flush()
        self.assertEqual(self.listener.read(), [])

    def test_does_nothing_outside_weir(self):
        reporter = ProgressReporter("")
        reporter.report(1)
        reporter.flush()
        self.assertIsNone(reporter._socket)

    def test_never_raises(self):
        gone = self.reporter()
        gone._address = "\0weir.test.nobody"
        for bad in (gone, ProgressReporter("x" * 500), ProgressReporter("/nowhere/at/all")):
            bad.report(1)
            bad.flush()
            if bad._socket is not None:
                bad._socket.close()
        self.reporter().report("twelve", loss=object())

    def test_never_waits_for_a_busy_receiver_and_tries_again(self):
        reporter = self.reporter(most_per_second=1)
        started = time.monotonic()
        for step in range(5000):  # nobody reads: the queue of the socket fills
            reporter.report(step)
            self.clock.now += 1
        self.assertLess(time.monotonic() - started, 5)
        received = self.listener.read()
        self.assertLess(len(received), 5000)
        reporter.flush()
        self.assertEqual(self.listener.read()[-1]["step"], 4999)

    def run_script(self, text, **environment):
        variables = {**os.environ, "PYTHONPATH": PACKAGE, "WEIR_PROGRESS": self.listener.address, **environment}
        return subprocess.run([sys.executable, "-c", text], env=variables, timeout=60, check=False).returncode

    def test_the_last_report_goes_out_at_exit(self):
        script = "import weir_worker\nfor step in range(1, 501): weir_worker.report(step, loss=1.0 / step)\n"
        self.assertEqual(self.run_script(script), 0)
        messages = self.listener.read()
        self.assertEqual(messages[0]["step"], 1)
        self.assertEqual(messages[-1]["step"], 500)
        self.assertLess(len(messages), 50)

    def test_the_last_report_goes_out_when_the_script_leaves(self):
        script = "import weir_worker\nweir_worker.report(1)\nweir_worker.report(2)\nweir_worker.leave()"
        self.assertEqual(self.run_script(script), 143)
        self.assertEqual([message["step"] for message in self.listener.read()], [1, 2])

    def test_the_same_script_runs_alone(self):
        self.assertEqual(self.run_script("import weir_worker\nweir_worker.report(1)", WEIR_PROGRESS=""), 0)
        self.assertEqual(self.listener.read(), [])

    def test_another_rank_is_silent(self):
        self.assertEqual(self.run_script("import weir_worker\nweir_worker.report(1)", RANK="1", WORLD_SIZE="2"), 0)
        self.assertEqual(self.listener.read(), [])
