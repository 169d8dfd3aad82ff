#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A control plane for a test in another language: commands come as lines of JSON on stdin, each is answered with one
line on stdout. It ends with its stdin.

    ["node", {"name": "n1", "gpus": 8}]                   as a_node()
    ["pod", {"name": "a", "gpus": 4}]                     as a_pod()
    ["namespace", "team-a"]
    ["create", MANIFEST]
    ["patch", KIND, NAME, PATCH, NAMESPACE]
    ["delete", KIND, NAME, NAMESPACE]
    ["get", KIND, NAME, NAMESPACE]
    ["running", NAMESPACE, [POD...]]                      waits until they run
    ["kill", PART]  ["start", PART]
"""
import json
import signal
import sys

sys.dont_write_bytecode = True

from api import Refused, wait_for
from control_plane import ControlPlane
from manifests import a_node, a_pod

RUN_SECONDS = 40


def wait_until_running(plane, namespace, names):
    def are_running():
        phases = {pod["metadata"]["name"]: pod["status"]["phase"] for pod in plane.admin.list("Pod", namespace)}
        return all(phases.get(name) == "Running" for name in names)
    wait_for(f"{', '.join(names)} in {namespace}", are_running, RUN_SECONDS)


def obey(plane, verb, *words):
    api = plane.admin
    deeds = {
        "node": lambda fields: api.create(a_node(**fields)),
        "pod": lambda fields: api.create(a_pod(**fields)),
        "namespace": plane.namespace,
        "create": api.create,
        "patch": api.patch,
        "delete": lambda kind, name, namespace=None: api.delete(kind, name, namespace, grace_seconds=0),
        "get": api.get,
        "running": lambda namespace, names: wait_until_running(plane, namespace, names),
        "kill": plane.kill,
        "start": plane.start_again,
    }
    return deeds[verb](*words)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ControlPlane() as plane:
        answer = {"kubeconfig": str(plane.kubeconfig("admin"))}
        while True:
            print(json.dumps(answer), flush=True)
            line = sys.stdin.readline()
            if not line:
                return
            try:
                answer = {"done": obey(plane, *json.loads(line))}
            except (Refused, TimeoutError, KeyError, TypeError, ValueError) as error:
                answer = {"failed": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
