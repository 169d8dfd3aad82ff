# SPDX-License-Identifier: Apache-2.0
"""The ranks of a training program, started as torchrun starts them: stopped, counted and started again by a test."""
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "train"
PATIENCE_S = 120
STOPPED_TO_BE_RESUMED = 143


def script(name):
    return [sys.executable, str(EXAMPLES / name)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Ranks:
    """One start. Rank 0 prints `step N loss X`; what the others say goes to this process's stderr."""

    def __init__(self, command, size, folder):
        shared = {
            **os.environ,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": free_port(),
            "WORLD_SIZE": str(size),
            "WEIR_CHECKPOINT_DIR": str(folder),
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.lines = []
        self.jobs = [
            subprocess.Popen(command, env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL)
            for rank in range(size)
        ]

    def wait_for_step(self, step):
        for line in self.jobs[0].stdout:
            self.lines.append(line)
            if steps_of([line]) and steps_of([line])[0] >= step:
                return
        raise AssertionError(f"it ended before step {step}:\n{''.join(self.lines[-5:])}")

    def stop(self):
        for job in self.jobs:
            job.send_signal(signal.SIGTERM)

    def wait(self):
        """The exit codes of all ranks."""
        self.lines += self.jobs[0].stdout.readlines()
        self.jobs[0].stdout.close()
        try:
            return [job.wait(timeout=PATIENCE_S) for job in self.jobs]
        finally:
            for job in self.jobs:
                job.kill()


def run(command, size, folder, stop_at=None):
    """Exit codes, and what rank 0 printed. With a step to stop at, all ranks are asked to stop then."""
    ranks = Ranks(command, size, folder)
    if stop_at is not None:
        ranks.wait_for_step(stop_at)
        ranks.stop()
    return ranks.wait(), ranks.lines


def steps_of(lines):
    return [int(match.group(1)) for match in map(re.compile(r"step (\d+) loss").match, lines) if match]


def losses_of(lines):
    """By step."""
    matches = map(re.compile(r"step (\d+) loss (\S+)").match, lines)
    return {int(match.group(1)): float(match.group(2)) for match in matches if match}


def first_step_of(lines):
    """Of each start: the step it went on from."""
    return [int(match.group(1)) for match in map(re.compile(r"from step (\d+) on").match, lines) if match]
