#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of energy must notice what it is there for: a small run that is right, then damaged in every way it knows.

Four GPUs, two on each node. One job of 1000 iterations: 10 a second on one GPU, 16 on two. A start costs 2 s and 2 s per
doubling. The constants make the sums short: a GPU that computes at the full clock draws 100 W, 20 W of them static; idle GPUs
10 W, nodes 50 W. All time follows the clock, so half the clock is half the rate.
"""
import contextlib
import copy
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_energy  # noqa: E402

SECOND = 1_000_000_000
ASSUMED = ["--full-watts", "100", "--static-share", "0.2", "--waiting-share", "0", "--clock-share", "1", "--idle-watts", "10",
           "--node-watts", "50", "--lowest-clock", "500", "--clock-levels", "2"]
HEADER = {"cluster": {"pools": [{"name": "A", "nodes": 2, "gpus_per_node": 2, "stride": 2}]},
          "rescale": {"base_s": 2, "per_doubling_s": 2}, "policy": "green", "slot_s": 0, "workload": "t", "curves": "c",
          "speed": {"permille": 1000}}
FULL, HALF = 100.0, 20 + 80 / 8  # watts of one GPU that computes, by clock


def record(seconds, kind, **payload):
    return {"time": round(seconds * SECOND), "type": kind, "reason": {"code": "at_this_price", "detail": 0}, "payload": payload}


def accepted(seconds, job, name):
    return record(seconds, "training_accepted", job=job, pool=0, least_gpu_seconds=0,
                  spec={"name": name, "curve": {"model": "m", "global_batch": 8}, "iterations": 1000})


def resized(seconds, job, generation, first, size):
    return record(seconds, "job_resized", job=job, generation=generation, block={"first": first, "size": size})


def clock(seconds, job, permille, millionths):
    return record(seconds, "clock_set", job=job, clock_permille=permille, rate_millionths=millionths)


class CheckEnergy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "curves").mkdir()
        (self.folder / "curves" / "m.csv").write_text("global_batch_size,1,2\n8,10,16\n")
        (self.folder / "jobs.csv").write_text("job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,best_effort\n"
                                              "a,3500,1000,m,0,8,1,1\n")
        # The first job comes at 00:00, so the run of a bit over an hour sees two values.
        (self.folder / "series.csv").write_text("utc_time,ci_lifecycle,ci_direct\n2021-07-14T00:00Z,100,1\n2021-07-14T01:00Z,400,1\n")
        # One GPU, ready at 3504, at half the clock, then at the full one; a pause until just before the hour; then two GPUs.
        self.log = [accepted(3500, 1, "a"), resized(3500, 1, 1, 0, 1), clock(3500, 1, 500, 500_000),
                    clock(3524, 1, 1000, 1_000_000),  # 100 done
                    resized(3534, 1, 2, 0, 0),        # 200 done
                    resized(7090, 1, 3, 2, 2),        # a new group: ready at 7096
                    record(7146, "job_released", job=1)]  # 800 / 16 = 50 s
        self.told = self.honest()

    def honest(self):
        # On two GPUs 1/16 s: 1/20 computing, the rest sync at 20 W: each draws (100 x 0.8 + 20 x 0.2) = 84 W.
        steps = [(3500, HALF + 10 + 50), (3524, FULL + 10 + 50), (3534, 0.0), (7090, 2 * 84 + 50.0), (7146, 0.0)]
        kwh = ((HALF + 60) * 24 + (FULL + 60) * 10 + 218 * 56) / 3.6e6
        late = 7146 - 7100  # after the hour
        grams = (((HALF + 60) * 24 + (FULL + 60) * 10 + 218 * 10) * 100 + 218 * late * 400) / 3.6e6
        return {"units": grams, "site_kwh": kwh, "peak_watts": 218.0, "end_ns": 7146 * SECOND,
                "trace": [[at * SECOND, watts] for at, watts in steps]}

    def check(self, *more, log=None, told=None):
        """The exit code and what was said."""
        with open(self.folder / "run.jsonl", "w") as out:
            out.write(json.dumps({"schema": 1, "type": "log_header", "payload": HEADER}) + "\n")
            for seq, entry in enumerate(log or self.log, 1):
                out.write(json.dumps({"schema": 1, "seq": seq, **entry}) + "\n")
        (self.folder / "run.json").write_text(json.dumps(told or self.told))
        words = ["check_energy.py", "--log", "run.jsonl", "--jobs", "jobs.csv", "--curves", "curves", "--intensity", "series.csv",
                 "--expect", "run.json"]
        words = [str(self.folder / word) if "." in word and word != "check_energy.py" or word == "curves" else word for word in words]
        said = io.StringIO()
        with mock.patch.object(sys, "argv", [*words, "--day", "2021-07-14", *ASSUMED, *more]):
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                code = check_energy.main()
        return code, said.getvalue()

    def assert_complains(self, rule, **damaged):
        code, said = self.check(**damaged)
        self.assertEqual(code, 1, said)
        self.assertIn(f": {rule}: ", said)

    def test_a_run_that_is_right_passes(self):
        code, said = self.check("--cap-watts", "218")
        self.assertEqual((code, said.strip().endswith("as reported")), (0, True), said)

    def test_a_job_released_too_early_or_too_late(self):
        for seconds in (7145, 7147):
            log = copy.deepcopy(self.log)
            log[-1]["time"] = seconds * SECOND
            self.assert_complains("finish", log=log)

    def test_a_clock_that_was_never_set(self):
        self.assert_complains("finish", log=self.log[:2] + self.log[3:])

    def test_a_clock_below_the_one_of_least_energy(self):
        log = copy.deepcopy(self.log)
        log[2]["payload"].update(clock_permille=400, rate_millionths=400_000)
        self.assert_complains("clock", log=log)

    def test_a_rate_that_is_not_the_tables(self):
        log = copy.deepcopy(self.log)
        log[2]["payload"]["rate_millionths"] = 500_001
        self.assert_complains("clock", log=log)

    def test_a_size_that_is_not_on_the_curve(self):
        log = copy.deepcopy(self.log)
        log[5]["payload"]["block"] = {"first": 0, "size": 4}
        self.assert_complains("size", log=log)

    def test_gpus_that_do_not_exist_or_have_another_job(self):
        log = copy.deepcopy(self.log)
        log[5]["payload"]["block"]["first"] = 4
        self.assert_complains("space", log=log)
        with open(self.folder / "jobs.csv", "a") as jobs:
            jobs.write("b,3500,1000,m,0,8,1,1\n")
        both = self.log[:2] + [accepted(3500, 2, "b"), resized(3500, 2, 1, 0, 1)] + self.log[2:]
        self.assert_complains("space", log=both)

    def test_a_job_that_is_never_done_or_never_came(self):
        self.assert_complains("done", log=self.log[:-1])
        self.assert_complains("log", log=[record(3500, "event_ignored")])

    def test_other_work_than_the_trace_has(self):
        log = copy.deepcopy(self.log)
        log[0]["payload"]["spec"]["iterations"] = 999
        self.assert_complains("log", log=log)

    def test_more_power_than_the_cap(self):
        code, said = self.check("--cap-watts", "217")
        self.assertEqual(code, 1)
        self.assertIn(": cap: ", said)

    def test_power_that_differs_for_a_while(self):
        told = copy.deepcopy(self.told)
        told["trace"][1][1] *= 1 + 1e-8
        self.assert_complains("power", told=told)
        told = copy.deepcopy(self.told)
        told["trace"][1][0] += 1000  # a microsecond later
        self.assert_complains("power", told=told)

    def test_carbon_that_differs_in_all_or_in_an_hour(self):
        for what in ("units", "site_kwh", "peak_watts"):
            told = copy.deepcopy(self.told)
            told[what] *= 1 + 1e-8
            self.assert_complains("carbon", told=told)
        text = (self.folder / "series.csv").read_text()
        (self.folder / "series.csv").write_text(text.replace(",400,", ",400.00001,"))
        self.assert_complains("carbon")

    def test_a_price_of_a_change_that_was_not_paid(self):
        log = copy.deepcopy(self.log)
        log[5]["time"] -= 2 * SECOND
        self.assert_complains("finish", log=log)

    def test_inputs_that_cannot_be_read(self):
        (self.folder / "series.csv").write_text("utc_time,ci_lifecycle\n2021-07-14T00:00Z,100\n")
        code, said = self.check()
        self.assertEqual(code, 2, said)
        self.assertIn("no hour 1", said)


if __name__ == "__main__":
    unittest.main()
