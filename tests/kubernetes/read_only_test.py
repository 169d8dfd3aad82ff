#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/ on a real API server: every manifest is accepted, the role suffices to observe and allows no write, the
audit log shows that weir only read, and the container's own command line works with what a pod sees.

    tests/kubernetes/read_only_test.py [--bin FOLDER]
"""
import json
import re
import subprocess
import sys

sys.dont_write_bytecode = True

from api import Api, wait_for
from control_plane import HERE, PROGRAMS, ControlPlane
from manifests import a_node, a_pod
from observing_server import DeployedPod, ObservingServer
from weir_program import Failure, check, observe, parser

DEPLOY = HERE.parent.parent / "deploy"
USER = "system:serviceaccount:weir:weir"
READS = {"get", "list", "watch"}


def kubectl(plane, *words):
    done = subprocess.run([PROGRAMS / "kubectl", "--kubeconfig", plane.kubeconfig("admin"), *words],
                          capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 0, f"kubectl {' '.join(map(str, words))}: {done.stderr.strip()[:500]}")
    return done.stdout


def deploy(plane):
    """Dry first, as a person would, then for real: the Deployment's pod passes admission and runs on a kwok node."""
    plane.namespace("weir")
    for variant in ("example", "observe"):
        kubectl(plane, "apply", "--dry-run=server", "--validate=strict", "-k", DEPLOY / variant)
    kubectl(plane, "apply", "--validate=strict", "-k", DEPLOY / "observe")

    def running():
        pods = plane.admin.list("Pod", "weir")
        return pods and pods[0]["status"]["phase"] == "Running"
    try:
        wait_for("the Deployment's pod", running, 20)
    except TimeoutError as error:
        events = [event["message"] for event in plane.admin.list("Event", "weir")]
        raise Failure(f"{error}: {events[-3:]}") from error


def check_requests(plane):
    """-> how many there were, all of them reads."""
    requests = plane.audit(USER)
    check(len(requests) >= 10, f"only {len(requests)} requests in the audit log: is it the right user?")
    writes = [request for request in requests if request[0] not in READS]
    check(not writes, f"weir wrote: {writes[:5]}")
    refused = [request for request in requests if request[2] == 403]
    check(not refused, f"the role refuses what weir asks for: {refused[:5]}")
    return len(requests)


def check_report(plane, folder):
    """`weir observe` with the deployed service account's token."""
    token = plane.service_account_token("weir", "weir")
    kubeconfig = plane.kubeconfig("weir", user_fields={"token": token})
    seen = observe(folder, kubeconfig)
    blind = [source for source in seen["sources"] if source["state"] not in ("watching", "listing", "absent")]
    check(not blind, f"the role does not suffice: {json.dumps(blind)}")
    check(seen["cluster"]["nodes"] == 2, f"it saw {seen['cluster']['nodes']} of 2 nodes")
    return check_requests(plane)


def check_deployed_server(plane, folder):
    """The container's command line, as if it ran in the cluster."""
    plane.audit_log.write_text("")
    pod = DeployedPod(DEPLOY / "observe" / "deployment.yaml", DEPLOY / "observe" / "config.yaml", plane,
                      plane.service_account_token("weir", "weir"))
    with ObservingServer(folder, None, plane.folder / "weir", pod) as server:
        wait_for("it sees the cluster", lambda: server.observation()["cluster"]["nodes"] == 2, 30)
        wait_for("it sees what waits", lambda: server.observation()["pending"], 30)
        check(server.get("/healthz")[0] == 200, "its probes fail")
    return check_requests(plane)


def check_runtime_packages(folder):
    """What deploy/Containerfile installs has every library the program is linked with."""
    needed = subprocess.run(["readelf", "-d", folder / "weir"], capture_output=True, text=True, check=True).stdout
    listed = subprocess.run([HERE.parent.parent / "tools" / "install_deps.sh", "--list", "runtime"], capture_output=True,
                            text=True, check=True).stdout.split() + ["libc6", "libgcc-s1"]
    for library in re.findall(r"NEEDED.*\[(.*)\]", needed):
        found = subprocess.run(["dpkg-query", "-S", f"*/{library}"], capture_output=True, text=True, check=False).stdout
        packages = {line.split(":")[0] for line in found.splitlines()}
        check(packages & set(listed), f"the image lacks {library}: of {', '.join(sorted(packages)) or 'no package'}")


def check_cannot_write(plane):
    """Each way in which something could be changed."""
    api = Api(plane.port, plane.ca_file, plane.service_account_token("weir", "weir"))
    attempts = [
        ("POST", "/api/v1/namespaces/default/pods", a_pod("intruder")),
        ("POST", "/api/v1/namespaces/default/pods/waits/binding",
         {"metadata": {"name": "waits"}, "target": {"kind": "Node", "name": "n1"}}),
        ("POST", "/api/v1/namespaces/default/pods/waits/eviction", {"metadata": {"name": "waits"}}),
        ("DELETE", "/api/v1/namespaces/default/pods/waits", None),
        ("PATCH", "/api/v1/nodes/n1", {"spec": {"unschedulable": True}}),
        ("PATCH", "/api/v1/namespaces/default/pods/waits/status", {"status": {"phase": "Failed"}}),
        ("POST", "/api/v1/namespaces/default/events", {"metadata": {"name": "e"}}),
        ("GET", "/api/v1/secrets", None),
    ]
    for method, path, body in attempts:
        status, _ = api.ask(method, path, body, "application/merge-patch+json" if method == "PATCH" else "application/json")
        check(status == 403, f"{method} {path} answers {status}, not 403")
    return len(attempts)


def main():
    options = parser(__doc__).parse_args()
    try:
        with ControlPlane() as plane:
            plane.admin.create_all([a_node("n1", gpus=8), a_node("n2", gpus=8)])
            plane.admin.create(a_pod("waits", gpus=16))
            deploy(plane)
            print("deploy/observe and deploy/example are accepted; the Deployment's pod runs")
            print(f"{check_cannot_write(plane)} attempts to write or to read secrets are refused")
            plane.audit_log.write_text("")  # the attempts above were this test's own
            print(f"weir observe made {check_report(plane, options.bin)} requests, all of them get, list or watch")
            print(f"the deployed command line made {check_deployed_server(plane, options.bin)}, all of them reads too")
            check_runtime_packages(options.bin)
            print("the image has the libraries weir needs")
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
