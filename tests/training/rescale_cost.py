#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a change of GPUs costs a PyTorch script, part by part, cold and warm, in one run of each after the other.

    tests/training/rescale_cost.py BIN [--rounds 3]

Exit code 0 when a warm start costs at most half of a cold one in what Python itself takes: until the ranks exist and their imports are done. 1
otherwise; 77 without PyTorch.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import start_tests

if __name__ == "__main__":
    start_tests.need_torch()

from ranks import script

PARTS = ("announce", "save", "stop", "wait", "start", "import", "load", "step", "lost")
# Far enough apart for a spare to be ready again.
CHANGES = (150, 300, 450, 600)
STEPS = 750


def changes_of(weir, is_warm):
    """Of one job that is resized 1 -> 2 -> 1 -> 2 -> 1."""
    command = [weir, "run", "--sizes", "1,2,1,2,1", "--at-steps", ",".join(map(str, CHANGES)), "--quiet", "--json",
               "--progress-line", "step {step} loss {loss}", "--announce", "30s"]
    if is_warm:
        command += ["--warm-start", "torch,torch.distributed"]
    command += ["--", *script("elastic.py"), "--steps", str(STEPS), "--pause", "0.015"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"weir run failed ({done.returncode}):\n{done.stderr[-2000:]}")
    return [start for start in json.loads(done.stdout)["starts"] if start["why"] == "resized"]


def median(changes, part):
    return statistics.median(change[part] or 0.0 for change in changes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    weir = str(args.programs.resolve() / "weir")
    seen = {False: [], True: []}
    for _ in range(args.rounds):
        for is_warm, changes in seen.items():
            changes += changes_of(weir, is_warm)
    if not all(change["warm"] for change in seen[True]):
        print("not every warm start was warm")
        return 1
    print("medians in seconds".ljust(22) + "".join(part.rjust(10) for part in PARTS))
    for is_warm, changes in seen.items():
        title = f"{'warm' if is_warm else 'cold'}, {len(changes)} changes"
        print(title.ljust(22) + "".join(f"{median(changes, part):10.3f}" for part in PARTS))
    cold, warm = (statistics.median(change["start"] + change["import"] for change in seen[is_warm]) for is_warm in (False, True))
    print(f"start and import: {cold:.3f} s cold, {warm:.3f} s warm, {cold / warm:.1f} times as fast")
    return 0 if warm <= cold / 2 else 1


if __name__ == "__main__":
    sys.exit(main())
