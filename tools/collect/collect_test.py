#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the collector. Those of the calls themselves need PyTorch and are skipped without it."""
import contextlib
import csv
import gzip
import importlib.util
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import collect
import kernels
import models
import overlap
import overlap_step
import pack
import profiled
import shapes
import table
import timing

HAS_TORCH = importlib.util.find_spec("torch") is not None
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


class PackTest(unittest.TestCase):
    def test_rows_in_any_order_give_the_same_bytes(self):
        key = pack.shape_order("vec")
        rows = [dict.fromkeys(table.columns("vec"), "") | {"op": op, "dtype": "bf16", "B": b, "H": "64", "repeat": "0"}
                for op, b in (("mul", "10"), ("add", "9"), ("add", "10"))]
        packed = {pack.packed_bytes(table.columns("vec"), sorted(some, key=key)) for some in (rows, rows[::-1])}
        self.assertEqual(len(packed), 1)
        text = gzip.decompress(packed.pop()).decode()
        self.assertEqual([(row["op"], row["B"]) for row in csv.DictReader(io.StringIO(text))], [("add", "9"), ("add", "10"), ("mul", "10")])


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

    def test_one_case_of_twenty_is_measured_again(self):
        cases = shapes.all_cases(FEW)
        attempts = collect.attempts(cases)
        again = [case for case, repeat in attempts if repeat == 1]
        self.assertEqual(attempts[:len(cases)], [(case, 0) for case in cases])
        self.assertAlmostEqual(len(again) / len(cases), 1 / collect.REPEAT_ONE_IN, delta=0.04)


@unittest.skipUnless(HAS_TORCH, "needs PyTorch")
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

        import trace_model
        for name, plan in models.PLANS.items():
            training = trace_model.Training(models.shrunk(plan), torch, "cpu")
            training.use_batch(2)
            before = [parameter.detach().clone() for parameter in training.module.parameters()]
            training.step()
            moved = [not torch.equal(a, b) for a, b in zip(before, training.module.parameters())]
            self.assertTrue(all(moved), name)


class OverlapStepTest(unittest.TestCase):
    def setUp(self):
        def curve(kernel, blocks, us):
            return {"kernel": kernel, "gx": str(blocks), "gy": "1", "gz": "1", "alone_us": str(us)}
        self.choice = overlap_step.CurveChoice([curve("gemm one wave", 132, 87), curve("gemm two waves", 132, 173), curve("gemm wgrad", 128, 84),
                                                curve("gemm tf32", 132, 87), curve("conv dgrad", 132, 43), curve("conv wgrad", 117, 56)], 132)

    def test_products_follow_the_one_nearest_in_blocks_and_time(self):
        self.assertEqual(self.choice.choose("aten::mm", "nvjet_x", 132, 90), "gemm one wave")
        self.assertEqual(self.choice.choose("aten::mm", "nvjet_x", 132, 160), "gemm two waves")
        self.assertEqual(self.choice.choose("aten::mm", "nvjet_x", 128, 100), "gemm wgrad")
        self.assertEqual(self.choice.choose("aten::mm", "cutlass_gemm", 1576, 5000), "gemm many waves")
        self.assertEqual(self.choice.choose("aten::convolution_backward", "sm90_xmma_wgrad", 120, 400), "conv wgrad")

    def test_others_follow_their_kind(self):
        self.assertEqual(self.choice.choose("aten::native_layer_norm_backward", "k", 9, 50), "layer norm bwd")
        self.assertEqual(self.choice.choose("aten::copy_", "k", 9, 50), "cast")
        self.assertEqual(self.choice.choose("aten::copy_", "k", 9, 2), "small add")
        self.assertEqual(self.choice.choose("aten::mul", "k", 9, 50), "add")

    def test_gradients_are_ready_when_they_were(self):
        kernels = [{"model": "m", "bucket": bucket, "op": "aten::mul", "kernel_id": "0", "gx": "1", "gy": "1", "gz": "1", "duration_us": us}
                   for bucket, us in (("0", "10"), ("0", "30"), ("1", "20"), ("", "5"))]
        buckets = [{"model": "m", "ctas": "0", "bucket": str(b), "bytes": str(100 + b), "ready_ms": ready}
                   for b, ready in ((0, "0.08"), (1, "0.1"))]
        steps = [{"model": "m", "ctas": "0", "step_ms": "0.11"}]
        rows = overlap_step.kernel_list(kernels, {"0": "k"}, buckets, steps, self.choice, "m")
        self.assertEqual([row[0] for row in rows], ["20.000", "60.000", "20.000", "10.000"])
        self.assertEqual([row[3] for row in rows], ["", 100, 101, ""])


if __name__ == "__main__":
    unittest.main()
