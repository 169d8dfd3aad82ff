#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Six real training jobs on two slots of this machine, two in C++ and four in PyTorch, three of them with a deadline: they come one after
another, are resized while others come and go, and each promise is kept. Again and again, on one server that learns how fast they are.

    tests/training/mix.py BIN [--runs 20] [--out FOLDER]     writes FOLDER/mix.json and, of the last run, FOLDER/mix.svg

Exit code 0 when every job with a deadline was promised and finished in time, every other finished too, and none gave another result than
alone; 1 otherwise; 77 without PyTorch.
"""
import argparse
import json
import re
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import start_tests

if __name__ == "__main__":
    start_tests.need_torch()

from live_job import OVER, Cluster
from mix_plot import write_plot
from ranks import run, script
from results import difference, picture_parameters, torch_parameters

TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
LIMIT_S = 240  # for one mix; it takes a quarter of that
LOOK_EVERY_S = 0.2
# How far from the job alone it may end. With weir_worker the samples of every step are the same and only the rounding of sums is not: the largest difference
# of a parameter, of which the largest are about 1; in single precision for PyTorch. A script without it sees other samples after a resize, so only its loss can be compared.
SAME_PARAMETERS = {"elastic": 1e-3, "picture": 1e-11}
LIKE_LOSS = 0.5


class Kind:
    """What to run. What it makes alone is measured first."""

    def __init__(self, name, command, ranks, parameters, **fields):
        self.name = name
        self.command = command
        self.ranks = ranks
        self.parameters = parameters  # of a folder of checkpoints; None: only its loss can be compared
        self.fields = fields
        self.alone = {}  # by steps: its folder, and its loss at the end

    def distance(self, steps, folder, loss):
        """From the job alone, and whether that is near enough."""
        folder_alone, loss_alone = self.alone[steps]
        if self.parameters is None:
            apart = 1.0 if loss is None else abs(loss - loss_alone) / loss_alone
            return apart, apart <= LIKE_LOSS
        (step, one), (step_alone, other) = self.parameters(folder / "saved"), self.parameters(folder_alone / "saved")
        apart = difference(one, other)[0]
        return apart, step == step_alone == steps and apart <= SAME_PARAMETERS[self.name]


def kinds(programs):
    # Batches so large that two slots are nearly twice as fast as one.
    torch = ["--width", "192", "--batch", "1024", "--print-every", "1"]
    gloo = ["--width", "128", "--batch", "1024", "--most-local", "1024", "--print-every", "1"]
    line = {"progress_line": "step {step} loss {loss}"}
    told = {"reports_progress": True}
    warm = {"warm_start": ["torch", "torch.distributed"]}
    plain = [*script("plain.py"), *torch, "--save-every", "10"]
    return {kind.name: kind for kind in (
        Kind("picture", [str(programs / "weir-example-picture"), *gloo], "per-gpu", picture_parameters, **told),
        Kind("elastic", [*script("elastic.py"), *torch, "--most-local", "1024"], "per-gpu", torch_parameters, **told, **warm),
        Kind("plain", plain, "per-gpu", None, **line, **warm, grace="5s"),
        # Debian 12's torchrun does not start on its Python 3.11 unless it is told where output goes.
        Kind("torchrun", [*TORCHRUN, *plain[1:]], "torchrun", None, **line, environment={"PET_REDIRECTS": "1", "PET_TEE": "1"}),
    )}


# Name, kind, when it comes in seconds, its steps, and its deadline in seconds after that.
MIX = (
    ("elastic-1", "elastic", 0, 700, None),
    ("picture-1", "picture", 6, 500, 20),
    ("plain-1", "plain", 24, 200, 32),
    ("torchrun-1", "torchrun", 26, 200, None),
    ("elastic-2", "elastic", 40, 320, 34),
    ("picture-2", "picture", 50, 800, None),
)


def last_loss(lines):
    """None when none was printed."""
    losses = re.findall(r"step \d+ loss (\S+)", "\n".join(lines))
    return float(losses[-1]) if losses else None


def with_checkpoint(kind, folder):
    path = folder / ("checkpoint.pt" if "plain.py" in " ".join(kind.command) else "saved")
    return [*kind.command, "--checkpoint", str(path)]


def measure_alone(kind, steps, folder):
    """On one rank and never resized: its loss at the end, and its steps per second."""
    folder.mkdir()
    command = [*with_checkpoint(kind, folder), "--steps", str(steps)]
    if kind.ranks == "torchrun":
        command = [sys.executable, *command[len(TORCHRUN):]]
    begin = time.monotonic()
    codes, lines = run(command, 1, folder)
    if codes != [0]:
        sys.exit(f"{kind.name} failed alone:\n{''.join(lines[-10:])}")
    kind.alone[steps] = folder, last_loss(lines)
    rate = steps / (time.monotonic() - begin)
    # A first guess only: starting is in it, and two ranks were not tried.
    kind.fields["throughput"] = {"1": round(rate, 3), "2": round(1.7 * rate, 3)}
    print(f"{kind.name}: {steps} steps alone in {steps / rate:.1f} s, loss {last_loss(lines):.6f}", flush=True)


class Sight:
    """One job of one mix, as it was seen."""

    def __init__(self, name, kind, steps, deadline):
        self.name = name
        self.kind = kind
        self.steps = steps
        self.deadline = deadline
        self.job = None
        self.folder = None
        self.seen = []  # (seconds since the mix began, GPUs, steps done, loss)
        self.view = None

    def submit(self, cluster, folder):
        folder.mkdir(parents=True)
        self.folder = folder
        fields = {"ranks": self.kind.ranks, "iterations": self.steps, "model": self.kind.name, "batch": 1024, "retries": 1,
                  **self.kind.fields}
        fields["environment"] = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **fields.get("environment", {})}
        if self.deadline is not None:
            fields["deadline"] = f"{self.deadline}s"
        command = [*with_checkpoint(self.kind, folder), "--steps", str(self.steps)]
        self.job = cluster.submit(name=self.name, command=command, directory=str(folder), **fields)

    def look(self, now):
        if self.job is None or (self.view and self.view["phase"] in OVER):
            return
        self.view = self.job.view()
        self.seen.append((round(now, 3), self.view["gpus"], self.view.get("done", 0), self.view.get("loss")))

    def outcome(self):
        # The last generation prints how it ended.
        loss = last_loss(self.job.log().splitlines())
        apart, is_same = self.kind.distance(self.steps, self.folder, loss)
        sizes = [gpus for _, gpus, _, _ in self.seen[:-1]]
        changes = sum(1 for a, b in zip(sizes, sizes[1:]) if a != b) - 1  # but for its start
        return {
            "name": self.name, "phase": self.view["phase"], "promised": self.view.get("promised", False),
            "deadline_s": self.deadline, "took_s": round(self.seen[-1][0] - self.seen[0][0], 1), "met": self.view.get("met_deadline"),
            "restarts": self.view["restarts"], "generations": self.view["generation"], "resizes": max(0, changes),
            "loss": loss, "loss_alone": self.kind.alone[self.steps][1], "apart": apart,
            "is_right": self.view["phase"] == "finished" and is_same
            and (self.deadline is None or bool(self.view.get("promised") and self.view.get("met_deadline"))),
        }


def play(cluster, all_kinds, folder):
    """One mix. What was seen of each job."""
    sights = [Sight(name, all_kinds[kind], steps, deadline) for name, kind, _, steps, deadline in MIX]
    begin = time.monotonic()
    while True:
        now = time.monotonic() - begin
        for sight, (name, _, at, _, _) in zip(sights, MIX):
            if sight.job is None and now >= at:
                sight.submit(cluster, folder / name)
            sight.look(now)
        if all(sight.view and sight.view["phase"] in OVER for sight in sights):
            return sights
        if now > LIMIT_S:
            sys.exit("not over: " + json.dumps([sight.view for sight in sights], indent=1))
        time.sleep(LOOK_EVERY_S)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    clean = unittest.TestCase()
    runs = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        all_kinds = kinds(args.programs.resolve())
        for kind, steps in sorted({(kind, steps) for _, kind, _, steps, _ in MIX}):
            measure_alone(all_kinds[kind], steps, folder / f"{kind}-{steps}-alone")
        try:
            cluster = Cluster(clean, str(args.programs.resolve() / "weir"), folder / "cluster")
            for number in range(1, args.runs + 1):
                sights = play(cluster, all_kinds, folder / f"run-{number}")
                outcomes = [sight.outcome() for sight in sights]
                runs.append({"run": number, "took_s": round(max(sight.seen[-1][0] for sight in sights), 1), "jobs": outcomes})
                kept = [job for job in outcomes if job["deadline_s"] is not None]
                least = min(job["deadline_s"] - job["took_s"] for job in kept)
                print(f"run {number}: {sum(bool(job['met']) for job in kept)} of {len(kept)} promises kept, {least:.0f} s to spare at least, "
                      f"{sum(job['resizes'] for job in outcomes)} resizes, {runs[-1]['took_s']} s"
                      + "".join(f"\n  WRONG {json.dumps(job)}" for job in outcomes if not job["is_right"]), flush=True)
        finally:
            clean.doCleanups()
    is_right = all(job["is_right"] for each in runs for job in each["jobs"])
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        document = {"runs": runs, "last": [{"name": s.name, "kind": s.kind.name, "deadline_s": s.deadline, "seen": s.seen} for s in sights]}
        (args.out / "mix.json").write_text(json.dumps(document, indent=1) + "\n")
        write_plot(args.out / "mix.svg", document["last"], [at for _, _, at, _, _ in MIX])
    good = sum(all(job["is_right"] for job in each["jobs"]) for each in runs)
    print(f"{good} of {len(runs)} runs right")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
