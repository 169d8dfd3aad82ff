#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Deadlines on the ElasticFlow traces: who meets how many, and whether promises hold.

    tools/check_deadlines.py                   every table; exit code 1 when a limit is not reached
    tools/check_deadlines.py --quick           only the seven main traces and the overload
    tools/check_deadlines.py --replay          also replay every run of weir's policy from its record
                                               log with tools/check_run.py
    tools/check_deadlines.py --markdown        prints the tables as Markdown (docs/deadlines.md)
    tools/check_deadlines.py --weir PROGRAM    another program than build/release/bin/weir

Fails when weir's policy meets fewer than the limit, misses a promise, or is behind the better of
elasticflow and edf-admission on any cluster. Needs the public data (WEIR_DATA, default
../shared/data): without it the check is skipped, or fails when CI=true.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("WEIR_DATA") or ROOT.parent / "shared" / "data") / "elasticflow"
SKIPPED = 77

# trace, cluster, at least, upper bound (no policy can meet more; None where it is not known)
MAIN = [
    ("elasticVpollux_e", "16x4xT4", 174, 175),
    ("195job", "16x8xA100", 181, 184),
    ("cluster10", "32x8xA100", 258, 258),
    ("philly_103959", "32x8xA100", 815, 815),
    ("cluster06", "64x8xA100", 2030, 2034),
    ("cluster03", "64x8xA100", 2405, 2441),
    ("cluster04", "128x8xA100", 14700, 14766),
]
# The others: at least the better of the two rivals.
OTHERS = [
    ("cluster01", "64x8xA100"),
    ("cluster02", "64x8xA100"),
    ("cluster05", "64x8xA100"),
    ("cluster07", "128x8xA100"),
    ("cluster08", "128x8xA100"),
    ("cluster09", "128x8xA100"),
]
# The same traces on fewer GPUs.
OVERLOAD = [
    ("195job", "8x8xA100", 160),
    ("195job", "4x8xA100", 115),
    ("cluster06", "8x8xA100", 1750),
    ("cluster03", "16x8xA100", 1900),
    ("cluster04", "32x8xA100", 12500),
]
# Where the gate's constants were chosen, and where they were checked.
GATE_CHOSEN = [("cluster01", "16x8xA100"), ("cluster01", "8x8xA100"), ("cluster03", "32x8xA100"),
               ("cluster03", "16x8xA100"), ("cluster05", "16x8xA100"), ("cluster05", "8x8xA100"),
               ("cluster07", "64x8xA100"), ("cluster07", "32x8xA100"), ("cluster09", "32x8xA100"),
               ("cluster09", "16x8xA100")]
GATE_CHECKED = [("cluster02", "16x8xA100"), ("cluster02", "8x8xA100"), ("cluster04", "64x8xA100"),
                ("cluster04", "32x8xA100"), ("cluster06", "16x8xA100"), ("cluster06", "8x8xA100"),
                ("cluster08", "32x8xA100"), ("cluster08", "16x8xA100"), ("cluster10", "8x8xA100"),
                ("cluster10", "4x8xA100")]


class Checks:
    def __init__(self):
        self.failures = []

    def require(self, holds, what):
        if not holds:
            self.failures.append(what)


class Weir:
    def __init__(self, program, replay, checks):
        self.program, self.replay, self.checks = program, replay, checks

    def runs(self, trace, cluster, policies, *options):
        """{policy: its entry in the JSON}"""
        jobs = DATA / "traces" / f"{trace}.csv.gz"
        curves = DATA / ("throughput_t4" if cluster.endswith("T4") else "throughput_a100")
        inputs = ["--jobs", str(jobs), "--curves", str(curves)]
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "run.jsonl"
            wants_log = self.replay and policies == "weir"
            command = [self.program, "simulate", "--cluster", cluster, *inputs, "--slot", "0s",
                       "--policy", policies, "--timing", "--json", "--threads", "1", *options]
            if wants_log:
                command += ["--log", str(log)]
            else:
                command += ["--counter-offers", "off"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
            if wants_log:
                expected = Path(folder) / "run.json"
                expected.write_text(done.stdout)
                check = subprocess.run([ROOT / "tools" / "check_run.py", "--log", log, *inputs,
                                        "--expect", expected], capture_output=True, text=True)
                self.checks.require(check.returncode == 0,
                                    f"{trace} on {cluster}: replay: {check.stdout}{check.stderr}")
        return {run["policy"]: run for run in json.loads(done.stdout)["runs"]}


class Tables:
    def __init__(self, is_markdown):
        self.is_markdown = is_markdown

    def show(self, title, header, rows):
        print(f"\n## {title}\n" if self.is_markdown else f"\n{title}")
        cells = [[str(cell) for cell in row] for row in rows]
        if self.is_markdown:
            print("| " + " | ".join(header) + " |")
            print("|" + "---|" * len(header))
            for row in cells:
                print("| " + " | ".join(row) + " |")
        else:
            widths = [max(len(row[i]) for row in [header, *cells]) for i in range(len(header))]
            for row in [header, *cells]:
                print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))
        sys.stdout.flush()


def seconds(run):
    return f"{run['timing']['seconds']:.3f}"


def check_main(weir, tables, checks):
    rows = []
    total = 0.0
    for trace, cluster, at_least, bound in MAIN:
        ours = weir.runs(trace, cluster, "weir")["weir"]
        total += ours["timing"]["seconds"]
        rows.append([trace, cluster, ours["jobs"], ours["met"], at_least, bound,
                     ours["missed_after_admission"], f"{ours['mean_jct_s']:.0f}", ours["rescales"],
                     seconds(ours)])
        checks.require(ours["met"] >= at_least, f"{trace} on {cluster}: met {ours['met']} < {at_least}")
        checks.require(ours["missed_after_admission"] == 0, f"{trace} on {cluster}: missed promises")
    tables.show("weir's policy, every promise kept",
                ["trace", "cluster", "jobs", "met", "limit", "bound", "missed", "mean JCT s",
                 "rescales", "seconds"], rows)
    return total


def check_rivals(weir, tables, checks):
    rows = []
    total = 0.0
    for trace, cluster in [(row[0], row[1]) for row in MAIN] + OTHERS:
        ours = weir.runs(trace, cluster, "weir")["weir"]
        if (trace, cluster) in OTHERS:
            total += ours["timing"]["seconds"]
        runs = weir.runs(trace, cluster, "elasticflow,edf,edf-knee,edf-admission,fifo")
        rows.append([trace, cluster, ours["jobs"], ours["met"]] +
                    [runs[name]["met"] for name in
                     ("elasticflow", "edf-admission", "edf-knee", "edf", "fifo")] +
                    [runs["elasticflow"]["missed_after_admission"],
                     runs["edf-admission"]["missed_after_admission"]])
        best = max(runs["elasticflow"]["met"], runs["edf-admission"]["met"])
        checks.require(ours["met"] >= best, f"{trace} on {cluster}: met {ours['met']} < {best}")
        checks.require(ours["missed_after_admission"] == 0, f"{trace} on {cluster}: missed promises")
    tables.show("Beside its rivals, under the same rules: jobs that met their deadline",
                ["trace", "cluster", "jobs", "weir", "elasticflow", "edf-admission", "edf-knee",
                 "edf", "fifo", "missed: elasticflow", "missed: edf-admission"], rows)
    return total


def check_overload(weir, tables, checks):
    rows = []
    for trace, cluster, at_least in OVERLOAD:
        with_gate = weir.runs(trace, cluster, "weir")["weir"]
        without = weir.runs(trace, cluster, "weir", "--gate", "off")["weir"]
        rows.append([trace, cluster, with_gate["jobs"], with_gate["met"], at_least, without["met"],
                     with_gate["missed_after_admission"] + without["missed_after_admission"]])
        checks.require(with_gate["met"] >= at_least,
                       f"{trace} on {cluster}: met {with_gate['met']} < {at_least}")
        checks.require(with_gate["missed_after_admission"] + without["missed_after_admission"] == 0,
                       f"{trace} on {cluster}: missed promises")
    tables.show("Overload: the same traces on fewer GPUs",
                ["trace", "cluster", "jobs", "met", "limit", "without the gate", "missed"], rows)


def show_gate(weir, tables, checks):
    for title, runs in (("The gate where its constants were chosen: odd clusters", GATE_CHOSEN),
                        ("The gate where they were checked: even clusters", GATE_CHECKED)):
        rows = []
        for trace, cluster in runs:
            on = weir.runs(trace, cluster, "weir")["weir"]
            off = weir.runs(trace, cluster, "weir", "--gate", "off")["weir"]
            rows.append([trace, cluster, on["jobs"], on["met"], off["met"],
                         f"{on['met'] - off['met']:+d}"])
            checks.require(on["missed_after_admission"] == 0, f"{trace} on {cluster}: missed")
        tables.show(title, ["trace", "cluster", "jobs", "gate on", "gate off", "difference"], rows)


def show_slow_jobs(weir, tables):
    rows = []
    for trace, cluster, *_ in MAIN:
        for speed in ("0.9", "0.9,1.1"):
            run = weir.runs(trace, cluster, "weir", "--job-speed", speed)["weir"]
            rows.append([trace, speed, run["admitted"], run["met"], run["missed_after_admission"],
                         run["missed_with_warning"],
                         "-" if not run["missed_with_warning"] else f"{run['mean_warning_s'] / 3600:.1f}",
                         run["warned_in_vain"]])
    tables.show("Jobs that do not run as their curve says",
                ["trace", "speed", "promised", "met", "missed", "of these announced before",
                 "hours before the deadline", "announced, then met"], rows)


def show_provisional(weir, tables):
    rows = []
    for trace, cluster in [(row[0], row[1]) for row in MAIN] + [(row[0], row[1]) for row in OVERLOAD]:
        plain = weir.runs(trace, cluster, "weir")["weir"]
        later = weir.runs(trace, cluster, "weir", "--provisional", "4")["weir"]
        rows.append([trace, cluster, plain["met"], later["met"] + later["met_without_promise"],
                     later["promised_at_submission"]])
    tables.show("Promising giants later (--provisional 4)",
                ["trace", "cluster", "met, off", "met, on", "promised at submission"], rows)


def main():
    parser = argparse.ArgumentParser(description="Deadlines on the ElasticFlow traces.")
    parser.add_argument("--weir", default=str(ROOT / "build" / "release" / "bin" / "weir"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        print(f"skipped: data not found: {DATA}")
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    checks = Checks()
    tables = Tables(arguments.markdown)
    weir = Weir(arguments.weir, arguments.replay, checks)
    start = time.monotonic()
    total = check_main(weir, tables, checks)
    check_overload(weir, tables, checks)
    if not arguments.quick:
        total += check_rivals(weir, tables, checks)
        show_gate(weir, tables, checks)
        show_slow_jobs(weir, tables)
        show_provisional(weir, tables)
        print(f"\nweir's policy on all ten clusters, 195job, 8a and philly_103959: {total:.1f} s of simulation")
        checks.require(total < 180, f"simulation took {total:.0f} s")
    for failure in checks.failures:
        print(f"FAILED: {failure}")
    if not checks.failures:
        print(f"\nall limits reached in {time.monotonic() - start:.0f} s"
              + (", every log replayed" if arguments.replay else ""))
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
