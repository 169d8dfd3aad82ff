#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the kernels that training spends its time in on this machine's GPU, and writes tables that models are fitted to.

    tools/collect/collect.py --out FOLDER [--seconds 420]

One table per family of operators (gemm, conv, attention, vec, image), in the columns of the public kernel tables and some of
our own (README.md), and kernel_names.csv. Rows are written as they are known; the same command again goes on where the
last one stopped. Clocks and power limits stay as they are.

    --device cpu --dry    a few seconds, no GPU, times that mean nothing: only to see that the program works
"""
import argparse
import json
import os
import sys
import time
from dataclasses import dataclass

import gpu_state
import kernels
import needs
import ops
import shapes
import table

WARM_TOO = {"vec", "image"}  # families whose time depends on whether the data is in the cache
REPEAT_ONE_IN = 20  # cases measured twice, to know how well a time repeats


@dataclass
class Request:
    out: str
    seconds: float = 420.0
    device: str = "cuda"
    families: tuple = ()
    dry: bool = False
    seed: int = shapes.SEED
    only: str = ""


def wanted_cases(request):
    cases = shapes.dry_cases() if request.dry else shapes.all_cases(seed=request.seed)
    return [case for case in cases if not request.families or case.family in request.families]


def attempts(cases):
    """(case, repeat): everything once, then one case of twenty again."""
    once = [(case, 0) for case in cases]
    return once + [(case, 1) for case in cases if shapes.stable_hash("again " + case.key()) % REPEAT_ONE_IN == 0]


def row_of(case, repeat, timing, names, about):
    main = kernels.main_launch(timing.launches)
    row = {"split": case.split(), "op": case.op, "device": about["device"], "latency_ms": timing.seconds * 1e3, "dtype": case.dtype,
           "n_kernels": len(timing.launches), "kernel_ids": "|".join(str(names.id_of(one.name)) for one in timing.launches),
           "launches": kernels.packed(timing.launches, names.id_of), "spread": timing.spread,
           "warm_ms": None if timing.warm_seconds is None else timing.warm_seconds * 1e3,
           "cpu_us": None if timing.cpu_seconds is None else timing.cpu_seconds * 1e6, "per_replay": timing.calls,
           "replays": timing.replays, "clock_mhz": timing.clock_mhz, "watts": timing.watts, "repeat": repeat}
    row |= dict(case.params)
    if main:
        sms = about.get("sm_count", 1)
        row |= {"kernel_id": names.id_of(main.name), "blocks_per_sm": main.blocks() / sms,
                "warps_per_sm": main.blocks() * -(-main.threads() // 32) / sms, "regs": main.regs, "smem": main.smem,
                "occ": main.occ, "cluster": main.cluster}
        row |= dict(zip(("gx", "gy", "gz"), main.grid)) | dict(zip(("bx", "by", "bz"), main.block))
    return row


def collect(request, torch, say=print):
    import timing
    tables = table.Tables(request.out)
    state = gpu_state.open_state(request.device)
    about = gpu_state.software(torch, request.device)
    timer = timing.make_timer(torch, request.device, state)
    about_start = state.about()
    write_about(request.out, about | {"at_start": about_start, "timer": timer.about})
    todo = [(case, repeat) for case, repeat in attempts(wanted_cases(request)) if (case.key(), repeat) not in tables.done]
    started, measured, skipped = time.monotonic(), 0, 0
    for case, repeat in todo:
        if time.monotonic() - started > request.seconds:
            break
        tables.begin(case.key(), repeat)
        try:
            result = timer.time(ops.call_maker(case, torch, timer.pools), warm=case.family in WARM_TOO)
        except torch.OutOfMemoryError:
            timer.release_memory()
            tables.skip(case.key(), repeat, "not enough memory")
            skipped += 1
            continue
        except (RuntimeError, MemoryError, NotImplementedError, ValueError) as error:
            if "illegal memory" in str(error) or "unspecified launch" in str(error):
                raise  # the device is lost for this process; the next one goes on behind this case
            tables.skip(case.key(), repeat, error)
            skipped += 1
            continue
        tables.add(case.family, table.columns(case.family), row_of(case, repeat, result, tables.names, about), case.key(), repeat)
        measured += 1
        if measured % 500 == 0:
            say(f"collect: {measured} of {len(todo)} rows, {skipped} skipped, {time.monotonic() - started:.0f} s")
    sustain(request, torch, timer, tables)
    write_about(request.out, about | {"at_start": about_start, "at_end": state.about(), "timer": timer.about})
    say(f"collect: {measured} rows, {skipped} skipped, {len(todo) - measured - skipped} left, {time.monotonic() - started:.0f} s")
    return len(todo) - measured - skipped


SUSTAINED = ["key", "op", "dtype", "first_ms", "sustained_ms", "clock_mhz"]
SUSTAINED_SECONDS = 0.6


def sustain(request, torch, timer, tables):
    """How much slower the same call is when the card has been busy with it for a while."""
    if request.families:
        return
    for case in shapes.sustained_cases()[:: 40 if request.dry else 1]:
        key = "sustained " + case.key()
        if (key, 0) in tables.done:
            continue
        tables.begin(key, 0)
        result = timer.sustain(ops.call_maker(case, torch, timer.pools), SUSTAINED_SECONDS)
        row = {"key": case.key(), "op": case.op, "dtype": case.dtype, "first_ms": result.first_seconds * 1e3,
               "sustained_ms": result.seconds * 1e3, "clock_mhz": result.clock_mhz}
        tables.add("sustained", SUSTAINED, row, key, 0)


def write_about(folder, about):
    with open(os.path.join(folder, "about.json"), "w") as file:
        json.dump(about, file, indent=2)
        file.write("\n")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where the tables are, or will be")
    parser.add_argument("--seconds", type=float, default=420.0, help="stop after so many seconds (default 420)")
    parser.add_argument("--families", default="", help=f"some of {','.join(table.SHAPE)}, with commas (default all; bmm is in gemm)")
    parser.add_argument("--seed", type=int, default=shapes.SEED, metavar="N",
                        help=f"draw other shapes (default {shapes.SEED}): to check a model on shapes that nothing was fitted to")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--dry", action="store_true", help="one small case of each kind")
    given = parser.parse_args(arguments)
    families = tuple(name for name in given.families.split(",") if name)
    unknown = [name for name in families if name not in table.SHAPE]
    if unknown:
        parser.error(f"--families is \"{given.families}\", expected some of {','.join(table.SHAPE)}")
    if given.seconds <= 0:
        parser.error(f"--seconds is {given.seconds:g}, expected more than 0")
    if given.device == "cpu" and not given.dry:
        parser.error("--device cpu is for --dry only: the times would mean nothing")
    return Request(given.out, given.seconds, given.device, families, given.dry, given.seed)


def main():
    request = parse(sys.argv[1:])
    on_gpu = request.device == "cuda"
    collect(request, needs.pytorch("collect", gpu=on_gpu, graphs=on_gpu))
    return 0


if __name__ == "__main__":
    sys.exit(main())
