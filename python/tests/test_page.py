# SPDX-License-Identifier: Apache-2.0
"""The script of docs/tasks/keep-the-batch.md does what the page says. Without PyTorch it is only compiled."""
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

PACKAGE = os.path.join(os.path.dirname(__file__), "..")
PAGE = Path(__file__).parents[2] / "docs" / "tasks" / "keep-the-batch.md"

# What the page leaves to the reader.
BEFORE = """
import os, sys, time
import torch
torch.manual_seed(4)
net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
mean_loss = torch.nn.functional.mse_loss
epochs = 2

class Data:
    inputs = torch.randn(1000, 6, dtype=torch.float64)
    targets = inputs.prod(dim=1, keepdim=True)
    def __len__(self):
        return 1000
    def take(self, indices):
        if os.environ["RANK"] == "0":
            print("taken", flush=True)
        time.sleep(float(os.environ["PAUSE"]))
        return self.inputs[indices], self.targets[indices]

data = Data()
"""
AFTER = """
if weir_worker.rank() == 0:
    torch.save([step] + list(net.parameters()), os.environ["RESULT"])
"""


def script_of_the_page():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = lines.index("    import contextlib")
    end = next(i for i in range(begin, len(lines)) if lines[i] and not lines[i].startswith("    "))
    return textwrap.dedent("\n".join(lines[begin:end]))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Page(unittest.TestCase):
    def test_the_script_is_python(self):
        compile(script_of_the_page(), str(PAGE), "exec")


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class PageWithTorch(unittest.TestCase):
    def run_ranks(self, folder, size, stop_after_passes=None):
        """The exit codes of all ranks. With a stop, only one rank is told: the others must agree."""
        pause = "0" if stop_after_passes is None else "0.02"
        shared = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([PACKAGE, os.environ.get("PYTHONPATH", "")]),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": free_port(),
            "WORLD_SIZE": str(size),
            "WEIR_CHECKPOINT_DIR": str(folder / "saved"),
            "RESULT": str(folder / "result"),
            "OMP_NUM_THREADS": "1",
            "PAUSE": pause,
        }
        command = [sys.executable, "-c", BEFORE + script_of_the_page() + AFTER]
        jobs = [
            subprocess.Popen(command, env={**shared, "RANK": str(rank)}, stdout=subprocess.PIPE if rank == 0 else None)
            for rank in range(size)
        ]
        for _ in range(stop_after_passes or 0):
            jobs[0].stdout.readline()
        if stop_after_passes is not None:
            jobs[-1].send_signal(signal.SIGTERM)
        jobs[0].stdout.read()
        jobs[0].stdout.close()
        return [job.wait(timeout=120) for job in jobs]

    def test_a_resized_job_ends_with_the_parameters_of_a_job_alone(self):
        import torch

        with tempfile.TemporaryDirectory() as name:
            alone, resized = Path(name) / "alone", Path(name) / "resized"
            alone.mkdir()
            resized.mkdir()
            self.assertEqual(self.run_ranks(alone, 1), [0])
            self.assertEqual(self.run_ranks(resized, 1, stop_after_passes=2), [143])
            self.assertEqual(self.run_ranks(resized, 2, stop_after_passes=6), [143, 143])
            self.assertEqual(self.run_ranks(resized, 3), [0, 0, 0])
            one, other = torch.load(alone / "result"), torch.load(resized / "result")
            self.assertEqual((one[0], other[0]), (8, 8))  # 1000 samples are 4 steps of an epoch
            for a, b in zip(one[1:], other[1:]):
                self.assertLess(float((a - b).detach().abs().max()), 1e-12)
                self.assertGreater(float(a.detach().abs().max()), 0)
