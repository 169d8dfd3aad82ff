#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests with a real Kubernetes control plane, one after the other.

    tests/kubernetes/run.py [--bin FOLDER] [--full] [NAME...]     all, or those named; --full: at full size, half an hour
"""
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from control_plane import HERE
from weir_program import parser

SKIPPED = 77
# name: (script, options, options with --full, seconds it may take, seconds with --full)
TESTS = {
    "situations": ("situations_test.py", [], [], 400, 400),
    "read_only": ("read_only_test.py", [], [], 300, 300),
    "docs": ("docs_test.py", [], [], 300, 300),
    "serve": ("serve_test.py", [], [], 300, 300),
    "page": ("page_test.py", [], [], 300, 300),
    "cache": ("cache_test.py", ["--seconds=15"], ["--seconds=60"], 300, 360),
    "scale": ("scale_test.py", ["--nodes=1000", "--pods=4000", "--seconds=10"], [], 300, 420),
    "replay": ("replay_openb.py", ["--short"], [], 400, 700),
}


def run(command, seconds):
    """-> how it ended. One that takes too long is asked to end, so that its servers end too."""
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        print(f"takes longer than {seconds} s", flush=True)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return 124
    except BaseException:
        os.killpg(process.pid, signal.SIGINT)
        raise


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--full", action="store_true")
    arguments.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TESTS))
    options = arguments.parse_args()
    unknown = set(options.names) - set(TESTS)
    if unknown:
        arguments.error(f"no test {', '.join(sorted(unknown))}; there are: {', '.join(TESTS)}")
    verdicts = {0: "passed", SKIPPED: "skipped"}
    results = []
    for name, (script, few, full, seconds, full_seconds) in TESTS.items():
        if options.names and name not in options.names:
            continue
        print(f"-- {name}", flush=True)
        start = time.monotonic()
        code = run([sys.executable, HERE / script, "--bin", options.bin.resolve(), *(full if options.full else few)],
                   full_seconds if options.full else seconds)
        results.append((verdicts.get(code, "FAILED"), name, time.monotonic() - start))
    print("--")
    for verdict, name, took in results:
        print(f"{verdict:8} {name:12} {took:5.0f} s")
    return 1 if any(verdict == "FAILED" for verdict, _, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
