#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the test vectors that Python and C++ must both give: tests/fixtures/worker. Changing them breaks every checkpoint there is.

    PYTHONPATH=python python3 python/tests/make_vectors.py
"""
import csv
import random
from pathlib import Path

from weir_worker import Checkpoints, EpochPermutation, batch_plan

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures" / "worker"
LENGTHS = [1, 2, 3, 4, 16, 17, 255, 256, 257, 1024, 50000, 1281167, 10**12, 2**62]


def permutation_rows():
    rng = random.Random(2026)
    for length in LENGTHS:
        for _ in range(8):
            seed, epoch = rng.choice([0, 1, 42, rng.getrandbits(64)]), rng.choice([0, 1, 89, rng.getrandbits(32)])
            for position in sorted({0, length - 1, rng.randrange(length)}):
                yield length, seed, epoch, position, EpochPermutation(length, seed, epoch)[position]


def batch_rows():
    rng = random.Random(2027)
    for _ in range(150):
        size = rng.randint(1, 12)
        batch, number, most = rng.randint(1, rng.choice([4, 40, 4000])), rng.randrange(size), rng.choice([0, 1, 7, 64])
        if most == 1 and batch > 300:
            continue
        plan = batch_plan(batch, size, number, most or None)
        yield batch, size, number, most, plan.first, plan.samples, " ".join(map(str, plan.micro_batches))


def write(name, header, rows):
    with open(FIXTURES / name, "w", newline="", encoding="ascii") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    FIXTURES.mkdir(parents=True, exist_ok=True)
    write("permutation.csv", ["length", "seed", "epoch", "position", "sample"], permutation_rows())
    write(
        "batch_plan.csv",
        ["global_batch", "world_size", "rank", "most_local", "first", "samples", "micro_batches"],
        batch_rows(),
    )
    Checkpoints(FIXTURES / "checkpoints").save(1234, lambda file: file.write(b"the weights of a model\n"))
