# SPDX-License-Identifier: Apache-2.0
"""A `weir serve` that observes a cluster."""
import http.client
import json
import subprocess
import time

from parts import die_with_parent, free_port
from weir_program import Failure, check


class ObservingServer:
    """A context."""

    def __init__(self, folder, kubeconfig, state):
        self.state = state
        self.port = free_port()
        self.log = state.with_suffix(".log")
        self.command = [folder / "weir", "serve", "--engine", "kubernetes", "--mode", "observe", "--kubeconfig", kubeconfig,
                        "--state", state, "--port", str(self.port)]
        self.process = None

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=die_with_parent)
        end = time.monotonic() + 60
        while " listens on " not in self.log.read_text():
            check(self.process.poll() is None, f"weir serve ended: {self.log.read_text()[-500:]}")
            check(time.monotonic() < end, f"weir serve does not listen: {self.log.read_text()[-500:]}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
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
