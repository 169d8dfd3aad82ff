#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes control plane on loopback: etcd, kube-apiserver, kube-controller-manager, the stock
kube-scheduler, and kwok for the kubelets.

    with ControlPlane() as plane:
        plane.admin.create(a_node("n1", gpus=8))

    tests/kubernetes/control_plane.py up [--nodes 4 --gpus 8]      to try weir against, until Ctrl-C
"""
import argparse
import base64
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # tests leave nothing in the source tree

from api import Api, wait_for
from manifests import a_namespace, a_node
from parts import Part, free_port, wait_until_answers

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE.parent.parent / "build" / "kubernetes" / "bin"
READY_SECONDS = 90  # of one part, on a machine that does other things as well

CONTROLLERS = """job-controller garbage-collector-controller namespace-controller serviceaccount-controller
    pod-garbage-collector-controller ttl-after-finished-controller node-lifecycle-controller taint-eviction-controller
    disruption-controller resourcequota-controller replicaset-controller persistentvolume-binder-controller
    resourceclaim-controller persistentvolumeclaim-protection-controller deployment-controller""".split()

AUDIT_POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
                "rules": [{"level": "Metadata"}]}

# token, user, groups
USERS = [("admin-secret", "admin", "system:masters"), ("observer-secret", "observer", ""),
         ("nobody-secret", "nobody", "")]


class ControlPlane:
    """A context. `parts` is what runs, in the order of its start; leave out what a test does not need."""

    def __init__(self, parts=("controller-manager", "scheduler", "kwok"), keep_folder=False, scheduler_settings=None):
        missing = [name for name in ("etcd", "kube-apiserver") if not (PROGRAMS / name).exists()]
        if missing:
            raise SystemExit(f"{PROGRAMS} has no {' and no '.join(missing)}: run tests/kubernetes/build_servers.sh")
        self.folder = Path(tempfile.mkdtemp(prefix="weir-kubernetes-"))
        self.keep_folder = keep_folder
        self.etcd_port, self.etcd_peer_port, self.port = free_port(), free_port(), free_port()
        self.ca_file = self.folder / "certificates" / "apiserver.crt"  # it signs itself
        self.audit_log = self.folder / "audit.log"
        self.wanted = parts
        self.scheduler_settings = scheduler_settings or {}  # of KubeSchedulerConfiguration
        self.parts = {}
        self.admin = None

    # ---- start and stop

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, error, trace):
        if kind not in (None, KeyboardInterrupt, SystemExit):
            for part in self.parts.values():
                if not part.is_running():
                    print(f"{part.name} does not run any more\n{part.last_lines()}", file=sys.stderr)
            print(f"the logs are kept: {self.folder}", file=sys.stderr)
            self.keep_folder = True
        self.stop()

    def start(self):
        self._write_secrets()
        self._start_etcd()
        self._start_apiserver()
        self.admin = self.api("admin")
        starts = {"controller-manager": self._controller_manager, "scheduler": self._scheduler, "kwok": self._kwok}
        for name in self.wanted:
            self.parts[name] = starts[name]()
            self.parts[name].start()
        if "controller-manager" in self.wanted:
            wait_for("the default service account", self._service_account, READY_SECONDS)

    def _service_account(self):
        """A controller manager that finds its API server busy for ten seconds gives up; elsewhere a kubelet starts it again."""
        for part in self.parts.values():
            if not part.is_running():
                print(f"{part.name} ended while starting; it is started again\n{part.last_lines()}", file=sys.stderr)
                part.start()
        return self.admin.find("ServiceAccount", "default")

    def stop(self):
        for part in reversed(self.parts.values()):
            part.stop()
        if not self.keep_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def restart(self, name):
        """Killed as by a crash, then started on the same port with the same data."""
        self.kill(name)
        self.start_again(name)

    def kill(self, name):
        self.parts[name].kill()

    def start_again(self, name):
        self.parts[name].start()
        if name == "etcd":
            wait_until_answers(self.parts[name], self._etcd_answers, READY_SECONDS)
        if name == "apiserver":
            wait_until_answers(self.parts[name], self._apiserver_answers, READY_SECONDS)

    # ---- the parts

    def _write_secrets(self):
        self.ca_file.parent.mkdir()
        run = lambda *words: subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)
        run("genrsa", "-out", "service-accounts.key", "2048")
        run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=client-ca",
            "-keyout", "client-ca.key", "-out", "client-ca.crt")
        lines = [f'{token},{user},{user},"{groups}"' for token, user, groups in USERS]
        (self.folder / "tokens.csv").write_text("\n".join(lines) + "\n")
        (self.folder / "audit-policy.json").write_text(json.dumps(AUDIT_POLICY))

    def _start_etcd(self):
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.etcd_peer_port}"
        self.parts["etcd"] = Part("etcd", [
            PROGRAMS / "etcd", "--name=only", f"--data-dir={self.folder}/etcd", f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=only={peer}", "--unsafe-no-fsync",
            "--log-level=warn", "--quota-backend-bytes=4294967296"], self.folder)
        self.parts["etcd"].start()
        wait_until_answers(self.parts["etcd"], self._etcd_answers, READY_SECONDS)

    def _start_apiserver(self):
        folder = self.folder
        self.parts["apiserver"] = Part("apiserver", [
            PROGRAMS / "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            f"--secure-port={self.port}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            f"--cert-dir={self.ca_file.parent}", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder}/service-accounts.key",
            f"--service-account-signing-key-file={folder}/service-accounts.key",
            "--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC",
            f"--token-auth-file={folder}/tokens.csv", f"--client-ca-file={folder}/client-ca.crt",
            "--allow-privileged=true", "--event-ttl=10m", "--enable-priority-and-fairness=false",
            "--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000",
            "--shutdown-delay-duration=0s",
            f"--audit-policy-file={folder}/audit-policy.json", f"--audit-log-path={self.audit_log}",
            *self._admission()], folder)
        self.parts["apiserver"].start()
        wait_until_answers(self.parts["apiserver"], self._apiserver_answers, READY_SECONDS)

    def _admission(self):
        """Without controllers nobody would make service accounts or take the taint of a new node away."""
        if "controller-manager" in self.wanted:
            return []
        return ["--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"]

    def _controller_manager(self):
        return Part("controller-manager", [
            PROGRAMS / "kube-controller-manager", f"--kubeconfig={self.kubeconfig('admin')}", "--secure-port=0",
            f"--service-account-private-key-file={self.folder}/service-accounts.key",
            f"--root-ca-file={self.ca_file}", "--leader-elect=false", "--use-service-account-credentials=false",
            "--kube-api-qps=500", "--kube-api-burst=1000", "--node-monitor-period=1s", "--pvclaimbinder-sync-period=1s",
            f"--controllers={','.join(CONTROLLERS)}"], self.folder)

    def _scheduler(self):
        """The stock one: only how fast it may talk is set, and what a test asks for."""
        config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                  "leaderElection": {"leaderElect": False},
                  "clientConnection": {"kubeconfig": str(self.kubeconfig("admin")), "qps": 1000, "burst": 2000},
                  **self.scheduler_settings}
        file = self.folder / "scheduler.json"
        file.write_text(json.dumps(config))
        return Part("scheduler", [PROGRAMS / "kube-scheduler", f"--config={file}", "--secure-port=0"], self.folder)

    def _kwok(self):
        environment = dict(os.environ, HOME=str(self.folder))  # a person's own kwok has its settings there
        return Part("kwok", [
            PROGRAMS / "kwok", f"--kubeconfig={self.kubeconfig('admin')}", "--manage-all-nodes",
            "--node-lease-duration-seconds=40", f"--config={HERE / 'kubelets.yaml'}"], self.folder, environment)

    # ---- users

    def api(self, user="admin"):
        token = next(token for token, name, _ in USERS if name == user)
        return Api(self.port, self.ca_file, token)

    def kubeconfig(self, user, port=None, user_fields=None):
        """A file for programs. `user_fields` instead of the user's token: a tokenFile, a certificate, an exec plugin."""
        if user_fields is None:
            user_fields = {"token": next(token for token, name, _ in USERS if name == user)}
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
            "clusters": [{"name": "test", "cluster": {"server": f"https://127.0.0.1:{port or self.port}",
                                                      "certificate-authority": str(self.ca_file)}}],
            "users": [{"name": user, "user": user_fields}]}
        file = self.folder / f"kubeconfig-{user}-{port or self.port}.json"  # JSON is YAML
        file.write_text(json.dumps(config))
        return file

    def certificate(self, user, days=1):
        """-> (certificate file, key file) of a user known by certificate only."""
        run = lambda *words: subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)
        run("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={user}", "-keyout", f"{user}.key",
            "-out", f"{user}.csr")
        run("x509", "-req", "-in", f"{user}.csr", "-CA", "client-ca.crt", "-CAkey", "client-ca.key", "-CAcreateserial",
            "-days", str(days), "-out", f"{user}.crt")
        return self.folder / f"{user}.crt", self.folder / f"{user}.key"

    def service_account_token(self, name, namespace="default", bound_secret=None):
        """A short-lived one. Bound to a secret, it dies with it."""
        spec = {"expirationSeconds": 600}
        if bound_secret:
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Secret", "name": bound_secret}
        answer = self.admin.call("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
                                 {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        return answer["status"]["token"]

    def namespace(self, name):
        """Made, with the service account its pods need. One that is still going is waited for."""
        wait_for(f"namespace {name} is gone", lambda: self.admin.find("Namespace", name) is None, 60)
        self.admin.create(a_namespace(name))
        if "controller-manager" in self.wanted:
            wait_for(f"service account of {name}", lambda: self.admin.find("ServiceAccount", "default", name), 20)

    # ---- etcd

    def _etcd(self, path, body):
        link = http.client.HTTPConnection("127.0.0.1", self.etcd_port, timeout=5)
        try:
            link.request("POST", path, body=json.dumps(body), headers={"Content-Type": "application/json"})
            answer = link.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            link.close()

    def _etcd_answers(self):
        return self._etcd("/v3/maintenance/status", {})[0] == 200

    def _apiserver_answers(self):
        if not self.ca_file.exists():
            return False
        status, _ = self.api("admin").ask("GET", "/readyz")
        return status == 200

    def compact_etcd(self):
        """Forgets all history before now. -> the revision."""
        key = base64.b64encode(b"\0").decode()
        revision = self._etcd("/v3/kv/range", {"key": key, "limit": 1})[1]["header"]["revision"]
        status, answer = self._etcd("/v3/kv/compaction", {"revision": revision, "physical": True})
        if status != 200:
            raise RuntimeError(f"etcd does not compact: {answer}")
        return int(revision)

    # ---- what was asked of the API server

    def audit(self, user):
        """Requests of one user: [(verb, resource, code)]."""
        requests = []
        with open(self.audit_log, encoding="utf-8") as log:
            for line in log:
                event = json.loads(line)
                if event["user"]["username"] != user:
                    continue
                resource = event.get("objectRef", {}).get("resource", event["requestURI"])
                requests.append((event["verb"], resource, event.get("responseStatus", {}).get("code", 0)))
        return requests


def bring_up(nodes, gpus):
    """For people: a cluster with GPUs until Ctrl-C."""
    with ControlPlane() as plane:
        plane.admin.create_all(a_node(f"node-{number + 1}", gpus=gpus) for number in range(nodes))
        print(f"export KUBECONFIG={plane.kubeconfig('admin')}")
        print(f"# {nodes} nodes with {gpus} GPUs each; kubectl is {PROGRAMS / 'kubectl'}; Ctrl-C ends it", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass


def main():
    parser = argparse.ArgumentParser(description="A real Kubernetes control plane on loopback.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start one, print its KUBECONFIG, keep it until Ctrl-C")
    up.add_argument("--nodes", type=int, default=4)
    up.add_argument("--gpus", type=int, default=8, help="of each node")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bring_up(options.nodes, options.gpus)


if __name__ == "__main__":
    main()
