#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the collector. Those of the calls themselves need PyTorch and are skipped without it."""
import collections
import contextlib
import csv
import glob
import gzip
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest
import warnings
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import algorithms
import collect
import gradients
import kernels
import models
import needs
import operators
import overlap
import overlap_step
import pack
import profiled
import shapes
import table
import timing
import trace_model

HAS_TORCH = importlib.util.find_spec("torch") is not None


def can_trace():
    """PyTorch is there, and new enough for fake tensors."""
    if not HAS_TORCH:
        return False
    import torch
    return not needs.too_old(torch)


FEW = {"gemm": 60, "bmm": 20, "conv": 60, "attention": 40, "vec": 120, "image": 30}


def gemm(m=64, n=128, k=256, dtype="bf16", op="mm", layout="nn"):
    return shapes.make("gemm", op, dtype, layout=layout, B=1, M=m, N=n, K=k)


def conv(**changed):
    shape = dict(B=2, Cin=16, Cout=32, ksize=3, insize=14, stride=1, pad=1) | changed
    return shapes.make("conv", "conv", "bf16", **{"pass": "fwd"}, layout="nhwc", **shape)


class ShapesTest(unittest.TestCase):
    def test_the_same_cases_every_time(self):
        self.assertEqual([case.key() for case in shapes.all_cases(FEW)], [case.key() for case in shapes.all_cases(FEW)])

    def test_more_cases_contain_the_fewer(self):
        more = {name: count + 10 for name, count in FEW.items()}
        self.assertLessEqual({case.key() for case in shapes.all_cases(FEW)}, {case.key() for case in shapes.all_cases(more)})

    def test_no_case_twice(self):
        keys = [case.key() for case in shapes.all_cases(FEW)]
        self.assertEqual(len(keys), len(set(keys)))

    def test_another_seed_draws_other_cases(self):
        drawn, again = ({case.key() for case in shapes.all_cases(FEW, seed)} for seed in (shapes.SEED, 15))
        self.assertEqual(len(drawn), len(again))
        self.assertLess(len(drawn & again), len(drawn) / 2)

    def test_all_counts_are_met(self):
        families = [case.family for case in shapes.all_cases(FEW)]
        self.assertEqual(families.count("gemm"), FEW["gemm"] + FEW["bmm"])
        for family in ("conv", "attention", "vec", "image"):
            self.assertEqual(families.count(family), FEW[family])

    def test_split_follows_the_shape_alone(self):
        splits = {gemm(dtype=dtype, op=op, layout=layout).split() for dtype in ("bf16", "tf32", "fp32")
                  for op, layout in (("mm", "nn"), ("mm", "tn"), ("linear", "nt"))}
        self.assertEqual(len(splits), 1)

    def test_about_a_fifth_is_held_out(self):
        held_out = sum(gemm(m, n).split() == "test" for m in range(1, 41) for n in range(1, 41)) / 1600
        self.assertAlmostEqual(held_out, shapes.HELD_OUT_OF_TEN / 10, delta=0.04)

    def test_work_of_a_product(self):
        self.assertEqual(shapes.flops(gemm(2, 3, 5)), 2 * 2 * 3 * 5)
        self.assertEqual(shapes.bytes_moved(gemm(2, 3, 5)), 2 * (6 + 15 + 10))

    def test_work_of_a_convolution(self):
        self.assertEqual(shapes.conv_out(224, 7, 2, 3), 112)
        self.assertEqual(shapes.flops(conv()), 2 * 2 * 32 * 14 * 14 * 16 * 9)

    def test_a_causal_mask_halves_the_pairs(self):
        def pairs(sq, sk, causal):
            return shapes.attention_pairs(shapes.make("attention", "sdpa", "bf16", Sq=sq, Sk=sk, causal=causal))
        self.assertEqual(pairs(4, 4, 0), 16)
        self.assertEqual(pairs(4, 4, 1), 10)
        self.assertEqual(pairs(8192, 8192, 1), 8192 * 8193 // 2)

    def test_every_case_has_a_column_for_each_parameter(self):
        for case in shapes.all_cases(FEW) + shapes.dry_cases():
            self.assertLessEqual({name for name, _ in case.params}, set(table.columns(case.family)))

    def test_public_columns_come_first(self):
        for family in table.SHAPE:
            self.assertEqual(table.columns(family)[:len(table.PUBLIC)], table.PUBLIC)
        self.assertEqual(table.columns("gemm")[len(table.PUBLIC):][:5], ["n_kernels", "B", "M", "N", "K"])

    def test_sustained_and_overlap_cases_have_keys_of_their_own(self):
        for cases in (shapes.sustained_cases(), [case for _, _, case in overlap.compute_cases()], shapes.algorithm_cases(40)):
            self.assertEqual(len({case.key() for case in cases}), len(cases))


class TableTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.path = os.path.join(self._folder.name, "rows.csv")

    def read(self, path=None):
        with open(path or self.path, newline="") as file:
            return list(csv.DictReader(file))

    def test_rows_are_appended(self):
        for value in (1, 2):
            out = table.AppendedTable(self.path, ["a", "b"])
            out.add({"a": value, "b": 0.123456789})
            out.close()
        self.assertEqual(self.read(), [{"a": "1", "b": "0.123457"}, {"a": "2", "b": "0.123457"}])

    def test_a_row_that_was_cut_off_is_removed(self):
        with open(self.path, "w") as file:
            file.write("a,b\n1,2\n3,")
        out = table.AppendedTable(self.path, ["a", "b"])
        self.assertEqual(out.rows_before, [{"a": "1", "b": "2"}])
        out.add({"a": 5})
        out.close()
        self.assertEqual(self.read(), [{"a": "1", "b": "2"}, {"a": "5", "b": ""}])

    def test_a_table_with_other_columns_is_refused(self):
        with open(self.path, "w") as file:
            file.write("a,c\n")
        with self.assertRaisesRegex(ValueError, "rows.csv:1: columns are \"a,c\", expected \"a,b\""):
            table.AppendedTable(self.path, ["a", "b"])

    def test_kernel_names_keep_their_numbers(self):
        names = table.KernelNames(self.path)
        self.assertEqual([names.id_of(name) for name in ("x", "y", "x")], [0, 1, 0])
        self.assertEqual([table.KernelNames(self.path).id_of(name) for name in ("y", "z")], [1, 2])

    def test_what_is_done_is_known_to_the_next_run(self):
        first = table.Tables(self._folder.name)
        first.begin("key one", 0)
        first.add("vec", ["a"], {"a": 1}, "key one", 0)
        first.skip("key two", 1, "not for this shape")
        self.assertEqual(table.Tables(self._folder.name).done, {("key one", 0), ("key two", 1)})

    def test_a_case_that_broke_the_run_is_not_tried_again(self):
        table.Tables(self._folder.name).begin("gemm/mm/bf16/M=1", 0)
        self.assertEqual(table.Tables(self._folder.name).done, {("gemm/mm/bf16/M=1", 0)})
        self.assertIn("broke off", self.read(os.path.join(self._folder.name, "done.csv"))[0]["error"])

    def test_a_run_that_broke_off_between_two_cases_hides_none(self):
        with open(os.path.join(self._folder.name, "attempt.txt"), "w"):
            pass  # its name was not written yet
        self.assertEqual(table.Tables(self._folder.name).done, set())

    def test_rows_that_belong_together_are_all_there_or_none(self):
        class Cut(Exception):
            pass

        def cut_off(rows):
            with open(os.path.join(self._folder.name, "second.csv"), "a") as file:
                file.write("3\n")  # of 3 and 4
            raise Cut

        def opened():
            tables = table.Tables(self._folder.name)
            return tables, *(table.AppendedTable(tables.path(name), ["a"]) for name in ("first", "second"))

        tables, first, second = opened()
        tables.add_together((first, [{"a": 1}]), (second, [{"a": 1}, {"a": 2}]), done=("one", 0, ""))
        tables.begin("two", 0)
        second.add_all = cut_off
        with self.assertRaises(Cut):
            tables.add_together((first, [{"a": 2}]), (second, [{"a": 3}, {"a": 4}]), done=("two", 0, ""))
        tables, first, second = opened()
        self.assertEqual((first.rows_before, second.rows_before), ([{"a": "1"}], [{"a": "1"}, {"a": "2"}]))
        self.assertEqual(tables.done, {("one", 0)})  # and "two" is tried again
        tables.add_together((first, [{"a": 2}]), (second, [{"a": 3}, {"a": 4}]), done=("two", 0, ""))
        tables, first, second = opened()
        self.assertEqual((len(first.rows_before), len(second.rows_before)), (2, 4))
        self.assertEqual(tables.done, {("one", 0), ("two", 0)})

    def test_a_case_that_is_done_did_not_break_the_run(self):
        tables = table.Tables(self._folder.name)
        tables.begin("one", 0)
        with mock.patch.object(tables, "_forget_attempt", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            tables.add_together(done=("one", 0, "3 algorithms"))
        self.assertEqual(table.Tables(self._folder.name).done, {("one", 0)})
        self.assertEqual(os.listdir(self._folder.name).count("attempt.txt"), 0)
        self.assertEqual([row["error"] for row in self.read(os.path.join(self._folder.name, "done.csv"))], ["3 algorithms"])


class PackTest(unittest.TestCase):
    def test_rows_in_any_order_give_the_same_bytes(self):
        key = pack.shape_order("vec")
        rows = [dict.fromkeys(table.columns("vec"), "") | {"op": op, "dtype": "bf16", "B": b, "H": "64", "repeat": "0"}
                for op, b in (("mul", "10"), ("add", "9"), ("add", "10"))]
        packed = {pack.packed_bytes(table.columns("vec"), sorted(some, key=key)) for some in (rows, rows[::-1])}
        self.assertEqual(len(packed), 1)
        text = gzip.decompress(packed.pop()).decode()
        self.assertEqual([(row["op"], row["B"]) for row in csv.DictReader(io.StringIO(text))], [("add", "9"), ("add", "10"), ("mul", "10")])

    def pack(self, prefix):
        """What is told on standard error; None where everything was packed."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                pack.pack(self.folder, prefix, say=lambda _: None)
            except SystemExit as stopped:
                self.assertEqual(stopped.code, 2)
                return said.getvalue()
        return None

    def test_a_table_that_is_too_large_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as self.folder:
            for name in ("kernel_names", "sustained", "iterations"):
                with open(os.path.join(self.folder, name + ".csv"), "w") as file:
                    file.write("name\n" + "a\n" * (1 if name == "kernel_names" else 100))
            with open(os.path.join(self.folder, "about.json"), "w") as file:
                file.write("{}\n")
            before = sorted(os.listdir(self.folder))
            prefix = os.path.join(self.folder, "x")
            with mock.patch.object(pack, "MOST_BYTES", len(pack.packed_bytes(["name"], [{"name": "a"}]))):
                said = self.pack(prefix)
            self.assertRegex(said, r"^pack: \S*sustained.csv: its 100 rows are \d+ bytes when packed, expected at most \d+; "
                                   r"\S*iterations.csv: its 100 rows .*\n$")
            self.assertEqual(sorted(os.listdir(self.folder)), before)
            self.assertIsNone(self.pack(prefix))
            self.assertEqual(sorted(set(os.listdir(self.folder)) - set(before)),
                             ["x_about.json", "x_iterations.csv.gz", "x_kernel_names.csv.gz", "x_sustained.csv.gz"])

    def test_where_nothing_can_be_written_one_line_says_so(self):
        with tempfile.TemporaryDirectory() as self.folder:
            with open(os.path.join(self.folder, "about.json"), "w") as file:
                file.write("{}\n")
            self.assertRegex(self.pack(os.path.join(self.folder, "none", "x")), r"^pack: \S+ cannot be written: No such file or directory\n$")


class KernelsTest(unittest.TestCase):
    LAUNCHES = [kernels.Launch("(memset)", (1, 1, 1), (1, 1, 1)),
                kernels.Launch("nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_TNN", (2, 66, 1), (384, 1, 1), 213188, 168, 1, 2),
                kernels.Launch("cublasLt::splitKreduce_kernel<32>", (4096, 1, 1), (512, 1, 1), 0, 32, 4, 1)]

    def test_launches_survive_the_cell(self):
        names = [launch.name for launch in self.LAUNCHES]
        cell = kernels.packed(self.LAUNCHES, names.index)
        self.assertEqual(kernels.unpacked(cell, names.__getitem__), self.LAUNCHES)
        self.assertEqual(kernels.unpacked("", names.__getitem__), [])

    def test_the_main_launch_does_the_matrix_work(self):
        self.assertEqual(kernels.main_launch(self.LAUNCHES), self.LAUNCHES[1])
        self.assertEqual(kernels.main_launch(self.LAUNCHES[:1]), self.LAUNCHES[0])
        self.assertIsNone(kernels.main_launch([]))

    def test_names_lose_their_arguments_only(self):
        self.assertEqual(kernels.without_arguments("void at::native::(anonymous namespace)::f<float, (int)2>(float*, int)"),
                         "at::native::(anonymous namespace)::f<float, (int)2>")
        self.assertEqual(kernels.without_arguments("void f<g(int)::{lambda(float)#1}>(int)"), "f<g(int)::{lambda(float)#1}>")
        self.assertEqual(kernels.without_arguments("nvjet_tst"), "nvjet_tst")


class TimingTest(unittest.TestCase):
    def test_short_calls_share_a_graph(self):
        self.assertEqual(timing.calls_per_graph(1e-6), timing.MOST_CALLS)
        self.assertEqual(timing.calls_per_graph(5e-3), 1)

    def test_short_calls_are_replayed_until_enough_time_is_measured(self):
        for seconds in (1e-6, 1e-5, 1e-4, 1e-3):
            calls = timing.calls_per_graph(seconds)
            replays = timing.replays_for(seconds, calls)
            self.assertGreaterEqual(replays, timing.LEAST_REPLAYS)
            self.assertTrue(replays == timing.MOST_REPLAYS or replays * calls * seconds >= timing.LEAST_SECONDS)
        self.assertEqual(timing.replays_for(1.0, 1), timing.FEWEST_REPLAYS)

    def test_one_slow_replay_does_not_count(self):
        middle, spread = timing.median_and_spread([1.0] * 19 + [50.0])
        self.assertEqual((middle, spread), (1.0, 0.0))


class ProfiledTest(unittest.TestCase):
    TRACE = {"traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": "forward", "ts": 0, "dur": 10},
        {"ph": "X", "cat": "user_annotation", "name": "backward", "ts": 10, "dur": 10},
        {"ph": "X", "cat": "user_annotation", "name": "bucket 0", "ts": 15, "dur": 1},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2, "args": {"External id": 7, "Input Dims": [[2, 3], [3, 4]]}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 2, "dur": 1, "args": {"correlation": 1}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 12, "dur": 1, "args": {"correlation": 2}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemsetAsync", "ts": 17, "dur": 1, "args": {"correlation": 3}},
        {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "ts": 60, "dur": 1, "args": {"correlation": 3}},
        {"ph": "X", "cat": "kernel", "name": "void k<1>(int)", "ts": 30, "dur": 5,
         "args": {"correlation": 1, "External id": 7, "grid": [2, 1, 1], "block": [64, 1, 1], "registers per thread": 40, "shared memory": 16}},
        {"ph": "X", "cat": "kernel", "name": "other", "ts": 40, "dur": 6, "args": {"correlation": 2, "grid": [1, 1, 1], "block": [1, 1, 1]}},
    ]}

    def test_kernels_come_with_their_operator_phase_and_mark(self):
        found = profiled.kernels_of(self.TRACE, ("forward", "backward"), "bucket ")
        self.assertEqual([(one.name, one.phase, one.mark, one.op) for one in found],
                         [("k<1>", "forward", 0, "aten::mm"), ("other", "backward", 0, ""), ("(memset)", "backward", 1, "")])
        self.assertEqual((found[0].grid, found[0].regs, found[0].smem, found[0].duration_us), ((2, 1, 1), 40, 16, 5))
        self.assertEqual(found[0].details, '{"dims":[[2,3],[3,4]]}')

    def test_long_details_are_cut_and_stay_json(self):
        text = profiled.op_details({"args": {"Input Dims": [[1000]] * 1000, "Input type": ["TensorList"] * 9}})
        self.assertEqual(text, '{"types":[' + ",".join(['"TensorList"'] * 8) + '],"cut":true}')


class OverlapTest(unittest.TestCase):
    class Gradient:
        def __init__(self, count):
            self._count = count

        def numel(self):
            return self._count

        def element_size(self):
            return 4

    def test_buckets_hold_everything_in_order(self):
        gradients = [self.Gradient(count) for count in (10, 20, 100, 1, 2)]
        buckets = overlap.buckets_of(gradients, limit=100)
        self.assertEqual([bucket.nbytes for bucket in buckets], [120, 400, 12])
        self.assertEqual([one for bucket in buckets for one in bucket.parameters], gradients)

    def test_a_ring_sends_nearly_everything_twice(self):
        self.assertEqual(overlap.wire_bytes(800, ranks=8), 1400)
        self.assertEqual(overlap.wire_bytes(800, ranks=2), 800)

    def test_the_rate_counts_what_was_done_beside_the_collective_only(self):
        # There from before the start to after the end.
        self.assertEqual(overlap.rate_beside(1.0, start=0.0, end=2.0, begin=-1.0, over=3.0), 0.5)
        # Over at 3: the rest, 0.75, took as long as alone.
        self.assertEqual(overlap.rate_beside(1.5, start=0.0, end=3.75, begin=-1.0, over=3.0), 0.25)
        # Came at 0.5: 0.5 was done by then, and 0.25 in the second after.
        self.assertEqual(overlap.rate_beside(0.75, start=0.0, end=1.5, begin=0.5, over=3.0), 0.25)
        # It stood still.
        self.assertEqual(overlap.rate_beside(1.0, start=0.0, end=4.01, begin=0.0, over=3.0), 0.0)

    def test_clusters_that_run_at_a_moment(self):
        self.assertEqual(overlap.running_at([(0, 10), (0, 12), (10, 20), (11, 21)], 10), 2)
        self.assertEqual(overlap.running_at([(5, 10)], 4), 0)

    def test_settings_take_turns_and_the_run_in_the_middle_is_told(self):
        class Backward:
            buckets = [overlap.Bucket(nbytes=5)]

            def __init__(self):
                self.seen = []

            def run(self):
                self.seen.append((self.blocks, self.rate))
                turn = self.seen.count(self.seen[-1])
                self.times = [(0, float(turn), 1.0, 2.0)]
                self.was_queued = turn % 2 == 0
                return 10.0 + turn + self.blocks, 9.0

        tables, backward = mock.Mock(), Backward()
        overlap.measure_steps(tables, "steps", "buckets", (2, 4), (50.0,), "m", 1, backward)
        ((to_steps, steps), (to_buckets, buckets)), = [call.args for call in tables.add_together.call_args_list]
        self.assertEqual((to_steps, to_buckets), ("steps", "buckets"))
        self.assertEqual(backward.seen[:5], [(0, 0.0), (2, 50.0), (4, 50.0), (0, 0.0), (0, 0.0)])
        self.assertEqual(len(steps), 4)
        # The first turn does not count: 2 to 16, of which 9 is in the middle.
        self.assertEqual([(row["ctas"], row["step_ms"], row["queued"]) for row in steps[1:3]], [(2, 21.0, 8), (4, 23.0, 8)])
        self.assertEqual([row["ready_ms"] for row in buckets[1:3]], [9.0, 9.0])


class ResumeTest(unittest.TestCase):
    """Commands that are stopped in the middle of something, and run again."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name

    def rows(self, name):
        with open(os.path.join(self.folder, name + ".csv"), newline="") as file:
            return list(csv.DictReader(file))

    def measure_curves(self, stop_at=None):
        """Of two kernels at six settings each; stopped at one of the twelve."""
        settings = iter(range(100))

        def beside(*_):
            if next(settings) == stop_at:
                raise KeyboardInterrupt
            return 0.5, 20.0, 3

        class Timer:
            stream = pools = None
            time = staticmethod(lambda make_call: timing.Timing(1e-4, 0.0, 1, 1, [kernels.Launch("k", (1, 1, 1), (32, 1, 1))]))
            capture = staticmethod(lambda calls: None)
            replay = staticmethod(lambda graph, count, flush: ([6e-4] * count, None, None))

        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(stream=lambda stream: contextlib.nullcontext()))
        tables = table.Tables(self.folder)
        out = table.AppendedTable(tables.path("overlap_curves"), overlap.CURVES)
        with mock.patch.object(overlap, "beside", beside), mock.patch.object(overlap.ops, "call_maker", lambda *_: lambda: None):
            overlap.measure_curves(None, torch, Timer, tables, out, (1, 2, 4), (25.0, 50.0), ("add", "cast"))

    def test_a_kernel_that_was_stopped_at_is_measured_again_at_all_settings(self):
        for stop_at in (2, 10):  # in the first kernel, then in the second
            with self.assertRaises(KeyboardInterrupt):
                self.measure_curves(stop_at)
        self.measure_curves()
        self.measure_curves(stop_at=0)  # nothing is left
        wanted = [(name, str(ctas), rate) for name in ("add", "cast") for ctas in (1, 2, 4) for rate in ("25", "50")]
        self.assertEqual([(row["kernel"], row["ctas"], row["target_gbps"]) for row in self.rows("overlap_curves")], wanted)

    def time_algorithms(self, cases, stop_at=None):
        """Of three algorithms each; stopped while one of them is written."""
        class Stops:
            def __str__(self):
                raise KeyboardInterrupt

        def rows_of(case, *_):
            return [{"B": case["B"], "algorithm": Stops() if (case["B"], name) == stop_at else name} for name in ("gemm", "fft", "torch")]

        with contextlib.ExitStack() as fakes:
            for owner, name, fake in ((algorithms, "Cudnn", mock.Mock()), (algorithms, "rows_of", rows_of),
                                      (timing, "CudaTimer", mock.Mock()), (algorithms.gpu_state, "open_state", mock.Mock()),
                                      (shapes, "algorithm_cases", lambda: cases)):
                fakes.enter_context(mock.patch.object(owner, name, fake))
            algorithms.measure(self.folder, 60, mock.Mock(), say=lambda _: None)

    def test_a_convolution_has_all_its_algorithms_or_none(self):
        cases = [conv(B=b) for b in (2, 4, 8)]
        with self.assertRaises(KeyboardInterrupt):
            self.time_algorithms(cases, stop_at=(4, "torch"))
        self.time_algorithms(cases)
        self.time_algorithms(cases)
        done = {row["key"] for row in self.rows("done") if row["error"] == "3 algorithms"}
        wanted = [(str(case["B"]), name) for case in cases if "algorithms " + case.key() in done for name in ("gemm", "fft", "torch")]
        self.assertEqual([(row["B"], row["algorithm"]) for row in self.rows("conv_algorithms")], wanted)
        self.assertEqual({row["B"] for row in self.rows("conv_algorithms")}, {"2", "4", "8"})

    def test_a_network_has_all_its_kernels_or_none(self):
        class Stops:
            def __str__(self):
                raise KeyboardInterrupt

        def kernel(op, regs=32):
            return profiled.ProfiledKernel("k", (1, 1, 1), (32, 1, 1), 0, regs, 1.0, 2.0, "backward", 0, op, "{}")

        def list_them(kernels):
            tables, training, found = table.Tables(self.folder), mock.Mock(), mock.Mock(return_value=kernels)
            with mock.patch.object(profiled, "profile", found), mock.patch.object(trace_model, "profile_loaded", found), \
                    mock.patch.object(trace_model, "warm_up", mock.Mock()):
                overlap.list_kernels(None, tables, table.AppendedTable(tables.path("overlap_kernels"), overlap.KERNELS), "m", 1, training)
                out = table.AppendedTable(tables.path("iteration_kernels"), trace_model.KERNELS)
                trace_model.list_kernels("m", 1, training, None, tables, out, trace_model.OpNumbers(tables.path("iteration_ops")))

        with self.assertRaises(KeyboardInterrupt):
            list_them([kernel("aten::mm"), kernel("aten::add", Stops())])
        self.assertEqual(self.rows("overlap_kernels"), [])
        list_them([kernel("aten::mm"), kernel("aten::add")])
        self.assertEqual([row["op"] for row in self.rows("overlap_kernels")], ["aten::mm", "aten::add"])
        self.assertEqual([row["op_id"] for row in self.rows("iteration_kernels")], ["0", "1"])


class CommandTest(unittest.TestCase):
    def refused(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as stopped:
            collect.parse(["--out", "x", *arguments])
        self.assertEqual(stopped.exception.code, 2)
        return said.getvalue()

    def test_defaults(self):
        self.assertEqual(collect.parse(["--out", "x"]), collect.Request("x"))

    def test_mistakes_are_refused(self):
        self.assertIn("--families is \"gem\"", self.refused("--families", "gem"))
        self.assertIn("--seconds is -1", self.refused("--seconds", "-1"))
        self.assertIn("--dry", self.refused("--device", "cpu"))

    def test_help_lists_the_families_that_may_be_asked_for(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), self.assertRaises(SystemExit):
            collect.parse(["--help"])
        listed = re.search(r"some of ([\w,]+), with commas", " ".join(said.getvalue().split())).group(1)
        self.assertEqual(collect.parse(["--out", "x", "--families", listed]).families, tuple(listed.split(",")))
        self.assertIn(f"expected some of {listed}", self.refused("--families", "bmm"))

    def test_one_case_of_twenty_is_measured_again(self):
        cases = shapes.all_cases(FEW)
        attempts = collect.attempts(cases)
        again = [case for case, repeat in attempts if repeat == 1]
        self.assertEqual(attempts[:len(cases)], [(case, 0) for case in cases])
        self.assertAlmostEqual(len(again) / len(cases), 1 / collect.REPEAT_ONE_IN, delta=0.04)


class MissingTest(unittest.TestCase):
    """Commands in a process of their own, where a module named torch stands before PyTorch, if that is installed."""
    FOLDER = os.path.dirname(os.path.abspath(__file__))
    MEASUREMENTS = os.path.join(FOLDER, "..", "..", "docs", "measurements")
    HIDDEN = "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
    BROKEN = "raise ImportError('libcublas.so.13: cannot open shared object file\\nand more')\n"
    OLD = "__version__ = '1.13.1+cpu'\n"
    PLAIN = "__version__ = '2.11.0'\nclass cuda:\n    def is_available():\n        return {}\n"
    GPU = PLAIN.format(True) + """
    class CUDAGraph:
        def raw_cuda_graph(self):
            pass
    class get_device_properties:
        name, major, minor, shared_memory_per_block_optin = {}
        def __init__(self, device):
            pass
"""
    H200, A100, L4 = map(GPU.format, (("NVIDIA H200", 9, 0, 232448), ("NVIDIA A100-SXM4-80GB", 8, 0, 166912), ("NVIDIA L4", 8, 9, 101376)))
    NEED_GPU = (["collect.py", "--out", "x"], ["algorithms.py", "--out", "x"], ["trace_model.py", "--out", "x"], ["overlap.py", "--out", "x"],
                ["overlap_landing.py", "--out", "x"], ["cpu_probe.py"],
                ["trace_model.py", "--model", "resnet50", "--batch", "8", "--out", "x", "--time"])
    NEED_TORCH = NEED_GPU + (["collect.py", "--out", "x", "--device", "cpu", "--dry"],
                             ["trace_model.py", "--out", "x", "--device", "cpu", "--dry"],
                             ["trace_model.py", "--model", "resnet50", "--batch", "8", "--out", "x"])

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name

    def run_with(self, torch, command, *arguments):
        """What it did, in a folder that holds nothing but this torch.py; no program is in PATH."""
        with open(os.path.join(self.folder, "torch.py"), "w") as file:
            file.write(torch)
        places = {"PYTHONPATH": self.folder, "PATH": self.folder, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([sys.executable, os.path.join(self.FOLDER, command), *arguments], cwd=self.folder, env=os.environ | places,
                              capture_output=True, text=True)

    def check_refused(self, done, line):
        """line: what the only one begins with."""
        self.assertEqual((done.stderr[:len(line)], done.stderr.count("\n")), (line, 1), done.stderr)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.args)
        self.assertEqual(os.listdir(self.folder), ["torch.py"])  # nothing was begun

    def test_without_pytorch_one_line_says_what_to_install(self):
        for command in self.NEED_TORCH:
            self.check_refused(self.run_with(self.HIDDEN, *command),
                               command[0].removesuffix(".py") + ": PyTorch is not installed: python3 -m pip install torch")

    def test_a_pytorch_that_does_not_load_says_why_in_one_line(self):
        self.check_refused(self.run_with(self.BROKEN, "cpu_probe.py"), "cpu_probe: PyTorch does not load: libcublas.so.13: cannot open")

    def test_a_pytorch_that_is_too_old_is_refused_with_its_version(self):
        for command in self.NEED_TORCH:
            self.check_refused(self.run_with(self.OLD, *command),
                               command[0].removesuffix(".py") + ": PyTorch is 1.13.1+cpu, expected 2.5 or newer\n")

    def test_the_least_pytorch_is_no_release_before_it(self):
        def refused(version):
            return needs.too_old(types.SimpleNamespace(__version__=version)) is not None
        least, (major, minor) = "{}.{}".format(*needs.LEAST_TORCH), needs.LEAST_TORCH
        self.assertFalse(any(map(refused, (least, least + ".0", least + ".0a0+git1a", f"{major}.{minor + 6}.1", f"{major + 1}.0.0"))))
        self.assertTrue(all(map(refused, (f"{major}.{minor - 1}.9", "1.13.1", "0.4.1", "unknown"))))
        with self.assertRaisesRegex(operators.Mistake, f"PyTorch is 1.13.1, expected {least} or newer"):
            operators.check_torch(types.SimpleNamespace(__version__="1.13.1"))

    def test_without_a_gpu_one_line_says_so(self):
        for command in self.NEED_GPU:
            self.check_refused(self.run_with(self.PLAIN.format(False), *command), command[0].removesuffix(".py") + ": PyTorch sees no GPU: ")

    def test_a_pytorch_that_keeps_its_graphs_is_refused_where_they_are_read(self):
        for name in ("collect", "algorithms", "overlap", "overlap_landing"):
            self.check_refused(self.run_with(self.H200.replace("raw_cuda_graph", "pool"), name + ".py", "--out", "x"),
                               name + ": PyTorch 2.11.0 has no CUDAGraph.raw_cuda_graph, ")

    def test_without_nvcc_one_line_says_so(self):
        for name in ("overlap", "overlap_landing"):
            self.check_refused(self.run_with(self.H200, name + ".py", "--out", "x"), name + ": nvcc is not in PATH: ")

    def test_a_gpu_with_too_little_shared_memory_is_refused_in_one_line(self):
        for name in ("overlap", "overlap_landing"):
            self.check_refused(self.run_with(self.L4, name + ".py", "--out", "x"),
                               f"{name}: NVIDIA L4 gives a thread block 99 KB of shared memory at most, "
                               "the collective's stand-in needs 160 KB\n")

    def test_a_gpu_without_clusters_measures_the_other_parts(self):
        self.check_refused(self.run_with(self.A100, "overlap.py", "--out", "x"),
                           "overlap: NVIDIA A100-SXM4-80GB (compute capability 8.0) has no clusters of thread blocks, which came with 9.0: "
                           "--parts curves,steps,kernels measures the rest\n")
        self.check_refused(self.run_with(self.A100, "overlap.py", "--out", "x", "--parts", "curves"), "overlap: nvcc is not in PATH: ")

    def test_a_pytorch_that_does_not_tell_shared_memory_leaves_it_to_the_launch(self):
        gpu = types.SimpleNamespace(name="GPU")
        needs.shared_memory("overlap", types.SimpleNamespace(cuda=types.SimpleNamespace(get_device_properties=lambda _: gpu)), 1 << 20)
        said = io.StringIO()
        with contextlib.ExitStack() as fakes:
            for owner, name, fake in ((overlap, "needs", mock.Mock(stop=needs.stop)), (sys, "argv", ["overlap.py", "--out", "x"]),
                                      (overlap, "measure", mock.Mock(side_effect=overlap.LaunchError("copy_reduce_launch", 1)))):
                fakes.enter_context(mock.patch.object(owner, name, fake))
            fakes.enter_context(contextlib.redirect_stderr(said))
            with self.assertRaises(SystemExit) as stopped:
                overlap.main()
        self.assertEqual(stopped.exception.code, 2)
        self.assertEqual(said.getvalue(), "overlap: copy_reduce_launch: CUDA error 1: the collective's stand-in needs 160 KB of shared "
                                          "memory for a thread block\n")
        self.assertEqual(str(overlap.LaunchError("copy_reduce_launch", 700)), "copy_reduce_launch: CUDA error 700")

    def test_the_stand_in_asks_for_as_much_shared_memory_as_is_checked(self):
        with open(os.path.join(self.FOLDER, "copy_reduce.cu")) as file:
            self.assertIn(f"kSharedBytes = {overlap.SHARED_BYTES >> 10} * 1024;", file.read())

    def test_help_needs_nothing(self):
        for name in ("collect", "algorithms", "trace_model", "overlap", "overlap_landing", "overlap_step", "cpu_probe", "pack"):
            done = self.run_with(self.HIDDEN, name + ".py", "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(f"usage: {name}.py", done.stdout)

    def test_a_folder_that_was_not_collected_is_not_packed(self):
        self.check_refused(self.run_with(self.HIDDEN, "pack.py", "nothing", "packed"),
                           "pack: there is no nothing/about.json: run collect.py --out nothing first")

    def test_tables_of_overlap_that_are_not_there_are_named_with_those_that_are(self):
        there = os.path.join(self.MEASUREMENTS, "h200_")
        for tables in (self.MEASUREMENTS, self.MEASUREMENTS + "/", os.path.join(self.MEASUREMENTS, "h100_")):
            self.check_refused(self.run_with(self.HIDDEN, "overlap_step.py", tables, "vgg16"),
                               f"overlap_step: there is no {os.path.join(tables, '') if os.path.isdir(tables) else tables}overlap_buckets.csv; "
                               f"TABLES may be {there}")
        self.check_refused(self.run_with(self.HIDDEN, "overlap_step.py", "none/x_", "vgg16"),
                           "overlap_step: there is no none/x_overlap_buckets.csv")

    def test_tables_of_overlap_that_lack_one_print_nothing(self):
        for path in glob.glob(os.path.join(self.MEASUREMENTS, "h200_*")):
            if "overlap_copy" not in path:
                os.symlink(os.path.abspath(path), os.path.join(self.folder, os.path.basename(path).removeprefix("h200_")))
        done = self.run_with(self.HIDDEN, "overlap_step.py", ".", "vgg16")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", "overlap_step: there is no ./overlap_copy.csv\n"))

    def test_tables_of_overlap_may_be_a_folder(self):
        prefixed = self.run_with(self.HIDDEN, "overlap_step.py", os.path.join(self.MEASUREMENTS, "h200_"), "vgg16")
        self.assertEqual(prefixed.returncode, 0, prefixed.stderr)
        for path in glob.glob(os.path.join(self.MEASUREMENTS, "h200_*")):
            os.symlink(os.path.abspath(path), os.path.join(self.folder, os.path.basename(path).removeprefix("h200_")))
        for folder in (self.folder, self.folder + "/", "."):
            self.assertEqual(self.run_with(self.HIDDEN, "overlap_step.py", folder, "vgg16").stdout, prefixed.stdout)


@unittest.skipUnless(can_trace(), "needs a newer PyTorch")
class DryRunTest(unittest.TestCase):
    def test_every_operator_runs_and_a_second_run_has_nothing_left(self):
        import torch
        with tempfile.TemporaryDirectory() as folder:
            request = collect.Request(folder, device="cpu", dry=True)
            self.assertEqual(collect.collect(request, torch, say=lambda _: None), 0)
            with open(os.path.join(folder, "done.csv"), newline="") as file:
                failed = [row["key"] for row in csv.DictReader(file) if row["error"]]
            # Two of attention's backends exist on a GPU only.
            self.assertEqual([key for key in failed if "backend=efficient" not in key and "backend=cudnn" not in key], [])
            for family in table.SHAPE:
                with open(os.path.join(folder, family + ".csv"), newline="") as file:
                    rows = list(csv.DictReader(file))
                self.assertTrue(rows and all(float(row["latency_ms"]) > 0 for row in rows), family)
            said = []
            collect.collect(request, torch, say=said.append)
            self.assertIn(" 0 rows, 0 skipped, 0 left", said[-1])

    def test_every_network_learns(self):
        import torch
        for name, plan in models.PLANS.items():
            training = trace_model.Training(models.shrunk(plan), torch, "cpu")
            training.use_batch(2)
            before = [parameter.detach().clone() for parameter in training.module.parameters()]
            training.step()
            moved = [not torch.equal(a, b) for a, b in zip(before, training.module.parameters())]
            self.assertTrue(all(moved), name)


def refused(*arguments):
    """What trace_model says behind its usage."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), mock.patch.object(sys, "argv", ["trace_model.py", "--out", "x", *arguments]):
        try:
            trace_model.main()
        except SystemExit as stopped:
            return said.getvalue().splitlines()[-1] if stopped.code == 2 else f"exit status {stopped.code}"
    return "nothing"


class PlansTest(unittest.TestCase):
    def test_networks_have_their_own_batches_unless_others_are_given(self):
        self.assertEqual(trace_model.plans_of(["vgg16"]), {"vgg16": models.PLANS["vgg16"]})
        other = trace_model.plans_of(["vgg16", "resnet50"], batches=[5, 7])
        self.assertEqual([plan.batches for plan in other.values()], [(5, 7), (5, 7)])
        self.assertEqual(other["vgg16"].sizes, models.PLANS["vgg16"].sizes)


    def test_batches_are_numbers_with_commas_each_once(self):
        self.assertEqual([trace_model.batches_of(text) for text in ("8", "48, 5", "7,07,7")], [(8,), (48, 5), (7,)])

    def test_mistakes_of_batches_are_refused(self):
        for text in ("0", "8,0", "x", "8,x", "8,,16", ",", "", "-4", "1.5", "9" * 5000):
            self.assertEqual(refused("--batches=" + text),
                             f"trace_model.py: error: argument --batches: is \"{text}\", expected numbers of samples, 1 or more, "
                             "with commas between")
        self.assertIn("--batch is for --model", refused("--batch", "8"))
        self.assertIn("--batches is for the networks", refused("--batches", "8", "--model", "resnet50", "--batch", "8"))
        for batch in ([], ["--batch", "0"], ["--batch", "-3"], ["--batch", "1000001"]):
            self.assertEqual(refused("--model", "resnet50", *batch),
                             "trace_model.py: error: --model needs --batch, 1 to 1000000: how many samples an iteration has")

    def test_times_of_a_cpu_are_refused(self):
        self.assertIn("would mean nothing", refused("--device", "cpu"))
        self.assertEqual(refused("--model", "resnet50", "--batch", "8", "--time", "--device", "cpu"),
                         "trace_model.py: error: --time needs the GPU: with --device cpu the times would mean nothing")

    def test_a_place_that_cannot_be_written_to_is_refused_before_the_trace(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(needs, "pytorch", mock.Mock(side_effect=AssertionError)):
            file, nowhere = os.path.join(folder, "file"), os.path.join(folder, "none", "ops.json")
            with open(file, "w"):
                pass
            asked = ("--model", "resnet50", "--batch", "8")
            self.assertIn(f"--out is \"{folder}\", with --model expected a file, such as {folder}/ops.json", refused(*asked, "--out", folder))
            self.assertIn("--out is \"\", with --model expected a file", refused(*asked, "--out", ""))
            self.assertIn(f"--out is \"{nowhere}\", but there is no folder {folder}/none", refused(*asked, "--out", nowhere))
            self.assertIn(f"--out is \"{file}\", a file: expected a folder", refused("--out", file))
            self.assertEqual(os.listdir(folder), ["file"])


class OperatorNamesTest(unittest.TestCase):
    def test_an_unknown_name_is_refused_with_those_that_are_known(self):
        with self.assertRaisesRegex(operators.Mistake, "resnet5.*expected package.module:function or one of resnet50"):
            operators.maker("resnet5", None)

    def test_a_module_or_function_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(operators.Mistake, "no_such_module"):
            operators.maker("no_such_module:make", None)
        with self.assertRaisesRegex(operators.Mistake, "json has no make"):
            operators.maker("json:make", None)

    def test_a_users_module_comes_before_one_of_the_collector(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "models.py"), "w") as file:
                file.write("def mine():\n    return 7\n")
            os.chdir(folder)
            try:
                self.assertEqual(operators.named_function("models:mine")(), 7)
                with self.assertRaisesRegex(operators.Mistake, "models has no shrunk"):
                    operators.named_function("models:shrunk")
            finally:
                os.chdir(before)
                sys.path[:] = [place for place in sys.path if place != folder and place != os.path.realpath(folder)]

    def test_arguments_are_whole_numbers(self):
        self.assertEqual([operators.plain(value) for value in (3, True, [1, 2], 0.5, "x", [], [1, "x"])], [3, 1, [1, 2], None, None, None, None])

    def test_the_file_is_json_with_an_operator_in_a_line(self):
        ops = [{"phase": "forward", "op": "aten::mm", "count": index} for index in (1, 2)]
        text = operators.text_of("mine", {"batch": 8, "torch": "2.11", "parameters": 1, "tensors": 1, "ops": ops})
        self.assertEqual(json.loads(text)["ops"], ops)
        self.assertEqual(json.loads(text)["format"], "weir-ops")
        self.assertEqual(len(text.splitlines()), 4)


    def test_a_file_that_cannot_be_written_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ops.json")
            os.mkdir(path)  # after the place was looked at
            with self.assertRaisesRegex(operators.Mistake, "ops.json\", which cannot be written: "):
                operators.write(path, "mine", {"batch": 8, "ops": []})
            self.assertEqual(os.listdir(folder), ["ops.json"])

    def test_what_is_no_function_is_told(self):
        with own_module("make = 3\n"), self.assertRaisesRegex(operators.Mistake, r"^traced_net:make is int; expected make\(\) to return "):
            operators.maker("traced_net:make", None)

    def test_what_fails_as_the_module_is_read_is_told(self):
        with own_module("raise ValueError('my own mistake')\n"), self.assertRaisesRegex(
                operators.Mistake, "--model is \"traced_net:make\": ValueError: my own mistake"):
            operators.named_function("traced_net:make")


@contextlib.contextmanager
def own_module(text):
    """The user's traced_net.py, in the folder that is worked in."""
    before, paths = os.getcwd(), sys.path[:]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "traced_net.py"), "w") as file:
            file.write(text)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            sys.path[:] = paths
            sys.modules.pop("traced_net", None)
            importlib.invalidate_caches()


@unittest.skipUnless(can_trace(), "needs a newer PyTorch")
class GradientsTest(unittest.TestCase):
    """The walk against PyTorch's engine, on a CPU with numbers."""

    def setUp(self):
        import torch
        import torch.utils.checkpoint
        self.torch, self.checkpoint = torch, torch.utils.checkpoint.checkpoint
        torch.manual_seed(1)

    def backward(self, forward, layers, walk):
        """The operators of a backward pass, and the gradients it leaves."""
        torch, notes, mine = self.torch, operators.Notes(self.torch), gradients.Gradients(self.torch)
        for layer in layers:
            layer.zero_grad(set_to_none=True)
        with operators.recorder(torch, notes), mine.in_place() if walk else contextlib.nullcontext():
            loss = forward(*layers)
            notes.is_on = True
            if walk:
                mine.run([loss], [torch.ones_like(loss)])
            else:
                loss.backward()
        counts = collections.Counter()
        for entry in notes.entries():
            # Who adds in place depends on who still looks at a gradient.
            counts[entry["op"].removesuffix("add_") + "add" if entry["op"].endswith("::add_") else entry["op"],
                   json.dumps([one["shape"] for one in entry["in"]])] += entry["count"]
        return counts, [one.grad.clone() for layer in layers for one in layer.parameters()]

    def check(self, forward, *layers):
        """Returns how often each operator ran, in whatever shapes."""
        (walked, mine), (engine, real) = (self.backward(forward, layers, walk) for walk in (True, False))
        self.assertEqual(walked, engine)
        self.assertTrue(all(self.torch.allclose(a, b) for a, b in zip(mine, real)))
        total = collections.Counter()
        for (op, _), count in walked.items():
            total[op] += count
        return total

    def linear(self, count):
        return [self.torch.nn.Linear(8, 8) for _ in range(count)]

    def block(self):
        nn = self.torch.nn
        return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8), nn.Tanh())

    def test_a_checkpoint_computes_its_block_again_once(self):
        x = self.torch.randn(3, 8)
        for reentrant in (False, True):
            def forward(first, block):
                return self.checkpoint(block, first(x), use_reentrant=reentrant).pow(2).mean()
            self.assertEqual(self.check(forward, *self.linear(1), self.block())["aten::addmm"], 2)

    def test_checkpoints_in_each_other_and_with_several_results(self):
        x = self.torch.randn(3, 8)
        for outer in (False, True):
            for inner in (False, True):
                def forward(first, second, third):
                    def pair(y):
                        z = self.checkpoint(second, y, use_reentrant=inner)
                        return z, self.checkpoint(third, z, use_reentrant=inner)
                    one, two = self.checkpoint(pair, first(x), use_reentrant=outer)
                    return two.mean() if outer else one.mean() + two.mean()
                self.check(forward, *self.linear(1), self.block(), self.block())

    def test_hooks_of_tensors_and_parameters_run(self):
        x = self.torch.randn(3, 8)

        def forward(first, second):
            y = first(x)
            y.register_hook(lambda gradient: gradient * 3)
            y.register_hook(lambda gradient: None)
            y.register_hook(lambda gradient: gradient * 5).remove()
            z = second(y)
            self.torch.autograd.graph.register_multi_grad_hook((y, z), lambda gradients: gradients[0].neg())
            self.torch.autograd.graph.register_multi_grad_hook((y, z), lambda gradient: gradient.neg(), mode="any")
            return z.pow(2).mean()

        first, second = self.linear(2)
        first.weight.register_hook(lambda gradient: gradient * 2)
        first.bias.register_post_accumulate_grad_hook(lambda parameter: setattr(parameter, "grad", parameter.grad.mul_(2)))
        counts = self.check(forward, first, second)
        self.assertEqual((counts["aten::neg"], counts["aten::mul_"]), (2, 1))

    def test_hooks_of_modules_run(self):
        x = self.torch.randn(3, 8)
        first, second, third = self.linear(3)
        first.register_full_backward_hook(lambda module, into, out: None)  # its input wants no gradient
        second.register_full_backward_hook(lambda module, into, out: (into[0].neg(),))
        third.register_full_backward_pre_hook(lambda module, out: (out[0].abs(),))
        counts = self.check(lambda *layers: third(second(first(x))).pow(2).mean(), first, second, third)
        self.assertEqual((counts["aten::neg"], counts["aten::abs"]), (1, 1))

    def test_a_function_of_the_users_gets_and_gives_what_the_engine_asks_for(self):
        torch, x = self.torch, self.torch.randn(3, 8)

        class Two(torch.autograd.Function):
            @staticmethod
            def forward(ctx, factor, x):
                ctx.factor = factor
                ctx.set_materialize_grads(factor != 1)
                return x * factor, x * 3

            @staticmethod
            def backward(ctx, first, second):
                return None, first * ctx.factor if second is None else first * ctx.factor + second * 3

        for factor in (1, 2):
            counts = self.check(lambda layer: Two.apply(factor, layer(x))[0].pow(2).mean(), *self.linear(1))
            self.assertEqual(counts["aten::zeros"], factor - 1)  # in place of what did not come

    def test_what_cannot_be_walked_is_refused(self):
        torch, x = self.torch, self.torch.randn(3, 8, requires_grad=True)
        with gradients.Gradients(torch).in_place():
            with self.assertRaisesRegex(operators.Mistake, "takes gradients itself"):
                torch.autograd.grad(x.sum(), x)
            with self.assertRaisesRegex(operators.Mistake, "create_graph"):
                x.sum().backward(create_graph=True)


@unittest.skipUnless(can_trace(), "needs a newer PyTorch")
class OperatorsTest(unittest.TestCase):
    def setUp(self):
        import torch
        self.torch = torch

    def trace(self, make, batch=2):
        return operators.trace(make, batch, self.torch)

    def counts(self, traced):
        counts = {}
        for entry in traced["ops"]:
            counts[entry["phase"], entry["op"]] = counts.get((entry["phase"], entry["op"]), 0) + entry["count"]
        return counts

    def small(self, name):
        return lambda: models.make(models.shrunk(models.PLANS[name]), self.torch, "cuda")

    def test_a_layer_is_what_runs_on_a_gpu(self):
        torch = self.torch

        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(8, 4)

            def forward(self, x):
                return self.linear(x).float().sum()

        traced = self.trace(lambda: (Layer(), lambda n: (torch.randn(n, 8),)), 3)
        self.assertEqual((traced["parameters"], traced["tensors"]), (36, 2))
        self.assertEqual(self.counts(traced), {
            ("forward", "aten::_to_copy"): 4, ("forward", "aten::addmm"): 1, ("forward", "aten::sum"): 1, ("backward", "aten::ones_like"): 1,
            ("backward", "aten::_to_copy"): 3, ("backward", "aten::mm"): 1, ("backward", "aten::sum"): 1,
            ("optimizer", "aten::_foreach_add_"): 1, ("optimizer", "aten::_fused_adamw_"): 1})
        product = next(entry for entry in traced["ops"] if entry["op"] == "aten::addmm")
        self.assertEqual(product["in"][2], {"dtype": "bf16", "shape": [8, 4], "strides": [1, 8]})
        step = next(entry for entry in traced["ops"] if entry["op"] == "aten::_fused_adamw_")
        self.assertEqual([one["shape"] for one in step["in"]], [[4, 8], [4]])

    def test_attention_is_the_gpus_and_not_plain_products(self):
        counts = self.counts(self.trace(self.small("llama-1b")))
        self.assertEqual(counts["forward", "aten::_scaled_dot_product_cudnn_attention"], 1)
        self.assertEqual(counts["backward", "aten::_scaled_dot_product_cudnn_attention_backward"], 1)
        self.assertNotIn(("forward", "aten::bmm"), counts)

    def test_dropout_is_the_gpus(self):
        counts = self.counts(self.trace(self.small("gpt2-medium")))
        self.assertEqual(counts["forward", "aten::native_dropout"], 3)
        self.assertEqual(counts["backward", "aten::native_dropout_backward"], 3)

    def test_images_keep_their_channels_last(self):
        traced = self.trace(self.small("resnet50"))
        images = [entry["in"][0] for entry in traced["ops"] if entry["op"] in ("aten::convolution", "aten::convolution_backward")
                  and entry["in"][0]["shape"][2] > 1]
        self.assertTrue(images)
        self.assertTrue(all(one.get("strides", [0, 0])[1] == 1 for one in images), images)
        self.assertNotIn(("backward", "aten::clone"), self.counts(traced))

    def test_a_larger_batch_changes_shapes_and_not_the_operators(self):
        two, four = (self.counts(self.trace(self.small("bert-base"), batch)) for batch in (2, 4))
        self.assertEqual(two, four)

    def test_gradients_meet_where_a_tensor_is_used_twice(self):
        torch = self.torch

        class Twice(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(4))

            def forward(self, x):
                y = x * self.weight
                return (y.sin() * y.cos()).sum()

        counts = self.counts(self.trace(lambda: (Twice(), lambda n: (torch.randn(n, 4),))))
        self.assertEqual(counts["backward", "aten::add_"], 1)
        self.assertEqual(counts["backward", "aten::sum"], 1)  # of the batch, to the shape of the weight

    def test_what_is_no_loss_is_refused_with_what_it_is(self):
        torch = self.torch

        class Returns(torch.nn.Module):
            def __init__(self, of):
                super().__init__()
                self.linear, self.of = torch.nn.Linear(4, 5), of

            def forward(self, x):
                return self.of(self.linear(x))

        for of, what in ((lambda y: y, r"a tensor of shape \[2, 5\]"),
                         (lambda y: (y.sum(), y), r"tuple \(a tensor of shape \[\], a tensor of shape \[2, 5\]\)"),
                         (lambda y: {"loss": y.sum()}, "dict"), (lambda y: None, "None"), (lambda y: [1] * 9, r"list \((int, ){6}\.\.\.\)"),
                         (lambda y: y.sum().detach(), "a number that depends on none")):
            with self.assertRaisesRegex(operators.Mistake, f"^the module must return its loss, one number .*, but it returns {what}$"):
                self.trace(lambda: (Returns(of), lambda n: (torch.randn(n, 4),)))

    def test_a_network_with_nothing_to_train_is_refused(self):
        torch = self.torch
        for module in (torch.nn.ReLU(), torch.nn.Linear(4, 4).requires_grad_(False)):
            with self.assertRaisesRegex(operators.Mistake, "^the network has no parameter that is trained "):
                self.trace(lambda: (module, lambda n: (torch.randn(n, 4),)))

    def test_a_network_that_looks_at_its_numbers_is_refused(self):
        torch = self.torch

        class Looks(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)

            def forward(self, x):
                y = self.linear(x).sum()
                return y if y.item() > 0 else -y

        with self.assertRaisesRegex(operators.Mistake, r"looks at its own numbers at Looks, \S+, by aten._local_scalar_dense.default: "):
            self.trace(lambda: (Looks(), lambda n: (torch.randn(n, 4),)))  # this file is the collector's and no place of the user's

    def test_the_place_that_looks_at_numbers_is_told(self):
        text = """
import torch
class Looks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
    def forward(self, x):
        y = self.linear(x).sum()
        return y if y > 0 else -y
def make():
    return Looks(), lambda n: (torch.randn(n, 8),)
"""
        with own_module(text), self.assertRaisesRegex(operators.Mistake, r" its own numbers at traced_net.py:9 \(forward\), by aten._local_"):
            self.trace(operators.maker("traced_net:make", self.torch))

    def product_types(self, traced):
        return [entry["in"][0]["dtype"] for entry in traced["ops"] if entry["op"] == "aten::addmm"]

    def one_layer(self, context):
        torch = self.torch

        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(8, 8)

            def forward(self, x):
                with context():
                    return self.linear(x).float().sum()

        return lambda: (Layer(), lambda n: (torch.randn(n, 8),))

    def test_a_networks_own_autocast_is_the_gpus(self):
        torch = self.torch
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # torch.cuda.amp is an old name
            for context, dtype in ((contextlib.nullcontext, "bf16"), (lambda: torch.autocast("cuda", dtype=torch.bfloat16), "bf16"),
                                   (lambda: torch.autocast("cuda"), "bf16"), (lambda: torch.amp.autocast("cuda", torch.float16), "fp16"),
                                   (lambda: torch.autocast("cuda", enabled=False), "fp32"), (lambda: torch.autocast("cpu"), "bf16"),
                                   (lambda: torch.cuda.amp.autocast(dtype=torch.bfloat16), "bf16"),
                                   (lambda: torch.cuda.amp.autocast(enabled=False), "fp32")):
                self.assertEqual(self.product_types(self.trace(self.one_layer(context))), [dtype])

    def test_attention_is_in_the_type_of_the_networks_own_autocast(self):
        torch = self.torch

        class Attends(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(16, 16)

            def forward(self, x):
                q = self.linear(x).view(-1, 4, 2, 8).transpose(1, 2)
                with torch.autocast("cuda", torch.float16):
                    return torch.nn.functional.scaled_dot_product_attention(q, q, q).float().sum()

        traced = self.trace(lambda: (Attends(), lambda n: (torch.randn(n, 4, 16),)))
        attention = next(entry for entry in traced["ops"] if entry["op"] == "aten::_scaled_dot_product_cudnn_attention")
        self.assertEqual(attention["in"][0]["dtype"], "fp16")

    def test_autocast_as_a_decorator_is_the_gpus(self):
        text = """
import torch
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x):
        return self.linear(x).float().sum()
def make():
    return Layer(), lambda n: (torch.randn(n, 8),)
"""
        given = types.SimpleNamespace(model="traced_net:make", batch=2, image=224, channels_first=False, out="ops.json", time=False)
        with own_module(text), contextlib.redirect_stdout(io.StringIO()):
            trace_model.write_operators(given, self.torch)
            with open("ops.json") as file:
                self.assertEqual(self.product_types(json.load(file)), ["fp16"])

    def test_a_checkpoint_is_computed_again_once_in_its_types(self):
        torch, checkpoint = self.torch, importlib.import_module("torch.utils.checkpoint").checkpoint

        class Checkpointed(torch.nn.Module):
            def __init__(self, reentrant):
                super().__init__()
                self.first, self.reentrant = torch.nn.Linear(8, 8), reentrant
                self.block = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 8), torch.nn.Tanh())

            def forward(self, x):
                return checkpoint(self.block, self.first(x), use_reentrant=self.reentrant).float().sum()

        for reentrant in (False, True):
            traced = self.trace(lambda: (Checkpointed(reentrant), lambda n: (torch.randn(n, 8),)))
            counts = self.counts(traced)
            self.assertEqual((counts["forward", "aten::addmm"], counts["backward", "aten::addmm"], counts["backward", "aten::gelu"]), (3, 2, 1))
            self.assertEqual(set(self.product_types(traced)), {"bf16"})

    def test_hooks_of_parameters_come_along_to_the_gpu(self):
        def make():
            module, batch_of = self.one_layer(contextlib.nullcontext)()
            module.linear.weight.register_hook(lambda gradient: gradient.neg())
            module.linear.weight.register_post_accumulate_grad_hook(lambda parameter: setattr(parameter, "grad", parameter.grad.abs_()))
            return module, batch_of
        counts = self.counts(self.trace(make))
        self.assertEqual((counts["backward", "aten::neg"], counts["backward", "aten::abs_"]), (1, 1))

    def test_what_the_users_code_raises_is_told_with_its_place(self):
        text = """
import torch
class Fails(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(8, 8), torch.nn.Linear(9, 8)
    def forward(self, x):
        return self.two(self.one(x)).sum()
def make():
    return Fails(), lambda n: (torch.randn(n, 8),)
def none():
    raise KeyError("my own mistake")
"""
        with own_module(text):
            with self.assertRaisesRegex(operators.Mistake, r"^the network fails at traced_net.py:8 \(forward\): RuntimeError: "):
                self.trace(operators.maker("traced_net:make", self.torch))
            with self.assertRaisesRegex(operators.Mistake, r"^the network fails at traced_net.py:12 \(none\): KeyError: 'my own mistake'$"):
                self.trace(operators.maker("traced_net:none", self.torch))

    def test_what_make_gives_in_another_way_than_expected_is_told_in_one_line(self):
        text = """
import functools
import torch
from torch.nn import Linear
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = Linear(3, 3)
    def forward(self, x, wanted):
        return self.linear(x).sum()
def x(n):
    return torch.randn(n, 3)
def wants(size):
    return Net(), x
def three():
    return Net(), x, 3
def data():
    return Net(), (x(4), x(4))
def no_n():
    return Linear(3, 3), lambda: (x(4),)
def built_in():
    return Net(), "abc".index
def one_tensor():
    return Linear(3, 3), x
def number():
    return Net(), lambda n: n
def too_few():
    return Net(), lambda n: (x(n),)
def too_many():
    return Net(), lambda n: [x(n)] * 3
def too_wide():
    return Linear(4, 3), lambda n: (x(n),)
def text():
    return Linear(3, 3), lambda n: ("x",)
def alone():
    return Net()
part = functools.partial(Linear, 3, "x")
"""
        pair = (r"; expected make\(\) to return a module and batch_of\(n\), which returns a tuple of the module's inputs; "
                "a module alone is given images")
        inputs = ": \\(x,\\) where there is one"
        x = r"a tensor of shape \[2, 3\]"
        with own_module(text):
            for name, said in (("wants", rf"traced_net:wants\(\) fails: TypeError: wants\(\) missing 1 .*{pair}"),
                               ("three", rf"traced_net:three\(\) returns tuple \(Net, function, int\){pair}"),
                               ("data", rf"traced_net:data\(\) returns tuple \(Net, tuple \(.*{pair}"),
                               ("part", rf"traced_net:part\(\) fails in Linear: TypeError: .*{pair}"),
                               ("no_n", rf"batch_of\(2\) fails: TypeError: .* takes 0 positional arguments but 1 was given{pair}"),
                               ("built_in", rf"batch_of\(2\) fails: TypeError: .*{pair}"),
                               ("one_tensor", rf"batch_of\(2\) returns {x}, expected a tuple of the module's inputs{inputs}"),
                               ("number", rf"batch_of\(2\) returns int, expected .*{inputs}"),
                               ("too_few", rf"the module, given tuple \({x}\), fails in Net: TypeError: .* missing 1 .*: 'wanted'{pair}"),
                               ("too_many", rf"the module, given list \({x}, {x}, {x}\), fails in Net: TypeError: .*{pair}"),
                               ("too_wide", rf"the module, given tuple \({x}\), fails in Linear, \S+: RuntimeError: .*{pair}"),
                               ("text", rf"the module, given tuple \(str\), fails in Linear: TypeError: .*{pair}"),
                               ("alone", rf"the module, given .* fails in Net \(body\): TypeError: .*{pair}")):
                with self.subTest(name), self.assertRaisesRegex(operators.Mistake, rf"\A{said}\Z"):
                    self.trace(operators.maker("traced_net:" + name, self.torch))
            line = refused("--model", "traced_net:no_n", "--batch", "4", "--out", "ops.json")
            self.assertTrue(line.startswith("trace_model.py: error: batch_of(4) fails: "), line)

    def test_a_network_of_the_users_that_fails_in_the_collectors_lines_is_no_mistake(self):
        def fail(*_):
            raise ZeroDivisionError
        with mock.patch.object(operators.Notes, "add", fail), self.assertRaises(ZeroDivisionError):
            self.trace(lambda: (self.torch.nn.Linear(4, 4), lambda n: (self.torch.randn(n, 4),)))

    def wrapped(self, wrap):
        """What is said as one layer is traced, and its operators."""
        def make():
            module, batch_of = self.one_layer(contextlib.nullcontext)()
            return wrap(module), batch_of
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            counts = self.counts(self.trace(make))
        return said.getvalue(), counts

    def test_what_is_left_out_of_a_network_is_told(self):
        torch = self.torch

        class Compiled(torch.nn.Module):
            def __init__(self, module):
                super().__init__()
                self.module = module

            @torch.compile
            def forward(self, x):
                return self.module(x)

        def compiled_in_place(module):
            module.linear.compile()
            return module

        def on_two_gpus(module):
            module = torch.nn.DataParallel(module)
            module.device_ids = [0, 1]
            return module

        distributed = torch.nn.parallel.DistributedDataParallel
        silent, alone = self.wrapped(lambda module: module)
        self.assertEqual(silent, "")
        for wrap, what in ((torch.compile, "torch.compile"), (Compiled, "torch.compile"), (compiled_in_place, "torch.compile"),
                           (torch.nn.DataParallel, "DataParallel"), (on_two_gpus, "DataParallel"), (distributed, "DistributedDataParallel"),
                           (lambda module: torch.nn.Sequential(torch.nn.DataParallel(torch.compile(module))),
                            "torch.compile and DataParallel")):
            said, counts = self.wrapped(wrap)
            self.assertEqual(said, f"note: the network asks for {what}: it is traced without, eager on one GPU\n")
            self.assertEqual(counts, alone)

    def test_who_asks_for_a_gpu_that_is_not_there_is_named(self):
        torch = self.torch

        class Asks(torch.nn.Module):
            def forward(self, x):
                raise RuntimeError("Found no NVIDIA driver on your system.\nAnd more.")

        class Outer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder, self.linear = Asks(), torch.nn.Linear(8, 8)

            def forward(self, x):
                return self.encoder(self.linear(x))

        with mock.patch.object(torch.cuda, "is_available", lambda: False), self.assertRaisesRegex(
                operators.Mistake, r"^Asks \(encoder\) asks for a GPU, and there is none here \(Found no NVIDIA driver on your system.\): write "):
            self.trace(lambda: (Outer(), lambda n: (torch.randn(n, 8),)))

        said = io.StringIO()
        with mock.patch.object(torch.cuda, "is_available", lambda: False), contextlib.redirect_stderr(said):
            with operators.told_questions(torch), self.assertRaises(operators.Mistake):
                self.trace(lambda: (Outer(), lambda n: (torch.randn(n, 8),)))
        self.assertEqual(said.getvalue(), "")  # that the collector asks is not the network's

    def test_a_fault_of_the_collector_is_not_the_networks(self):
        with mock.patch.object(gradients.Gradients, "run", mock.Mock(side_effect=ZeroDivisionError)), self.assertRaises(ZeroDivisionError):
            self.trace(self.small("vgg16"))

    def test_recurrent_layers_are_refused_with_their_name_where_there_is_no_gpu(self):
        torch = self.torch
        if torch.version.cuda is None or torch.cuda.is_available():
            self.skipTest("needs PyTorch for CUDA without a GPU")

        class Recurrent(torch.nn.Module):
            def __init__(self, layer):
                super().__init__()
                self.layer = layer

            def forward(self, x):
                return self.layer(x)[0].float().sum()

        for kind, operator in ((torch.nn.LSTM, "lstm"), (torch.nn.GRU, "gru"), (torch.nn.RNN, "rnn_tanh")):
            with self.assertRaisesRegex(operators.Mistake, rf"^{kind.__name__} \(layer\), {operator} asks for a GPU, [^\n]*$"):
                self.trace(lambda: (Recurrent(kind(8, 8)), lambda n: (torch.randn(n, 4, 8),)))
        for cell in (torch.nn.LSTMCell, torch.nn.GRUCell, torch.nn.RNNCell):
            self.assertEqual(self.trace(lambda: (Recurrent(cell(8, 8)), lambda n: (torch.randn(n, 8),)))["tensors"], 4)

    def test_who_asks_whether_there_is_a_gpu_is_told_once(self):
        torch, said = self.torch, io.StringIO()
        with mock.patch.object(torch.cuda, "is_available", lambda: False), contextlib.redirect_stderr(said):
            with operators.told_questions(torch), own_module("import torch\ndef asks():\n    return torch.cuda.is_available()\n"):
                ask = operators.named_function("traced_net:asks")
                answers = [torch.cuda.is_available(), ask(), ask()]  # the first is a question of the collector's own
        self.assertEqual(answers, [False] * 3)
        self.assertRegex(said.getvalue(), r"^note: traced_net.py:3 asks torch.cuda.is_available\(\), [^\n]*\n$")

    def test_a_network_can_be_timed_as_well(self):
        torch = self.torch

        def make():
            return operators.image_classifier(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(4 * 6 * 6, 5)), torch, 8, True)

        row = trace_model.time_network("mine", make, 2, torch, "cpu")
        self.assertEqual((row["model"], row["batch"], row["tensors"]), ("mine", 2, 4))
        self.assertGreater(row["iteration_ms"], 0)
        self.assertGreater(row["step_probe_us"], 0)
        self.assertEqual(self.trace(make)["tensors"], 4)  # the same network can be traced

    def test_pytorch_is_as_before(self):
        torch = self.torch
        function, common = torch.autograd.function, torch.cuda.amp.common

        def state():
            return (torch.nn.Module._apply, torch.nn.functional.scaled_dot_product_attention, torch.is_autocast_enabled("cuda"),
                    torch.get_autocast_dtype("cuda"), torch.is_autocast_cache_enabled(), torch.autograd.backward, torch.autograd.grad,
                    torch.Tensor.register_hook, "register_hook" in vars(function.BackwardCFunction), function.FunctionCtx.set_materialize_grads,
                    torch._C._current_graph_task_id, common.amp_definitely_not_available, torch.cuda.is_available, torch.cuda.is_bf16_supported,
                    *((of.__init__, of.forward) for of in (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)))

        before = state()
        self.trace(self.small("llama-1b"))
        self.assertEqual(before, state())


class TracedAgainstProfiledTest(unittest.TestCase):
    """Operators that were written down without a GPU (examples/ops) against those that the H200's profiler saw."""
    # How the profiler names what launches the kernel.
    INNER = {"aten::_to_copy": "aten::copy_", "aten::clone": "aten::copy_", "aten::relu_": "aten::clamp_min_", "aten::stack": "aten::cat",
             "aten::embedding": "aten::gather"}
    # Launch several kernels, or several operators launch them: not to be counted by kernels.
    SEVERAL = ("convolution", "batch_norm", "attention", "sum", "mm", "addmm", "norm_backward", "embedding_dense_backward", "fill_", "ones_like",
               "zeros", "_fused_adamw_", "_foreach_add_")
    ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

    def measured(self, name):
        with gzip.open(os.path.join(self.ROOT, "docs", "measurements", f"h200_{name}.csv.gz"), "rt", newline="") as file:
            return list(csv.DictReader(file))

    def is_counted(self, op):
        return not any(op.endswith(name) or name in op and len(name) > 5 for name in self.SEVERAL)

    def test_the_same_operators_as_often(self):
        names = {row["op_id"]: row["op"] for row in self.measured("iteration_ops")}
        seen = collections.defaultdict(collections.Counter)
        for row in self.measured("iteration_kernels"):
            seen[row["model"], int(row["batch"])][row["phase"], names[row["op_id"]]] += 1
        paths = glob.glob(os.path.join(self.ROOT, "examples", "ops", "*.json.gz"))
        self.assertEqual(len(paths), 15)
        compared = 0
        for path in paths:
            with gzip.open(path, "rt") as file:
                traced = json.load(file)
            counts = collections.Counter()
            for entry in traced["ops"]:
                counts[entry["phase"], self.INNER.get(entry["op"], entry["op"])] += entry["count"]
            kernels = seen[traced["model"], traced["batch"]]
            for phase, op in {*counts, *kernels}:
                if not self.is_counted(op) or op == "aten::arange":  # embeddings count their rows inside
                    continue
                biases = 13 if traced["model"] == "vgg16" and (phase, op) == ("forward", "aten::add_") else 0  # inside of convolutions
                more = kernels[phase, op] - counts[phase, op] - biases
                if op == "aten::copy_" and traced["batch"] >= 32:
                    self.assertIn(more, range(4), path)  # the longest are cut into several kernels
                else:
                    self.assertEqual(more, 0, f"{path}: {phase} {op}")
                compared += counts[phase, op]
        self.assertGreater(compared, 7000)


class OverlapStepTest(unittest.TestCase):
    def setUp(self):
        def curve(kernel, blocks, us, cluster=2):
            return {"kernel": kernel, "gx": str(blocks), "gy": "1", "gz": "1", "alone_us": str(us), "cluster": str(cluster)}
        self.choice = overlap_step.CurveChoice([curve("gemm one wave", 132, 87), curve("gemm two waves", 132, 173), curve("gemm wgrad", 128, 84),
                                                curve("gemm tf32", 132, 87), curve("conv dgrad", 132, 43), curve("conv wgrad", 117, 56, 8)], 132)

    def test_products_follow_the_one_nearest_in_blocks_and_time(self):
        self.assertEqual(self.choice.choose("aten::mm", "nvjet_x", 132, 90), "gemm one wave")
        self.assertEqual(self.choice.choose("aten::mm", "nvjet_x", 132, 160), "gemm two waves")
        self.assertEqual(self.choice.choose("aten::mm", "nvjet_x", 128, 100), "gemm wgrad")
        self.assertEqual(self.choice.choose("aten::mm", "cutlass_gemm", 1576, 5000), "gemm many waves")
        self.assertEqual(self.choice.choose("aten::convolution_backward", "sm90_xmma_wgrad", 120, 400), "conv wgrad")

    def test_products_follow_one_with_clusters_of_the_nearest_size(self):
        self.assertEqual(self.choice.choose("aten::convolution_backward", "sm90_xmma_wgrad", 132, 43, 8), "conv wgrad")
        self.assertEqual(self.choice.choose("aten::convolution_backward", "sm90_xmma_wgrad", 132, 43, 16), "conv wgrad")
        self.assertEqual(self.choice.choose("aten::convolution_backward", "sm90_xmma_wgrad", 117, 56, 2), "conv dgrad")

    def test_clusters_are_those_most_often_seen_with_a_kernel_and_grid(self):
        rows = [{"launches": "7:14x8x1:384x1x1:0:168:1:16;9:1x1x1:1x1x1:0:16:1:1"}, {"launches": "7:14x8x1:384x1x1:0:168:1:16"},
                {"launches": "7:14x8x1:384x1x1:0:168:1:8;7:15x8x1:384x1x1:0:168:1:8"}, {"launches": ""}]
        self.assertEqual(overlap_step.clusters_by_launch(rows), {("7", "14x8x1"): 16, ("7", "15x8x1"): 8, ("9", "1x1x1"): 1})

    def test_others_follow_their_kind(self):
        self.assertEqual(self.choice.choose("aten::native_layer_norm_backward", "k", 9, 50), "layer norm bwd")
        self.assertEqual(self.choice.choose("aten::copy_", "k", 9, 50), "cast")
        self.assertEqual(self.choice.choose("aten::copy_", "k", 9, 2), "small add")
        self.assertEqual(self.choice.choose("aten::mul", "k", 9, 50), "add")

    def test_a_rate_beside_computing_is_fitted_without_the_network_where_there_are_others(self):
        def bucket(model, ctas, end):
            return {"model": model, "ctas": str(ctas), "target_gbps": "50", "bytes": str(10**6), "start_ms": "0", "end_ms": str(end)}
        steps = [{"model": model, "ctas": str(ctas), "target_gbps": "50", "compute_ms": "1"} for model in "mn" for ctas in (1, 16)]
        mine, other, late = bucket("m", 1, 0.105), bucket("n", 1, 0.18), bucket("m", 1, 2)
        told = [overlap_step.told_rates(buckets, steps, 21.25, "m") for buckets in ([mine, other], [mine], [late, bucket("m", 16, 0.1)], [])]
        self.assertEqual(told[0], "one block: 21.2 GB/s alone, 12.7 beside computing, 10.0 fitted without m")
        self.assertEqual(told[1], "one block: 21.2 GB/s alone, 17.5 beside computing, fitted to m itself: these tables have no other network")
        self.assertEqual(told[2], "one block: 21.2 GB/s alone; no bucket of these tables tells it beside computing")
        self.assertEqual(told[3], told[2])

    def test_gradients_are_ready_when_they_were(self):
        kernels = [{"model": "m", "bucket": bucket, "op": "aten::mul", "kernel_id": "0", "gx": "1", "gy": "1", "gz": "1", "duration_us": us}
                   for bucket, us in (("0", "10"), ("0", "30"), ("1", "20"), ("", "5"))]
        buckets = [{"model": "m", "ctas": "0", "bucket": str(b), "bytes": str(100 + b), "ready_ms": ready}
                   for b, ready in ((0, "0.08"), (1, "0.1"))]
        steps = [{"model": "m", "ctas": "0", "step_ms": "0.11"}]
        rows = overlap_step.kernel_list(kernels, {"0": "k"}, {("0", "1x1x1"): 3}, buckets, steps, self.choice, "m")
        self.assertEqual([row[0] for row in rows], ["20.000", "60.000", "20.000", "10.000"])
        self.assertEqual([row[3] for row in rows], [3, 3, 3, 3])
        self.assertEqual([row[4] for row in rows], ["", 100, 101, ""])


class OverlapExamplesTest(unittest.TestCase):
    """examples/overlap is what was measured on the H200 (docs/measurements) and nothing else."""
    ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    MEASUREMENTS = os.path.join(ROOT, "docs", "measurements", "h200_")
    EXAMPLES = os.path.join(ROOT, "examples", "overlap")

    def stored(self, path):
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rb") as file:
            return file.read().decode()

    def test_lists_of_kernels_and_speeds_of_a_block_are_what_overlap_step_makes(self):
        paths = sorted(glob.glob(os.path.join(self.EXAMPLES, "*_kernels.csv*")))
        self.assertEqual(len(paths), 4)
        for path in paths:
            network = os.path.basename(path).split("_kernels.csv")[0]
            made, said = io.StringIO(), io.StringIO()
            with mock.patch.object(sys, "argv", ["overlap_step.py", self.MEASUREMENTS, network]), \
                    contextlib.redirect_stdout(made), contextlib.redirect_stderr(said):
                overlap_step.main()
            stored, made = self.stored(path).splitlines(True), made.getvalue().splitlines(True)
            apart = [f"line {number}: {a!r}, made: {b!r}" for number, (a, b) in enumerate(zip(stored, made), 1) if a != b]
            self.assertTrue(stored == made, f"{path} has {len(stored)} lines, made: {len(made)}; {'; '.join(apart[:3])}. Write it again: "
                            f"tools/collect/overlap_step.py docs/measurements/h200_ {network}" + " | gzip -9n" * path.endswith(".gz"))
            alone, beside = re.fullmatch(r"one block: (\S+) GB/s alone, \S+ beside computing, (\S+) fitted without \S+\n",
                                         said.getvalue()).groups()
            about = self.stored(os.path.join(self.EXAMPLES, network + ".yaml"))
            self.assertIn(f" channel: {alone}GB/s, channel_beside: {beside}GB/s,", about)

    def test_curves_are_those_that_were_measured(self):
        curves = self.stored(os.path.join(self.EXAMPLES, "h200_curves.csv.gz"))
        self.assertTrue(curves == self.stored(self.MEASUREMENTS + "overlap_curves.csv.gz"),
                        "examples/overlap/h200_curves.csv.gz is not docs/measurements/h200_overlap_curves.csv.gz")


if __name__ == "__main__":
    unittest.main()
