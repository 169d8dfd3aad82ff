#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_gpt_steps.py: its columns are those of the shipped table, its models have the parameters that weir counts.

Where PyTorch is installed, the program itself runs once on the CPU. With WEIR set to the program, predictions are asked.
"""
import csv
import importlib.util
import io
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import measure_gpt_steps as steps  # noqa: E402

TABLE = Path(__file__).resolve().parent.parent / "docs/measurements/gpt-steps-h200.csv"
HAS_TORCH = importlib.util.find_spec("torch") is not None
WEIR = os.environ.get("WEIR")


def can_attend():
    """PyTorch 2.0 and newer."""
    if not HAS_TORCH:
        return False
    import torch
    return hasattr(torch.nn.functional, "scaled_dot_product_attention")


class Table(unittest.TestCase):
    def test_the_shipped_table_has_the_sizes_and_columns_of_the_program(self):
        with TABLE.open() as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([tuple(int(row[name]) for name in steps.COLUMNS) for row in rows], steps.SIZES)
        for row in rows:
            self.assertEqual(list(row)[:7], steps.COLUMNS + ["measured_ms"])
            self.assertGreater(float(row["measured_ms"]), 0)
            self.assertGreater(float(row["predicted_ms"]), 0)

    def test_heads_divide_the_width(self):
        for _, hidden, heads, *_ in steps.SIZES + steps.TINY:
            self.assertEqual(hidden % heads, 0)

    def test_wrong_numbers_are_refused(self):
        for words in (["--steps", "0"], ["--warm-up", "-1"], ["--device", "abacus"]):
            run = subprocess.run([sys.executable, steps.__file__, *words], capture_output=True, text=True)
            self.assertEqual(run.returncode, 2, run.stderr)


@unittest.skipUnless(WEIR, "WEIR names no program")
class Predictions(unittest.TestCase):
    def test_both_kinds_are_asked_for_the_same_model(self):
        size = steps.SIZES[0]
        analytic, kernels = (steps.predicted_ms(WEIR, "h200", times, size) for times in ("analytic", "kernels"))
        self.assertGreater(analytic, 0)
        self.assertNotEqual(analytic, kernels)

    def test_the_shipped_predictions_are_those_of_the_program(self):
        with TABLE.open() as file:
            for row, size in zip(csv.DictReader(file), steps.SIZES):
                for column, times, off in (("predicted_ms", "analytic", 0.001), ("kernels_ms", "kernels", 0.02)):
                    now = steps.predicted_ms(WEIR, "h200", times, size)
                    self.assertLess(abs(now / float(row[column]) - 1), off, f"renew {column} of {TABLE.name}: {now:.3f}")


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class Run(unittest.TestCase):
    def test_a_model_has_the_parameters_of_its_dimensions(self):
        layers, hidden, heads, vocab, *_ = steps.TINY[0]
        model, _ = steps.gpt(layers, hidden, heads, vocab)
        count = sum(parameter.numel() for parameter in model.parameters())
        norms = (2 * layers + 1) * 2 * hidden
        self.assertEqual(count, layers * 12 * hidden * hidden + norms + vocab * hidden)

    @unittest.skipUnless(can_attend(), "this PyTorch is older than 2.0")
    def test_a_tiny_model_is_measured_on_the_cpu(self):
        out = io.StringIO()
        steps.main(["--device", "cpu", "--tiny", "--steps", "2", "--warm-up", "1"], out)
        rows = list(csv.DictReader(io.StringIO(out.getvalue())))
        self.assertEqual(len(rows), 1)
        self.assertEqual(list(rows[0]), steps.COLUMNS + ["measured_ms"])
        self.assertGreater(float(rows[0]["measured_ms"]), 0)


if __name__ == "__main__":
    unittest.main()
