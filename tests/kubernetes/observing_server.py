# SPDX-License-Identifier: Apache-2.0
"""A `weir serve` that observes a cluster."""
import http.client
import json
import os
import re
import subprocess
import time

import yaml

from parts import die_with_parent, free_port
from weir_program import Failure, check

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class ObservingServer:
    """A context. `kubeconfig`, or `pod`: what the container of a pod would see."""

    def __init__(self, folder, kubeconfig, state, pod=None, options=()):
        self.state = state
        self.port = free_port()
        self.log = state.with_suffix(".log")
        self.environment = dict(os.environ)
        self.command = [folder / "weir", "serve", "--engine", "kubernetes", "--mode", "observe", "--kubeconfig", kubeconfig,
                        "--state", state, "--port", str(self.port), *options]
        if pod:
            self.command = pod.command(folder, self.port, state)
            self.environment = pod.environment()
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def start(self, wait_for_a_look=True):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=self.environment, preexec_fn=die_with_parent)
        end = time.monotonic() + 60
        while " listens on " not in self.log.read_text():
            check(self.process.poll() is None, f"weir serve ended: {self.log.read_text()[-500:]}")
            check(time.monotonic() < end, f"weir serve does not listen: {self.log.read_text()[-500:]}")
            time.sleep(0.05)
        while wait_for_a_look and self.get("/v1/observation")[0] == 503:
            check(time.monotonic() < end, f"weir serve does not see the cluster: {self.log.read_text()[-500:]}")
            time.sleep(0.05)

    def program(self, *words):
        """A command of weir that talks to this server."""
        return subprocess.run([self.command[0], *words], capture_output=True, text=True, timeout=20, check=False,
                              env=dict(os.environ, WEIR_STATE=str(self.state)))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def get(self, path):
        """-> (status, text)"""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            token = (self.state / "token").read_text().strip()
            link.request("GET", path, headers={"Authorization": "Bearer " + token})
            answer = link.getresponse()
            return answer.status, answer.read().decode()
        except OSError as error:
            raise Failure(f"weir serve does not answer: {error}; {self.log.read_text()[-500:]}") from error
        finally:
            link.close()

    def observation(self):
        status, text = self.get("/v1/observation")
        check(status == 200, f"GET /v1/observation answers {status}: {text[:300]}")
        return json.loads(text)

    def metric(self, name, **labels):
        """A figure of /metrics; None: there is none."""
        status, text = self.get("/metrics")
        check(status == 200, f"GET /metrics answers {status}")
        for line in text.splitlines():
            found = re.match(rf"{name}(?:{{(.*)}})? (\S+)$", line)
            if found and all(f'{key}="{value}"' in (found[1] or "") for key, value in labels.items()):
                return float(found[2])
        return None


class DeployedPod:
    """The container of deploy/observe on this machine: its arguments, its environment, the files of its service account.
    Only the port and the state folder are this machine's."""

    def __init__(self, deployment_file, config_file, plane, token):
        self.container = yaml.safe_load(deployment_file.read_text())["spec"]["template"]["spec"]["containers"][0]
        self.config = yaml.safe_load(config_file.read_text())["data"]
        self.plane = plane
        self.secrets = plane.folder / "service-account"
        self.secrets.mkdir()
        (self.secrets / "token").write_text(token)
        (self.secrets / "namespace").write_text("weir")
        (self.secrets / "ca.crt").write_bytes(plane.ca_file.read_bytes())

    def command(self, folder, port, state):
        here = {"--port": str(port), "--state": str(state)}
        words = []
        for word in self.container["args"]:
            word = re.sub(r"\$\((\w+)\)", lambda found: self.config[found[1]], word)
            name = word.split("=")[0]
            words.append(f"{name}={here[name]}" if name in here else word)
        # A mount namespace of its own: /run is empty but for the service account.
        mounts = (f"mount -t tmpfs tmpfs /run && mkdir -p {SERVICE_ACCOUNT} && mount --bind {self.secrets} {SERVICE_ACCOUNT} "
                  f"&& exec \"$@\"")
        return ["unshare", "--map-root-user", "--mount", "sh", "-c", mounts, "sh", folder / "weir", *words]

    def environment(self):
        return dict(self.config, PATH=os.environ["PATH"], KUBERNETES_SERVICE_HOST="127.0.0.1",
                    KUBERNETES_SERVICE_PORT=str(self.plane.port))
