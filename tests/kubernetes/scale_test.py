#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weir's cache of a large cluster on a real API server: how long the first look takes, how much memory it needs, and
how fast a change is applied while many come.

    tests/kubernetes/scale_test.py [--bin FOLDER] [--nodes 5000] [--pods 20000] [--seconds 30]
"""
import itertools
import json
import random
import re
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True

from api import wait_for
from cache_dump import CacheDump, check_equal
from control_plane import ControlPlane
from manifests import a_node, a_pod
from observing_server import ObservingServer
from weir_program import Failure, check, parser

FULL_PODS = 20_000  # the limits below are for so many
SYNC_SECONDS = 20
MEMORY_MB = 500
APPLY_P99_MS = 1.0
BUSY_P99_MS = 8.0  # where other work may run beside the test: smaller sizes
CHANGES_PER_SECOND = 200
WRITERS = 4
PRODUCTS = ["NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3", "NVIDIA-H200"]


def large_node(number):
    labels = {"nvidia.com/gpu.product": PRODUCTS[number % 3], "topology.kubernetes.io/zone": f"zone-{number % 4}",
              "nvidia.com/gpu.count": "8", "nvidia.com/gpu.memory": "81920", "node.kubernetes.io/instance-type": "gpu-8"}
    return a_node(f"node-{number:05d}", gpus=8, labels=labels)


def large_pod(number, nodes):
    """Bound by its author and running: no scheduler is needed. One in twenty waits."""
    labels = {"app": f"train-{number % 500}", "team": f"team-{number % 40}", "job-name": f"train-{number % 500}"}
    pod = a_pod(f"train-{number % 500}-{number:05d}", labels=labels, gpus=number % 3, cpu="4", memory="32Gi")
    if number % 20:
        pod["spec"]["nodeName"] = f"node-{number % nodes:05d}"
        pod["status"] = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    return pod


def change_for(plane, seconds, pods, nodes, first_new):
    """About 200 changes a second from several writers: labels, ends and newcomers. -> changes made"""
    counter = itertools.count(first_new)
    made = []

    def write(number):
        api, rng, done = plane.api("admin"), random.Random(number), 0
        end, period = time.monotonic() + seconds, WRITERS / CHANGES_PER_SECOND
        next_at = time.monotonic()
        while next_at < end:
            time.sleep(max(0.0, next_at - time.monotonic()))
            next_at += period
            index = rng.randrange(number * pods // WRITERS, (number + 1) * pods // WRITERS)
            if done % 5 == 4:
                api.create(large_pod(next(counter), nodes))
            else:
                api.patch("Pod", f"train-{index % 500}-{index:05d}", {"metadata": {"labels": {"turn": str(done)}}}, "default")
            done += 1
        made.append(done)
    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(made)


def apply_limit(part):
    return APPLY_P99_MS if part >= 1 else BUSY_P99_MS


def resident_mb(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1000


def check_live(plane, options, part):
    """The same with `weir serve`: its store, its page, and what waits explained."""
    server = ObservingServer(options.bin, plane.kubeconfig("admin"), plane.folder / "weir")
    start = time.monotonic()
    server.start(wait_for_a_look=False)
    try:
        def nodes():
            return json.loads(server.get("/v1/overview")[1])["nodes"]
        wait_for("every node is shown", lambda: nodes() == options.nodes, SYNC_SECONDS + 40)
        shown = time.monotonic() - start
        wait_for("the first look", lambda: server.get("/v1/observation")[0] == 200, 120)
        looked = time.monotonic() - start
        changes = change_for(plane, options.seconds, options.pods, options.nodes, 2 * options.pods)
        memory = resident_mb(server.process)
        applied = 1000 * server.metric("weir_kube_apply_seconds", quantile="0.99")
        print(f"weir serve: all nodes shown after {shown:.1f} s, what waits explained after {looked:.1f} s; "
              f"{changes} changes applied in {applied:.3f} ms (p99); {memory:.0f} MB", flush=True)
        check(shown < max(SYNC_SECONDS * part, 5), f"the first look took {shown:.1f} s")
        check(memory < max(MEMORY_MB * part, 200), f"it needs {memory:.0f} MB")
        check(applied < apply_limit(part), f"a change is applied in {applied:.3f} ms (p99)")
        check(changes > 0.7 * CHANGES_PER_SECOND * options.seconds, f"only {changes} changes were made")
    finally:
        server.__exit__()


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=int, default=5000)
    arguments.add_argument("--pods", type=int, default=20_000)
    arguments.add_argument("--seconds", type=float, default=30, help="of changes")
    options = arguments.parse_args()
    part = options.pods / FULL_PODS
    try:
        with ControlPlane(parts=()) as plane:
            start = time.monotonic()
            plane.admin.create_all(map(large_node, range(options.nodes)))
            plane.admin.create_all(large_pod(number, options.nodes) for number in range(options.pods))
            took = time.monotonic() - start
            print(f"{options.nodes} nodes and {options.pods} pods made in {took:.0f} s "
                  f"({(options.nodes + options.pods) / took:.0f} a second)", flush=True)
            with CacheDump(options.bin, plane.kubeconfig("admin"), plane.folder / "dump.log") as dump:
                memory = dump.ask("stats")["rss_mb"]
                print(f"first look: {dump.objects} objects in {dump.sync_seconds:.2f} s, {memory:.0f} MB", flush=True)
                check(dump.objects >= options.nodes + options.pods, f"only {dump.objects} objects were seen")
                changes = change_for(plane, options.seconds, options.pods, options.nodes, options.pods)
                objects = check_equal(dump, plane.admin, 30)
                stats = dump.ask("stats")
                apply = stats["apply"]
                print(f"{changes} changes in {options.seconds:.0f} s ({changes / options.seconds:.0f} a second): applied in "
                      f"{apply['p50_ms']:.3f} ms (median), {apply['p99_ms']:.3f} ms (p99), {apply['max_ms']:.1f} ms (most); "
                      f"{stats['rss_mb']:.0f} MB; {objects} objects equal")
                check(apply["count"] >= changes, f"only {apply['count']} of {changes} changes were applied")
                check(dump.sync_seconds < max(SYNC_SECONDS * part, 5), f"the first look took {dump.sync_seconds:.1f} s")
                check(stats["rss_mb"] < max(MEMORY_MB * part, 150), f"it needs {stats['rss_mb']:.0f} MB")
                check(apply["p99_ms"] < apply_limit(part), f"a change is applied in {apply['p99_ms']:.3f} ms (p99)")
                check(changes > 0.7 * CHANGES_PER_SECOND * options.seconds, f"only {changes} changes were made")
            check_live(plane, options, part)
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
