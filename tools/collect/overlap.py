#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a collective's thread blocks cost the computation beside them, measured on one GPU.

    tools/collect/overlap.py --out FOLDER [--parts clusters,curves,steps,kernels] [--kernels NAMES]

A stand-in for the collective (copy_reduce.cu, built with nvcc) runs on a high-priority stream at a set number of blocks
and GB/s. Writes

    overlap_copy.csv      the stand-in alone: how long so many bytes take
    overlap_clusters.csv  how many clusters of thread blocks run at once beside it
    overlap_curves.csv    each compute kernel alone and beside it
    overlap_steps.csv     backward passes of whole networks with gradients sent bucket by bucket, as data parallelism does
    overlap_buckets.csv   the buckets of those: bytes, when ready, when sent
    overlap_kernels.csv   the kernels of those backward passes alone, with the bucket they work towards
"""
import argparse
import ctypes
import functools
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

import models
import needs
import ops
import profiled
import shapes
import table

CTAS = (1, 2, 4, 8, 16, 32, 64)
HOLD, UNPACED = -1.0, 0.0  # rates: only hold the SMs; as fast as they can
CURVE_RATES = (HOLD, 25.0, 50.0, 100.0, 200.0, UNPACED)
STEP_RATES = (50.0, 100.0, 200.0)
RANKS = 8  # of the collective that is emulated: a ring all-reduce moves 2 (n - 1) / n of the bytes
BUCKET_BYTES = 25 << 20  # as PyTorch's data parallelism groups gradients
STEP_PLANS = {"resnet50": 128, "vgg16": 64, "bert-base": 32, "gpt2-medium": 8}
REPEATS = 3
STEPS = 15
SHARED_BYTES = 160 * 1024  # of each of the stand-in's blocks
INVALID_VALUE = 1  # CUDA's error where that is more than there is
LEAD = 1.3  # the CPU has this much of its time for a backward pass before the GPU begins with it
MOST_LEAD_MS = 80.0
CLUSTERS = (1, 2, 3, 4, 8, 16)
FIRST = ("collective", "kernel")  # which of both is there before the other: it decides which SMs the collective gets

CLUSTERS_COLUMNS = ["cluster", "ctas", "first", "places"]
COPY = ["ctas", "target_gbps", "bytes", "ms", "gbps", "distinct_sms"]
CURVES = ["kernel", "class", "case", "ctas", "target_gbps", "gbps", "alone_us", "beside_us", "rate", "kernel_id", "gx", "gy", "gz",
          "occ", "cluster", "runs", "first"]
STEPS_COLUMNS = ["model", "batch", "ctas", "target_gbps", "step_ms", "spread", "compute_ms", "copy_busy_ms", "buckets", "bytes", "queued"]
BUCKETS = ["model", "batch", "ctas", "target_gbps", "bucket", "bytes", "ready_ms", "start_ms", "end_ms"]
KERNELS = ["model", "batch", "bucket", "op", "kernel_id", "gx", "gy", "gz", "bx", "by", "bz", "smem", "regs", "duration_us"]


def compute_cases():
    """(name, class, case): what runs beside the collective."""
    def gemm(m, n, k, dtype="bf16", layout="nt"):
        return shapes.make("gemm", "mm", dtype, layout=layout, B=1, M=m, N=n, K=k)

    def attention(which, backend, b, s, d):
        return shapes.make("attention", "sdpa", "bf16", **{"pass": which}, backend=backend, B=b, heads=16, kv_heads=16, Sq=s, Sk=s, D=d, causal=1)

    def conv(which, b, cin, cout, k, size):
        return shapes.make("conv", "conv", "bf16", **{"pass": which}, layout="nhwc", B=b, Cin=cin, Cout=cout, ksize=k, insize=size, stride=1,
                           pad=k // 2)

    def vec(op, b, h, dtype="bf16"):
        return shapes.make("vec", op, dtype, B=b, H=h)

    return [
        ("gemm half wave", "under_utilised", gemm(1024, 4096, 1024)), ("gemm one wave", "compute_bound", gemm(2048, 4096, 4096)),
        ("gemm two waves", "compute_bound", gemm(4096, 4096, 4096)), ("gemm many waves", "compute_bound", gemm(8192, 4096, 8192)),
        ("gemm dgrad", "compute_bound", gemm(8192, 4096, 1024, layout="nn")), ("gemm wgrad", "compute_bound", gemm(1024, 8192, 4096, layout="tn")),
        ("gemm wgrad square", "under_utilised", gemm(1024, 8192, 1024, layout="tn")), ("gemm flat", "dram_bound", gemm(16384, 256, 1024)),
        ("gemm tf32", "compute_bound", gemm(4096, 2048, 4096, "tf32")), ("gemm fp32", "compute_bound", gemm(2048, 2048, 4096, "fp32")),
        ("conv fwd 3x3", "compute_bound", conv("fwd", 128, 128, 128, 3, 28)), ("conv dgrad 3x3", "compute_bound", conv("dgrad", 128, 256, 256, 3, 14)),
        ("conv wgrad 3x3", "compute_bound", conv("wgrad", 128, 128, 128, 3, 28)), ("conv fwd 1x1", "dram_bound", conv("fwd", 128, 256, 64, 1, 56)),
        ("attention flash fwd", "compute_bound", attention("fwd", "flash", 8, 1024, 64)),
        ("attention flash bwd", "compute_bound", attention("bwd", "flash", 8, 1024, 64)),
        ("attention cudnn fwd", "compute_bound", attention("fwd", "cudnn", 8, 1024, 64)),
        ("attention cudnn bwd", "compute_bound", attention("bwd", "cudnn", 8, 1024, 64)),
        ("layer norm", "dram_bound", vec("ln", 16384, 4096)), ("layer norm bwd", "dram_bound", vec("ln_bwd", 16384, 4096)),
        ("add", "dram_bound", vec("add", 16384, 8192)), ("gelu bwd", "dram_bound", vec("gelu_bwd", 16384, 8192)),
        ("cast", "dram_bound", vec("cast_down", 16384, 4096)), ("small add", "under_utilised", vec("add", 512, 1024)),
        ("batch norm bwd", "dram_bound", shapes.make("image", "bn", "bf16", **{"pass": "bwd"}, layout="nhwc", B=128, C=256, insize=56,
                                                     ksize=0, stride=0, pad=0)),
        ("max pool bwd", "dram_bound", shapes.make("image", "maxpool", "bf16", **{"pass": "bwd"}, layout="nhwc", B=96, C=64, insize=112,
                                                   ksize=2, stride=2, pad=0)),
        ("conv dgrad clusters of 16", "compute_bound", conv("dgrad", 80, 512, 512, 3, 14)),
        ("conv wgrad clusters of 16", "compute_bound", conv("wgrad", 57, 640, 976, 3, 17)),
        ("conv dgrad clusters of 8", "compute_bound", conv("dgrad", 80, 128, 256, 3, 56)),
        ("conv wgrad clusters of 8", "compute_bound", conv("wgrad", 24, 512, 512, 3, 28)),
        ("adamw", "dram_bound", vec("adamw", 16, 4194304, "fp32")),
    ]


# ---- the stand-in ----

def build(folder, *flags):
    """Builds copy_reduce.cu, with more flags of nvcc's if given; returns the library's path."""
    source, target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "copy_reduce.cu"), os.path.join(folder, "libcopy_reduce.so")
    subprocess.run(["nvcc", "-O3", *flags, "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", target, source], check=True)
    return target


class LaunchError(RuntimeError):
    """The GPU does not run the stand-in."""

    def __init__(self, function, code):
        need = f": the collective's stand-in needs {SHARED_BYTES >> 10} KB of shared memory for a thread block"
        super().__init__(f"{function}: CUDA error {code}{need if code == INVALID_VALUE else ''}")


class Collective:
    """The stand-in's kernel."""

    def __init__(self, torch, library):
        self._torch, self._lib = torch, ctypes.CDLL(library)
        self._lib.copy_reduce_chunk_bytes.restype = ctypes.c_ulonglong
        self.chunk_bytes = self._lib.copy_reduce_chunk_bytes()
        self.stream = torch.cuda.Stream(priority=-1)
        self._buffers = [torch.randn(1 << 26, device="cuda") for _ in range(3)]  # 256 MiB each
        self._notes = [torch.zeros(64, dtype=torch.int64, device="cuda") for _ in range(4)]  # SM, chunks, begin, end
        self._cluster_notes = [torch.zeros(2048, dtype=torch.int64, device="cuda") for _ in range(2)]  # begin, end

    def launch(self, blocks, gbps, nbytes=0, run_ns=0):
        pointers = [ctypes.c_void_p(one.data_ptr()) for one in self._buffers + self._notes]
        code = self._lib.copy_reduce_launch(*pointers[:3], ctypes.c_ulonglong(1 << 28), blocks, ctypes.c_double(gbps),
                                            ctypes.c_ulonglong(nbytes), ctypes.c_ulonglong(run_ns), *pointers[3:],
                                            ctypes.c_void_p(self.stream.cuda_stream))
        if code:
            raise LaunchError("copy_reduce_launch", code)

    def hold_clusters(self, stream, size, clusters, hold_ns):
        """Clusters of blocks, each block alone on its SM for about so long."""
        code = self._lib.hold_clusters_launch(size, clusters, ctypes.c_ulonglong(hold_ns),
                                              *(ctypes.c_void_p(one.data_ptr()) for one in self._cluster_notes),
                                              ctypes.c_void_p(stream.cuda_stream))
        if code:
            raise LaunchError("hold_clusters_launch", code)

    def cluster_spans(self, size, clusters):
        """(begin, end) of each cluster of the last launch, in ns, once it is over."""
        begin, end = (one.cpu().tolist() for one in self._cluster_notes)
        return [(begin[index], end[index]) for index in range(0, size * clusters, size)]

    def span(self, blocks):
        """When the last launch had all its blocks on SMs and when the first of them ended, in ns, once it is over."""
        begin, end = (one.cpu().tolist()[:blocks] for one in self._notes[2:])
        return max(begin), min(end)

    def result(self, blocks):
        """(GB/s, SMs used) of the last launch, once it is over."""
        moved, begin, end = (one.cpu().tolist()[:blocks] for one in self._notes[1:])
        seconds_ns = max(end) - min(begin)
        return sum(moved) * self.chunk_bytes / seconds_ns if seconds_ns else 0.0, len(set(self.sms(blocks)))

    def sms(self, blocks):
        """The SM of each block of the last launch, once it is over."""
        return self._notes[0].view(self._torch.int32).cpu().tolist()[:blocks]  # the kernel writes 32 bits each


def measure_copy(collective, torch):
    """Rows of COPY."""
    rows = []
    for blocks in CTAS:
        for rate in STEP_RATES + (UNPACED,):
            for nbytes in (1 << 20, 4 << 20, 16 << 20, 46 << 20):
                times = []
                for _ in range(REPEATS + 1):
                    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                    start.record(collective.stream)
                    collective.launch(blocks, rate, nbytes)
                    end.record(collective.stream)
                    torch.cuda.synchronize()
                    times.append(start.elapsed_time(end))
                gbps, sms = collective.result(blocks)
                rows.append({"ctas": blocks, "target_gbps": rate, "bytes": nbytes, "ms": statistics.median(times[1:]), "gbps": gbps,
                             "distinct_sms": sms})
    return rows


# ---- clusters beside it ----

HOLD_NS = 100_000
WAVES = 8


def running_at(spans, when):
    return sum(1 for begin, end in spans if begin <= when < end)


def cluster_places(collective, torch, stream, sms, size, blocks, first):
    """How many clusters of so many blocks run at once while the collective's blocks hold their SMs."""
    clusters = WAVES * (sms // size)
    torch.cuda.synchronize()
    if blocks and first == "collective":
        collective.launch(blocks, HOLD, 0, 15 * HOLD_NS)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(int(SETTLE_NS * 1.9))
        collective.hold_clusters(stream, size, clusters, HOLD_NS)
    if blocks and first == "kernel":
        with torch.cuda.stream(collective.stream):
            torch.cuda._sleep(int((SETTLE_NS + HOLD_NS / 2) * 1.9))
            collective.launch(blocks, HOLD, 0, 15 * HOLD_NS)
    torch.cuda.synchronize()
    spans = collective.cluster_spans(size, clusters)
    begin = min(begin for begin, _ in spans)
    if not blocks:
        return running_at(spans, begin + HOLD_NS // 2)
    there, over = collective.span(blocks)
    when = begin + HOLD_NS // 2 if first == "collective" else there + 3 * HOLD_NS // 2
    return running_at(spans, when) if when < over else 0


def measure_clusters(collective, torch, ctas=CTAS):
    """Rows of CLUSTERS_COLUMNS."""
    sms, stream = torch.cuda.get_device_properties(0).multi_processor_count, torch.cuda.Stream()
    rows = []
    for size in CLUSTERS:
        for blocks, first in [(0, FIRST[0])] + [(blocks, first) for first in FIRST for blocks in ctas]:
            places = [cluster_places(collective, torch, stream, sms, size, blocks, first) for _ in range(REPEATS + 1)][1:]
            rows.append({"cluster": size, "ctas": blocks, "first": first, "places": statistics.median_low(places)})
    return rows


# ---- one kernel beside it ----

GRAPH_SECONDS = 600e-6
CLUSTERED_GRAPH_SECONDS = 1500e-6  # several kernels long, so that the collective can come while one runs
SETTLE_NS = 80_000  # the collective's start before the computation's


def rate_beside(alone, start, end, begin, over):
    """How fast a computation went beside a collective from `begin` to `over`: before and after it goes as alone. Seconds."""
    work = alone - max(0.0, begin - start) - max(0.0, end - over)
    return max(0.0, work) / (min(end, over) - max(start, begin))


def beside(collective, torch, stream, graph, alone, blocks, rate, first=FIRST[0], into=0.0):
    """(rate, GB/s, runs that the collective covered to their end): medians of those runs, or of all where it covered none.

    first: who is there before the other; a collective that comes second comes so many seconds into the computation.
    """
    runs = []
    for attempt in range(3 * REPEATS):
        covered = sum(1 for run in runs if run[2])
        if covered == REPEATS or (attempt == REPEATS and not covered):
            break
        run_ns = int(SETTLE_NS + 150_000 + alone * 3.2e9)
        begin, start, end, over = (torch.cuda.Event(enable_timing=True) for _ in range(4))

        def launch():
            begin.record(collective.stream)
            collective.launch(blocks, rate, 0, run_ns)
            over.record(collective.stream)

        torch.cuda.synchronize()
        if first == "collective":
            launch()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(int(SETTLE_NS * 1.9))
            start.record()
            graph.replay()
            end.record()
        if first == "kernel":
            collective.stream.wait_event(start)
            with torch.cuda.stream(collective.stream):
                torch.cuda._sleep(int(into * 1.9e9))
            launch()
        torch.cuda.synchronize()
        to_end, to_over = start.elapsed_time(end) / 1e3, start.elapsed_time(over) / 1e3
        to_begin = start.elapsed_time(begin) / 1e3 if first == "kernel" else 0.0
        if to_begin < to_end:
            runs.append((rate_beside(alone, 0.0, to_end, to_begin, to_over), collective.result(blocks)[0], to_end <= to_over))
    covered = [run for run in runs if run[2]]
    chosen = covered or runs
    return (statistics.median(run[0] for run in chosen), statistics.median(run[1] for run in chosen), len(covered)) if chosen else None


def measure_curves(collective, torch, timer, tables, out, ctas=CTAS, rates=CURVE_RATES, wanted=()):
    """The rows of a kernel are added together: one that is in the table is done."""
    done = {row["kernel"] for row in out.rows_before}
    stream = timer.stream
    for name, kind, case in compute_cases():
        if name in done or (wanted and name not in wanted):
            continue
        make_call = ops.call_maker(case, torch, timer.pools)
        timing = timer.time(make_call)
        launch = timing.launches[0] if len(timing.launches) == 1 else max(timing.launches, key=lambda one: one.blocks() * one.threads())
        is_clustered = launch.cluster > 2
        count = max(1, min(40, round((CLUSTERED_GRAPH_SECONDS if is_clustered else GRAPH_SECONDS) / timing.seconds)))
        with torch.cuda.stream(stream):
            graph = timer.capture([make_call() for _ in range(count)])
            alone = statistics.median(timer.replay(graph, 9, flush=False)[0])
        rows = []
        for first in FIRST if is_clustered else FIRST[:1]:
            for blocks in ctas:
                for rate in rates:
                    result = beside(collective, torch, stream, graph, alone, blocks, rate, first, alone / count / 2)
                    if result is None:
                        continue
                    part, gbps, covered = result
                    rows.append({"kernel": name, "class": kind, "case": case.key(), "ctas": blocks, "target_gbps": rate, "gbps": gbps,
                                 "alone_us": alone / count * 1e6, "beside_us": alone / count * 1e6 / part if part > 0 else None,
                                 "rate": part, "kernel_id": tables.names.id_of(launch.name), "occ": launch.occ,
                                 "cluster": launch.cluster, "runs": covered, "first": first}
                                | dict(zip(("gx", "gy", "gz"), launch.grid)))
        tables.add_together((out, rows))


# ---- whole backward passes ----

@dataclass
class Bucket:
    parameters: list = field(default_factory=list)
    nbytes: int = 0
    waiting: int = 0


def buckets_of(parameters, limit=BUCKET_BYTES):
    """Gradients in the order in which they come to be, in buckets of at least so many bytes."""
    buckets = [Bucket()]
    for parameter in parameters:
        if buckets[-1].nbytes >= limit:
            buckets.append(Bucket())
        buckets[-1].parameters.append(parameter)
        buckets[-1].nbytes += parameter.numel() * parameter.element_size()
    return buckets


def wire_bytes(nbytes, ranks=RANKS):
    return nbytes * 2 * (ranks - 1) // ranks


class SendingBackward:
    """A network's backward pass that sends each bucket of gradients when it is complete."""

    def __init__(self, training, torch, collective):
        self._training, self._torch, self._collective = training, torch, collective
        self._order = []
        handles = [parameter.register_post_accumulate_grad_hook(self._order.append) for parameter in training.module.parameters()]
        training.forward().backward()  # the order in which gradients come
        for handle in handles:
            handle.remove()
        self.buckets = buckets_of(self._order)
        self._of = {id(parameter): index for index, bucket in enumerate(self.buckets) for parameter in bucket.parameters}
        for parameter in self._order:
            parameter.register_post_accumulate_grad_hook(self._ready)
        self.blocks, self.rate, self.lead_ms, self.cpu_ms = 0, 0.0, 0.0, 0.0
        training.optimizer.zero_grad(set_to_none=True)

    def _ready(self, parameter):
        index = self._of[id(parameter)]
        bucket = self.buckets[index]
        bucket.waiting -= 1
        if bucket.waiting:
            return
        with self._torch.profiler.record_function(f"bucket {index}"):
            ready, begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(3))
            ready.record()
            if self.blocks:
                self._collective.stream.wait_event(ready)
                begin.record(self._collective.stream)
                self._collective.launch(self.blocks, self.rate, wire_bytes(bucket.nbytes))
                end.record(self._collective.stream)
            self.marks.append((index, ready, begin, end))

    def run(self):
        """Milliseconds of one backward pass until the last bucket is sent, and until computing is over.

        The GPU waits before it for lead_ms, so that the CPU has launched what comes: its pace is not the network's.
        """
        torch = self._torch
        self._training.optimizer.zero_grad(set_to_none=True)
        for bucket in self.buckets:
            bucket.waiting = len(bucket.parameters)
        self.marks = []
        loss = self._training.forward()
        start, computed, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
        if self.lead_ms:
            torch.cuda._sleep(int(self.lead_ms * 1.9e6))
        start.record()
        began = time.perf_counter()
        with torch.profiler.record_function("backward"):
            loss.backward()
        self.cpu_ms = (time.perf_counter() - began) * 1e3
        self.was_queued = not start.query()
        computed.record()
        torch.cuda.current_stream().wait_stream(self._collective.stream)
        end.record()
        torch.cuda.synchronize()
        self.times = [(index, start.elapsed_time(ready)) + ((start.elapsed_time(begin), start.elapsed_time(over)) if self.blocks else (None, None))
                      for index, ready, begin, over in self.marks]
        return start.elapsed_time(end), start.elapsed_time(computed)


def for_each_backward(collective, torch, plans, visit):
    """visit(name, batch, backward) for each network."""
    import trace_model
    for name, batch in plans.items():
        training = trace_model.Training(models.PLANS[name], torch, "cuda")
        training.use_batch(batch)
        backward = SendingBackward(training, torch, collective)
        gc.disable()  # its pauses are not the network's
        cpu_ms = []
        for _ in range(8):
            backward.run()
            cpu_ms.append(backward.cpu_ms)
        backward.lead_ms = min(MOST_LEAD_MS, LEAD * max(cpu_ms[4:]))
        visit(name, batch, backward)
        backward = training = None
        gc.enable()
        gc.collect()
        torch.cuda.empty_cache()


def measure_steps(tables, steps_out, buckets_out, ctas, rates, name, batch, backward):
    """Every setting once, then all again: what drifts falls on all alike. Buckets are those of the run in the middle."""
    settings = [(0, 0.0)] + [(blocks, rate) for rate in rates for blocks in ctas] + [(0, 0.0)]
    runs = [[] for _ in settings]
    for turn in range(STEPS + 1):
        for (blocks, rate), found in zip(settings, runs):
            backward.blocks, backward.rate = blocks, rate
            step, compute = backward.run()
            if turn:
                found.append((step, compute, backward.was_queued, backward.times))
    steps, buckets = [], []
    for (blocks, rate), found in zip(settings, runs):
        found.sort(key=lambda run: run[0])
        step, _, _, times = found[len(found) // 2]
        steps.append({"model": name, "batch": batch, "ctas": blocks, "target_gbps": rate, "step_ms": step,
                      "spread": (found[-1][0] - found[0][0]) / step, "compute_ms": statistics.median(run[1] for run in found),
                      "copy_busy_ms": sum(end - begin for _, _, begin, end in times) if blocks else 0.0,
                      "buckets": len(backward.buckets), "bytes": sum(bucket.nbytes for bucket in backward.buckets),
                      "queued": sum(1 for run in found if run[2])})
        for index, ready, begin, end in times:
            buckets.append({"model": name, "batch": batch, "ctas": blocks, "target_gbps": rate, "bucket": index,
                            "bytes": backward.buckets[index].nbytes, "ready_ms": ready, "start_ms": begin, "end_ms": end})
    tables.add_together((steps_out, steps), (buckets_out, buckets))


def list_kernels(torch, tables, out, name, batch, backward):
    """The kernels of a backward pass alone."""
    backward.blocks = 0
    found = profiled.profile(torch, "cuda", backward.run, ("backward",), "bucket ")
    rows = [{"model": name, "batch": batch, "bucket": kernel.mark, "op": kernel.op, "kernel_id": tables.names.id_of(kernel.name),
             "smem": kernel.smem, "regs": kernel.regs, "duration_us": round(kernel.duration_us, 3)}
            | dict(zip(("gx", "gy", "gz"), kernel.grid)) | dict(zip(("bx", "by", "bz"), kernel.block))
            for kernel in found if kernel.phase == "backward"]
    tables.add_together((out, rows))


PARTS = ("clusters", "curves", "steps", "kernels")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, metavar="FOLDER")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)} (default all)")
    parser.add_argument("--kernels", default="", metavar="NAMES", help="curves of these only, with commas between (default all)")
    parser.add_argument("--quick", action="store_true", help="two settings of each, to see that it works; "
                        "into a folder of its own: what is there counts as measured")
    given = parser.parse_args()
    parts = given.parts.split(",")
    if any(part not in PARTS for part in parts):
        parser.error(f"--parts is \"{given.parts}\", expected some of {','.join(PARTS)}")
    wanted = [name for name in given.kernels.split(",") if name]
    known = {name for name, _, _ in compute_cases()}
    if any(name not in known for name in wanted):
        parser.error(f"--kernels is \"{given.kernels}\", expected some of {', '.join(sorted(known))}")
    torch = needs.pytorch("overlap", gpu=True, graphs="curves" in parts)
    needs.shared_memory("overlap", torch, SHARED_BYTES)
    if "clusters" in parts:
        needs.clusters("overlap", torch, f"--parts {','.join(part for part in PARTS if part != 'clusters')} measures the rest")
    needs.nvcc("overlap")
    try:
        measure(given, parts, wanted, torch)
    except LaunchError as error:
        needs.stop("overlap", str(error))
    return 0


def measure(given, parts, wanted, torch):
    import gpu_state
    import timing
    tables = table.Tables(given.out)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        collective = Collective(torch, build(folder))
    ctas, step_rates, curve_rates = ((2, 16), (50.0,), (50.0,)) if given.quick else (CTAS, STEP_RATES, CURVE_RATES)
    plans = {"resnet50": 32} if given.quick else STEP_PLANS

    def left(out):
        done = {row["model"] for row in out.rows_before}
        return {name: batch for name, batch in plans.items() if name not in done}

    if "clusters" in parts:
        clusters = table.AppendedTable(tables.path("overlap_clusters"), CLUSTERS_COLUMNS)
        if not clusters.rows_before:
            tables.add_together((clusters, measure_clusters(collective, torch, ctas)))
    if "curves" in parts:
        copies = table.AppendedTable(tables.path("overlap_copy"), COPY)
        if not copies.rows_before:
            tables.add_together((copies, measure_copy(collective, torch)))
        timer = timing.CudaTimer(torch, gpu_state.open_state("cuda"))
        measure_curves(collective, torch, timer, tables, table.AppendedTable(tables.path("overlap_curves"), CURVES), ctas, curve_rates,
                       wanted)
        del timer
        torch.cuda.empty_cache()
    if "steps" in parts:
        steps = table.AppendedTable(tables.path("overlap_steps"), STEPS_COLUMNS)
        buckets = table.AppendedTable(tables.path("overlap_buckets"), BUCKETS)
        for_each_backward(collective, torch, left(steps), functools.partial(measure_steps, tables, steps, buckets, ctas, step_rates))
    if "kernels" in parts:  # last, so that no trace of the profiler is in the times
        listed = table.AppendedTable(tables.path("overlap_kernels"), KERNELS)
        for_each_backward(collective, torch, left(listed), functools.partial(list_kernels, torch, tables, listed))
    print(f"overlap: {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
