#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input against the real `weir serve`: each request gets a clear 4xx problem that names what is wrong,
changes nothing (the record log and the jobs stay as they were), and the server lives on within its memory.

  tests/bad_requests.py WEIR
"""
import gzip
import json
import socket
import sys
import threading
import time

from api_contract import Answer, Checks, Server, read_answer  # noqa: F401

MIB = 1 << 20
LEAST = {"name": "a", "command": "x"}
HEADER_TIME_S = 10  # of the server
BODY_TIME_S = 30
PARTS = ("logs", "document", "records", "story", "progress")  # of a job
MOST_GROWTH_KIB = 96 * 1024
MOST_GROWTH_SANITIZED_KIB = 768 * 1024  # freed memory stays with the sanitizer for a while


def job(**more):
    return json.dumps({**LEAST, **more}).encode()


class BadRequests:
    def __init__(self, server):
        self.server = server
        self.checks = Checks()
        self.before = None

    # -- What must not change

    def state(self):
        log = self.server.ask("GET", "/v1/log").body
        jobs = self.server.ask("GET", "/v1/jobs?limit=1000").body
        return log, jobs

    def unchanged(self, name):
        self.checks.that(self.server.is_alive(), f"{name}: the server is dead: {self.server.messages()}")
        self.checks.that(self.state() == self.before, f"{name}: something changed")

    def expect(self, name, answer, statuses, field=None, text=None):
        """A problem with one of the statuses, that names the field and says what to write."""
        statuses = (statuses,) if isinstance(statuses, int) else statuses
        if answer is None:
            return self.checks.that(False, f"{name}: no answer")
        self.checks.that(answer.status in statuses, f"{name}: {answer}, expected {statuses}")
        self.checks.equal(answer.content_type, "application/problem+json", f"{name}: content type")
        try:
            problem = answer.json()
        except ValueError:
            return self.checks.that(False, f"{name}: not JSON: {answer}")
        self.checks.equal(problem.get("status"), answer.status, f"{name}: status of the problem")
        self.checks.that(bool(problem.get("detail")), f"{name}: no detail: {answer}")
        self.checks.that(len(answer.body) < 16 << 10, f"{name}: an answer of {len(answer.body)} bytes")
        if field is not None:
            errors = problem.get("errors", [])
            named = [error for error in errors if error.get("field") == field]
            self.checks.that(bool(named), f"{name}: nothing about {field}: {answer}")
            self.checks.that(all(error.get("expected") for error in errors), f"{name}: not what to write: {answer}")
        if text is not None:
            self.checks.that(text in answer.body.decode(), f"{name}: no {text!r}: {answer}")

    def post(self, name, body, statuses=400, field=None, text=None, path="/v1/jobs", headers=None):
        answer = self.server.ask("POST", path, body, {"Content-Type": "application/json", **(headers or {})})
        self.expect(name, answer, statuses, field, text)
        self.unchanged(name)

    def get(self, target, statuses, field=None, text=None, method="GET", **more):
        answer = self.server.ask(method, target, **more)
        name = f"{method} {target[:80]}"
        self.expect(name, answer, statuses, field, text)
        self.checks.that(b"root:" not in answer.body, f"{name}: a file of the machine")
        self.unchanged(name)

    def raw(self, name, data, statuses, text=None, shuts_down=False):
        self.expect(name, self.server.raw(data, shuts_down=shuts_down), statuses, text=text)
        self.unchanged(name)

    def head(self, method="GET", target="/v1/jobs", *lines):
        lines = ["Host: h", f"Authorization: Bearer {self.server.token}", *lines]
        return f"{method} {target} HTTP/1.1\r\n".encode() + "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    # -- Bodies

    def malformed_json(self):
        for body in (b"", b" ", b"{", b"}", b"{]", b'{"name":', b'{"name":"a",}', b"nonsense", b"'a'", b'{name:"a"}',
                     b'{"name":"a" "command":"x"}', b'{"name":"a","command":"x"} x', b'{"name":"a","command":"x"}{}',
                     b'{"name":"a\n","command":"x"}', b'{"name":"a","command":"\\x"}', b'{"name":"a","command":"\\u12"}',
                     b"\xef\xbb\xbf{}", b"\0", b'{"name":"a","command":"x"}\0', b"/* */ {}", b"NaN", b"name: a\ncommand: x"):
            self.post(f"malformed {body!r}", body)
            self.post(f"malformed {body!r}", body, path="/v1/dry-run")
            self.post(f"malformed {body!r}", body, path="/v1/backup")
        self.post("not UTF-8", b'{"name":"a","command":"\xff\xfe"}')
        self.post("an overlong slash", b'{"name":"a","command":"\xc0\xaf"}')
        self.post("half a character", b'{"name":"a","command":"\\ud800"}')
        self.post("a surrogate in UTF-8", b'{"name":"a","command":"\xed\xa0\x80"}')
        self.post("NUL in a command", b'{"name":"a","command":"x\\u0000y"}', field="command")
        self.post("NUL in a directory", job(directory="/tmp\0/x"), field="directory")

    def wrong_fields(self):
        self.post("an unknown field", job(gpsu=1), field="field", text="did you mean gpus")
        self.post("no field at all", b"{}", field="name")
        self.post("a list", b"[]")
        self.post("a duplicate key", b'{"name":"a","name":"b","command":"x"}', field="name")
        self.post("a duplicate key in a map", b'{"name":"a","command":"x","environment":{"A":"1","A":"2"}}',
                  field="environment.A")
        self.post("a duplicate key by escapes", b'{"name":"a","n\\u0061me":"b","command":"x"}', field="name")
        for field, values in {
                "name": (1, None, [], {}, True, "", "..", "../x", "/etc/passwd", "a/b", "a\0b", "x" * 10000, "1", " "),
                "command": (1, None, {}, True, "", []), "gpus": ("2", None, [], True, 0, -1, 3, 1.5, 70000),
                "environment": (1, [], "A=1"), "directory": (1, "x", "", "x" * 5000), "duration": (1, "1", "x", "0s"),
                "retries": ("1", -1, 1.5, 10 ** 30), "grace": (1, "x"), "memory": (1, "x", "1"), "ranks": (1, "x"),
                "reports_progress": (1, "true"), "rigid": (1, "x"), "iterations": ("1", 0, -5, 10 ** 30)}.items():
            for value in values:
                self.post(f"{field} is {str(value)[:30]!r}", job(**{field: value}), field=field)
        for number in (b"1e999", b"99999999999999999999999999", b"-0.0", b"1e308", b"0x10", b"01", b"+1", b".5", b"1.",
                       b"NaN", b"Infinity", b"-", b"1e", b"9" * 100000):
            self.post(f"gpus is {number[:20]!r}", b'{"name":"a","command":"x","gpus":' + number + b"}")
        self.post("a deadline that is none", job(duration="1s", deadline="tomorrow"), field="deadline")
        self.post("a deadline in the past", job(duration="1s", deadline="2001-01-01T00:00:00Z"), 422, "deadline",
                  "a time after now")
        self.post("a deadline in the past", job(duration="1s", deadline="2001-01-01T00:00:00Z"), 422, "deadline",
                  "a time after now", path="/v1/dry-run")
        self.post("more GPUs than there are", job(gpus=1024), 422, "gpus", "a power of two up to")
        self.post("more GPUs than there are", job(gpus=1024), 422, "gpus", "a power of two up to", path="/v1/dry-run")
        self.post("rates for other clusters", job(iterations=5, throughput={"1024": 1}), 422, "throughput")
        for file in ("x", "", 1, None, [], "/a\0b", "/" + "x" * 5000):
            self.post(f"a backup to {str(file)[:20]!r}", json.dumps({"file": file}).encode(), field="file", path="/v1/backup")
        folder = str(self.server.folder).encode()
        self.post("a backup to two files", b'{"file":"%b/a","file":"%b/b"}' % (folder, folder), field="file", path="/v1/backup")
        self.post("a backup with more", b'{"file":"%b/a","more":1}' % folder, field="file", path="/v1/backup")
        self.post("a backup to a folder", b'{"file":"/"}', 409, path="/v1/backup")
        self.post("a backup over the store", json.dumps({"file": str(self.server.state / "weir.db")}).encode(), 409,
                  path="/v1/backup")

    def deep_nesting(self):
        for path in ("/v1/jobs", "/v1/dry-run", "/v1/backup"):
            for opening in (b"[", b'{"a":', b'{"name":[', b'[{"a":'):
                self.post(f"deep {opening!r}", opening * 100000, path=path)
            self.post("deep and closed", b"[" * 100000 + b"]" * 100000, path=path)
            self.post("deep in a field", b'{"name":"a","command":' + b"[" * 100000 + b"]" * 100000 + b"}", path=path)
            self.post("deep in the file", b'{"file":' + b'{"file":' * 90000 + b"1" + b"}" * 90001, path=path)

    def large_bodies(self):
        """A hundred megabytes, four at a time; refused long before they are here."""
        def send(name, data):
            try:
                self.expect(name, self.server.raw(data), 413)
            except OSError as error:
                self.checks.that(False, f"{name}: {error}")

        def chunked():
            yield self.head("POST", "/v1/jobs", "Transfer-Encoding: chunked")
            for _ in range(100):
                yield b"%x\r\n" % MIB + b" " * MIB + b"\r\n"
            yield b"0\r\n\r\n"

        def announced():
            yield self.head("POST", "/v1/jobs", f"Content-Length: {100 * MIB}")
            for _ in range(100):
                yield b" " * MIB

        threads = []
        for name, data in (("announced", announced), ("in chunks", chunked)) * 2:
            thread = threading.Thread(target=send, args=(f"100 MB {name}", data()))
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join()
        self.unchanged("100 MB bodies")
        self.raw("a body of 2^64 bytes", self.head("POST", "/v1/jobs", "Content-Length: 18446744073709551615"), (400, 413))
        self.raw("a longer one", self.head("POST", "/v1/jobs", "Content-Length: " + "9" * 40), (400, 413))
        self.raw("one byte too many", self.head("POST", "/v1/jobs", f"Content-Length: {MIB + 1}") + b" " * (MIB + 1), 413)
        self.post("as large as may be", b" " * MIB)
        self.post("a large name", job(name="x" * 900000), field="name")
        self.post("a large command", job(command="x" * 900000), field="command")
        self.post("many variables", job(environment={f"V{i}": "x" for i in range(50000)}), field="environment")

    # -- Headers and lines

    def headers(self):
        self.raw("1000 headers", self.head("GET", "/v1/jobs", *[f"X-{i}: y" for i in range(1000)]), 431)
        self.raw("a header of 1 MB", self.head("GET", "/v1/jobs", "X: " + "y" * MIB), 431)
        self.raw("a header name of 1 MB", self.head("GET", "/v1/jobs", "X" * MIB + ": y"), (400, 431))
        self.raw("headers without end", [self.head()[:-2]] + [b"X-%d: y\r\n" % i for i in range(5000)], 431)
        self.raw("a path of 1 MB", self.head("GET", "/v1/jobs/" + "x" * MIB), (414, 431))
        self.raw("a path of 9 KB", self.head("GET", "/v1/jobs/" + "x" * 9000), 414)
        self.raw("a method of 1 MB", self.head("G" * MIB), (400, 431))
        self.raw("no Host", f"GET /v1/jobs HTTP/1.1\r\nAuthorization: Bearer {self.server.token}\r\n\r\n".encode(), 400, "Host")
        self.raw("two hosts", self.head("GET", "/v1/jobs", "Host: g"), 400, "Host")
        self.raw("two lengths", self.head("POST", "/v1/jobs", "Content-Length: 2", "Content-Length: 3") + b"{}", 400)
        self.raw("a negative length", self.head("POST", "/v1/jobs", "Content-Length: -1") + b"{}", 400)
        self.raw("a length of letters", self.head("POST", "/v1/jobs", "Content-Length: two") + b"{}", 400)
        self.raw("length and chunks", self.head("POST", "/v1/jobs", "Content-Length: 2", "Transfer-Encoding: chunked")
                 + b"0\r\n\r\n", 400)
        self.raw("gzip", self.head("POST", "/v1/jobs", "Transfer-Encoding: gzip"), 501)
        self.raw("chunks that are none", self.head("POST", "/v1/jobs", "Transfer-Encoding: chunked") + b"zz\r\nxxxxxxxx\r\n", 400)
        self.raw("an unknown expectation", self.head("POST", "/v1/jobs", "Expect: miracles", "Content-Length: 2"), 417)
        self.raw("another version", b"GET / HTTP/3.0\r\nHost: h\r\n\r\n", (400, 505))
        self.raw("not HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)), 400)
        self.raw("a space too many", b"GET  /v1/jobs HTTP/1.1\r\nHost: h\r\n\r\n", 400)
        self.raw("a folded header", self.head("GET", "/v1/jobs", "X: a", " b").replace(b"X: a", b"X : a"), 400)
        self.raw("NUL in a header", self.head("GET", "/v1/jobs", "X: a\0b"), 400)
        for kind in ("text/plain", "application/yamlx", "yaml", "application/x-www-form-urlencoded", "", "json", "application/jsonx"):
            self.post(f"content type {kind!r}", job(), 415, headers={"Content-Type": kind})
        self.post("a control character in the key", job(), headers={"Idempotency-Key": "\x7f"})
        for key in ("", "a b", "x" * 129, "x" * 10000, "k\xe9y", "a\tb"):
            self.post(f"key {key[:20]!r}", job(), 400, "Idempotency-Key", headers={"Idempotency-Key": key})
        self.post("the key of another job", job(), 409, "Idempotency-Key", headers={"Idempotency-Key": "used"})

    def malformed_yaml(self):
        yaml = {"Content-Type": "application/yaml"}
        bomb = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
            b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9)) for c in range(ord("b"), ord("i")))
        for body in (b"", b" ", b"#", b"nonsense", b"- a", b"[]", b"{", b"name: [", b"name: a\ncommand: [x", b"name: a\n command: x",
                     b"name: a\ncommand: x\nname: b", b"name: a\ncommand: x\ngpsu: 1", b"name: a\ncommand: x\ncount: 2",
                     b"jobs:\n- {name: a, command: x}\n- {name: b, command: x}", b"jobs: []", b"name: a\ncommand: x\n---\nname: b",
                     b"name: a\ncommand: x\n...\n---\nname: b\ncommand: x", b"name: &a x\ncommand: *a", b"name: !!str a\ncommand: x",
                     b"name: a\ncommand: x\0", b"name: a\ncommand: \xff\xfe", b"\xef\xbb\xbf\x04name: a", b"name: a\ncommand: x\ngpus: 1e1",
                     b"name: a\ncommand: {x: y}", b"? [a]\n: b", b"name: a\ncommand: x\n\tgpus: 1", b"%YAML 9.9\n---\nname: a", bomb,
                     b"\x1f\x8b" + b"x" * 100, gzip.compress(b"#" * (64 << 20))):
            self.post(f"malformed YAML {body[:60]!r}", body, headers=yaml)
            self.post(f"malformed YAML {body[:60]!r}", body, path="/v1/dry-run", headers=yaml)
        for piece in (b"{", b"[", b"- ", b"a: {", b"? ", b"[[],", b"- - ", b"\"", b"x: |\n ", b"#\n", b"a:\n"):
            for size in (256 << 10, MIB):
                self.post(f"{size} bytes of {piece!r}", (piece * size)[:size], headers=yaml)
        self.post("YAML for a backup", b"file: /tmp/x", 415, path="/v1/backup", headers=yaml)

    def tokens(self):
        token = self.server.token
        for given in ("", "Bearer", "Bearer ", "Bearer x", "Bearer  " + token, "Basic " + token, token, "Bearer " + token[:-1],
                      "Bearer " + token + "x", "Bearer " + token.upper(), "Bearer " + "x" * 8000, "Bearer \xff"):
            for method, target in (("GET", "/v1/jobs"), ("POST", "/v1/jobs"), ("GET", "/metrics"), ("GET", "/v1/nowhere"),
                                   ("OPTIONS", "/v1/jobs"), ("GET", "/metrics/more"), ("GET", "/v1"), ("GET", "/%76%31/jobs")):
                answer = self.server.ask(method, target, headers={"Authorization": given}, token=None)
                self.expect(f"token {given[:20]!r}", answer, 401, text="token")
        for target in ("/nowhere", "/healthz/more", "/V1/jobs", "/v1jobs"):
            self.get(target, 404, token=None)
        self.get("/v1/jobs", 401, token=None)
        # Refused before its body is here, for whichever reason is seen first.
        self.raw("a large body without a token", b"POST /v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 104857600\r\n\r\n", (401, 413))

    def methods(self):
        for method in ("PUT", "DELETE", "PATCH", "TRACE", "get", "PROPFIND", "X" * 200):
            self.get("/v1/jobs", 405, text="it takes", method=method)
        self.raw("CONNECT", self.head("CONNECT", "h:80"), (400, 404, 405))
        before = len(self.server.ask("GET", "/metrics").body)
        for i in range(300):
            self.server.ask(f"MADE-UP-{i}", "/v1/jobs", token=None)
            self.server.ask("GET", f"/made-up/{i}", token=None)
        after = len(self.server.ask("GET", "/metrics").body)
        self.checks.that(after - before < 2000, f"made-up methods and paths fill the metrics: {before} -> {after} bytes")
        self.unchanged("made-up methods")

    # -- Paths and queries

    def paths(self):
        for name in ("..", "%2e%2e", "%2E.", ".", "%2fetc%2fpasswd", "..%2f..%2f..%2fetc%2fpasswd", "a%00b", "%00",
                     "%ff", "%c0%ae%c0%ae", "%", "%zz", "%2", "a%0ab", "%7f"):
            for path in ("/v1/jobs/{}", *(f"/v1/jobs/{{}}/{part}" for part in PARTS)):
                self.get(path.format(name), 400)
            for path in ("/v1/jobs/{}/cancel", "/v1/nodes/{}/drain", "/v1/nodes/{}/undrain"):
                self.get(path.format(name), 400, method="POST")
        for name in ("..%5c..%5cetc", "etc", "x" * 200, "x" * 5000, "0", "-1", "+1", "1.0", "0x1", "1e0",
                     "99999999999999999999999", "%20", "%E2%88%9E", "'%20OR%201=1--", "a;b", "1%20", "*", "%25", "~"):
            for path in ("/v1/jobs/{}", *(f"/v1/jobs/{{}}/{part}" for part in PARTS)):
                self.get(path.format(name), 404)
            for path in ("/v1/jobs/{}/cancel", "/v1/nodes/{}/drain", "/v1/nodes/{}/undrain"):
                self.get(path.format(name), 404, method="POST")
        for target in ("/v1/jobs/../../../etc/passwd", "/../etc/passwd", "//etc/passwd", "/v1/jobs//logs", "/v1/jobs/", "/#"):
            self.raw(f"GET {target}", self.head("GET", target), 400)
        self.raw("GET etc/passwd", self.head("GET", "etc/passwd"), 400)
        self.raw("an absolute target", self.head("GET", "http://elsewhere/v1/../x"), 400)

    def queries(self):
        for query, field in (("limit=0", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"), ("limit=", "limit"),
                             ("limit=1&limit=2", "limit"), ("limit=-1", "limit"), ("limit=9" + "9" * 30, "limit"),
                             ("after=-1", "after"), ("after=1.5", "after"), ("after=+1", "after"), ("phase=x", "phase"),
                             ("phase=", "phase"), ("order=up", "order"), ("limits=3", "limits"), ("x", "x"),
                             ("limit=1%202", "limit"), ("limit=0x10", "limit"), ("changed_after=-1", "changed_after"),
                             ("changed_after=x", "changed_after"), ("changed_after=", "changed_after"),
                             ("changed_after=1&changed_after=2", "changed_after"), ("changed_after=9" + "9" * 30, "changed_after"),
                             ("changed_after=1&after=1", "after"), ("changed_after=1&phase=running", "phase"),
                             ("changed_after=1&name=a", "name"), ("changed_after=1&order=oldest", "order")):
            self.get("/v1/jobs?" + query, 400, field)
        for query in ("name=%00", "name=%ff", "name=%", "%ff=1", "name=%zz"):
            self.get("/v1/jobs?" + query, 400)
        for query, field in (("rank=-1", "rank"), ("rank=../0", "rank"), ("rank=9999999999999", "rank"), ("rank=0%2f..", "rank"),
                             ("generation=0", "generation"), ("generation=../../x", "generation"),
                             ("generation=4294967296", "generation"), ("offset=x", "offset"), ("offset=9" + "9" * 20, "offset"),
                             ("offset=--1", "offset"), ("limit=0", "limit"), ("limit=2000000", "limit"), ("file=/etc/passwd", "file")):
            self.get("/v1/jobs/used/logs?" + query, 400, field)
        for query, field in (("seconds=0", "seconds"), ("seconds=59", "seconds"), ("seconds=31536001", "seconds"), ("seconds=", "seconds"),
                             ("seconds=1h", "seconds"), ("seconds=60&seconds=60", "seconds"), ("minutes=5", "minutes")):
            self.get("/v1/history?" + query, 400, field)
        for query in ("rank=77", "generation=77"):
            self.get("/v1/jobs/used/logs?" + query, 404)
        for query, field in (("after=x", "after"), ("after=-1", "after"), ("job=0", "job"), ("job=a", "job"), ("jobs=1", "jobs"),
                             ("after=1&after=2", "after")):
            self.get("/v1/events?" + query, 400, field)
        for last in ("x", "-1", "", "1 2", "9" * 40):
            self.get("/v1/events", 400, text="Last-Event-ID", headers={"Last-Event-ID": last})

    # -- Slow clients

    def begin_slow_clients(self):
        """They hold connections while everything else is tested; joined at the end."""
        def drip(name, start, drop, least, most):
            begun = time.monotonic()
            with socket.create_connection((self.server.host, self.server.port), timeout=2) as connection:
                connection.sendall(start)
                while time.monotonic() - begun < most:
                    try:
                        connection.sendall(drop)
                    except OSError:
                        break
                    connection.settimeout(0.5)
                    try:
                        if connection.recv(1, socket.MSG_PEEK):
                            break
                    except TimeoutError:
                        continue
                    except OSError:
                        break
                connection.settimeout(5)
                answer = read_answer(connection)
            took = time.monotonic() - begun
            self.expect(name, answer, 408)
            self.checks.that(least < took < most, f"{name}: {took:.1f} s")

        self.slow = [
            threading.Thread(target=drip, args=("a slow header", self.head()[:-2], b"X: y\r\n", HEADER_TIME_S - 1, 3 * HEADER_TIME_S)),
            threading.Thread(target=drip, args=("a slow body", self.head("POST", "/v1/jobs", "Content-Length: 1000"), b" ",
                                                BODY_TIME_S - 1, 3 * BODY_TIME_S))]
        for thread in self.slow:
            thread.start()
        # Others say nothing at all, or ask and do not listen.
        self.silent = [socket.create_connection((self.server.host, self.server.port)) for _ in range(200)]
        for connection in self.silent[:100]:
            connection.sendall(self.head("GET", "/v1/log") * 3)

    def end_slow_clients(self):
        for thread in self.slow:
            thread.join()
        for connection in self.silent:
            connection.close()
        self.unchanged("slow clients")

    def no_such_program(self):
        """Nothing is wrong with the request: the job is accepted and fails, and says why."""
        for command in (["weir-no-such-program"], ["/nonexistent/program"], ["/"], ["/etc/passwd"]):
            answer = self.server.ask_json("POST", "/v1/jobs", {"name": "absent", "command": command, "retries": 5})
            self.checks.equal(answer.status, 201, f"command {command}")
            number = answer.json()["id"]
            ended = self.server.wait_for("a job to fail", lambda: self.look(number))
            self.checks.equal((ended["phase"], ended["restarts"]), ("failed", 0), f"command {command}: {ended}")
            self.checks.that(command[0] in ended.get("exit", ""), f"command {command}: {ended.get('exit')}")
        answer = self.server.ask_json("POST", "/v1/jobs", {"name": "nowhere", "command": "pwd", "directory": "/nonexistent"})
        ended = self.server.wait_for("a job to fail", lambda: self.look(answer.json()["id"]))
        self.checks.equal(ended["phase"], "failed", f"a directory that is not there: {ended}")
        self.checks.that("/nonexistent" in ended.get("exit", ""), f"a directory that is not there: {ended}")

    def look(self, number):
        view = self.server.ask("GET", f"/v1/jobs/{number}").json()
        return view if "ended" in view else None

    def memory_kib(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="utf-8") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1])
        return 0

    def run(self):
        is_sanitized = self.server.is_sanitized()
        first = self.server.ask_json("POST", "/v1/jobs", {**LEAST, "name": "used", "command": "echo hello"},
                                     {"Idempotency-Key": "used"})
        self.server.wait_for("the first job to end", lambda: self.look(first.json()["id"]))
        for _ in range(3):  # nothing is left to be decided
            time.sleep(0.2)
            self.before = self.state()
        start = self.memory_kib()
        self.begin_slow_clients()
        for part in (self.malformed_json, self.malformed_yaml, self.wrong_fields, self.deep_nesting, self.large_bodies, self.headers,
                     self.tokens, self.methods, self.paths, self.queries):
            begun = time.monotonic()
            part()
            print(f"{part.__name__}: {self.checks.count} checks so far, {time.monotonic() - begun:.1f} s, "
                  f"most memory {self.memory_kib() // 1024} MiB")
            sys.stdout.flush()
        self.end_slow_clients()
        grown = self.memory_kib() - start
        most = MOST_GROWTH_SANITIZED_KIB if is_sanitized else MOST_GROWTH_KIB
        print(f"memory: {start // 1024} MiB before, {grown // 1024} MiB more at most")
        self.checks.that(grown < most, f"memory grew by {grown} KiB, expected less than {most}")
        self.no_such_program()


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: bad_requests.py WEIR")
    with Server(sys.argv[1]) as server:
        test = BadRequests(server)
        test.run()
    test.checks.equal(server.exit_code, 0, f"exit code of the server; {server.last_words}")
    sys.exit(test.checks.conclude("bad_requests"))


if __name__ == "__main__":
    main()
