#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The planned curve of a small GPT on this machine's CPU slots, beside the measured one.

    tools/measure_cpu_curve.py WEIR [--slots 1,2,4] [--batch 2 --sequence 8] [--gpus FILE]

1. Calibrates a slot: one thread's rate of matrix products, of memory, and what an all-reduce of Gloo takes. As many
   processes as there are cores do it at once, because a slot is slower when its neighbours work.
2. Writes that as a type of GPU (--gpus FILE keeps it) and asks `weir plan --curve` for data-parallel plans.
3. Trains examples/train/gpt.py with as many ranks, a core each, as many copies at once as there are cores for.
4. Prints planned, measured, their ratio and both shapes.

The fastest third of the steps counts: the rest had company. On a machine that others use, too, seconds say how busy it is;
--clock cpu then counts the CPU seconds of a rank, in calibration and training alike: what its computing, copying and sending
cost, without waiting. Needs PyTorch with Gloo (make deps-torch); exit code 77 without it.
"""
import argparse
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
GPT = Path(__file__).resolve().parents[1] / "examples" / "train"
NAME = "CPU"
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
LARGE_SIDE, SMALL_SIDE = 384, 32
SMALL_BYTES, LARGE_BYTES = 4 << 10, 16 << 20


def fast(times):
    """The mean of the fastest third."""
    kept = sorted(times)[:max(1, len(times) // 3)]
    return sum(kept) / len(kept)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def start(command, ranks):
    """One process for each rank, as torchrun starts them, and a file that it prints to."""
    shared = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": str(ranks),
              "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    files = [tempfile.TemporaryFile("w+") for _ in range(ranks)]
    return [(subprocess.Popen([sys.executable, *command], stdin=subprocess.DEVNULL, stdout=file,
                              env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}), file) for rank, file in enumerate(files)]


def finish(ranks):
    """What each printed. When one fails, the others would wait for it for ever."""
    processes = [process for process, _ in ranks]
    while any(process.poll() is None for process in processes) and not any(process.poll() for process in processes):
        time.sleep(0.02)
    failed = next((process for process in processes if process.poll()), None)
    for process in processes:
        process.kill()  # where it has not ended
        process.wait()
    if failed is not None:
        sys.exit(f"measure_cpu_curve: a rank left with {failed.returncode}")
    printed = []
    for _, file in ranks:
        file.seek(0)
        printed.append(file.read())
        file.close()
    return printed


# ---- calibration, in a process of its own


def seconds_of(work, least_s, clock):
    work()
    times = []
    until = time.perf_counter() + least_s
    while time.perf_counter() < until or len(times) < 6:
        began = clock()
        work()
        times.append(clock() - began)
    return fast(times)


def calibrate_slot(least_s, clock):
    """GEMM and memory rates of this process, while the others do the same."""
    import torch
    torch.set_num_threads(1)
    gemm = {}
    for name, side in (("large", LARGE_SIDE), ("small", SMALL_SIDE)):
        a, b = torch.randn(side, side), torch.randn(side, side)
        gemm[name] = 2 * side**3 / seconds_of(lambda: a @ b, least_s, clock)
    source, target = torch.randn(LARGE_BYTES // 4), torch.empty(LARGE_BYTES // 4)
    memory = 2 * LARGE_BYTES / seconds_of(lambda: target.copy_(source), least_s, clock)
    return {"gemm": gemm, "memory": memory}


def calibrate_links(least_s, clock):
    """What a small and a large all-reduce take among all ranks. Every rank does as many: rank 0 alone looks at the clock."""
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    found = {}
    for name, size in (("small", SMALL_BYTES), ("large", LARGE_BYTES)):
        data = torch.zeros(size // 4)
        times = []
        for _ in range(max(8, int(least_s * (400 if name == "small" else 20)))):
            dist.barrier()
            began = clock()
            dist.all_reduce(data)
            times.append(clock() - began)
        found[name] = fast(times[2:])
    return found


def calibrate(cores, least_s, clock):
    """A slot as a type of GPU, in the words of `weir plan --gpu-file`."""
    def found(what, ranks):
        command = [str(Path(__file__).resolve()), "--calibrate", what, "--seconds", str(least_s), "--clock", clock]
        return [json.loads(text) for text in finish(start(command, ranks))]

    slots, links = found("slot", cores), found("links", 2)[0]
    gemm = {name: sum(slot["gemm"][name] for slot in slots) / cores for name in ("large", "small")}
    memory = sum(slot["memory"] for slot in slots) / cores
    # weir's all-reduce over two: 2 (bytes / 2 / rate + latency).
    latency = links["small"] / 2
    rate = LARGE_BYTES / max(1e-9, links["large"] - links["small"])
    short = short_side(gemm)
    peak = gemm["large"] * ((LARGE_SIDE + short) / LARGE_SIDE) ** 3
    return {"name": NAME, "tflops": peak / 1e12, "memory": f"{memory_gib()}GiB", "memory_rate": memory / 1e9, "link_rate": rate / 1e9,
            "link_efficiency": 1, "latency": latency * 1e6, "gemm_efficiency": 1, "short_side": short, "call": 0, "element_bytes": 4}


def short_side(gemm):
    """weir's law: a product of side d reaches (d / (d + short_side))^3 of the peak. 0 where small ones are no slower."""
    lost = (gemm["small"] / gemm["large"]) ** (1 / 3) * LARGE_SIDE / SMALL_SIDE  # (LARGE + s) / (SMALL + s)
    return 0.0 if lost <= 1 else max(0.0, (LARGE_SIDE - lost * SMALL_SIDE) / (lost - 1))


def memory_gib():
    return max(1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30)


# ---- planned and measured


def planned(weir, gpus, args, slots):
    """Iterations per second by slots, of plain data parallelism: what DDP does."""
    command = [weir, "plan", "--model-config", args.config, "--gpu-file", gpus, "--gpus-per-node", str(max(slots)),
               "--batch", str(args.batch), "--sequence", str(args.sequence), "--runtime", "megatron-2021",
               "--pin", "tp=1,sp=1,pp=1,wp=1,zp=1,recompute=none,accumulate=1", "--curve", ",".join(map(str, slots)), "--json"]
    answer = json.loads(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout)
    return {point["gpus"]: point["iterations_per_s"] for point in answer["curve"] if "iterations_per_s" in point}


def measured(args, slots, cores):
    rates = {}
    for ranks in slots:
        command = [str(GPT / "gpt.py"), "--config", args.config, "--batch", str(args.batch), "--sequence", str(args.sequence),
                   "--steps", str(args.steps), "--times"]
        copies = [start(command, ranks) for _ in range(max(1, cores // ranks))]
        times = []
        for copy in copies:
            lines = finish(copy)[0].splitlines()
            times.append(fast([float(line.split()[-2 if args.clock == "wall" else -1]) for line in lines[2:]]))
        rates[ranks] = len(times) / sum(times)
    return rates


def table(plan, truth, cores):
    lines = ["slots  planned it/s  measured it/s  planned/measured  planned shape  measured shape"]
    for slots in sorted(truth):
        ratio = plan[slots] / truth[slots]
        shapes = plan[slots] / plan[min(truth)], truth[slots] / truth[min(truth)]
        note = "" if slots <= cores else f"   more ranks than the {cores} cores: not what a slot is"
        lines.append(f"{slots:5}  {plan[slots]:12.3f}  {truth[slots]:13.3f}  {ratio:16.2f}  {shapes[0]:13.2f}  {shapes[1]:14.2f}{note}")
    return "\n".join(lines)


def plot(plan, truth):
    """Both shapes as bars."""
    lines = []
    for slots in sorted(truth):
        for name, curve in (("planned", plan), ("measured", truth)):
            shape = curve[slots] / curve[min(truth)]
            lines.append(f"{slots if name == 'planned' else '':>5}  {name:8}  {'#' * round(20 * shape)} {shape:.2f}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("weir", nargs="?", help="the program")
    parser.add_argument("--config", default=str(GPT / "gpt.json"))
    parser.add_argument("--batch", type=int, default=4, help="samples of all ranks; few tokens show the all-reduce")
    parser.add_argument("--sequence", type=int, default=8, help="tokens of a sample")
    parser.add_argument("--slots", default="1,2,4")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=2, help="of each calibration, at least")
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    parser.add_argument("--gpus", help="a file that gets the calibrated type")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--calibrate", choices=["slot", "links"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.calibrate:
        find = calibrate_slot if args.calibrate == "slot" else calibrate_links
        print(json.dumps(find(args.seconds, CLOCKS[args.clock])))
        return
    if importlib.util.find_spec("torch") is None:
        print(f"skipped: {sys.executable} has no torch (make deps-torch)")
        sys.exit(77)
    if not args.weir:
        sys.exit(parser.format_usage().strip())
    cores = len(os.sched_getaffinity(0))
    slots = sorted({int(text) for text in args.slots.split(",")})
    kind = calibrate(cores, args.seconds, args.clock)
    with tempfile.TemporaryDirectory() as folder:
        gpus = args.gpus or f"{folder}/gpus.yaml"
        fields = ", ".join(f"{name}: {value:.6g}" if isinstance(value, float) else f"{name}: {value}" for name, value in kind.items())
        Path(gpus).write_text(f"gpus:\n  - {{{fields}}}\n")
        plan = planned(args.weir, gpus, args, slots)
    truth = measured(args, slots, cores)
    if args.json:
        print(json.dumps({"cores": cores, "gpu": kind, "planned": plan, "measured": truth}))
        return
    print(f"a slot of {cores}: {kind['tflops'] * 1e3:.1f} GFLOP/s, memory {kind['memory_rate']:.1f} GB/s, "
          f"all-reduce {kind['link_rate']:.2f} GB/s after {kind['latency']:.0f} us\n")
    print(table(plan, truth, cores), plot(plan, truth), sep="\n\n")


if __name__ == "__main__":
    main()
