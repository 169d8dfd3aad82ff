#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures whole training iterations and lists their kernels, so that predictions can be checked without a GPU.

    tools/collect/trace_model.py --out FOLDER [--models resnet50,...]

PyTorch eager, bf16 autocast, fused AdamW; images in channels-last layout. Writes

    iterations.csv          a row per network, batch and round: time of an iteration, and what the CPU needs to launch it
    iteration_kernels.csv   every kernel of one iteration, in order
    iteration_ops.csv       the operators that launched them, by number: shapes, strides, types, arguments

The times come before the kernels, so that no trace of the profiler is in them.

    --device cpu --dry      small networks, no kernels: only to see that the program works

Without a GPU, it writes down the operators of any network, for `weir predict --ops`:

    tools/collect/trace_model.py --model package.module:function --batch 8 --out ops.json

function() returns a module that takes images, or (module, batch_of): batch_of(n) gives the inputs of n samples, the module returns the
loss. --model may also be one of the networks here: resnet50. With --time, where there is a GPU, it is also run and timed: to see how far
the prediction is off.
"""
import argparse
import dataclasses
import functools
import gc
import os
import re
import statistics
import sys
import time

import cpu_probe
import gpu_state
import models
import needs
import operators
import profiled
import table

ITERATIONS = ["model", "batch", "round", "judged", "parameters", "tensors", "iteration_ms", "spread", "cpu_forward_ms", "cpu_backward_ms",
              "cpu_optimizer_ms", "cpu_ms", "step_probe_us", "launch_probe_us", "clock_mhz", "watts", "memory_mib"]
KERNELS = ["model", "batch", "phase", "op_id", "kernel_id", "gx", "gy", "gz", "bx", "by", "bz", "smem", "regs", "start_us", "duration_us"]
OPS = ["op_id", "op", "details"]
PHASES = ("forward", "backward", "optimizer")
WARM_UP, WARM_UP_SECONDS = 4, 0.5
TURN, LONG_ENOUGH, LEAST_TURNS = 0.1, 2.4, 4  # seconds of iterations between two looks at the CPU, and in all
LEAST_IN_TURN = 3  # iterations, of which the first does not count: it finds the GPU idle, and ends when the GPU does
ROUNDS = 2  # at different times: a shared CPU is not always equally fast
LOADED_SECONDS = 0.3  # the profiled iteration follows so much work, for the clock to be what it is in a long run


class Training:
    """A network, its optimizer and one iteration of both."""

    def __init__(self, plan, torch, device, made=None):
        """made: a module and its batches, instead of a plan."""
        self.torch, self.device = torch, device
        self.module, self._batch_of = made or models.make(plan, torch, device)
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=1e-5, fused=True)
        self.probe = cpu_probe.CpuProbe(torch, device)

    def use_batch(self, n):
        self._inputs = self._batch_of(n)

    def forward(self):
        with self.torch.autocast(self.device, self.torch.bfloat16):
            return self.module(*self._inputs)

    def step(self, stamp=lambda: None):
        note = self.torch.profiler.record_function
        with note("forward"):
            loss = self.forward()
        stamp()
        with note("backward"):
            loss.backward()
        stamp()
        with note("optimizer"):
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        stamp()

    def finish(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()


def cpu_phases(training, count=9):
    """Milliseconds the CPU needs for each phase when it starts on an idle GPU."""
    taken = []
    for _ in range(count):
        training.finish()
        stamps = [time.perf_counter()]
        training.step(lambda: stamps.append(time.perf_counter()))
        taken.append([(b - a) * 1e3 for a, b in zip(stamps, stamps[1:])])
    training.finish()
    return [statistics.median(phase) for phase in zip(*taken)]


def warm_up(training):
    start, count = time.perf_counter(), 0
    while count < WARM_UP or (training.device == "cuda" and time.perf_counter() - start < WARM_UP_SECONDS):
        training.step()
        training.finish()
        count += 1
    return (time.perf_counter() - start) / count


@dataclasses.dataclass
class Loop:
    """Iterations back to back, in turns with a look at how fast the CPU is."""
    ms: list
    probe_us: float
    clock_mhz: float = None
    watts: float = None


def turn_of(training, count):
    """Milliseconds of each of so many iterations but the first."""
    marks = [training.torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    marks[0].record()
    for mark in marks[1:]:
        training.step()
        mark.record()
    training.finish()
    return [a.elapsed_time(b) for a, b in zip(marks[1:], marks[2:])]


def run_loop(training, state, guess, probe):
    if training.device != "cuda":
        return Loop([guess * 1e3], probe.microseconds())
    count = max(LEAST_IN_TURN, round(TURN / guess))
    turns = max(LEAST_TURNS, round(LONG_ENOUGH / (count * guess)))
    taken, probes, clocks = [], [probe.microseconds()], []
    before, start = state.joules(), time.perf_counter()
    for _ in range(turns):
        taken += turn_of(training, count)
        clocks.append(state.clock_mhz() or 0)
        probes.append(probe.microseconds())
    after, seconds = state.joules(), time.perf_counter() - start
    watts = (after - before) / seconds if before is not None and after is not None else None
    return Loop(taken, statistics.median(probes), statistics.median(clocks), watts)


def last_iteration(kernels):
    """The kernels of the last iteration of several."""
    starts = [index for index, kernel in enumerate(kernels)
              if kernel.phase == "forward" and (index == 0 or kernels[index - 1].phase == "optimizer")]
    return kernels[starts[-1]:] if starts else kernels


def profile_loaded(training, torch, guess):
    steps = 1 + max(1, min(6, int(LOADED_SECONDS / guess)))

    def work():
        for _ in range(steps):
            training.step()
    return last_iteration(profiled.profile(torch, training.device, work, PHASES))


def launch_probe(training, batches=9, launches=200):
    """Microseconds the CPU needs for one small operator, to know how fast it is at this moment."""
    x = training.torch.ones(64, device=training.device)
    taken = []
    for _ in range(batches):
        training.finish()
        start = time.perf_counter()
        for _ in range(launches):
            x.neg_()
        taken.append((time.perf_counter() - start) / launches * 1e6)
    return statistics.median(taken)


class OpNumbers:
    """Operators with their details, by number."""

    def __init__(self, path):
        self._table = table.AppendedTable(path, OPS)
        self._ids = {(row["op"], row["details"]): int(row["op_id"]) for row in self._table.rows_before}

    def id_of(self, op, details):
        if (op, details) not in self._ids:
            self._ids[op, details] = len(self._ids)
            self._table.add({"op_id": self._ids[op, details], "op": op, "details": details})
        return self._ids[op, details]


def time_iterations(name, batch, number, training, torch, state):
    """number: of the round."""
    training.use_batch(batch)
    guess = warm_up(training)
    launch = launch_probe(training)
    loop = run_loop(training, state, guess, training.probe)
    launch = (launch + launch_probe(training)) / 2
    phases = cpu_phases(training)
    parameters = list(training.module.parameters())
    middle, spread = statistics.median(loop.ms), statistics.quantiles(loop.ms, n=10) if len(loop.ms) > 1 else [0, 0]
    return {"model": name, "batch": batch, "round": number, "judged": int(name in models.JUDGED),
            "parameters": sum(one.numel() for one in parameters), "tensors": len(parameters), "iteration_ms": middle,
            "spread": (spread[-1] - spread[0]) / middle, "cpu_forward_ms": phases[0], "cpu_backward_ms": phases[1],
            "cpu_optimizer_ms": phases[2], "cpu_ms": sum(phases), "step_probe_us": loop.probe_us, "launch_probe_us": launch, "clock_mhz": loop.clock_mhz,
            "watts": loop.watts, "memory_mib": torch.cuda.max_memory_allocated() / 2**20 if training.device == "cuda" else None}


def list_kernels(name, batch, training, torch, tables, out, ops):
    training.use_batch(batch)
    kernels = profile_loaded(training, torch, warm_up(training))
    origin = kernels[0].start_us if kernels else 0.0
    rows = [{"model": name, "batch": batch, "phase": kernel.phase, "op_id": ops.id_of(kernel.op, kernel.details),
             "kernel_id": tables.names.id_of(kernel.name), "smem": kernel.smem, "regs": kernel.regs,
             "start_us": round(kernel.start_us - origin, 2), "duration_us": round(kernel.duration_us, 3)}
            | dict(zip(("gx", "gy", "gz"), kernel.grid)) | dict(zip(("bx", "by", "bz"), kernel.block)) for kernel in kernels]
    tables.add_together((out, rows))
    return sum(kernel.duration_us for kernel in kernels) / 1e3


def batches_of(text):
    """Numbers with commas between."""
    parts = text.split(",")
    if any(re.fullmatch("0*[1-9][0-9]{0,8}", part.strip()) is None for part in parts):
        raise argparse.ArgumentTypeError(f"is \"{text}\", expected numbers of samples, 1 or more, with commas between")
    return tuple(dict.fromkeys(int(part) for part in parts))  # each once


def plans_of(names, dry=False, batches=()):
    """The networks of these names; batches in place of their own."""
    plans = {name: models.shrunk(models.PLANS[name]) if dry else models.PLANS[name] for name in names}
    return {name: dataclasses.replace(plan, batches=tuple(batches)) if batches else plan for name, plan in plans.items()}


def for_each(plans, torch, device, wanted, visit):
    """visit(name, batch, training) for every network and batch that is wanted."""
    for name, plan in plans.items():
        batches = [batch for batch in plan.batches if wanted(name, batch)]
        training = Training(plan, torch, device) if batches else None
        for batch in batches:
            gc.collect()
            gc.disable()  # its pauses are not the network's
            visit(name, batch, training)
            gc.enable()
        training = None
        gc.collect()
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


def trace(folder, plans, parts, torch, device, say=print):
    tables = table.Tables(folder)
    state = gpu_state.open_state(device)
    if "times" in parts:
        out = table.AppendedTable(tables.path("iterations"), ITERATIONS)
        done = {(row["model"], int(row["batch"]), int(row["round"])) for row in out.rows_before}

        def time_it(number, name, batch, training):
            row = time_iterations(name, batch, number, training, torch, state)
            out.add(row)
            say(f"{name} batch {batch}: {row['iteration_ms']:.2f} ms, CPU {row['cpu_ms']:.2f} ms")

        for number in range(ROUNDS):
            for_each(plans, torch, device, lambda name, batch: (name, batch, number) not in done, functools.partial(time_it, number))
    if "kernels" in parts:
        out, ops = table.AppendedTable(tables.path("iteration_kernels"), KERNELS), OpNumbers(tables.path("iteration_ops"))
        listed = {(row["model"], int(row["batch"])) for row in out.rows_before}

        def list_it(name, batch, training):
            say(f"{name} batch {batch}: {list_kernels(name, batch, training, torch, tables, out, ops):.2f} ms of kernels")

        for_each(plans, torch, device, lambda name, batch: (name, batch) not in listed, list_it)


def write_operators(given, torch):
    with operators.gpu_autocast(torch), operators.told_questions(torch):  # the network's module is read in here, too
        make = operators.maker(given.model, torch, given.image, not given.channels_first)
        traced = operators.trace(make, given.batch, torch)
    operators.write(given.out, given.model, traced)
    print(f"{given.out}: {sum(entry['count'] for entry in traced['ops'])} operators, {traced['parameters']} parameters")
    if given.time:
        row = time_network(given.model, make, given.batch, torch, given.device)
        print(f"measured: {row['iteration_ms']:.2f} ms, of which the CPU launches for {row['cpu_ms']:.2f} ms; "
              f"ask with --step-probe {row['step_probe_us'] / 1e3:.3f}")


def time_network(name, make, batch, torch, device):
    """A network of the user's, run for real."""
    with torch.device(device):
        module, batch_of = make()
        module.to(device)
        return time_iterations(name, batch, 0, Training(None, torch, device, (module, batch_of)), torch, gpu_state.open_state(device))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, metavar="FOLDER", help="with --model a file, ops.json or ops.json.gz")
    parser.add_argument("--model", metavar="NAME", help="write down the operators of this network: package.module:function, or one of "
                        + ",".join(models.PLANS))
    parser.add_argument("--batch", type=int, metavar="N", help="with --model: samples in an iteration")
    parser.add_argument("--image", type=int, default=224, metavar="SIDE", help="with --model: side of images (224)")
    parser.add_argument("--channels-first", action="store_true", help="with --model: images in PyTorch's own layout, not channels last")
    parser.add_argument("--time", action="store_true", help="with --model: also run it on the GPU and tell how long an iteration takes")
    parser.add_argument("--models", default=",".join(models.PLANS), help="some of " + ",".join(models.PLANS))
    parser.add_argument("--batches", type=batches_of, default=(), metavar="N,N",
                        help="these batches in place of each network's own: what nothing was fitted to")
    parser.add_argument("--parts", default="times,kernels", help="times, kernels or both (default)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--dry", action="store_true", help="small networks")
    given = parser.parse_args()
    if given.model is not None:
        if given.batches:
            parser.error("--batches is for the networks of --models; --model takes --batch")
        if given.batch is None or not 1 <= given.batch <= operators.MOST_BATCH:
            parser.error(f"--model needs --batch, 1 to {operators.MOST_BATCH}: how many samples an iteration has")
        if given.time and given.device == "cpu":
            parser.error("--time needs the GPU: with --device cpu the times would mean nothing")
        try:
            operators.check_place(given.out)
            torch = needs.pytorch("trace_model", gpu=given.time)
            write_operators(given, torch)
        except operators.Mistake as mistake:
            parser.error(str(mistake))
        return 0
    if given.batch is not None:
        parser.error("--batch is for --model; the networks here take --batches")
    names = [name for name in given.models.split(",") if name]
    unknown = [name for name in names if name not in models.PLANS]
    if unknown:
        parser.error(f"--models names \"{unknown[0]}\", expected some of {','.join(models.PLANS)}")
    parts = given.parts.split(",")
    if any(part not in ("times", "kernels") for part in parts):
        parser.error(f"--parts is \"{given.parts}\", expected times, kernels or times,kernels")
    if os.path.exists(given.out) and not os.path.isdir(given.out):
        parser.error(f"--out is \"{given.out}\", a file: expected a folder")
    if given.device == "cpu" and not given.dry:
        parser.error("--device cpu is for --dry only: the times would mean nothing")
    torch = needs.pytorch("trace_model", gpu=given.device == "cuda")
    trace(given.out, plans_of(names, given.dry, given.batches), parts, torch, given.device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
