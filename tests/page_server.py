#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/page_server, small: jobs in every phase that it promises, records that keep coming, about as many live jobs as at
the start, and an orderly end.

  tests/page_server.py PAGE_SERVER
"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from api_contract import Checks

JOBS, PATIENCE_S = 400, 60


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: page_server.py PAGE_SERVER")
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="weir-test-") as folder:
        state = pathlib.Path(folder) / "state"
        options = ["--state", state, "--gpus", "400", "--jobs", str(JOBS), "--events", "50"]
        with subprocess.Popen([sys.argv[1], *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
            try:
                look(server, state, checks)
            finally:
                server.send_signal(signal.SIGTERM)
                said = server.communicate(timeout=PATIENCE_S)[1]
        checks.equal(server.returncode, 0, f"exit code; it said: {said}")
        again = subprocess.run([sys.argv[1], *options], capture_output=True, text=True, check=False)
        checks.equal(again.returncode, 2, "a folder with a store is refused")
        checks.that("write a new folder after --state" in again.stderr, f"it says what to write: {again.stderr}")
    sys.exit(checks.conclude("page_server"))


def look(server, state, checks):
    def wait_for(what, test):
        until = time.monotonic() + PATIENCE_S
        while not test():
            if time.monotonic() > until or server.poll() is not None:
                raise RuntimeError(f"waited in vain for {what}")
            time.sleep(0.05)

    wait_for("the server", lambda: (state / "url").exists() and (state / "url").read_text().endswith("\n"))
    url, token = (state / "url").read_text().strip(), (state / "token").read_text().strip()

    def get(path):
        request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.read()

    def jobs(phase):
        return json.loads(get(f"/v1/jobs?limit=1000&phase={phase}"))["jobs"]

    def live():
        return sum(len(jobs(phase)) for phase in ("running", "queued", "paused", "waiting"))

    def records():
        return get("/v1/log").count(b"\n")

    checks.that(b"<html" in get("/"), "the dashboard is there")
    wait_for("jobs that are over", lambda: len(jobs("finished")) > JOBS // 50)
    running, before = jobs("running"), records()
    checks.that(len(running) > JOBS // 2, f"most jobs run: {len(running)}")
    checks.that(len(jobs("refused")) > 0, "some jobs were refused")
    checks.that(any(job.get("promised") for job in running), "some jobs have a promise")
    checks.that(not all(job.get("promised") for job in running), "some jobs have none")
    job = f"/v1/jobs/{running[0]['id']}"
    for path in ("/v1/overview", "/v1/history?seconds=60", "/v1/nodes", job, job + "/story", job + "/progress"):
        checks.that(json.loads(get(path)), path)
    checks.that(b"played" in get(job + "/logs"), "a job has a log")
    checks.that(abs(live() - 0.93 * JOBS) < 0.1 * JOBS, f"jobs that are not over: {live()}")
    wait_for("200 more records", lambda: records() > before + 200)
    wait_for("progress", lambda: any(job.get("done", 0) > 0 for job in jobs("running")))
    checks.that(abs(live() - 0.93 * JOBS) < 0.1 * JOBS, f"jobs that are not over, later: {live()}")


if __name__ == "__main__":
    main()
