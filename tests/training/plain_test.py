#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A script that knows nothing of weir, stopped and started again on other numbers of ranks: it goes on from its last checkpoint.

    tests/training/plain_test.py BIN     without PyTorch exit code 77: skipped
"""
import signal
import tempfile
import unittest
from pathlib import Path

import start_tests

if __name__ == "__main__":
    start_tests.need_torch()

from ranks import first_step_of, losses_of, run, script

STEPS, SAVE_EVERY, EPOCH = 400, 25, 15
# Where it is stopped, and on how many ranks it goes on. Later than step 200 the loss falls slowly, so losses can be compared.
SIZES = ((1, 230), (2, 335), (1, None))


class Plain(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def train(self, name, sizes):
        """What rank 0 printed, start by start."""
        command = [*script("plain.py"), "--steps", str(STEPS), "--checkpoint", str(self.folder / name),
                   "--save-every", str(SAVE_EVERY), "--print-every", "1"]
        printed = []
        for size, stop_at in sizes:
            pause = ["--pause", "0.003"] if stop_at is not None else []
            codes, lines = run([*command, *pause], size, self.folder, stop_at)
            self.assertEqual(codes, [0 if stop_at is None else -signal.SIGTERM] * size, "".join(lines[-5:]))
            printed.append(lines)
        return printed

    def test_it_resumes_and_its_loss_goes_on_within_noise(self):
        alone = losses_of(self.train("alone", ((1, None),))[0])
        starts = self.train("resized", SIZES)
        for before, after in zip(starts, starts[1:]):
            last, resumed = max(losses_of(before)), first_step_of(after)[0]
            # Nothing is lost beyond the last checkpoint. It may be killed just before it writes the newest.
            newest = last // SAVE_EVERY * SAVE_EVERY
            self.assertIn(resumed, {newest} if last != newest else {newest, newest - SAVE_EVERY})
            self.assertGreater(resumed, 0)
            self.check_noise(alone, losses_of(after), resumed)
        self.assertEqual(max(losses_of(starts[-1])), STEPS)

    def check_noise(self, alone, after, resumed):
        """The mean of the first epoch is not above the largest loss that the run alone has around there. One far below the
        smallest would be wrong too."""
        mean = sum(after[resumed + i] for i in range(1, EPOCH + 1)) / EPOCH
        usual = [alone[resumed + i] for i in range(1 - EPOCH, EPOCH + 1)]
        print(f"resumed at step {resumed}: mean loss {mean:.5f} over an epoch, {min(usual):.5f} to {max(usual):.5f} alone")
        self.assertLess(min(usual) / 2, mean)
        self.assertLess(mean, max(usual))


if __name__ == "__main__":
    start_tests.main()
