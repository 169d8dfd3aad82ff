# SPDX-License-Identifier: Apache-2.0
"""Asks the weir program about a cluster."""
import argparse
import json
import subprocess
from pathlib import Path

BIN = Path(__file__).resolve().parent.parent.parent / "build" / "release" / "bin"


class Failure(Exception):
    """What is wrong, in one line."""


def check(holds, wrong):
    if not holds:
        raise Failure(wrong)


def parser(description):
    """Of every test here: --bin FOLDER."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", type=Path, default=BIN, help="the folder of the programs")
    return options


def observe(folder, kubeconfig, *options, seconds=60):
    """`weir observe --json`, read."""
    command = [folder / "weir", "observe", "--kubeconfig", kubeconfig, "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    check(done.returncode == 0, f"weir observe ended with {done.returncode}: {done.stderr.strip()[:300]}")
    return json.loads(done.stdout)
