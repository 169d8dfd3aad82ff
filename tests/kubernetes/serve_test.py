#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weir serve --engine kubernetes --mode observe` beside a real control plane: it follows what happens, shows when it
cannot see, heals by itself, and comes back after a kill with what it had learnt.

    tests/kubernetes/serve_test.py [--bin FOLDER] [NAME...]
"""
import json
import subprocess
import sys
import time
import types
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parent.parent))

from api_contract import Contract
from api import Refused, wait_for
from control_plane import ControlPlane
from manifests import a_node, a_pod
from observing_server import ObservingServer
from weir_program import Failure, check, parser

FOLLOW_SECONDS = 10
HEAL_SECONDS = 60


def pending(server, name):
    return next((one for one in server.observation()["pending"] if one["workload"]["name"] == name), None)


def states(server):
    return {source["kind"]: source["state"] for source in server.observation()["sources"]}


def is_well(server):
    return set(states(server).values()) <= {"watching", "absent"}


def run_pod(api, name, gpus):
    """The scheduler and the kubelets may need a while after the API server was away."""
    api.create(a_pod(name, gpus=gpus))
    wait_for(f"{name} runs", lambda: api.get("Pod", name)["status"]["phase"] == "Running", 90)


class ServeTest:
    def __init__(self, plane, folder, server):
        self.plane, self.folder, self.server = plane, folder, server

    def follows(self):
        """A pod comes, waits for a reason, gets room, runs and ends."""
        api, server = self.plane.admin, self.server
        run_pod(api, "holds", 8)
        wait_for("the first pod is seen", lambda: server.observation()["cluster"]["gpus_used"] == 8, FOLLOW_SECONDS)
        api.create(a_pod("waits", gpus=4))
        one = wait_for("the second pod waits", lambda: pending(server, "waits"), FOLLOW_SECONDS)
        one = wait_for("it is explained", lambda: (one := pending(server, "waits")) and one["why"] and one, FOLLOW_SECONDS)
        check(one["constraint"] == "insufficient", f"said {one['constraint']}: {one['why']}")
        api.delete("Pod", "holds")
        wait_for("nothing waits", lambda: not server.observation()["pending"], FOLLOW_SECONDS + 10)
        check(server.observation()["cluster"]["gpus_used"] == 4, "4 GPUs are used")
        api.delete("Pod", "waits")
        wait_for("all is free", lambda: server.observation()["cluster"]["gpus_used"] == 0, FOLLOW_SECONDS)
        return "a pod that waited, was explained and started"

    def keeps_the_contract(self):
        """What it answers is what docs/openapi.yaml says."""
        api, server, contract = self.plane.admin, self.server, Contract()
        run_pod(api, "runs", 2)
        api.create(a_pod("too-large", gpus=64))
        wait_for("it is explained", lambda: pending(server, "too-large"), FOLLOW_SECONDS)
        asked = {"observation": "/v1/observation", "overview": "/v1/overview", "jobs": "/v1/jobs", "nodes": "/v1/nodes"}
        for operation, path in asked.items():
            status, text = server.get(path)
            answer = types.SimpleNamespace(status=status, content_type="application/json", headers={}, body=text)
            mistakes = contract.check_answer(operation, answer)
            check(not mistakes, f"{path}: {mistakes[:3]}")
        views = json.loads(server.get("/v1/jobs")[1])["jobs"]
        waits = next(view for view in views if view["name"] == "default/too-large")
        check(waits["waits"]["constraint"] == "too_large", f"its view says {waits.get('waits')}")
        for name in ("runs", "too-large"):
            api.delete("Pod", name)
        wait_for("all is free", lambda: server.observation()["cluster"]["gpus_used"] == 0, FOLLOW_SECONDS)
        return f"{len(asked)} answers as in docs/openapi.yaml"

    def shows_trouble(self):
        """The API server is away: API, metrics and the program say so; the server itself is healthy."""
        server = self.server
        wait_for("all is well", lambda: is_well(server), HEAL_SECONDS)
        check(server.metric("weir_kube_watching", kind="pods") == 1, "the metric says that pods are not watched")
        self.plane.kill("apiserver")
        wait_for("the API says so", lambda: states(server)["pods"] == "retrying", FOLLOW_SECONDS)
        wait_for("the metrics say so", lambda: server.metric("weir_kube_watching", kind="pods") == 0, FOLLOW_SECONDS)
        time.sleep(1)
        check(server.metric("weir_kube_stale_seconds", kind="pods") > 0, "the metrics do not say for how long")
        check("pods" in json.loads(server.get("/v1/overview")[1]).get("trouble", ""), "the overview does not say so")
        shown = server.program("nodes")
        check("not the whole picture" in shown.stderr.lower(), f"`weir nodes` does not say so: {shown.stderr}")
        check(server.get("/healthz")[0] == 200, "a server that waits for another is not sick")
        start = time.monotonic()
        done = subprocess.run([self.folder / "weir", "observe", "--kubeconfig", self.plane.kubeconfig("admin")],
                              capture_output=True, text=True, timeout=90, check=False)
        check(done.returncode != 0 and done.stderr.strip(), f"weir observe says nothing: {done.returncode}")
        took = time.monotonic() - start
        self.plane.start_again("apiserver")
        wait_for("all is well again", lambda: is_well(server), HEAL_SECONDS)
        wait_for("the metrics say so", lambda: server.metric("weir_kube_watching", kind="pods") == 1, FOLLOW_SECONDS)
        self.follows()
        return f"weir observe said after {took:.0f} s: {done.stderr.strip().splitlines()[-1][:120]}"

    def comes_back(self):
        """Killed while pods come and go."""
        api, server = self.plane.admin, self.server
        run_pod(api, "before", 2)
        wait_for("it is seen", lambda: server.observation()["cluster"]["gpus_used"] == 2, FOLLOW_SECONDS)
        server.kill()
        api.delete("Pod", "before")
        run_pod(api, "meanwhile", 3)
        server.start()
        wait_for("the view is right again", lambda: server.observation()["cluster"]["gpus_used"] == 3, 2 * FOLLOW_SECONDS)
        api.delete("Pod", "meanwhile")
        wait_for("all is free", lambda: server.observation()["cluster"]["gpus_used"] == 0, FOLLOW_SECONDS)
        return "right again after a kill"


def main():
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME", help="follows, keeps_the_contract, shows_trouble, comes_back")
    options = arguments.parse_args()
    failures = 0
    with ControlPlane() as plane:
        plane.admin.create(a_node("n1", gpus=8))
        try:
            with ObservingServer(options.bin, plane.kubeconfig("admin"), plane.folder / "weir") as server:
                test = ServeTest(plane, options.bin, server)
                for step in (test.follows, test.keeps_the_contract, test.shows_trouble, test.comes_back):
                    if options.names and step.__name__ not in options.names:
                        continue
                    start = time.monotonic()
                    try:
                        verdict, text = "ok", step()
                    except (Failure, TimeoutError, Refused) as error:
                        verdict, text, failures = "FAILED", str(error), failures + 1
                    print(f"{verdict:6} {step.__name__:16} {time.monotonic() - start:5.1f} s  {text}", flush=True)
        except Failure as failure:
            print(f"FAILED {failure}")
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
