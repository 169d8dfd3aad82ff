#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of attacks of docs/security.md: each is made on the real `weir serve`, and must get the
answer that the table says. tests/bad_requests.py has more that is wrong with single requests.

  tests/attacks.py WEIR [NAME...]      all of them, or those named; needs PyYAML as api_contract.py does
"""
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from api_contract import Answer, Checks, Server, read_answer

SECRET = "hush-5f1c9d"  # of a tenant, in its job's environment
JOB = {"name": "job", "command": ["sh", "-c", "echo $KEY; sleep 60"], "environment": {"KEY": SECRET}}
SLOW_S = 15  # the server gives a header ten seconds
# After its token ends. Where other tests and sanitizers share the machine, only that it does.
STREAM_ENDS_S = 5.0 if os.environ.get("CI") == "true" else 1.0


class TlsServer(Server):
    """The same over HTTPS, with the certificate that the server made."""

    def context(self):
        return ssl.create_default_context(cafile=self.state / "tls-cert.pem")

    def connect(self, timeout=60):
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.context())


class Attacks:
    def __init__(self, weir):
        self.weir = weir
        self.checks = Checks()
        self.secrets = []

    def make_token(self, name, role, **more):
        answer = self.server.ask_json("POST", "/v1/tokens", {"name": name, "role": role, **more})
        self.checks.equal(answer.status, 201, f"a token for {name}: {answer}")
        token = answer.json()["token"]
        self.secrets.append(token)
        return token

    def status(self, method, target, token, body=None):
        if body is not None:
            return self.server.ask_json(method, target, body, token=token).status
        return self.server.ask(method, target, token=token).status

    def jobs(self):
        return len(self.server.ask("GET", "/v1/jobs?limit=1000").json()["jobs"])

    # ---- Who may do what

    def no_token(self):
        for target in ("/v1/jobs", "/v1/nodes", "/v1/events", "/v1/log", "/v1/tokens", "/metrics", "/v1/nothing"):
            for token in (None, "wrong", self.server.token[:-1], self.server.token.upper() + "x", "weir_" + "0" * 64):
                self.checks.equal(self.status("GET", target, token), 401, f"GET {target} with {token and token[:8]}")
        self.checks.equal(self.status("POST", "/v1/jobs", None, JOB), 401, "POST without a token")
        self.checks.equal(self.server.ask("GET", f"/v1/jobs?token={self.server.token}", token=None).status, 401, "a token in a query")

    def wrong_role(self):
        viewer = self.make_token("eyes", "viewer")
        submitter = self.make_token("hands", "submitter", tenant="vision")
        for method, target, body in (("POST", "/v1/jobs", JOB), ("POST", "/v1/dry-run", JOB), ("POST", "/v1/jobs/1/cancel", None)):
            self.checks.equal(self.status(method, target, viewer, body), 403, f"{method} {target} by a viewer")
        for token in (viewer, submitter):
            for method, target, body in (("POST", "/v1/nodes/n/drain", None), ("POST", "/v1/nodes/n/undrain", None),
                                         ("POST", "/v1/backup", {"file": "/tmp/x"}), ("GET", "/v1/tokens", None),
                                         ("POST", "/v1/tokens", {"name": "me", "role": "operator"}),
                                         ("POST", "/v1/tokens/eyes/revoke", None)):
                self.checks.equal(self.status(method, target, token, body), 403, f"{method} {target} by {token[:8]}")
        self.checks.that(b'"me"' not in self.server.ask("GET", "/v1/tokens").body, "nobody makes himself an operator")

    def other_tenant(self):
        vision = self.make_token("vision", "submitter", tenant="vision")
        language = self.make_token("language", "submitter", tenant="language")
        eyes = self.make_token("vision-eyes", "viewer", tenant="vision")
        theirs = self.server.ask_json("POST", "/v1/jobs", JOB, token=language).json()
        self.server.wait_for("its log", lambda: self.server.ask("GET", f"/v1/jobs/{theirs['id']}/logs", token=language).body)
        for token in (vision, eyes):
            for job in (theirs["id"], theirs["name"]):
                for target in ("/logs", "/document", "/logs?generation=1&rank=0"):
                    self.checks.equal(self.status("GET", f"/v1/jobs/{job}{target}", token), 403, f"GET {job}{target}")
                self.checks.equal(self.status("POST", f"/v1/jobs/{job}/cancel", token), 403, f"cancel of {job}")
            for target in ("/v1/jobs", f"/v1/jobs/{theirs['id']}", f"/v1/jobs/{theirs['id']}/records",
                           f"/v1/jobs/{theirs['id']}/story", f"/v1/jobs/{theirs['id']}/progress", "/v1/log", "/v1/nodes", "/metrics"):
                answer = self.server.ask("GET", target, token=token)
                self.checks.that(answer.status == 200 and SECRET.encode() not in answer.body, f"{target} tells no secret: {answer.status}")
        self.checks.equal(self.status("POST", "/v1/jobs", vision, {**JOB, "tenant": "language"}), 403, "a job for another tenant")
        self.checks.equal(self.status("POST", f"/v1/jobs/{theirs['id']}/cancel", language), 200, "its own job")

    def expired_and_revoked(self):
        """Both stop at once, also on streams that are open already."""
        for name, more, end in (("short", {"expires_in": "3s"}, None), ("taken", {}, "/v1/tokens/taken/revoke")):
            made = time.monotonic()
            token = self.make_token(name, "viewer", **more)
            connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=30)
            connection.request("GET", "/v1/events?last=1", headers={"Authorization": "Bearer " + token})
            response = connection.getresponse()
            self.checks.equal(response.status, 200, f"events with {name}")
            response.fp.readline()
            if end:
                self.checks.equal(self.server.ask("POST", end).status, 200, "revoke")
                ended = time.monotonic()
            else:
                ended = made + 3
            try:
                while response.fp.readline():
                    pass
            except ConnectionError:
                pass
            late = time.monotonic() - ended
            print(f"  {name}: its stream ended after {late:.2f} s", flush=True)
            self.checks.that(-0.5 < late < STREAM_ENDS_S, f"the stream of {name} ended after {late:.2f} s")
            for target in ("/v1/jobs", "/v1/events", "/metrics"):
                self.checks.equal(self.status("GET", target, token), 401, f"GET {target} with {name}")
            connection.close()

    # ---- What is sent

    def path_traversal(self):
        wanted = (self.server.token.encode(), b"root:", b"SQLite format")
        for target in ("/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/assets/../token",
                       "/assets/..%2ftoken", "/assets/%2e%2e%2ftoken", "/v1/jobs/..%2f..%2ftoken/logs", "/v1/jobs/%2e%2e/logs",
                       "/v1/jobs/1/../../log", "/v1/jobs/1%00/logs", "/v1/jobs/1/logs?rank=../../../token", "/\\..\\token", "/%c0%ae%c0%ae/token",
                       "/v1/jobs/1/logs?rank=0%00", "http://elsewhere/v1/jobs", "/v1/nodes/..%2fx/drain", "/weir.db", "/tokens.json", "/token"):
            data = (f"GET {target} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {self.server.token}\r\nConnection: close\r\n\r\n").encode("latin-1")
            answer = self.server.raw(data)
            self.checks.that(answer is not None and answer.status < 500 and not any(each in answer.body for each in wanted),
                             f"GET {target}: {answer}")
        for file in ("../x", "x", "", "/tmp/a\0b"):
            self.checks.equal(self.status("POST", "/v1/backup", "", {"file": file}), 400, f"a backup to {file!r}")
        for name in ("../x", "a/b", "..", "a\0"):
            self.checks.equal(self.status("POST", "/v1/jobs", "", {**JOB, "name": name}), 400, f"a job named {name!r}")

    def bombs(self):
        """Headers, bodies and JSON that are too large, too many, too deep."""
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {self.server.token}\r\n".encode()
        before = self.server.resident_kib()
        for name, data, status in (
                ("a long header", [head + b"X: " + b"x" * 100_000], 431), ("many headers", [head + b"".join(b"X%d: x\r\n" % i for i in range(5000))], 431),
                ("a long target", [b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: h\r\n\r\n"], 414),
                ("a long body", [head + b"Content-Length: 99999999999\r\n\r\n"], 413),
                ("endless chunks", [head + b"Transfer-Encoding: chunked\r\n\r\n"] + [b"10000\r\n" + b" " * 65536 + b"\r\n"] * 40, 413),
                ("a header without end", [head] + [b"A: b\r\n"] * 10_000, 431)):
            answer = self.server.raw(data)
            self.checks.equal(answer and answer.status, status, name)
        for target in ("/v1/jobs", "/v1/dry-run", "/v1/tokens", "/v1/backup"):
            for text in (b"[" * 500_000, b'{"a":' * 100_000, b"[" * 400_000 + b"]" * 400_000, b'{"name":"' + b"\\u0000" * 100_000 + b'"}'):
                answer = self.server.ask("POST", target, text, {"Content-Type": "application/json"})
                self.checks.equal(answer.status, 400, f"{target} with {text[:10]!r}...")
        laughs = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
            b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 9)) for i in range(9)) + b"name: *j\n"
        answer = self.server.ask("POST", "/v1/jobs", laughs, {"Content-Type": "application/yaml"})
        self.checks.equal(answer.status, 400, "YAML that grows")
        grown = self.server.resident_kib() - before
        # Freed memory stays with a sanitizer for a while.
        self.checks.that(grown < (800_000 if self.server.is_sanitized() else 200_000), f"memory grew by {grown} KiB")

    def smuggling(self):
        """Requests whose end two readers might see in different places: none is read, and nothing behind it."""
        before = self.jobs()
        token = f"Host: h\r\nAuthorization: Bearer {self.server.token}\r\n"
        body = json.dumps({"name": "smuggled", "command": "true"})
        inner = f"POST /v1/jobs HTTP/1.1\r\n{token}Content-Length: {len(body)}\r\n\r\n{body}"
        cases = {
            "CL and TE": f"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}",
            "TE and CL": f"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{inner}",
            "two CL": f"Content-Length: 0\r\nContent-Length: 5\r\n\r\n{inner}",
            "two equal CL": f"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}{inner}",
            "a list of CL": f"Content-Length: 0, 0\r\n\r\n{inner}",
            "a signed CL": f"Content-Length: +0\r\n\r\n{inner}",
            "a hexadecimal CL": f"Content-Length: 0x0\r\n\r\n{inner}",
            "a negative CL": f"Content-Length: -1\r\n\r\n{inner}",
            "a CL that overflows": f"Content-Length: 18446744073709551616\r\n\r\n{inner}",
            "another TE": f"Transfer-Encoding: identity\r\n\r\n{inner}",
            "a list of TE": f"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n{inner}",
            "two TE": f"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{inner}",
            "TE with a tab": f"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n{inner}",
            "a space before the colon": f"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{inner}",
            "a folded line": f"X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\tb: c\r\n\r\n{inner}",
            "a chunk that is no number": f"Transfer-Encoding: chunked\r\n\r\nx\r\n\r\n{inner}",
            "a chunk that overflows": f"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n{inner}",
            "a chunk with a bare LF": f"Transfer-Encoding: chunked\r\n\r\n0\n\n{inner}",
            "a chunk without its end": f"Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}XX0\r\n\r\n{inner}",
            "a NUL in a header": f"X: a\0b\r\nContent-Length: 0\r\n\r\n{inner}",
            "bare LFs": f"Content-Length: 0\n\n{inner}",
            "a bare CR": f"X: a\rContent-Length: 7\r\n\r\n{inner}",
        }
        for name, rest in cases.items():
            data = f"POST /v1/dry-run HTTP/1.1\r\n{token}{rest}".encode("latin-1")
            with socket.create_connection((self.server.host, self.server.port), timeout=30) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                while piece := connection.recv(65536):
                    answer += piece
            statuses = re.findall(rb"HTTP/1\.1 (\d+)", answer)
            self.checks.that(len(statuses) <= 1 and all(status[:1] in b"45" for status in statuses), f"{name}: {statuses}")
        data = f"POST /v1/dry-run HTTP/1.0\r\n{token}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}".encode()
        answer = self.server.raw(data)
        self.checks.equal(answer and answer.status, 400, "chunks in HTTP/1.0")
        self.checks.equal(self.jobs(), before, "jobs after all that")

    def slow_clients(self):
        """Whoever sends slowly waits alone."""
        connections = [socket.create_connection((self.server.host, self.server.port), timeout=60) for _ in range(100)]
        stop = threading.Event()

        def dribble():
            while not stop.is_set():
                for connection in connections:
                    try:
                        connection.send(b"G")
                    except OSError:
                        pass
                stop.wait(1)
        for connection in connections:
            connection.send(b"GET /v1/jobs HTTP/1.1\r\nX: ")
        thread = threading.Thread(target=dribble)
        thread.start()
        began, longest = time.monotonic(), 0
        while time.monotonic() - began < SLOW_S:
            asked = time.monotonic()
            self.server.ask("GET", "/healthz")
            longest = max(longest, time.monotonic() - asked)
            time.sleep(0.2)
        stop.set()
        thread.join()
        self.checks.that(longest < 2, f"others wait {longest:.2f} s at most")
        ended = 0
        for connection in connections:
            connection.settimeout(5)
            answer = read_answer(connection)
            ended += answer is None or answer.status == 408
            connection.close()
        self.checks.equal(ended, len(connections), "slow clients that were turned away")

    def log_injection(self):
        """Nothing that a client sends begins a line of its own, or moves the cursor of whoever reads."""
        bad = "%0d%0a{\"token\":\"first\"}%1b[2J"
        for target in (f"/v1/jobs/{bad}", f"/v1/nothing{bad}", f"/v1/tokens/{bad}/revoke"):
            self.server.ask("POST" if "revoke" in target else "GET", target)
        self.server.raw(b"GET /v1/\x1b[2J\x07 HTTP/1.1\r\nHost: h\r\n\r\n")
        self.server.raw(b"G\x1bT /v1/jobs HTTP/1.1\r\nHost: h\r\n\r\n")
        for name in ("a\r\nb", "a\x1b[31mb", "\u202eab", "a\nb"):
            self.checks.equal(self.status("POST", "/v1/jobs", "", {**JOB, "name": name}), 400, f"a job named {name!r}")
            self.checks.equal(self.status("POST", "/v1/jobs", "", {**JOB, "tenant": name}), 400, f"a tenant named {name!r}")
            self.checks.equal(self.status("POST", "/v1/tokens", "", {"name": name, "role": "viewer"}), 400, f"a token named {name!r}")
        answer = self.server.ask("GET", "/v1/jobs/a%0d%0aX-Evil:%201")
        self.checks.that(answer.headers.get("X-Evil") is None, "no header of a client's making")
        self.checks.that(not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", answer.body), f"no control bytes in an answer: {answer}")
        time.sleep(0.3)
        text = (self.server.state / "audit.jsonl").read_bytes()
        lines = text.splitlines()
        self.checks.that(not re.search(rb"[^\x0a\x20-\x7e]", text), "the audit log is printable ASCII")
        self.checks.that(all(set(json.loads(line)) <= {"at", "address", "token", "role", "method", "path", "status"} for line in lines),
                         "each line is one request")
        self.checks.that(b"\x1b" not in self.server.messages().encode(), "no escape sequence on the server's terminal")

    def audited(self):
        """Who did what stands in the log; how he proved it does not."""
        token = self.make_token("auditee", "viewer")
        self.server.ask("GET", "/v1/nodes?x=query", token=token)
        self.server.ask("POST", "/v1/jobs", b"body-of-a-request", token=token)
        self.server.ask("GET", "/v1/nodes", token="nobody's")
        time.sleep(0.3)
        file = self.server.state / "audit.jsonl"
        self.checks.equal(file.stat().st_mode & 0o777, 0o600, "the mode of the audit log")
        seen = [(line.get("token"), line.get("role"), line["method"], line["path"], line["status"])
                for line in map(json.loads, file.read_text().splitlines())]
        for expected in (("auditee", "viewer", "GET", "/v1/nodes", 200), ("auditee", "viewer", "POST", "/v1/jobs", 403),
                         (None, None, "GET", "/v1/nodes", 401), ("first", "operator", "POST", "/v1/tokens", 201)):
            self.checks.that(expected in seen, f"{expected} is in the log: {[line for line in seen if line[:4] == expected[:4]]}")
        self.checks.that("body-of-a-request" not in file.read_text() and "x=query" not in file.read_text(), "no bodies, no queries")

    def leaked_token(self):
        """After all that no token is in a file that others read, in a process's arguments or in a job's environment."""
        job = self.server.ask_json("POST", "/v1/jobs", {"name": "env", "command": "env; tr '\\0' ' ' < /proc/self/environ"}).json()["id"]
        self.server.wait_for("a job", lambda: "ended" in self.server.ask("GET", f"/v1/jobs/{job}").json())
        places = {"the job's environment": self.server.ask("GET", f"/v1/jobs/{job}/logs").body, "stderr": self.server.messages().encode(),
                  "metrics": self.server.ask("GET", "/metrics").body, "tokens": self.server.ask("GET", "/v1/tokens").body}
        time.sleep(0.3)
        for file in self.server.state.rglob("*"):
            if file.is_file() and file != self.server.state / "token":
                places[str(file.name)] = file.read_bytes()
        for process in pathlib.Path("/proc").iterdir():
            if process.name.isdigit() and int(process.name) != os.getpid():
                try:
                    places[f"arguments of {process.name}"] = (process / "cmdline").read_bytes()
                except OSError:
                    pass
        for place, text in places.items():
            for secret in [self.server.token, *self.secrets]:
                self.checks.that(secret.encode() not in text, f"a token is in {place}")
        for file in ("token", "tokens.json", "audit.jsonl", "weir.db"):
            mode = (self.server.state / file).stat().st_mode & 0o077
            self.checks.that(mode == 0 or self.server.state.stat().st_mode & 0o077 == 0, f"{file} is for its owner only")

    # ---- How much

    def floods(self):
        """A server with limits: one client cannot have all of it."""
        options = ["--cluster", "1x2xCPU", "--connections-per-address", "40", "--rate-per-tenant", "5", "--rate-per-address", "500"]
        usual = self.server
        with Server(self.weir, options=options) as self.server:
            viewer = self.make_token("eager", "viewer")
            begin = time.monotonic()
            answers = [self.server.ask("GET", "/v1/jobs", token=viewer) for _ in range(150)]
            allowed = 10 + 5 * (time.monotonic() - begin) + 1
            statuses = [answer.status for answer in answers]
            self.checks.that(10 <= statuses.count(200) <= allowed and set(statuses) <= {200, 429}, f"a viewer's requests: {statuses}")
            refused = [answer for answer in answers if answer.status == 429]
            self.checks.that(all(int(answer.headers["Retry-After"]) >= 1 for answer in refused), "429 says when")
            self.checks.that(bool(refused) or allowed >= 150, "a viewer that asks too often is told")
            self.checks.equal({self.status("GET", "/v1/jobs", "") for _ in range(30)}, {200}, "an operator's requests")
            kept = http.client.HTTPConnection(self.server.host, self.server.port, timeout=30)
            kept.request("GET", "/healthz")
            kept.getresponse().read()
            flood = []
            for _ in range(2000):
                try:
                    flood.append(socket.create_connection((self.server.host, self.server.port), timeout=10))
                except OSError:
                    break
            kept.request("GET", "/healthz")
            self.checks.equal(kept.getresponse().status, 200, "who was there before the flood goes on")
            kept.close()
            for each in flood:
                each.close()
            self.server.wait_for("the flood to end", lambda: self.is_answered())
            statuses = set()
            fast = http.client.HTTPConnection(self.server.host, self.server.port, timeout=30)
            for _ in range(3000):
                fast.request("GET", "/healthz")
                response = fast.getresponse()
                response.read()
                statuses.add(response.status)
            self.checks.that(statuses <= {200, 429}, f"requests of one address: {statuses}")
            fast.close()
            time.sleep(1)
            self.checks.that(self.server.is_alive(), "the server is there still")
        self.server = usual

    def is_answered(self):
        try:
            return self.server.ask("GET", "/healthz").status == 200
        except (OSError, http.client.HTTPException):
            return False

    # ---- On the way

    def tls(self):
        usual = self.server
        with TlsServer(self.weir, options=["--cluster", "1x2xCPU", "--tls", "generated", "--listen", "0.0.0.0"]) as self.server:
            url = (self.server.state / "url").read_text().strip()
            self.checks.that(url.startswith("https://127.0.0.1:"), f"the URL: {url}")
            self.checks.equal(self.server.ask("GET", "/v1/jobs").status, 200, "the API over TLS")
            page = self.server.ask("GET", "/", token=None)
            self.checks.that(page.status == 200 and page.content_type == "text/html", f"the page over TLS: {page.status}")
            self.events_over_tls()
            self.versions()
            self.every_cipher()
            self.no_tricks_of_tls()
            self.streams_end_over_tls()
            self.commands(url)
            plain = self.server.raw(b"GET /v1/jobs HTTP/1.1\r\nHost: h\r\n\r\n")
            self.checks.equal(plain, None, "plain HTTP gets no answer")
            mode = (self.server.state / "tls-key.pem").stat().st_mode & 0o777
            self.checks.equal(mode, 0o600, "the mode of the key")
        self.checks.equal(self.server.exit_code, 0, f"exit code with TLS; {self.server.last_words}")
        self.server = usual
        self.refused_options()

    def events_over_tls(self):
        connection = self.server.connect(30)
        connection.request("GET", "/v1/events", headers={"Authorization": "Bearer " + self.server.token})
        response = connection.getresponse()
        self.server.ask_json("POST", "/v1/jobs", {"name": "seen", "command": "true"})
        line = response.fp.readline()
        while line and not (line.startswith(b"data: ") and b"seen" in line):  # others come first, or not
            line = response.fp.readline()
        self.checks.that(b"seen" in line, "an event over TLS")
        connection.close()

    def agreed(self, least, most, ciphers):
        """Version and cipher that both agree on, or None."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        try:
            context.minimum_version, context.maximum_version = least, most
            context.set_ciphers(ciphers)
        except (ssl.SSLError, ValueError):
            return "not known here"
        with socket.create_connection((self.server.host, self.server.port), timeout=30) as plain:
            try:
                with context.wrap_socket(plain, server_hostname="localhost") as secured:
                    return secured.version(), secured.cipher()[0]
            except (ssl.SSLError, ConnectionError):
                return None

    def versions(self):
        version = ssl.TLSVersion
        for old in (version.TLSv1, version.TLSv1_1):
            self.checks.that(self.agreed(old, old, "ALL:@SECLEVEL=0") in (None, "not known here"), f"{old.name} is refused")
        self.checks.equal((self.agreed(version.TLSv1_3, version.TLSv1_3, "ALL") or [None])[0], "TLSv1.3", "TLS 1.3")
        found = self.agreed(version.TLSv1_2, version.TLSv1_2, "ALL")
        self.checks.that(found and found[1].startswith("ECDHE-ECDSA-"), f"TLS 1.2: {found}")
        for weak in ("NULL", "aNULL", "RC4", "3DES", "EXPORT", "SHA1", "CBC", "AES128-SHA", "ECDHE-ECDSA-AES256-SHA", "ECDHE-ECDSA-AES128-SHA256",
                     "AES256-GCM-SHA384", "kRSA", "PSK", "DHE:!ECDHE", "CAMELLIA", "ARIA", "SEED", "IDEA", "MD5"):
            found = self.agreed(version.TLSv1_2, version.TLSv1_2, weak + ":@SECLEVEL=0")
            self.checks.that(found in (None, "not known here"), f"{weak} is refused: {found}")
        with socket.create_connection((self.server.host, self.server.port), timeout=30) as plain:
            with self.server.context().wrap_socket(plain, server_hostname="localhost") as secured:
                names = {name for _, name in secured.getpeercert()["subjectAltName"]}
                self.checks.that({"localhost", "127.0.0.1"} <= names, f"names of the certificate: {names}")

    def every_cipher(self):
        """All suites that this machine's library knows, one by one, as testssl does it."""
        version = ssl.TLSVersion
        offered = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        offered.set_ciphers("ALL:COMPLEMENTOFALL:@SECLEVEL=0")
        names = sorted(each["name"] for each in offered.get_ciphers() if each["protocol"] != "TLSv1.3")
        taken = [name for name in names
                 if self.agreed(version.TLSv1_2, version.TLSv1_2, name + ":@SECLEVEL=0") not in (None, "not known here")]
        good = re.compile(r"ECDHE-(ECDSA|RSA)-(AES(128|256)-GCM-SHA(256|384)|CHACHA20-POLY1305)$")
        self.checks.that(taken and all(good.match(name) for name in taken), f"suites of TLS 1.2: {taken}")
        print(f"  TLS 1.2: {len(taken)} of {len(names)} suites: {', '.join(taken)}", flush=True)

    def no_tricks_of_tls(self):
        """No resumption, compression or renegotiation; a key and a signature of today."""
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.server.context()
            context.minimum_version = context.maximum_version = version
            session = None
            for again in (False, True):
                with socket.create_connection((self.server.host, self.server.port), timeout=30) as plain:
                    with context.wrap_socket(plain, server_hostname="localhost", session=session) as secured:
                        self.checks.that(not secured.session_reused, f"{version.name}: no session is resumed")
                        self.checks.equal(secured.compression(), None, f"{version.name}: compression")
                        secured.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
                        secured.recv(4096)
                        session = None if again else secured.session
        if not shutil.which("openssl"):
            return print("  renegotiation and certificate: not looked at, openssl is missing")
        address = f"{self.server.host}:{self.server.port}"
        done = subprocess.run(["openssl", "s_client", "-connect", address, "-tls1_2", "-legacy_renegotiation"],
                              input=b"R\nGET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", capture_output=True, timeout=60)
        self.checks.that(b"RENEGOTIATING" in done.stdout + done.stderr and b"HTTP/1.1 200" not in done.stdout, f"renegotiation: {done.stderr[-400:]}")
        text = subprocess.run(["openssl", "x509", "-noout", "-text", "-in", self.server.state / "tls-cert.pem"], capture_output=True, text=True).stdout
        self.checks.that("prime256v1" in text and "ecdsa-with-SHA256" in text, f"the certificate: {text}")

    def streams_end_over_tls(self):
        """Revoked while twenty streams are open: how long the last one lives."""
        token = self.make_token("streamer", "viewer")
        streams = []
        for _ in range(20):
            connection = self.server.connect(30)
            connection.request("GET", "/v1/events", headers={"Authorization": "Bearer " + token})
            streams.append((connection, connection.getresponse()))
        self.checks.equal({response.status for _, response in streams}, {200}, "streams over TLS")
        ends = []

        def follow(response):
            try:
                while response.fp.readline():
                    pass
            except (OSError, ValueError):
                pass
            ends.append(time.monotonic())
        threads = [threading.Thread(target=follow, args=(response,)) for _, response in streams]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        self.checks.equal(len(ends), 0, "streams that ended by themselves")
        self.checks.equal(self.server.ask("POST", "/v1/tokens/streamer/revoke").status, 200, "revoke")
        revoked = time.monotonic()
        for thread in threads:
            thread.join()
        late = max(ends) - revoked
        self.checks.that(late < STREAM_ENDS_S, f"the last of 20 streams ended {late:.2f} s after its token was revoked")
        self.checks.equal(self.status("GET", "/v1/jobs", token), 401, "a revoked token over TLS")
        for connection, _ in streams:
            connection.close()
        print(f"  revoked: the last of {len(streams)} streams over TLS ended after {late:.2f} s", flush=True)

    def commands(self, url):
        """weir's own client: trusts what it was told to, and nothing else."""
        def jobs(*options, **variables):
            environment = {key: value for key, value in os.environ.items() if not key.startswith("WEIR_")}
            with tempfile.TemporaryDirectory() as home:
                config = pathlib.Path(home) / ".config/weir"
                config.mkdir(parents=True)
                if context := variables.pop("context", None):
                    (config / "config.yaml").write_text(f"current: c\ncontexts:\n  c: {json.dumps(context)}\n")
                environment |= {"HOME": home, "WEIR_TOKEN": self.server.token, **variables}
                environment.pop("XDG_CONFIG_HOME", None)
                return subprocess.run([self.weir, "jobs", *options], capture_output=True, text=True, env=environment)
        authority = str(self.server.state / "tls-cert.pem")
        fingerprint = re.search(r"fingerprint of its key: (sha256//\S+)", self.server.messages()).group(1)
        for name, done in (("--ca-file", jobs("--server", url, "--ca-file", authority)),
                           ("WEIR_CA_FILE", jobs(WEIR_SERVER=url, WEIR_CA_FILE=authority)),
                           ("the state folder", jobs(WEIR_STATE=str(self.server.state))),
                           ("ca_file", jobs(context={"server": url, "ca_file": authority})),
                           ("fingerprint", jobs(context={"server": url, "fingerprint": fingerprint}))):
            self.checks.that(done.returncode == 0 and "seen" in done.stdout, f"{name}: {done}")
        other = fingerprint[:8] + ("A" if fingerprint[8] != "A" else "B") + fingerprint[9:]
        for name, done in (("no trust", jobs("--server", url)), ("another key", jobs(context={"server": url, "fingerprint": other}))):
            self.checks.that(done.returncode not in (0, 2) and self.server.token not in done.stderr, f"{name}: {done}")
        wrong = jobs(context={"server": url, "fingerprint": "sha256//x"})
        self.checks.equal(wrong.returncode, 2, f"a fingerprint that is none: {wrong.stderr}")

    def refused_options(self):
        with tempfile.TemporaryDirectory() as folder:
            def serve(*options):
                return subprocess.run([self.weir, "serve", "--state", folder + "/state", "--port", "0", "--cluster", "1x1xCPU", *options],
                                      capture_output=True, text=True, timeout=60)
            for options, lines in ((["--listen", "0.0.0.0"], 1), (["--listen", "::"], 1), (["--listen", "192.168.7.7"], 1), (["--listen", "example.org"], 1),
                                   (["--tls-cert", "/x"], 1), (["--tls-key", "/x"], 1), (["--tls", "generated", "--tls-cert", "/x"], 1),
                                   (["--tls-cert", "/x", "--listen", "no address"], 2), (["--tls-cert", "/nowhere", "--tls-key", "/nowhere"], 2)):
                done = serve(*options)
                self.checks.equal((done.returncode, len(done.stderr.splitlines())), (2, lines), f"serve {options}: {done.stderr}")

    def run(self, names):
        table = ("no_token", "wrong_role", "other_tenant", "expired_and_revoked", "path_traversal", "bombs", "smuggling", "slow_clients",
                 "log_injection", "audited", "leaked_token", "floods", "tls")
        with Server(self.weir) as self.server:
            first = self.server
            for name in names or table:
                began = time.monotonic()
                getattr(self, name)()
                print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
            self.checks.that(first.is_alive(), "the server is there still")
        self.checks.equal(first.exit_code, 0, f"exit code of the server; {first.last_words}")
        return self.checks.conclude("attacks")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: attacks.py WEIR [NAME...]")
    sys.exit(Attacks(sys.argv[1]).run(sys.argv[2:]))
