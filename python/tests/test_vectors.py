# SPDX-License-Identifier: Apache-2.0
"""The numbers that C++ gives too: src/worker/vectors_test.cpp reads the same files."""
import csv
import unittest
from pathlib import Path

from weir_worker import Checkpoints, EpochPermutation, batch_plan

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures" / "worker"


def rows(name):
    with open(FIXTURES / name, newline="", encoding="ascii") as file:
        return list(csv.DictReader(file))


class Vectors(unittest.TestCase):
    def test_permutation(self):
        table = rows("permutation.csv")
        self.assertGreater(len(table), 200)
        for row in table:
            length, seed, epoch, position, sample = (int(value) for value in row.values())
            self.assertEqual(EpochPermutation(length, seed, epoch)[position], sample, row)

    def test_batch_plan(self):
        table = rows("batch_plan.csv")
        self.assertGreater(len(table), 100)
        for row in table:
            sizes = tuple(int(size) for size in row.pop("micro_batches").split())
            batch, size, number, most, first, samples = (int(value) for value in row.values())
            plan = batch_plan(batch, size, number, most or None)
            self.assertEqual((plan.first, plan.samples, plan.micro_batches), (first, samples, sizes), row)

    def test_checkpoint(self):
        loaded = Checkpoints(FIXTURES / "checkpoints").load(lambda file: file.read())
        self.assertEqual(loaded, (1234, b"the weights of a model\n"))
