#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promises when nodes fail and curves are wrong: docs/failures.md.

Plays 195job and cluster10 under every policy with nodes that fail (30 days apart on average, 1 h to repair), jobs that
save every 10 minutes, and speeds drawn between 0.9 and 1.1 of what the curve says: the same failures and the same
speeds under every policy, five seeds. What became of weir's promises is read from the record logs, and must agree with
what the program counted.

    tools/check_failures.py             prints the tables; exit code 1 when weir broke a promise without announcing it
                                        before the deadline
    tools/check_failures.py --quick     only weir, two seeds (seconds)
    tools/check_failures.py --markdown  the tables of docs/failures.md
    tools/check_failures.py --weir PROGRAM    another program than build/release/bin/weir

Needs the public data (WEIR_DATA, default ../shared/data): without it the check is skipped, or fails when CI=true.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("WEIR_DATA") or ROOT.parent / "shared" / "data") / "elasticflow"
SKIPPED = 77
TRACES = [("195job", "16x8xA100"), ("cluster10", "32x8xA100")]
RESERVES = ["0", "2%", "5%", "10%"]
OTHERS = ["elasticflow", "edf-admission", "chronus", "pollux", "edf-knee", "edf", "srtf", "tiresias", "themis", "gandiva",
          "fifo"]


class Promises:
    """What became of the promises of one run, as its log tells it."""

    def __init__(self, log):
        self.deadline, self.warned, self.released = {}, {}, {}
        with open(log) as lines:
            for line in lines:
                record = json.loads(line)
                hear = getattr(self, record["type"], None)
                if hear:
                    hear(record, record["payload"])
        late = [job for job, deadline in self.deadline.items() if self.released.get(job, deadline + 1) > deadline]
        self.broken = len(late)
        self.leads = [(self.deadline[job] - self.warned[job]) / 1e9 for job in late
                      if job in self.warned and self.warned[job] < self.deadline[job]]
        self.in_vain = sum(job not in late for job in self.warned)

    def promise_made(self, _, payload):
        self.deadline[payload["job"]] = payload["deadline"]

    def promise_at_risk(self, record, payload):
        self.warned.setdefault(payload["job"], record["time"])

    def timeline_revised(self, record, payload):
        if record["reason"]["code"] == "back_on_plan":
            self.warned.pop(payload["job"], None)

    def job_released(self, record, payload):
        self.released[payload["job"]] = record["time"]


class Play:
    def __init__(self, weir, seeds, problems):
        self.weir, self.seeds, self.problems = weir, seeds, problems

    def runs(self, trace, cluster, policies, *options, speed="0.9,1.1", mtbf="30d"):
        command = [self.weir, "simulate", "--cluster", cluster, "--jobs", str(DATA / "traces" / f"{trace}.csv.gz"),
                   "--curves", str(DATA / "throughput_a100"), "--policy", policies, "--seeds", self.seeds,
                   "--job-speed", speed, "--node-mtbf", mtbf, "--node-repair", "1h", "--checkpoint-every", "10m",
                   "--json", *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)["runs"]

    def weir_row(self, trace, cluster, reserve, **world):
        """The sums over all seeds."""
        with tempfile.TemporaryDirectory() as folder:
            options = ["--counter-offers", "off", "--log", str(Path(folder) / "run.jsonl")]
            if reserve != "0":
                options += ["--reserve", reserve]
            runs = self.runs(trace, cluster, "weir", *options, **world)
            logs = [Promises(Path(folder) / f"run.weir.{run['seed']}.jsonl") for run in runs]
        for run, log in zip(runs, logs):
            where = f"{trace} on {cluster}, seed {run['seed']}, reserve {reserve}, {world}"
            counted = (run["admitted"], run["missed_after_admission"], run["missed_with_warning"], run["warned_in_vain"])
            if counted != (len(log.deadline), log.broken, len(log.leads), log.in_vain):
                self.problems.append(f"{where}: the program counted {counted}, the log says "
                                     f"{(len(log.deadline), log.broken, len(log.leads), log.in_vain)}")
            if len(log.leads) != log.broken:
                self.problems.append(f"{where}: {log.broken} promises were broken, {len(log.leads)} of them announced before")
        leads = [lead for log in logs for lead in log.leads]
        name = "weir" if reserve == "0" else f"weir, reserve {reserve}"
        return figures(name, runs) + [len(leads), f"{statistics.median(leads) / 3600:.1f} h" if leads else "-",
                                      sum(log.in_vain for log in logs)]


def figures(name, runs):
    met = [run["met"] for run in runs]
    ratio = sum(met) / sum(run["with_deadline"] for run in runs) * 100
    promised = "-" if runs[0]["admitted"] is None else sum(run["admitted"] for run in runs)
    broken = "-" if runs[0]["admitted"] is None else sum(run["missed_after_admission"] for run in runs)
    lost = sum(run["nodes_lost"] for run in runs)
    return [name, lost, f"{min(met)} to {max(met)}", f"{ratio:.1f} %", promised, broken]


HEADINGS = ["policy", "nodes lost", "met", "ratio", "promised", "broken", "announced before", "median lead",
            "announced, then met"]


def show(title, headings, rows, markdown):
    print(f"\n## {title}\n" if markdown else f"\n{title}")
    cells = [[str(cell) for cell in row] for row in [headings, *rows]]
    if markdown:
        lines = ["| " + " | ".join(row) + " |" for row in cells]
        print("\n".join([lines[0], "|" + "---|" * len(headings), *lines[1:]]))
    else:
        widths = [max(len(row[i]) for row in cells) for i in range(len(headings))]
        print("\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default=str(ROOT / "build" / "release" / "bin" / "weir"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"skipped: no data in {DATA} (WEIR_DATA)")
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    problems = []
    play = Play(options.weir, "1,2" if options.quick else "1..5", problems)
    for trace, cluster in TRACES:
        rows = [play.weir_row(trace, cluster, reserve) for reserve in (["0"] if options.quick else ["0", "5%"])]
        if not options.quick:
            for policy in OTHERS:
                runs = play.runs(trace, cluster, policy)
                rows.append(figures(policy, runs) + ["-" if runs[0]["admitted"] is None else 0, "-", "-"])
        show(f"{trace} on {cluster}: nodes fail every 30 days, speeds 0.9 to 1.1", HEADINGS, rows, options.markdown)
    worlds = [("the same", {}), ("jobs never faster: 0.9 to 1", {"speed": "0.9,1"}),
              ("nodes fail every 3 days", {"mtbf": "3d"})]
    for title, world in worlds if not options.quick else worlds[2:]:
        rows = []
        for trace, cluster in TRACES:
            for reserve in RESERVES if not options.quick else RESERVES[:1]:
                rows.append([trace, *play.weir_row(trace, cluster, reserve, **world)])
        show(f"What a reserve buys: {title}", ["trace", *HEADINGS], rows, options.markdown)
    for problem in problems:
        print(f"does not hold: {problem}", file=sys.stderr)
    if not problems:
        print("\nEvery broken promise of weir was announced before its deadline.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
