#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What measure_power.py computes from readings, and its course with a clock, loops and a meter made up here.

Where PyTorch is installed, the program itself runs once on the CPU.
"""
import csv
import importlib.util
import io
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import measure_power as mp  # noqa: E402


class Figures(unittest.TestCase):
    def test_a_pause_makes_the_share_of_work_right(self):
        self.assertEqual(mp.pause_after(2.0, 100), 0)
        self.assertEqual(mp.pause_after(2.0, 50), 2.0)
        self.assertEqual(mp.pause_after(2.0, 25), 6.0)

    def test_energy_counts_between_the_first_and_the_last_move_of_the_counter(self):
        # Moves at 1 s (to 100 J), 2 s (to 400 J) and 3 s (to 700 J); what is before and after is no whole step.
        energy = [(0, 0), (0.5, 0), (1, 100), (1.5, 100), (2, 400), (3, 700), (3.9, 700)]
        self.assertEqual(mp.counted_watts(energy), 300)
        self.assertIsNone(mp.counted_watts([(0, 5), (1, 5), (2, 6), (3, 6)]))
        self.assertIsNone(mp.counted_watts([]))

    def test_samples_are_integrated_where_there_is_no_counter(self):
        readings = mp.Readings(power=[(0, 100), (1, 300), (3, 300)])
        self.assertEqual(mp.mean_watts(readings), ((200 + 600) / 3, mp.SAMPLES))
        readings.energy = [(0, 0), (1, 10), (2, 20)]
        self.assertEqual(mp.mean_watts(readings), (10, mp.COUNTER))
        self.assertEqual(mp.mean_watts(mp.Readings()), (None, ""))

    def test_a_row_has_rates_and_energy_of_an_iteration(self):
        readings = mp.Readings(energy=[(0, 0), (1, 500), (2, 1000)], utilisation=[90, 100], clock=[1900, 2000])
        row = mp.row_of(mp.Configuration("convnet", 32, 50), mp.Window(8, 40, 4), readings)
        self.assertEqual(row["iterations_per_second"], 5)
        self.assertEqual(row["samples_per_second"], 160)
        self.assertEqual(row["mean_watts"], 500)
        self.assertEqual(row["joules_per_iteration"], 100)
        self.assertEqual(row["busy_percent"], 50)
        self.assertEqual((row["utilisation_percent"], row["sm_clock_mhz"], row["temperature_c"]), (95, 1950, None))

    def test_the_plan_is_full_speed_first_and_fits_the_time(self):
        plan = mp.configurations(mp.BATCHES, mp.PAUSED_BATCHES, mp.DUTIES)
        self.assertEqual(len(plan), len(set(plan)))
        duties = [c.duty_percent for c in plan]
        self.assertEqual(duties[:15], [100] * 15)
        self.assertNotIn(100, duties[15:])
        self.assertEqual(plan[0], mp.Configuration("convnet", 256))
        self.assertLess(len(plan) * (8 + mp.WARM_UP_SECONDS + 0.5) + 3 * 8, 525)

    def test_the_gpu_is_the_one_the_process_sees(self):
        self.assertEqual(mp.gpu_of_driver(0, None), "0")
        self.assertEqual(mp.gpu_of_driver(1, ""), "1")
        self.assertEqual(mp.gpu_of_driver(1, "4, 6"), "6")
        self.assertEqual(mp.gpu_of_driver(0, "GPU-8f3a"), "GPU-8f3a")

    def test_wrong_options_are_refused(self):
        for wrong in (["--out", "x", "--seconds", "0"], ["--out", "x", "--limit", "-1"], ["--seconds", "8"]):
            with self.assertRaises(SystemExit) as refused, redirected_stderr():
                mp.parse(wrong)
            self.assertEqual(refused.exception.code, 2)


class redirected_stderr:
    def __enter__(self):
        self.kept, sys.stderr = sys.stderr, io.StringIO()

    def __exit__(self, *_):
        sys.stderr = self.kept


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Loops:
    """Steps of 10 ms; one of the loops cannot be made, one breaks."""

    def __init__(self, clock):
        self.clock, self.cleared = clock, 0

    def make(self, workload, batch):
        if workload == "too-large":
            raise MemoryError("out of\nmemory")

        def step():
            if workload == "breaks":
                raise RuntimeError()
            self.clock.now += 0.01
        return step

    def finish(self):
        pass

    def memory_mib(self):
        return 12.5

    def clear(self):
        self.cleared += 1


class Course(unittest.TestCase):
    def rows(self, workloads, limit=1000, seconds=2):
        clock = Clock()
        self.loops = Loops(clock)
        out = io.StringIO()
        table = mp.Table(out, ["GPU: made\nup"])
        options = types.SimpleNamespace(seconds=seconds, warm_up=1, idle_seconds=1)
        plan = [mp.Configuration(name, 8, duty) for name, duty in workloads]
        kept, sys.stdout = sys.stdout, io.StringIO()
        try:
            mp.measure_all(plan, self.loops, mp.NoMeter(), table, options, limit, clock, clock.sleep)
        finally:
            sys.stdout = kept
        lines = out.getvalue().splitlines()
        self.assertEqual(lines[0], "# GPU: made up")
        return list(csv.DictReader(lines[1:]))

    def test_a_loop_is_busy_for_the_share_that_was_asked(self):
        full, half, idle = self.rows([("fast", 100), ("fast", 50)])
        self.assertEqual((full["busy_percent"], full["samples_per_second"]), ("100", "800"))
        self.assertEqual((half["busy_percent"], half["samples_per_second"]), ("50", "400"))
        self.assertEqual(half["memory_mib"], "12.5")
        self.assertEqual((idle["workload"], idle["batch"]), ("idle-after", ""))

    def test_what_fails_is_a_row_and_the_rest_goes_on(self):
        rows = self.rows([("too-large", 100), ("breaks", 100), ("fast", 100)])
        self.assertEqual([row["error"] for row in rows], ["out of memory", "RuntimeError", "", ""])
        self.assertEqual(rows[0]["mean_watts"], "")
        self.assertEqual(self.loops.cleared, 3)

    def test_what_the_time_limit_leaves_out_is_said(self):
        # 2 s of window and 1 s of warm-up each; a row is begun with 6 s left: its own 5 s and 1 s idle.
        rows = self.rows([("fast", 100)] * 3, limit=10)
        self.assertEqual([row["error"] for row in rows], ["", "", "not run: the time limit was near", ""])


class Program(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_runs_on_the_cpu(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "power.csv"
            program = Path(__file__).resolve().parent / "measure_power.py"
            done = subprocess.run([sys.executable, program, "--device", "cpu", "--dry", "--seconds", "0.1", "--out", out],
                                  capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = list(csv.DictReader(line for line in out.read_text().splitlines() if not line.startswith("#")))
        self.assertEqual(len(rows), 3 + 12)
        self.assertEqual({row["error"] for row in rows}, {""})
        self.assertTrue(all(float(row["samples_per_second"]) > 0 for row in rows if row["batch"]))


if __name__ == "__main__":
    unittest.main()
