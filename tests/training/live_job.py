# SPDX-License-Identifier: Apache-2.0
"""A `weir serve` with two slots, training jobs on it, and another job that comes and goes so that they are resized."""
import json
import os
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "torture"))
from ranks import first_step_of, steps_of
from server import Connection, Server

PATIENCE_S = 90
OVER = ("finished", "failed", "cancelled", "refused")


class Cluster:
    """The server. Leaves no process behind, whatever becomes of the test."""

    def __init__(self, test, weir, folder, environment=None, rescale="1s", more=()):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.server = Server(weir, str(self.folder / "state"), ["--cluster", "1x2xCPU", "--rescale", rescale, *more],
                             environment)
        test.addCleanup(self.server.clean_up)
        self.server.start()
        self.link = Connection(self.server)
        test.addCleanup(self.link.close)
        self.others = 0

    def ask(self, method, path, body=None):
        answer = self.link.ask(method, path, None if body is None else json.dumps(body))
        if answer is None:
            raise AssertionError(f"no answer from the server: {self.link.error}")
        if answer.status >= 300:
            raise AssertionError(f"{method} {path}: {answer.status} {answer.body.decode()}")
        return answer

    def submit(self, **job):
        return Job(self, self.ask("POST", "/v1/jobs", job).json()["id"], job["name"])

    def submit_training(self, name, command, steps, **more):
        """On one slot or two, whatever is free. Its marks and its checkpoints are in a folder of its name."""
        marks = self.folder / name / "marks"
        marks.mkdir(parents=True)
        environment = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(HERE / "marks"),
                       "WEIR_TEST_MARKS": str(marks)}
        # Said to be slow, so that it always seems worth while to give it a slot that is free.
        fields = {"ranks": "per-gpu", "iterations": steps, "throughput": {"1": 5.0, "2": 9.5}, "grace": "20s"}
        return self.submit(name=name, command=command, directory=str(self.folder), environment=environment,
                           **{**fields, **more})

    def take_a_slot(self, seconds):
        """Another job, with a deadline, so that it is served first: training gives one of its two slots back."""
        self.others += 1
        return self.submit(name=f"other-{self.others}", command=["sleep", str(seconds)], duration=f"{seconds}s",
                           directory=str(self.folder), deadline=f"{seconds + 25}s")

    def kill_and_restart(self):
        self.server.kill()
        self.link.close()
        self.server.start()


class Job:
    def __init__(self, cluster, number, name):
        self.cluster = cluster
        self.number = number
        self.name = name
        self.folder = cluster.folder / name

    def view(self):
        return self.cluster.ask("GET", f"/v1/jobs/{self.number}").json()

    def is_over(self):
        return self.view()["phase"] in OVER

    def wait_until(self, what, is_so, limit=PATIENCE_S):
        """Until is_so(view); its view then."""
        end = time.monotonic() + limit
        view = self.view()
        while not is_so(view):
            if view["phase"] in OVER or time.monotonic() > end:
                raise AssertionError(f"{self.name} is not {what}: {json.dumps(view)}\n{self.log()[-500:]}")
            time.sleep(0.01)
            view = self.view()
        return view

    def wait_until_over(self, limit=PATIENCE_S):
        return self.wait_until("over", lambda view: view["phase"] in OVER, limit)

    def log(self, generation=None):
        """What rank 0 has printed; None: in its newest generation that has begun."""
        query = "limit=1048576" + ("" if generation is None else f"&generation={generation}")
        answer = self.cluster.link.ask("GET", f"/v1/jobs/{self.number}/logs?{query}")
        return answer.body.decode(errors="replace") if answer is not None and answer.status == 200 else ""

    def wait_for_step(self, step, generation=None, limit=PATIENCE_S):
        """Until a generation, or the newest, has printed that it did the step."""
        return self.wait_until(f"at step {step}", lambda _: max(self.steps(generation), default=-1) >= step, limit)

    def steps(self, generation=None):
        return steps_of(self.log(generation).splitlines())

    def first_step(self, generation):
        """What a generation went on from."""
        return first_step_of(self.log(generation).splitlines())[0]

    def marks(self):
        """(word, generation, rank, pid) in the order in which they were made."""
        path = self.folder / "marks" / "marks"
        lines = path.read_text().splitlines() if path.exists() else []
        rows = [line.split() for line in lines]
        return [(word, int(generation), int(rank), int(pid)) for word, generation, rank, pid, _ in rows]

    def generations(self):
        return sorted({generation for _, generation, _, _ in self.marks()})

    def pids(self, generation, rank=None):
        return [pid for word, number, of, pid in self.marks()
                if word == "begin" and number == generation and rank in (None, of)]

    def signal(self, number, rank=None):
        """To the ranks that run now, or to one of them."""
        for pid in self.pids(self.generations()[-1], rank):
            os.kill(pid, number)

    def kill(self, rank=None):
        self.signal(signal.SIGKILL, rank)

    def check_no_double_run(self, test):
        """No process of one generation lived when one of another began, and none is left, not even a dead one."""
        test.assertEqual([mark for mark in self.marks() if mark[0] == "clash"], [])
        end = time.monotonic() + 10  # for the last of them to be waited for
        left = self.left_over()
        while left and time.monotonic() < end:
            time.sleep(0.05)
            left = self.left_over()
        test.assertEqual(left, [])
        for generation in self.generations():
            ranks = [rank for word, number, rank, _ in self.marks() if word == "begin" and number == generation]
            test.assertEqual(sorted(ranks), sorted(set(ranks)), f"a rank of generation {generation} began twice")

    def left_over(self):
        pids = {pid for _, _, _, pid in self.marks()}
        return [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
