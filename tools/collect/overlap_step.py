#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the list of kernels that `weir plan --overlap` reads from what overlap.py measured.

    tools/collect/overlap_step.py TABLES NETWORK > kernels.csv

TABLES is what the tables' names begin with (docs/measurements/h200_), or their folder; NETWORK one of overlap_kernels.csv.
Each kernel of the backward pass gets the measured curve of the kernel that is most like it: of its kind, with clusters of
the nearest size (the tables of operators tell them), as many blocks and as long. Its time is what the
profiler saw, stretched so that gradients are ready when they were without the profiler: gaps belong to the kernel.
Says on standard error what one block of the stand-in moved beside computing, fitted to all networks and without this one (with only
this one measured, as overlap.py --quick does, to it).
"""
import argparse
import collections
import csv
import gzip
import json
import math
import os
import re
import sys

import needs

COLUMNS = ["us", "curve", "blocks", "cluster", "sends", "kernel"]
OPERATORS = ("gemm", "conv")  # tables that tell the clusters of launches
TINY_US = 5.0  # below it a kernel is a launch
PAIR = 2  # clusters up to it find places nearly everywhere
WIRE = 2 * (8 - 1) / 8  # as overlap.py sends
START_MS = 0.005  # of a collective


def prefix_of(tables):
    """A folder stands for the tables in it whose names have nothing before them."""
    return os.path.join(tables, "") if os.path.isdir(tables) else tables


def hint(prefix):
    """What the tables beside those that are not there begin with."""
    folder = os.path.dirname(prefix)
    names = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    found = {os.path.join(folder, match[1]) for match in (re.fullmatch(r"(.*)overlap_buckets\.csv(\.gz)?", name) for name in names) if match}
    found.discard(prefix)
    return f"; TABLES may be {' or '.join(sorted(found))}" if found else ""


def read(prefix, name, optional=False):
    for path, opener in ((f"{prefix}{name}.csv", open), (f"{prefix}{name}.csv.gz", gzip.open)):
        if os.path.exists(path):
            with opener(path, "rt", newline="") as file:
                return list(csv.DictReader(file))
    if optional:
        return []
    needs.stop("overlap_step", f"there is no {prefix}{name}.csv{hint(prefix)}")


def sm_count(prefix):
    """Of the GPU that was measured."""
    try:
        with open(f"{prefix}about.json") as file:
            return int(json.load(file)["sm_count"])
    except (OSError, ValueError, KeyError):
        needs.stop("overlap_step", f"{prefix}about.json says no sm_count: collect.py writes it beside its tables")


def blocks_of(row):
    return int(row["gx"]) * int(row["gy"]) * int(row["gz"])


def clusters_by_launch(rows):
    """Blocks per cluster by (kernel_id, grid): the most common where one kernel and grid have several."""
    seen = collections.defaultdict(collections.Counter)
    for row in rows:
        for launch in filter(None, row["launches"].split(";")):
            number, grid, *_, cluster = launch.split(":")
            seen[number, grid][int(cluster)] += 1
    return {launch: counts.most_common(1)[0][0] for launch, counts in seen.items()}


class CurveChoice:
    """The measured kernel that is most like a kernel of a network."""

    def __init__(self, curves, sms):
        self._sms = sms
        self._like = {row["kernel"]: (blocks_of(row), float(row["alone_us"])) for row in curves}
        self._cluster = {row["kernel"]: int(row["cluster"]) for row in curves}

    def _nearest(self, word, blocks, us, cluster):
        """Of one kind (bf16), nearest in clusters, then in blocks and in time: with as many persistent blocks, as long means as many waves."""
        def distance(name):
            of_blocks, of_us = self._like[name]
            apart = abs(math.log2(max(PAIR, cluster) / max(PAIR, self._cluster[name]))) if cluster else 0
            return (apart, 20 * abs(of_blocks - blocks) / self._sms + abs(math.log2(us / of_us)), name)
        return min((name for name in self._like if name.startswith(word) and "32" not in name), key=distance)

    def choose(self, op, kernel, blocks, us, cluster=None):
        is_product = any(word in kernel for word in ("nvjet", "gemm", "cutlass")) or ("xmma" in kernel and "init" not in kernel)
        if is_product and "splitKreduce" not in kernel:
            if blocks > 2 * self._sms:
                return "gemm many waves"
            return self._nearest("conv" if "convolution" in op and "nvjet" not in kernel else "gemm", blocks, us, cluster)
        if "attention" in op and "bprop" in kernel:
            return "attention cudnn bwd"
        if us < TINY_US:
            return "small add"
        for words, curve in ((("layer_norm", "sum"), "layer norm bwd"), (("batch_norm",), "batch norm bwd"), (("copy",), "cast"),
                             (("max_pool",), "max pool bwd"), (("gelu", "softmax", "pool"), "gelu bwd")):
            if any(word in op for word in words):
                return curve
        return "add"


def ready_times(buckets, network):
    """(bytes, ms when ready without sending) by bucket, the mean of before and after."""
    seen = collections.defaultdict(list)
    for row in buckets:
        if row["model"] == network and row["ctas"] == "0":
            seen[int(row["bucket"])].append((int(row["bytes"]), float(row["ready_ms"])))
    return [(rows[0][0], sum(ready for _, ready in rows) / len(rows)) for _, rows in sorted(seen.items())]


def kernel_list(kernels, names, clusters, buckets, steps, choice, network):
    """Rows of COLUMNS."""
    ready = ready_times(buckets, network)
    alone = [float(row["step_ms"]) for row in steps if row["model"] == network and row["ctas"] == "0"]
    parts = collections.defaultdict(list)  # by bucket; what works towards none comes last
    for row in kernels:
        if row["model"] == network:
            parts[int(row["bucket"]) if row["bucket"] else len(ready)].append(row)
    rows, before = [], 0.0
    for part in range(len(ready) + 1):
        end = ready[part][1] if part < len(ready) else max(sum(alone) / len(alone), before)
        lasted = sum(float(row["duration_us"]) for row in parts[part])
        stretch = (end - before) * 1e3 / lasted if lasted else 0.0
        for row in parts[part]:
            us, name = float(row["duration_us"]), names[row["kernel_id"]]
            cluster = clusters.get((row["kernel_id"], "x".join(row[side] for side in ("gx", "gy", "gz"))))
            curve = choice.choose(row["op"], name, blocks_of(row), us, cluster)
            rows.append([f"{us * stretch:.3f}", curve, blocks_of(row), cluster or "", "", name[:40]])
        if not parts[part] and end > before:
            rows.append([f"{(end - before) * 1e3:.3f}", "small add", "", "", "", "(gap)"])
        if part < len(ready):
            if not rows:
                rows.append(["0", "small add", "", "", "", "(start)"])
            rows[-1][COLUMNS.index("sends")] = ready[part][0]
        before = end
    return rows


def rate_beside(buckets, steps, block_gbps, without=None):
    """GB/s of one block beside computing: of the buckets that blocks, not the pace, limited and that ended before computing did.
    None if there are none, as in tables of one network without it."""
    computed = {(row["model"], row["ctas"], row["target_gbps"]): float(row["compute_ms"]) for row in steps}
    moved, taken = 0.0, 0.0
    for row in buckets:
        blocks, key = int(row["ctas"]), (row["model"], row["ctas"], row["target_gbps"])
        if blocks == 0 or row["model"] == without or blocks * block_gbps > float(row["target_gbps"]) * 1.02:
            continue
        if float(row["end_ms"]) <= computed[key]:
            moved += WIRE * int(row["bytes"]) / 1e6 / blocks
            taken += float(row["end_ms"]) - float(row["start_ms"]) - START_MS
    return moved / taken if taken > 0 else None


def told_rates(buckets, steps, alone, network):
    """What the list's own document takes for a block (examples/overlap): fitted without the network it is about, if others were measured."""
    beside, fitted = rate_beside(buckets, steps, alone), rate_beside(buckets, steps, alone, network)
    if beside is None:
        return f"one block: {alone:.1f} GB/s alone; no bucket of these tables tells it beside computing"
    if fitted is None:
        return f"one block: {alone:.1f} GB/s alone, {beside:.1f} beside computing, fitted to {network} itself: these tables have no other network"
    return f"one block: {alone:.1f} GB/s alone, {beside:.1f} beside computing, {fitted:.1f} fitted without {network}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", metavar="TABLES", help="what the tables' names begin with (docs/measurements/h200_), or their folder")
    parser.add_argument("network", metavar="NETWORK", help="one of overlap_kernels.csv")
    given = parser.parse_args()
    prefix, network = prefix_of(given.tables), given.network
    buckets, steps = read(prefix, "overlap_buckets"), read(prefix, "overlap_steps")
    if not any(row["model"] == network for row in steps):
        needs.stop("overlap_step", f"{network} is not among {', '.join(dict.fromkeys(row['model'] for row in steps))}")
    names = {row["kernel_id"]: row["name"] for row in read(prefix, "kernel_names")}
    choice = CurveChoice(read(prefix, "overlap_curves"), sm_count(prefix))
    clusters = clusters_by_launch(row for name in OPERATORS for row in read(prefix, name, optional=True))
    rows = kernel_list(read(prefix, "overlap_kernels"), names, clusters, buckets, steps, choice, network)
    alone = max(float(row["gbps"]) for row in read(prefix, "overlap_copy") if row["ctas"] == "1" and int(row["bytes"]) > 32 << 20)
    rates = told_rates(buckets, steps, alone, network)  # all that can be missing is missed before the first line
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    out.writerows(rows)
    print(rates, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
