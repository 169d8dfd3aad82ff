#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The full sweep against the published results: 17 task lists x all policies x seeds 42..51.

    tools/check_sweep.py [RESULT.json]     default: runs build/release/bin/weir itself
    tools/check_sweep.py --markdown        prints the tables of docs/published.md
    tools/check_sweep.py --weir PROGRAM    another program than build/release/bin/weir

Fails when a mean at 100 % arrived leaves its tolerance, when policies do not rank as published, when
a policy that claims to beat FGD does not on every list (at 100 and 130 % arrived), when one exceeds
the relaxation bound, or when the sweep takes over 60 s. Needs the public
data (WEIR_DATA, default ../shared/data): without it the check is skipped, or fails when CI=true.
"""
import argparse
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("WEIR_DATA") or ROOT.parent / "shared" / "data") / "openb"
PUBLISHED_NAMES = {
    "01-Random": "random", "02-DotProd": "dot-product", "03-GpuClustering": "clustering",
    "04-GpuPacking": "packing", "05-BestFit": "best-fit", "06-FGD": "fgd",
}
# What the published table calls it, what weir calls it, and the tolerance in points.
METRICS = {"alloc_pct": ("allocated", 0.4), "frag_amount_pct_of_capacity": ("fragmented", 0.5)}
TOLERANCE = dict(METRICS.values())
TIGHT = ("fgd", "best-fit")  # reproduced within the plain tolerance; the others draw random numbers
BEATS_FGD = ("fgd-plus", "ev-plus")
# What an independent prototype reached with them (mean at 100 and at 130 % arrived); ours must not be
# more than 0.3 points below.
PROTOTYPE = {
    "fgd-plus": {"default": (95.76, 95.84), "gpuspec33": (94.23, 95.10), "gpushare100": (87.04, 87.28),
                 "gpuspec25": (95.08, 95.26), "multigpu50": (97.24, 97.34), "cpu250": (94.35, 94.58)},
    "ev-plus": {"default": (96.11, 96.29), "gpuspec33": (93.95, 95.12), "gpushare100": (88.23, 88.47),
                "gpuspec25": (94.92, 95.62), "multigpu50": (97.73, 97.90), "cpu250": (93.69, 93.94)},
}
PROTOTYPE_SLACK = 0.3
# Published rankings at 100 % arrived, worst first; policies in one group may swap.
RANKINGS = {
    "default": [("random",), ("dot-product",), ("clustering", "packing"), ("best-fit",), ("fgd",)],
    "gpuspec33": [("dot-product", "clustering", "packing", "best-fit"), ("random",), ("fgd",)],
}
SEEDS = "42..51"
TIME_LIMIT_S = 60
# The bound is for the list's own mix; the draws of one seed move it by up to this much.
BOUND_SLACK = 0.2
POLICY_ORDER = ("random", "dot-product", "clustering", "packing", "best-fit", "fgd", "fgd-plus", "ev-plus")


def published():
    """{(field, list, policy): (mean, stdev)} at 100 % arrived."""
    table = {}
    with open(DATA / "expected" / "summary_by_policy.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["metric"] in METRICS and row["arrived_pct"] == "100":
                field = METRICS[row["metric"]][0]
                key = (field, row["trace"], PUBLISHED_NAMES[row["policy"]])
                table[key] = (float(row["mean"]), float(row["stdev"]))
    return table


def sweep(weir, lists):
    """The result of the whole sweep, and how long it took."""
    tasks = ",".join(str(DATA / f"openb_pod_list_{name}.csv.gz") for name in lists)
    command = [
        weir, "simulate",
        "--nodes", str(DATA / "openb_node_list_gpu_node.csv.gz"), "--tasks", tasks,
        "--policy", "all", "--seeds", SEEDS, "--bound", "--json",
    ]
    start = time.monotonic()
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output), time.monotonic() - start


def list_name(tasks_file):
    return re.search(r"openb_pod_list_(\w+)", tasks_file).group(1)


def means(result):
    """{(field, list, policy, arrived): mean over the seeds}."""
    values = defaultdict(list)
    for run in result["runs"]:
        for field in ("allocated", "fragmented"):
            for arrived in ("100", "130"):
                key = (field, list_name(run["tasks_file"]), run["policy"], arrived)
                values[key].append(run[field][arrived])
    return {key: statistics.fmean(cells) for key, cells in values.items()}


def print_table(title, head, rows, markdown):
    print(f"\n{'## ' if markdown else ''}{title}\n")
    if markdown:
        print("| " + " | ".join(head) + " |")
        print("|---" * len(head) + "|")
        for row in rows:
            print("| " + " | ".join(row) + " |")
        return
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    for line in [head, *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))


def print_tables(lists, policies, ours, wanted, bounds, failures, markdown):
    for arrived in ("100", "130"):
        bounded = arrived == "100" and bounds
        head = ["list", *policies] + (["bound"] if bounded else [])
        rows = []
        for trace in lists:
            row = [trace] + [f"{ours[('allocated', trace, policy, arrived)]:.2f}" for policy in policies]
            rows.append(row + ([f"{bounds[trace]:.2f}"] if bounded else []))
        print_table(f"GPU allocation at {arrived} % arrived, mean of seeds {SEEDS}, % of capacity", head, rows, markdown)
    for field, title in (("allocated", "allocation"), ("fragmented", "fragmentation")):
        published_policies = [policy for policy in policies if (field, lists[0], policy) in wanted]
        rows = []
        for trace in lists:
            row = [trace]
            for policy in published_policies:
                actual, mean = ours[(field, trace, policy, "100")], wanted[(field, trace, policy)][0]
                row.append(f"{actual:.2f} / {mean:.2f} ({actual - mean:+.2f})")
            rows.append(row)
        print_table(f"GPU {title} at 100 % arrived: weir / published (difference)", ["list", *published_policies], rows, markdown)
    rows = [[trace] + [f"{failures[(trace, policy)]:.0f}" for policy in policies] for trace in lists]
    print_table("CPU-only tasks that failed by 130 % arrived, mean", ["list", *policies], rows, markdown)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", nargs="?", help="the JSON of an earlier sweep")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--weir", default=str(ROOT / "build" / "release" / "bin" / "weir"))
    return parser.parse_args()


def main():
    options = parse_options()
    if not (DATA / "expected").is_dir():
        print(f"skipped: data not found in {DATA}")
        return 1 if os.environ.get("CI") == "true" else 77  # ctest counts 77 as skipped
    wanted = published()
    lists = sorted({key[1] for key in wanted})
    if options.result:
        result, seconds = json.loads(Path(options.result).read_text()), None
    else:
        result, seconds = sweep(options.weir, lists)
    ours = means(result)
    policies = sorted({key[2] for key in ours})
    mistakes = []

    for (field, trace, policy), (mean, stdev) in sorted(wanted.items()):
        tolerance = TOLERANCE[field]
        if policy not in TIGHT:
            tolerance = max(tolerance, 3.5 * stdev * math.sqrt(2 / 10))
        actual = ours.get((field, trace, policy, "100"))
        if actual is None:
            mistakes.append(f"{trace} {policy}: not in the result")
        elif abs(actual - mean) > tolerance:
            mistakes.append(f"{trace} {policy}: {field} {actual:.2f}, published {mean:.2f} +- {tolerance:.2f}")

    for policy in BEATS_FGD:
        if policy not in policies:
            mistakes.append(f"{policy}: not in the result")
            continue
        for trace in lists:
            for arrived in ("100", "130"):
                actual = ours[("allocated", trace, policy, arrived)]
                fgd = ours[("allocated", trace, "fgd", arrived)]
                if actual <= fgd:
                    mistakes.append(f"{trace} {policy}: {actual:.2f} at {arrived} %, not above FGD's {fgd:.2f}")

    for trace, groups in RANKINGS.items():
        for worse, better in zip(groups, groups[1:]):
            for low in worse:
                for high in better:
                    below, above = (ours[("allocated", trace, policy, "100")] for policy in (low, high))
                    if below >= above:
                        mistakes.append(f"{trace}: {low} {below:.2f} is not below {high} {above:.2f}")

    for policy, figures in PROTOTYPE.items():
        for trace, wanted_pair in figures.items():
            for arrived, figure in zip(("100", "130"), wanted_pair):
                actual = ours[("allocated", trace, policy, arrived)]
                if actual < figure - PROTOTYPE_SLACK:
                    mistakes.append(f"{trace} {policy}: {actual:.2f} at {arrived} %, prototype {figure:.2f}")

    bounds = {list_name(run["tasks_file"]): run["bound"] for run in result["runs"] if "bound" in run}
    for run in result["runs"]:
        bound = run.get("bound")
        if bound is not None and run["allocated"]["100"] > bound + BOUND_SLACK:
            mistakes.append(f"{list_name(run['tasks_file'])} {run['policy']}: above the bound of {bound}")

    failed_cpu_only = defaultdict(list)
    for run in result["runs"]:
        failed_cpu_only[(list_name(run["tasks_file"]), run["policy"])].append(run["failed_cpu_only"])
    failures = {key: statistics.fmean(counts) for key, counts in failed_cpu_only.items()}

    policies = [policy for policy in POLICY_ORDER if policy in policies]
    print_tables(lists, policies, ours, wanted, bounds, failures, options.markdown)
    if seconds is not None:
        print(f"\n{len(result['runs'])} runs in {seconds:.1f} s")
        if seconds > TIME_LIMIT_S:
            mistakes.append(f"the sweep took {seconds:.1f} s, promised under {TIME_LIMIT_S} s")
    for mistake in mistakes:
        print(f"check_sweep: {mistake}", file=sys.stderr)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
