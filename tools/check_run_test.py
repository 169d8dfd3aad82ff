#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The replay checker on a run made by hand, and on copies of it that each break one rule.

The run: 2 nodes of 4 GPUs, 5 jobs; each change of GPUs costs 2 s, and 2 * (log2 n + 1) s more the first
time those very GPUs are used together. The model does 1, 1.5, 2 and 1.9 iterations/s on 1, 2, 4, 8 GPUs.

    a  promised   0 s on GPUs 0-1: ready at 6; 30 s on 0-3: 64 iterations left, ready at 38, done at 70
    b  refused
    c  no promise 10 s on GPU 4: ready at 14, done at 24
    d  promised   80 s on GPUs 0-1, used before: ready at 82, done at 102
    e  promised   30 s on GPU 4, used before: ready at 32; 50 s on 4-5: 2 left, ready at 56, done at 57 1/3
"""
import contextlib
import copy
import gzip
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_run  # noqa: E402

SECOND = 1_000_000_000
TRACE = """job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration,best_effort
a,0,100,m,200,8,2,66,0
b,10,9000,m,20,8,2,6000,0
c,10,10,m,0,8,1,10,1
e,30,20,m,100,8,1,20,0
d,80,30,m,120,8,2,20,0
"""
TABLE = "global_batch_size,1,2,4,8,16\n8,1.0000009,1.5,2,1.9,nan\n"
POINTS = [[1, 1000000], [2, 1500000], [4, 2000000], [8, 1900000]]


def ns(seconds):
    return round(seconds * SECOND)


def record(seconds, kind, reason="as_reported", **payload):
    return {"schema": 1, "seq": 0, "time": ns(seconds), "type": kind,
            "reason": {"code": reason, "detail": 0}, "payload": payload, "build": "0.1.0"}


def accepted(seconds, job, name, iterations, deadline, gpus):
    spec = {"name": name, "curve": {"model": "m", "global_batch": 8}, "iterations": iterations,
            "deadline_kind": "none" if deadline is None else "hard", "deadline": ns(deadline or 0),
            "asked_gpus": gpus, "is_rigid": False}
    return record(seconds, "training_accepted", job=job, spec=spec, pool=0, least_gpu_seconds=0)


def timeline(end, *steps):
    return {"steps": [[ns(start), first, size] for start, first, size in steps], "end": ns(end)}


def resized(seconds, job, generation, first, size, reason="as_promised"):
    return record(seconds, "job_resized", reason, job=job, generation=generation,
                  block={"first": first, "size": size})


def observed(seconds, job, iterations):
    return record(seconds, "job_observed", job=job, left=str(round(iterations * 10**15)), ready_at=ns(seconds),
                  speed_permille=1000)


def header():
    return {"schema": 1, "type": "log_header", "payload": {
        "cluster": {"pools": [{"name": "T4", "nodes": 2, "gpus_per_node": 4, "stride": 4}]},
        "rescale": {"base_s": 2, "per_doubling_s": 2}, "policy": "weir", "slot_s": 0,
        "workload": "trace.csv", "curves": "tables", "speed": {"permille": 1000}}}


A, B, C, E, D = 1, 2, 3, 4, 5


def records():
    """The right run, by name, in order."""
    return {
        "curve": record(0, "curve_adopted", pool=0, key={"model": "m", "global_batch": 8},
                        curve={"points": POINTS, "origin": "profiled"}),
        "a comes": accepted(0, A, "a", 100, 200, 2),
        "a promised": record(0, "promise_made", "fits_beside_promises", job=A, deadline=ns(200),
                             timeline=timeline(72.666666667, (0, 0, 2))),
        "a starts": resized(0, A, 1, 0, 2),
        "a ready": observed(6, A, 100),
        "b comes": accepted(10, B, "b", 9000, 20, 2),
        "b refused": record(10, "promise_refused", "too_slow_alone", job=B, earliest=None),
        "c comes": accepted(10, C, "c", 10, None, 1),
        "c unpromised": record(10, "job_unpromised", "no_promise_asked", job=C, expected_start=None,
                               expected_finish=None),
        "c starts": resized(10, C, 1, 4, 1, "left_over"),
        "c ready": observed(14, C, 10),
        "c released": record(24, "job_released", job=C),
        "e comes": accepted(30, E, "e", 20, 100, 1),
        "a revised": record(30, "timeline_revised", "makes_room", job=A, timeline=timeline(70, (30, 0, 4))),
        "e promised": record(30, "promise_made", "fits_after_replan", job=E, deadline=ns(100),
                             timeline=timeline(58.666666667, (30, 4, 1), (50, 4, 2))),
        "a grows": resized(30, A, 2, 0, 4),
        "e starts": resized(30, E, 1, 4, 1),
        "e ready": observed(32, E, 20),
        "a ready again": observed(38, A, 64),
        "e grows": resized(50, E, 2, 4, 2),
        "e ready again": observed(56, E, 2),
        "e released": record(57.333333334, "job_released", job=E),
        "a released": record(70, "job_released", job=A),
        "d comes": accepted(80, D, "d", 30, 120, 2),
        "d promised": record(80, "promise_made", "fits_beside_promises", job=D, deadline=ns(120),
                             timeline=timeline(106, (80, 0, 2))),
        "d starts": resized(80, D, 1, 0, 2),
        "d ready": observed(82, D, 30),
        "d released": record(102, "job_released", job=D),
    }


class CheckRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "tables").mkdir()
        (self.folder / "tables" / "m.csv").write_text(TABLE)
        (self.folder / "trace.csv").write_text(TRACE)
        self.header = header()
        self.records = records()

    def change(self, name, **payload):
        """Replaces members of a record's payload."""
        changed = copy.deepcopy(self.records[name])
        changed["payload"].update(payload)
        self.records[name] = changed

    def log_text(self):
        ordered = sorted(self.records.values(), key=lambda entry: entry["time"])
        for seq, entry in enumerate(ordered, 1):
            entry["seq"] = seq
        return "".join(json.dumps(entry) + "\n" for entry in [self.header, *ordered])

    def run_checker(self, *more, log=None, name="run.jsonl"):
        path = self.folder / name
        path.write_bytes((self.log_text() if log is None else log).encode() if not isinstance(log, bytes) else log)
        words = ["--log", str(path), "--jobs", str(self.folder / "trace.csv"),
                 "--curves", str(self.folder / "tables"), "--timelines", "all", *more]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = check_run.main(words)
        return code, out.getvalue(), err.getvalue()

    def holds(self, *more):
        code, out, err = self.run_checker(*more)
        self.assertEqual((code, err), (0, ""))
        return out

    def breaks(self, rule, words="", *more):
        """Exactly that rule is broken, and the complaint says so."""
        code, _, err = self.run_checker(*more)
        self.assertEqual(code, 1, err)
        lines = [line for line in err.splitlines() if f": {rule}: " in line and words in line]
        self.assertTrue(lines, f"no complaint of rule {rule} with {words!r} in:\n{err}")
        return err

    def unreadable(self, words, *more, **how):
        code, out, err = self.run_checker(*more, **how)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        self.assertIn(words, err)

    # A run that is right.

    def test_right_run(self):
        out = self.holds()
        self.assertIn("met 3, met_without_promise 0, admitted 3, missed_after_admission 0, finished 4, rescales 6",
                      out)
        self.assertEqual(out.count("\n"), 1)

    def test_json_and_gzip(self):
        code, out, _ = self.run_checker("--json", log=gzip.compress(self.log_text().encode()))
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(out)["met"], 3)
        self.assertEqual(json.loads(out)["violations"], 0)

    # Space.

    def test_overlap(self):
        self.change("c starts", block={"first": 1, "size": 1})
        self.breaks("space", "job 1")

    def test_overlap_by_growing(self):
        self.records["e starts"]["payload"]["block"] = {"first": 2, "size": 1}
        self.breaks("space")

    def test_misaligned(self):
        self.change("e grows", block={"first": 5, "size": 2})
        self.breaks("block", "multiple")

    def test_outside_of_the_pool(self):
        self.change("d starts", block={"first": 8, "size": 2})
        self.breaks("block", "outside")

    def test_no_power_of_two(self):
        self.change("d starts", block={"first": 0, "size": 3})
        self.breaks("block", "power of two")

    def test_gpus_that_do_not_exist(self):
        self.header["payload"]["cluster"]["pools"][0].update(gpus_per_node=3)
        self.breaks("block", "do not all exist")

    def test_several_nodes_that_are_not_full(self):
        self.header["payload"]["cluster"]["pools"][0].update(node_gpus=[4, 3])
        self.records["d starts"]["payload"]["block"] = {"first": 0, "size": 8}
        self.breaks("block", "do not all exist")

    def test_wrong_size(self):
        self.change("a grows", block={"first": 0, "size": 8})
        self.breaks("size", "has 8 GPUs, its curve has [1, 2, 4]")

    def test_past_the_knee_is_right_for_edf(self):
        self.header["payload"]["policy"] = "edf"
        self.change("d starts", block={"first": 0, "size": 8})
        _, _, err = self.run_checker()
        self.assertNotIn(": size: ", err)

    def test_lost_node_is_used(self):
        self.records["lost"] = record(85, "pool_node_closed", "node_lost", pool=0, node=0)
        self.breaks("space", "lost nodes")

    # Overhead and progress.

    def test_finish_too_early(self):
        self.records["a released"]["time"] -= 1
        self.breaks("finish", "its work is done at 70000000000 ns")

    def test_finish_too_late(self):
        self.records["e released"]["time"] += 1
        self.breaks("finish", "its work is done at 57333333334 ns")

    def test_overhead_not_paid(self):
        self.records["c released"]["time"] = ns(20)  # without the 4 s
        self.breaks("finish")

    def test_known_gpus_pay_less(self):
        self.records["d released"]["time"] = ns(106)  # the price of new GPUs
        self.breaks("finish")

    def test_new_gpus_pay_more(self):
        self.change("d starts", block={"first": 2, "size": 2})
        self.breaks("finish")

    def test_change_during_payment_starts_a_new_one(self):
        self.records["c moves"] = resized(12, C, 2, 5, 1, "left_over")
        self.records["c ready"] = observed(16, C, 10)
        self.records["c released"]["time"] = ns(26)
        self.holds()
        self.records["c ready"] = observed(14, C, 10)
        self.records["c released"]["time"] = ns(24)
        self.breaks("finish")

    def test_pause_and_return_pays_again(self):
        self.records["c stops"] = resized(16, C, 2, 0, 0, "reclaimed")
        self.records["c returns"] = resized(18, C, 3, 4, 1, "left_over")
        self.records["c ready again"] = observed(20, C, 8)
        self.records["c released"]["time"] = ns(28)
        self.holds()
        self.records["c released"]["time"] = ns(26)
        self.breaks("finish")

    def test_cells_are_rounded_down(self):
        # 1.0000009 iterations/s would be done a moment earlier than 1 iteration/s.
        (self.folder / "tables" / "m.csv").write_text(TABLE.replace("1.0000009", "1.000001"))
        self.breaks("curve")

    def test_released_twice(self):
        self.records["a again"] = record(71, "job_released", job=A)
        self.breaks("finish", "twice")

    def test_resized_after_the_end(self):
        self.records["c again"] = resized(25, C, 2, 6, 1)
        self.breaks("finish", "after its end")

    def test_never_released(self):
        del self.records["c released"]
        self.breaks("finish", "never released")

    def test_observed_progress(self):
        self.change("a ready again", left=str(65 * 10**15))
        self.breaks("ready", "left")

    def test_observed_start(self):
        self.records["e ready"]["time"] += SECOND
        self.records["e ready"]["payload"]["ready_at"] += SECOND
        self.breaks("ready", "makes progress from")

    def test_wrong_price_in_the_header(self):
        self.header["payload"]["rescale"]["base_s"] = 1
        self.breaks("cost")

    def test_resized_to_what_it_has(self):
        self.records["d again"] = resized(90, D, 2, 0, 2)
        self.breaks("change")

    def test_speed(self):
        self.header["payload"]["speed"] = {"permille": 1000, "jobs": {"c": 500}}
        self.breaks("finish", "34000000000")
        self.records["c released"]["time"] = ns(34)
        self.records["e starts"]["payload"]["block"] = {"first": 5, "size": 1}
        _, _, err = self.run_checker()
        self.assertNotIn("job 3", err)

    def test_slots(self):
        self.header["payload"]["slot_s"] = 10
        for name in ("c released", "e released", "d released"):
            self.records[name]["time"] = check_run.ceil_to(self.records[name]["time"], 10 * SECOND)
        self.records["e grows"]["payload"]["block"] = {"first": 6, "size": 2}  # c is heard of at 30 s
        self.records["e promised"]["payload"]["timeline"] = timeline(60, (30, 4, 1), (50, 6, 2))
        self.holds()
        self.records["d released"]["time"] = ns(105)
        self.breaks("finish", "110000000000")

    # Promises.

    def test_missed_deadline(self):
        (self.folder / "trace.csv").write_text(TRACE.replace("d,80,30,m,120", "d,80,30,m,101"))
        self.records["d comes"]["payload"]["spec"]["deadline"] = ns(101)
        self.change("d promised", deadline=ns(101), timeline=timeline(101, (80, 0, 2)))
        self.breaks("deadline", "promised by 101000000000 ns")

    def test_misses_of_elasticflow_are_counted(self):
        self.header["payload"]["policy"] = "elasticflow"
        (self.folder / "trace.csv").write_text(TRACE.replace("d,80,30,m,120", "d,80,30,m,101"))
        self.records["d comes"]["payload"]["spec"]["deadline"] = ns(101)
        self.change("d promised", deadline=ns(101), timeline=timeline(0))
        self.assertIn("met 2, met_without_promise 0, admitted 3, missed_after_admission 1", self.holds())

    def test_promised_and_never_finished(self):
        del self.records["d released"], self.records["d ready"], self.records["d starts"]
        self.breaks("deadline", "never finished")

    def test_promise_of_another_deadline(self):
        self.change("d promised", deadline=ns(130))
        self.breaks("deadline", "the trace has 120000000000")

    def test_promise_without_a_timeline(self):
        self.change("d promised", timeline=timeline(0))
        self.breaks("timeline", "without a timeline")

    def test_promise_to_unknown_job(self):
        self.records["x"] = record(90, "promise_made", job=9, deadline=ns(120), timeline=timeline(110, (90, 4, 1)))
        self.breaks("log", "never accepted")

    def test_risk_needs_a_cause(self):
        self.records["risk"] = record(90, "promise_at_risk", "behind_plan", job=D, expected_finish=ns(130))
        self.breaks("deadline", "at risk")

    def slow_d(self):
        """d runs at half speed: done at 122 s, 2 s late; its user is told at 90 s."""
        self.header["payload"]["speed"] = {"permille": 1000, "jobs": {"d": 500}}
        self.records["d released"]["time"] = ns(122)
        self.records["late plan"] = record(90, "timeline_revised", "behind_plan", job=D,
                                           timeline=timeline(125, (90, 0, 2)))
        self.records["risk"] = record(90, "promise_at_risk", "behind_plan", job=D, expected_finish=ns(125))

    def test_slow_job_may_be_late_if_its_user_was_told(self):
        self.slow_d()
        self.assertIn("missed_after_admission 1", self.holds())

    def test_nobody_was_told_of_a_late_plan(self):
        self.slow_d()
        del self.records["risk"]
        self.breaks("timeline", "after the deadline")
        self.breaks("deadline", "promised by 120000000000 ns")

    def test_slow_job_is_late_in_silence(self):
        self.slow_d()
        del self.records["risk"], self.records["late plan"]
        self.breaks("deadline", "promised by 120000000000 ns")

    def test_told_only_after_the_deadline(self):
        self.slow_d()
        del self.records["late plan"]
        self.records["risk"]["time"] = ns(121)
        self.breaks("deadline", "promised by 120000000000 ns")

    def test_promise_is_left_without_a_timeline(self):
        self.records["gone"] = record(90, "timeline_revised", "makes_room", job=D, timeline=timeline(90))
        self.breaks("timeline", "without a timeline")

    # Answers.

    def test_no_answer(self):
        del self.records["b refused"]
        self.breaks("answer", "no answer")

    def test_two_answers(self):
        self.records["again"] = record(11, "job_unpromised", job=B)
        self.breaks("answer", "after promise_refused")

    def test_refused_job_runs(self):
        self.records["b starts"] = resized(10, B, 1, 6, 1)
        self.breaks("answer", "the answer was promise_refused")

    def test_job_missing_from_the_log(self):
        del self.records["b comes"], self.records["b refused"]
        self.breaks("answer", "not in the log")

    def test_job_accepted_twice(self):
        self.records["again"] = accepted(10, 7, "b", 9000, 20, 2)
        self.records["refused again"] = record(10, "promise_refused", job=7, earliest=None)
        self.breaks("answer", "under another id")

    def test_provisional_plan(self):
        self.records["d promised"]["type"] = "planned_provisionally"
        self.records["d promised after all"] = record(90, "promise_made", job=D, deadline=ns(120),
                                                      timeline=timeline(106, (80, 0, 2)))
        self.holds()
        self.records["d promised after all"] = record(90, "promise_refused", "gives_way", job=D, earliest=None)
        self.breaks("answer", "still has 2 GPUs")

    # The trace and the tables.

    def test_other_work_than_in_the_trace(self):
        self.records["a comes"]["payload"]["spec"]["iterations"] = 99
        self.breaks("trace", "the trace has 100")

    def test_accepted_at_another_time(self):
        self.records["b comes"]["time"] = self.records["b refused"]["time"] = ns(9)
        self.breaks("trace", "time of arrival")

    def test_job_not_in_the_trace(self):
        self.records["b comes"]["payload"]["spec"]["name"] = "x"
        self.breaks("trace", "does not have")

    def test_other_curve_than_in_the_table(self):
        self.records["curve"]["payload"]["curve"]["points"] = [[1, 1000001], *POINTS[1:]]
        self.breaks("curve")

    # Timelines.

    def test_steps_descend(self):
        self.change("e promised", timeline=timeline(58.666666667, (30, 4, 1), (30, 4, 2)))
        self.breaks("timeline", "follows one at")

    def test_timeline_ends_after_the_deadline(self):
        self.change("d promised", timeline=timeline(121, (80, 0, 2)))
        self.breaks("timeline", "after the deadline")

    def test_timelines_overlap(self):
        self.change("e promised", timeline=timeline(58.666666667, (30, 4, 1), (50, 2, 2)))
        err = self.breaks("timeline", "another timeline")
        self.assertIn("from 50000000000 ns", err)

    def test_timeline_blocks_are_blocks(self):
        self.change("e promised", timeline=timeline(58.666666667, (30, 4, 1), (50, 5, 2)))
        self.breaks("block", "in its timeline")

    def test_timeline_of_an_unpromised_job(self):
        self.records["x"] = record(12, "timeline_revised", job=C, timeline=timeline(60, (12, 4, 1)))
        self.breaks("timeline", "without a promise")

    def test_block_of_the_timeline_is_not_given(self):
        del self.records["e grows"], self.records["e ready again"]
        self.records["e released"]["time"] = ns(52)
        self.breaks("kept", "its timeline says 2 from 4")

    def test_step_of_the_timeline_comes_late(self):
        self.records["e grows"] = resized(51, E, 2, 4, 2)
        self.records["e ready again"] = observed(57, E, 1)
        self.records["e released"]["time"] = ns(57.666666667)
        self.breaks("kept", "50.000000000 job 4")

    def test_more_than_the_timeline_says_is_kept(self):
        self.change("a revised", timeline=timeline(90, (30, 0, 2)))
        self.holds()

    def test_plan_is_too_short(self):
        self.change("d promised", timeline=timeline(101, (80, 0, 2)))
        self.breaks("plan", "on its way")

    def test_growth_that_cannot_be_afforded(self):
        self.change("a revised", timeline=timeline(72.666666667, (30, 0, 2)))
        self.breaks("plan", "sent back")

    # The log.

    def test_time_goes_back(self):
        lines = self.log_text().splitlines(keepends=True)
        lines[4], lines[5] = lines[5], lines[4]
        text = "".join([lines[0]] + [json.dumps({**json.loads(line), "seq": i}) + "\n"
                                     for i, line in enumerate(lines[1:], 1)])
        code, _, err = self.run_checker(log=text)
        self.assertEqual(code, 1)
        self.assertIn(": log: ", err)

    def test_generation_is_left_out(self):
        self.change("a grows", generation=3)
        self.breaks("log", "generation 3 follows 1")

    def test_at_most_twenty_complaints(self):
        for i in range(30):
            self.records[f"x{i}"] = record(12, "job_released", job=100 + i)
        _, _, err = self.run_checker()
        self.assertEqual(err.count("\n"), 21)
        self.assertIn("and 10 more", err)

    # Counts.

    def expect(self, **changed):
        mean = (70 + 14 + 27.333333334 + 22) / 4
        entry = {"policy": "weir", "jobs": 5, "met": 3, "met_without_promise": 0, "admitted": 3,
                 "missed_after_admission": 0, "finished": 4, "rescales": 6, "mean_jct_s": round(mean, 4), **changed}
        path = self.folder / "run.json"
        path.write_text(json.dumps({"runs": [{"policy": "fifo", "met": 9}, entry]}))
        return "--expect", str(path)

    def test_counts_of_the_simulator(self):
        self.holds(*self.expect())
        self.holds(*self.expect(admitted=None))
        for key, value in {"met": 2, "admitted": 4, "rescales": 7, "mean_jct_s": 33.4, "jobs": 4}.items():
            self.breaks("expect", key, *self.expect(**{key: value}))

    def test_no_such_policy_in_the_counts(self):
        self.unreadable("0 runs of policy weir", *self.expect(policy="edf"))

    # Inputs that cannot be read.

    def test_cut_log(self):
        self.unreadable("cut off after seq 27", log=self.log_text()[:-30])

    def test_lost_line(self):
        lines = self.log_text().splitlines(keepends=True)
        self.unreadable("seq 6 follows 4", log="".join(lines[:5] + lines[6:]))

    def test_cut_gzip(self):
        self.unreadable("run.jsonl", log=gzip.compress(self.log_text().encode())[:-20])

    def test_not_a_log(self):
        self.unreadable("schema 1", log='{"a":1}\n')
        self.unreadable("log_header", log=json.dumps(record(0, "event_ignored")) + "\n")
        self.unreadable("empty", log="")

    def test_unknown_record(self):
        self.records["x"] = record(12, "job_placed", job=1, placements=[])
        self.unreadable("job_placed")

    def test_payload_without_a_member(self):
        del self.records["a starts"]["payload"]["block"]
        self.unreadable("block")

    def test_bad_inputs(self):
        (self.folder / "trace.csv").write_text(TRACE.replace("num_iteration", "work"))
        self.unreadable("no column num_iteration")
        (self.folder / "trace.csv").unlink()
        self.unreadable("trace.csv")
        (self.folder / "tables" / "m.csv").write_text("1,2\n")
        self.unreadable("m.csv")


if __name__ == "__main__":
    unittest.main()
