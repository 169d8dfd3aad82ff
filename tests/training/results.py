# SPDX-License-Identifier: Apache-2.0
"""What a training program left: the samples it took, in which step, and its parameters."""
import array
import sys
from collections import Counter
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))
import weir_worker

SAMPLES = 3600  # of the picture
BATCH = 256


def trace_of(path):
    """(step, epoch, position, index) of every sample, in the order of the positions: whichever rank took it."""
    rows = [tuple(map(int, line.split())) for line in Path(path).read_text().splitlines()]
    return sorted(row[:4] for row in rows)


def ranks_of(path):
    return {int(line.split()[4]) for line in Path(path).read_text().splitlines()}


def mistakes_in(trace):
    """What is wrong with a trace by itself, in words: every sample of a whole epoch once, every batch whole."""
    found = []
    last_epoch = max(row[1] for row in trace)
    for epoch in range(last_epoch):
        indices = [row[3] for row in trace if row[1] == epoch]
        if sorted(indices) != list(range(SAMPLES)):
            found.append(f"epoch {epoch} has {len(indices)} samples, {len(set(indices))} different ones")
    for step, size in sorted(Counter(row[0] for row in trace).items()):
        if size not in (BATCH, SAMPLES % BATCH):
            found.append(f"step {step} has {size} samples")
    return found


def torch_parameters(folder):
    """Of the newest whole checkpoint of elastic.py: its step, and all numbers in a row."""
    loaded = weir_worker.Checkpoints(folder).load(torch.load)
    return loaded.step, torch.cat([value.flatten() for value in loaded.value["net"].values()]).double()


def picture_parameters(folder):
    """Of the newest whole checkpoint of the program in C++."""
    def read(file):
        numbers = array.array("d", file.read().split(b"\n", 1)[1])
        return torch.tensor(numbers[: len(numbers) // 2], dtype=torch.float64)  # velocities follow

    return tuple(weir_worker.Checkpoints(folder).load(read))


def difference(one, other):
    """The largest, and the largest parameter beside it."""
    return float((one - other).abs().max()), float(one.abs().max())
