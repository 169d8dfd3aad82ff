# SPDX-License-Identifier: Apache-2.0
import os
import random
import signal
import subprocess
import sys
import unittest

import weir_worker
from weir_worker import StopRequest

PACKAGE = os.path.join(os.path.dirname(__file__), "..")


def send(number):
    os.kill(os.getpid(), number)


class HandClock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Signals(unittest.TestCase):
    """Real signals, to this process."""

    def installed(self, **options):
        request = StopRequest(**options)
        request.install()
        self.addCleanup(request.uninstall)
        return request

    def test_asks_for_nothing_without_a_reason(self):
        request = self.installed()
        self.assertFalse(any(request.should_checkpoint() for _ in range(100)))
        self.assertFalse(request.should_leave())

    def test_a_stop_is_told_once_and_then_it_is_time_to_leave(self):
        request = self.installed()
        send(signal.SIGTERM)
        self.assertFalse(request.should_leave())  # not before the save
        self.assertEqual([request.should_checkpoint() for _ in range(3)], [True, False, False])
        self.assertTrue(request.should_leave())

    def test_an_announcement_asks_for_a_save_and_not_to_leave(self):
        request = self.installed()
        send(signal.SIGUSR1)
        self.assertEqual([request.should_checkpoint() for _ in range(3)], [True, False, False])
        self.assertFalse(request.should_leave())

    def test_an_announcement_and_then_a_stop_are_two_saves(self):
        request = self.installed()
        send(signal.SIGUSR1)
        self.assertTrue(request.should_checkpoint())
        send(signal.SIGTERM)
        self.assertTrue(request.should_checkpoint())
        self.assertTrue(request.should_leave())

    def test_both_at_once_are_one_save(self):
        request = self.installed()
        send(signal.SIGUSR1)
        send(signal.SIGTERM)
        self.assertEqual([request.should_checkpoint() for _ in range(2)], [True, False])
        self.assertTrue(request.should_leave())

    def test_calls_the_handler_that_was_there(self):
        seen = []
        for number in (signal.SIGTERM, signal.SIGUSR1):
            before = signal.signal(number, lambda n, frame: seen.append(n))
            self.addCleanup(signal.signal, number, before)
        request = self.installed()
        send(signal.SIGTERM)
        send(signal.SIGUSR1)
        self.assertEqual(seen, [signal.SIGTERM, signal.SIGUSR1])
        self.assertTrue(request.should_checkpoint())

    def test_gives_the_handlers_back(self):
        before = signal.getsignal(signal.SIGTERM)
        request = StopRequest()
        request.install()
        self.assertNotEqual(signal.getsignal(signal.SIGTERM), before)
        request.uninstall()
        self.assertEqual(signal.getsignal(signal.SIGTERM), before)

    def test_a_forked_child_ends_when_it_is_told_to(self):
        self.installed()
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        self.assertTrue(os.WIFSIGNALED(status))
        self.assertEqual(os.WTERMSIG(status), signal.SIGTERM)

    def test_the_whole_script(self):
        script = (
            "import weir_worker, sys\n"
            "weir_worker.start()\n"
            "print('ready', flush=True)\n"
            "while True:\n"
            "    if weir_worker.should_checkpoint():\n"
            "        print('saved', flush=True)\n"
            "        if weir_worker.should_leave(): weir_worker.leave()\n"
        )
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        with subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True) as job:
            self.assertEqual(job.stdout.readline(), "ready\n")
            job.send_signal(signal.SIGUSR1)
            self.assertEqual(job.stdout.readline(), "saved\n")
            job.send_signal(signal.SIGTERM)
            self.assertEqual(job.stdout.readline(), "saved\n")
            self.assertEqual(job.wait(timeout=30), 143)

    def test_should_checkpoint_begins_to_listen_by_itself(self):
        self.assertFalse(weir_worker.should_checkpoint())
        self.addCleanup(lambda: weir_worker.stop_request._request.uninstall())
        send(signal.SIGTERM)
        self.assertTrue(weir_worker.should_checkpoint())
        self.assertTrue(weir_worker.should_leave())


class Intervals(unittest.TestCase):
    def test_asks_when_the_time_has_passed_since_the_last_save(self):
        clock = HandClock()
        request = StopRequest(save_every=10, clock=clock)
        answers = []
        for _ in range(25):
            clock.now += 1
            answers.append(request.should_checkpoint())
        self.assertEqual([i + 1 for i, answer in enumerate(answers) if answer], [10, 20])

    def test_a_save_for_another_reason_begins_the_time_anew(self):
        clock = HandClock()
        request = StopRequest(save_every=10, clock=clock)
        clock.now = 9
        request._on_signal(signal.SIGUSR1, None)
        self.assertTrue(request.should_checkpoint())
        clock.now = 18
        self.assertFalse(request.should_checkpoint())
        clock.now = 19
        self.assertTrue(request.should_checkpoint())


class Ranks:
    """Ranks in lockstep: the maximum is over what all of them want in this step."""

    def __init__(self, count, agree_every, clocks):
        self.wishes = []
        self.requests = [
            StopRequest(save_every=50, agree=self.agree, agree_every=agree_every, clock=clocks[i]) for i in range(count)
        ]

    def agree(self, wish):
        self.wishes.append(wish)
        return self.maximum

    def step(self):
        # Once to hear what each wants, as an all-reduce would; a signal cannot come in between here.
        self.maximum = 0
        snapshots = [dict(request.__dict__) for request in self.requests]
        self.wishes.clear()
        for request in self.requests:
            request.should_checkpoint()
        self.maximum = max(self.wishes, default=0)
        for request, snapshot in zip(self.requests, snapshots):
            request.__dict__.update(snapshot)
        return [request.should_checkpoint() for request in self.requests]


class Agreement(unittest.TestCase):
    def test_all_ranks_save_and_leave_at_the_same_step(self):
        for seed in range(200):
            rng = random.Random(seed)
            clocks = [HandClock() for _ in range(rng.randint(1, 5))]
            ranks = Ranks(len(clocks), rng.randint(1, 4), clocks)
            stop_at = [rng.randint(0, 20) for _ in clocks]
            left_at = None
            for step in range(40):
                for clock, request, at in zip(clocks, ranks.requests, stop_at):
                    clock.now += rng.uniform(0, 4)
                    if step == at:
                        request._on_signal(signal.SIGTERM, None)
                    elif rng.random() < 0.05:
                        request._on_signal(signal.SIGUSR1, None)
                answers = ranks.step()
                self.assertEqual(len(set(answers)), 1, f"seed {seed}, step {step}: {answers}")
                leaving = {request.should_leave() for request in ranks.requests}
                self.assertEqual(len(leaving), 1, f"seed {seed}, step {step}")
                if leaving == {True} and left_at is None:
                    left_at = step
            self.assertGreaterEqual(left_at, min(stop_at))
            self.assertLess(left_at, min(stop_at) + 4)

    def test_without_it_a_rank_decides_for_itself(self):
        first, second = StopRequest(), StopRequest()
        first._on_signal(signal.SIGTERM, None)
        self.assertTrue(first.should_checkpoint())
        self.assertFalse(second.should_checkpoint())

    def test_refuses_to_agree_never(self):
        with self.assertRaises(ValueError):
            StopRequest(agree_every=0)
