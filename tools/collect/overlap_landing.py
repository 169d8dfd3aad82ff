#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how fast blocks of the collective's stand-in are by the kernel that ran when they came.

    tools/collect/overlap_landing.py --out FOLDER

writes overlap_landing.csv: GB/s of one block over its whole life (6 ms, most of it alone), when it came `into` a kernel (a
part of its time) in the middle of many, and the SMs that it got. Variant `shared` is the stand-in as overlap.py uses it;
`registers` loads into registers, through the L1, of which a kernel with much shared memory leaves little.
"""
import argparse
import os
import sys
import tempfile

import gpu_state
import needs
import ops
import overlap
import table
import timing

COLUMNS = ["variant", "kernel", "smem", "ctas", "into", "gbps", "sms"]
VARIANTS = (("shared", ()), ("registers", ("-DTHROUGH_REGISTERS",)))
KERNELS = ("gemm dgrad", "gemm wgrad", "attention cudnn bwd", "cast", "conv dgrad 3x3", "conv fwd 3x3", "conv wgrad 3x3", "add",
           "layer norm bwd", "conv dgrad clusters of 16")
CTAS, INTO, RUNS = (1, 2, 4), (0.2, 0.5, 0.8), 3
COMPUTED_S, LIVED_NS = 600e-6, 6_000_000
CYCLES_PER_S, WAIT_S = 1.9e9, 80e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True, help="folder of the table")
    folder = parser.parse_args().out
    torch = needs.pytorch("overlap_landing", gpu=True, graphs=True)
    needs.shared_memory("overlap_landing", torch, overlap.SHARED_BYTES)
    needs.nvcc("overlap_landing")

    os.makedirs(folder, exist_ok=True)
    out = table.AppendedTable(os.path.join(folder, "overlap_landing.csv"), COLUMNS)
    timer = timing.CudaTimer(torch, gpu_state.open_state("cuda"))
    made = []
    for name, _, case in overlap.compute_cases():
        if name in KERNELS:
            make = ops.call_maker(case, torch, timer.pools)
            timed = timer.time(make)
            count = max(1, min(40, round(COMPUTED_S / timed.seconds)))
            with torch.cuda.stream(timer.stream):
                graph = timer.capture([make() for _ in range(count)])
                timer.replay(graph, 2, flush=False)
            made.append((name, graph, timed, count))
    for variant, flags in VARIANTS:
        with tempfile.TemporaryDirectory() as where:
            collective = overlap.Collective(torch, overlap.build(where, *flags))
        for name, graph, timed, count in made:
            for blocks, into in ((blocks, into) for blocks in CTAS for into in INTO for _ in range(RUNS)):
                torch.cuda.synchronize()
                start = torch.cuda.Event(enable_timing=True)
                with torch.cuda.stream(timer.stream):
                    torch.cuda._sleep(int(WAIT_S * CYCLES_PER_S))
                    start.record()
                    graph.replay()
                collective.stream.wait_event(start)
                with torch.cuda.stream(collective.stream):
                    torch.cuda._sleep(int((count // 2 + into) * timed.seconds * CYCLES_PER_S))
                collective.launch(blocks, 0.0, 0, LIVED_NS)
                torch.cuda.synchronize()
                gbps, sms = collective.result(blocks)[0], collective.sms(blocks)
                out.add({"variant": variant, "kernel": name, "smem": max(one.smem for one in timed.launches), "ctas": blocks,
                         "into": into, "gbps": gbps / blocks, "sms": " ".join(map(str, sms))})
    return 0


if __name__ == "__main__":
    sys.exit(main())
