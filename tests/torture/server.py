# SPDX-License-Identifier: Apache-2.0
"""Starts, kills and asks a `weir serve`."""
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import time


class Wrong(Exception):
    """Something that must never be."""


def free_port():
    """Below the range from which outgoing connections take theirs: it stays free between starts."""
    while True:
        port = random.randint(20000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


class Answer:
    def __init__(self, status, body):
        self.status = status
        self.body = body

    def json(self):
        return json.loads(self.body)


class Connection:
    """Of one thread. An answer that is lost is None: nobody knows whether it was done, unless nobody
    listened."""

    def __init__(self, server, timeout=20):
        self.server = server
        self.timeout = timeout
        self.link = None
        self.error = ""  # why the last answer was lost
        self.is_unheard = False  # nobody listened

    def ask(self, method, path, body=None, headers=None):
        all_headers = {"Authorization": "Bearer " + self.server.token()}
        if body is not None:
            all_headers["Content-Type"] = "application/json"
        all_headers.update(headers or {})
        try:
            if self.link is None:
                self.link = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=self.timeout)
            self.link.request(method, path, body=body, headers=all_headers)
            response = self.link.getresponse()
            return Answer(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            self.error = f"{type(error).__name__}: {error}"
            self.is_unheard = isinstance(error, ConnectionRefusedError)
            self.close()
            return None

    def close(self):
        if self.link is not None:
            self.link.close()
            self.link = None


class Server:
    def __init__(self, weir, state, options=(), environment=None):
        self.weir = weir
        self.state = state
        self.port = free_port()
        self.options = list(options)
        self.environment = dict(os.environ, **(environment or {}))
        self.environment.pop("WEIR_STATE", None)
        self.process = None
        self.errors = os.path.join(os.path.dirname(state), os.path.basename(state) + ".stderr")
        self.known_token = None
        self.starts = 0

    def token(self):
        if not self.known_token:
            try:
                with open(os.path.join(self.state, "token")) as file:
                    self.known_token = file.read().strip()
            except OSError:
                return "-"
        return self.known_token

    def command(self, *more):
        return [self.weir, "serve", "--state", self.state, "--port", str(self.port), *self.options, *more]

    def spawn(self, *more):
        self.starts += 1
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(self.command(*more), stdin=subprocess.DEVNULL, stdout=errors,
                                            stderr=errors, env=self.environment)

    def said(self):
        with open(self.errors, errors="replace") as file:
            return file.read()

    def wait_ready(self, limit=120):
        end = time.monotonic() + limit
        while " listens on " not in self.said():
            if self.process.poll() is not None:
                raise Wrong(f"weir serve left with {self.process.returncode} at its start:\n{self.said()}")
            if time.monotonic() > end:
                raise Wrong(f"weir serve does not listen after {limit} s:\n{self.said()}")
            time.sleep(0.01)

    def start(self, *more):
        self.spawn(*more)
        self.wait_ready()

    def refuse(self, *more, limit=120):
        """Starts it and expects that it refuses to: what it said."""
        self.spawn(*more)
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Wrong(f"weir serve started where it should refuse to:\n{self.said()}") from None
        if code != 1:
            raise Wrong(f"weir serve left with {code} where 1 was expected:\n{self.said()}")
        return self.said()

    def kill(self):
        """Without a chance to say anything. It must have been alive."""
        code = self.process.poll()
        if code is not None:
            raise Wrong(f"weir serve left by itself with {code}:\n{self.said()}")
        self.process.kill()
        self.process.wait()

    def stop(self, limit=120):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Wrong(f"weir serve does not stop within {limit} s") from None
        if code != 0:
            raise Wrong(f"weir serve left with {code} after SIGTERM:\n{self.said()}")

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def store(self):
        """The word by which its processes are recognised."""
        try:
            with open(os.path.join(self.state, "engine", "id")) as file:
                return file.read().strip()
        except OSError:
            return ""

    def processes(self):
        """(pid, variable, token) of supervisors and ranks of this state folder that live."""
        store = self.store()
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{name}/stat") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            for word in words:
                variable, _, token = word.decode(errors="replace").partition("=")
                if variable in ("WEIR_TOKEN", "WEIR_SUPERVISOR") and store and \
                        token.startswith(store + ".") and state not in "ZX":
                    found.append((int(name), variable, token))
        return found

    def clean_up(self):
        """Ends what is left; for the end of a test that went wrong."""
        if self.is_running():
            self.process.kill()
            self.process.wait()
        for _ in range(3):
            for pid, _, _ in self.processes():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)
