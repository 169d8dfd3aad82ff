#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The API against its contract: starts the real `weir serve`, calls every operation of
docs/openapi.yaml with every status that can be brought about, and compares status, content type and
body with what is written there. Fields that the contract does not know are failures, and so are
statuses that nobody saw.

  tests/api_contract.py WEIR          needs PyYAML (python3-yaml); without it exit code 77: skipped
"""
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATIENCE_S = 60


# ---- The server


class Server:
    """`weir serve` with a state folder of its own; leaves no process behind."""

    def __init__(self, weir, cluster="1x4xCPU", options=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-"))
        self.state = self.folder / "state"
        self.stderr = open(self.folder / "stderr", "w+b")
        # Python ignores SIGXFSZ, and so does the server: a write beyond the limit is an error.
        self.process = subprocess.Popen(
            [weir, "serve", "--state", self.state, "--port", "0", *(options or ["--cluster", cluster, "--rescale", "0s"])],
            stdin=subprocess.DEVNULL, stdout=self.stderr, stderr=self.stderr, restore_signals=False)
        until = time.monotonic() + PATIENCE_S
        while not (self.state / "url").exists() or not (self.state / "url").read_text().endswith("\n"):
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the server did not start:\n" + self.messages())
            time.sleep(0.02)
        url = urllib.parse.urlsplit((self.state / "url").read_text().strip())
        self.host, self.port = url.hostname, url.port
        self.token = (self.state / "token").read_text().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def messages(self):
        self.stderr.flush()
        return (self.folder / "stderr").read_text(errors="replace")

    def is_alive(self):
        return self.process.poll() is None

    def resident_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    def is_sanitized(self):
        return "libasan" in pathlib.Path(f"/proc/{self.process.pid}/maps").read_text()

    def limit_files(self, most_bytes):
        """No file of the server may grow beyond that; None: as before."""
        hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)[1]
        soft = hard if most_bytes is None else most_bytes
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (soft, hard))

    def connect(self, timeout=PATIENCE_S):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(self, method, target, body=None, headers=None, token="", timeout=PATIENCE_S):
        """One request on a connection of its own. token: "" is the right one, None: none."""
        connection = self.connect(timeout)
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            if token is not None:
                connection.putheader("Authorization", "Bearer " + (token or self.token))
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            if body is not None:
                try:
                    connection.send(body)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # it has heard enough, and may have answered
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def ask_json(self, method, target, value, headers=None, **more):
        headers = {"Content-Type": "application/json", **(headers or {})}
        return self.ask(method, target, json.dumps(value).encode(), headers, **more)

    def raw(self, data, timeout=PATIENCE_S, shuts_down=False):
        """Bytes as they are; what comes back until the server hangs up or has answered once."""
        with socket.create_connection((self.host, self.port), timeout=timeout) as connection:
            for piece in [data] if isinstance(data, bytes) else data:
                try:
                    connection.sendall(piece)
                except OSError:
                    break  # it has heard enough
            if shuts_down:
                connection.shutdown(socket.SHUT_WR)
            return read_answer(connection)

    def wait_for(self, what, test):
        until = time.monotonic() + PATIENCE_S
        while True:
            found = test()
            if found:
                return found
            if time.monotonic() > until:
                raise RuntimeError(f"waited in vain for {what}")
            time.sleep(0.02)

    def stop(self):
        try:
            if self.is_alive():
                self.limit_files(None)
                for phase in ("running", "queued", "paused", "waiting"):
                    page = self.ask("GET", f"/v1/jobs?limit=1000&phase={phase}").json()
                    for job in page["jobs"]:
                        self.ask("POST", f"/v1/jobs/{job['id']}/cancel")
                self.wait_for("the jobs to end", lambda: not self.processes())
        finally:
            if self.is_alive():
                self.process.send_signal(signal.SIGTERM)
            try:
                self.exit_code = self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.exit_code = self.process.wait()
            for pid in self.processes():
                os.kill(pid, signal.SIGKILL)
            self.last_words = self.messages()
            self.stderr.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self):
        """Supervisors of this state folder."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.process.pid:
                continue
            try:
                if str(self.state).encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
        return found


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()
        self.content_type = response.headers.get("Content-Type", "").split(";")[0]

    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return f"{self.status} {self.content_type} {self.body[:600]!r}"


def read_answer(connection):
    """The answer on a socket, or None when it was closed without one."""
    response = http.client.HTTPResponse(connection)
    try:
        response.begin()
        return Answer(response)
    except (http.client.HTTPException, ConnectionError):
        return None
    finally:
        response.close()


# ---- The contract

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "null": lambda v: v is None,
}
KNOWN_WORDS = {
    "type", "enum", "required", "properties", "additionalProperties", "propertyNames", "items", "oneOf", "anyOf", "not",
    "if", "then", "dependentRequired", "pattern", "format", "minLength", "maxLength", "minimum", "maximum",
    "exclusiveMinimum", "minItems", "maxItems", "minProperties", "maxProperties", "$ref",
    # which say nothing about validity
    "description", "default", "examples", "title", "$schema", "$id"}
DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")


class Contract:
    def __init__(self):
        import yaml
        self.files = {"openapi.yaml": yaml.safe_load((ROOT / "docs/openapi.yaml").read_text()),
                      "reference/job.schema.json": json.loads((ROOT / "docs/reference/job.schema.json").read_text())}
        self.paths = self.files["openapi.yaml"]["paths"]
        self.operations = {}
        for path, methods in self.paths.items():
            for method, operation in methods.items():
                if method != "parameters":
                    self.operations[operation["operationId"]] = (method.upper(), path, operation)

    def find(self, reference, file="openapi.yaml"):
        name, _, pointer = reference.partition("#")
        node = self.files[name or file]
        for part in pointer.strip("/").split("/") if pointer else []:
            node = node[part]
        return node, name or file

    def check(self, schema, value, where="", is_closed=False, file="openapi.yaml"):
        """The mistakes. is_closed: objects have no fields but those that are written down."""
        unknown = set(schema) - KNOWN_WORDS
        if unknown:
            raise RuntimeError(f"the checker does not know {unknown}")
        if "$ref" in schema:
            target, file = self.find(schema["$ref"], file)
            return self.check(target, value, where, is_closed, file)
        mistakes = []

        def note(text):
            mistakes.append(f"{where or 'body'}: {text}")

        def inner(part, inside, place, closed=is_closed):
            return self.check(part, inside, place, closed, file)

        types = schema.get("type", [])
        types = types if isinstance(types, list) else [types]
        if types and not any(TYPES[name](value) for name in types):
            note(f"{value!r} is no {' or '.join(types)}")
            return mistakes
        if "enum" in schema and value not in schema["enum"]:
            note(f"{value!r} is none of {schema['enum']}")
        if isinstance(value, str):
            if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 1 << 60):
                note(f"has {len(value)} characters")
            if "pattern" in schema and not re.search(schema["pattern"].replace("$", r"\Z"), value):
                note(f"{value!r} does not match {schema['pattern']}")
            if schema.get("format") == "date-time" and not DATE_TIME.fullmatch(value):
                note(f"{value!r} is no time")
        if TYPES["number"](value):
            if value < schema.get("minimum", value) or value > schema.get("maximum", value):
                note(f"{value!r} is out of range")
            if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
                note(f"{value!r} is out of range")
        if isinstance(value, list):
            if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 1 << 60):
                note(f"has {len(value)} items")
            for i, item in enumerate(value):
                mistakes += inner(schema.get("items", {}), item, f"{where}[{i}]")
        if isinstance(value, dict):
            if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", 1 << 60):
                note(f"has {len(value)} fields")
            for name in schema.get("required", []):
                if name not in value:
                    note(f"{name} is missing")
            for name, others in schema.get("dependentRequired", {}).items():
                if name in value and not set(others) <= set(value):
                    note(f"{name} is there without {others}")
            properties = schema.get("properties", {})
            others = schema.get("additionalProperties", not (is_closed and "properties" in schema))
            for name, part in value.items():
                place = f"{where}.{name}"
                if "propertyNames" in schema:
                    mistakes += inner(schema["propertyNames"], name, place)
                if name in properties:
                    mistakes += inner(properties[name], part, place)
                elif others is False:
                    note(f"{name} is not in the contract")
                elif isinstance(others, dict):
                    mistakes += inner(others, part, place)

        def fits(part):
            return not inner(part, value, where, False)

        if "oneOf" in schema and sum(map(fits, schema["oneOf"])) != 1:
            note("fits not exactly one of oneOf")
        if "anyOf" in schema and not any(map(fits, schema["anyOf"])):
            note("fits none of anyOf")
        if "not" in schema and fits(schema["not"]):
            note("fits what it must not")
        if "if" in schema and fits(schema["if"]):
            mistakes += inner(schema.get("then", {}), value, where)
        return mistakes

    def check_answer(self, operation_id, answer):
        _, _, operation = self.operations[operation_id]
        response = operation["responses"].get(str(answer.status))
        if response is None:
            return [f"status {answer.status} is not in the contract"]
        if "$ref" in response:
            response, _ = self.find(response["$ref"])
        content = response.get("content", {}).get(answer.content_type)
        if content is None:
            return [f"content type {answer.content_type!r} is not in the contract"]
        mistakes = []
        for name, header in response.get("headers", {}).items():
            text = answer.headers.get(name)
            if text is None:
                mistakes.append(f"header {name} is missing")
            elif header["schema"]["type"] == "integer" and not re.fullmatch(r"-?\d+", text):
                mistakes.append(f"header {name} is {text!r}")
            elif header["schema"]["type"] == "boolean" and text not in ("true", "false"):
                mistakes.append(f"header {name} is {text!r}")
        if answer.content_type.endswith("json") and "ndjson" not in answer.content_type:
            value = json.loads(answer.body)
            mistakes += self.check(content["schema"], value, is_closed=True)
            if answer.content_type == "application/problem+json" and value.get("status") != answer.status:
                mistakes.append("the problem's status is another one")
        return mistakes


class Checks:
    def __init__(self):
        self.count = 0
        self.failures = []

    def that(self, holds, text):
        self.count += 1
        if not holds:
            self.failures.append(text)
            print("FAILED:", text)

    def equal(self, found, expected, text):
        self.that(found == expected, f"{text}: {found!r}, expected {expected!r}")

    def conclude(self, name):
        print(f"{name}: {self.count} checks, {len(self.failures)} failed")
        return 1 if self.failures else 0


# ---- The test

GPT = {"layers": 2, "hidden": 64, "heads": 4, "vocab": 100, "batch": 8, "sequence": 32}  # a model to plan
SECOND = {"name": "short", "command": ["sh", "-c", "echo hello; sleep 0.2"], "duration": "1s"}
# Statuses of the contract that cannot be brought about from outside, and why.
NOT_PROVOKED = {
    # The store can be written, but not read.
    **{(operation, 503): "unreadable store" for operation in
       ("jobs", "job", "document", "records", "story", "progress", "history", "logs", "log")},
    ("observation", 200): "needs a cluster: tests/kubernetes/serve_test.py",
}
YAML = {"Content-Type": "application/yaml"}
CHARTED = "for i in $(seq 40); do echo step $i loss 0.$i; sleep 0.05; done"


class ContractTest:
    def __init__(self, weir, server):
        self.weir = weir
        self.server = server
        self.contract = Contract()
        self.checks = Checks()
        self.seen = set()

    def call(self, operation_id, status, path=None, query="", body=None, headers=None, token="", content_type=None):
        """Calls the operation and checks the answer against the contract."""
        method, pattern, _ = self.contract.operations[operation_id]
        target = pattern
        for name, value in (path or {}).items():
            target = target.replace("{%s}" % name, urllib.parse.quote(str(value), safe=""))
        if isinstance(body, bytes):
            answer = self.server.ask(method, target + query, body,
                                     {"Content-Type": "application/json", **(headers or {})}, token=token)
        elif body is not None:
            answer = self.server.ask_json(method, target + query, body, headers, token=token)
        else:
            answer = self.server.ask(method, target + query, None, headers, token=token)
        name = f"{operation_id} ({method} {target + query})"
        self.checks.equal(answer.status, status, f"{name}: status; {answer}")
        if content_type:
            self.checks.equal(answer.content_type, content_type, f"{name}: content type")
        for mistake in self.contract.check_answer(operation_id, answer):
            self.checks.that(False, f"{name}: {answer.status}: {mistake}")
        self.seen.add((operation_id, answer.status))
        return answer

    def run(self):
        self.jobs()
        self.reading()
        self.stories()
        self.figures()
        self.nodes()
        self.events()
        self.backup()
        self.tokens()
        self.tenants()
        self.without_shares()
        self.tenants_file()
        self.energy()
        self.energy_feed()
        self.unauthorised()
        self.wrong_bodies()
        self.full_disk()
        self.routes()
        self.job_schema()
        self.observing()
        self.coverage()
        self.checks.that(self.server.is_alive(), "the server is there still")

    def submit(self, status, job, **more):
        return self.call("submit", status, body=job, **more)

    def jobs(self):
        first = self.submit(201, SECOND, headers={"Idempotency-Key": "first"}).json()
        again = self.submit(200, SECOND, headers={"Idempotency-Key": "first"}).json()
        self.checks.equal(again["id"], first["id"], "the same key gives the same job")
        self.submit(409, {**SECOND, "name": "other"}, headers={"Idempotency-Key": "first"})
        self.submit(400, {**SECOND, "gpsu": 1})
        refused = self.submit(422, {**SECOND, "name": "refused", "duration": "10m", "deadline": "1m"}, content_type="application/json").json()
        self.checks.equal(refused["phase"], "refused", "phase of a refused job")
        self.checks.that("earliest_deadline" in refused, "a refusal has a counter-offer")
        self.submit(422, {**SECOND, "gpus": 1024}, content_type="application/problem+json")
        promised = self.submit(201, {**SECOND, "name": "promised", "duration": "20s", "deadline": "10m"}).json()
        self.checks.equal(promised["promised"], True, "a feasible deadline is promised")
        trained = self.submit(201, {"name": "trained", "command": "sleep 60", "iterations": 500,
                                    "throughput": {"1": 10, "2": 19}, "deadline": "1h", "kind": "soft"}).json()
        self.submit(201, {"name": "unknown", "command": "true", "iterations": 5, "model": "unheard"})
        failing = self.submit(201, {"name": "failing", "command": "exit 3", "retries": 1}).json()
        self.submit(201, {"name": "absent", "command": ["weir-no-such-program"]})
        self.over(failing["id"])
        self.call("cancel", 200, {"job": trained["id"]})
        self.over(first["id"])
        finished = self.call("job", 200, {"job": first["id"]}).json()
        self.checks.equal(finished["phase"], "finished", "phase of the first job")
        self.checks.equal(self.call("job", 200, {"job": "trained"}).json()["phase"], "cancelled", "by name")
        failed = self.call("job", 200, {"job": "failing"}).json()
        self.checks.equal((failed["phase"], failed["restarts"], failed["exit"]), ("failed", 1, "exit code 3"), "failed")
        self.call("cancel", 200, {"job": first["id"]})
        self.call("cancel", 404, {"job": 999999})
        for dry, answer in (({**SECOND, "deadline": "10m"}, "promised"), (SECOND, "queued"),
                            ({**SECOND, "duration": "10m", "deadline": "1m"}, "refused"),
                            ({"name": "x", "command": "true", "iterations": 5}, "waiting")):
            self.checks.equal(self.call("dryRun", 200, body=dry).json()["answer"], answer, f"dry run of {dry}")
        dry = b"# what would become of it\nname: x\ncommand: [sleep, '1']\nduration: 1s\ndeadline: 10m\n"
        self.checks.equal(self.call("dryRun", 200, body=dry, headers=YAML).json()["answer"], "promised", "dry run of YAML")
        written = b"name: written\ncommand: ['true']\n"
        first = self.submit(201, written, headers={**YAML, "Idempotency-Key": "yaml"}).json()
        again = self.submit(200, {"name": "written", "command": ["true"]}, headers={"Idempotency-Key": "yaml"}).json()
        self.checks.equal(again["id"], first["id"], "the same job in YAML and in JSON")
        for wrong, where in ((b"name: x\n\ncommand: [a]\ngpus: 3\n", "body:4"), (b"name: x\ncommand: [a]\ncount: 2\n", "body:3"),
                             (b"jobs:\n- name: x\n", "body:2")):
            mistakes = self.submit(400, wrong, headers=YAML).json()["errors"]
            self.checks.equal([mistake["where"] for mistake in mistakes], [where], f"where {wrong} is wrong")
        self.call("dryRun", 422, body={**SECOND, "gpus": 1024})
        self.call("dryRun", 400, body={"name": "x"})
        node = self.call("nodes", 200).json()["nodes"][0]["name"]
        for question in ({"add_nodes": 2}, {"lose": [node]}, {"policy": "edf-admission"}, {"submit": [SECOND], "records": True}):
            answer = self.call("whatIf", 200, body=question).json()
            self.checks.that(answer["now"]["complete"] and answer["then"]["complete"], f"all of {question} is played")
        self.checks.equal(answer["then"]["totals"]["jobs"], answer["now"]["totals"]["jobs"] + 1, "the supposed job")
        for wrong in ([], {}, {"records": True}, {"add_nodes": 0}, {"add_nodes": {}}, {"lose": "n"}, {"policy": 1}, {"submit": [{}]}, {"x": 1}):
            self.call("whatIf", 400, body=wrong)
        for wrong in ({"lose": ["nobody"]}, {"policy": "nothing"}, {"add_nodes": {"nowhere": 1}}, {"submit": [{**SECOND, "gpus": 1024}]}):
            self.call("whatIf", 422, body=wrong)
        told = self.call("counterfactuals", 200, {"job": "refused"}).json()["would_change"]
        self.checks.equal([line["change"] for line in told][-1:], ["later_deadline"], "what a refused job needs")
        self.call("counterfactuals", 404, {"job": 999999})

    def steady(self, look):
        """What it sees while nothing happens: jobs end and report meanwhile, and two answers would differ."""
        def entries():
            return self.server.ask("GET", "/v1/log").body

        def seen():
            before = entries()
            found = look()
            return [found] if entries() == before else None
        return self.server.wait_for("a quiet moment", seen)[0]

    def over(self, job):
        self.server.wait_for(f"job {job} to end", lambda: "ended" in self.server.ask("GET", f"/v1/jobs/{job}").json())

    def reading(self):
        self.call("health", 200, token=None)
        self.checks.that(b"weir_http_requests_total" in self.call("metrics", 200).body, "metrics count requests")
        page = self.call("jobs", 200, query="?limit=2").json()
        self.checks.equal(len(page["jobs"]), 2, "a page of two")
        seen = [job["id"] for job in page["jobs"]]
        while "next" in page:
            page = self.call("jobs", 200, query=f"?limit=2&after={page['next']}").json()
            seen += [job["id"] for job in page["jobs"]]
        self.checks.equal(seen, sorted(set(seen), reverse=True), "all pages, newest first, each job once")
        whole = self.call("jobs", 200, query="?order=oldest&limit=1000").json()["jobs"]
        self.checks.equal([job["id"] for job in whole], seen[::-1], "oldest first")
        phases = self.contract.find("#/components/schemas/Phase")[0]["enum"]
        for phase in phases:
            jobs = self.call("jobs", 200, query=f"?phase={phase}").json()["jobs"]
            self.checks.that(all(job["phase"] == phase for job in jobs), f"only {phase} jobs")
        self.checks.equal(len(self.call("jobs", 200, query="?name=trained").json()["jobs"]), 1, "jobs by name")
        self.call("jobs", 400, query="?limit=0")
        self.changes()
        self.call("job", 404, {"job": "nobody"})
        document = self.call("document", 200, {"job": 1}).json()
        self.checks.equal(document, SECOND, "the document is as it was submitted")
        self.call("document", 404, {"job": "nobody"})
        records = self.call("records", 200, {"job": 1}).body.decode().splitlines()
        self.checks.that(len(records) > 2 and all(json.loads(line) for line in records), "records are lines of JSON")
        self.call("records", 404, {"job": "nobody"})
        logs = self.call("logs", 200, {"job": 1})
        self.checks.equal(logs.body, b"hello\n", "what the job printed")
        self.checks.equal(logs.headers["X-Weir-Over"], "true", "X-Weir-Over")
        self.checks.equal(self.call("logs", 200, {"job": 1}, "?offset=-3&limit=2").body, b"lo", "the end of a log")
        self.call("logs", 400, {"job": 1}, "?rank=-1")
        self.call("logs", 404, {"job": 1}, "?rank=7")
        self.call("logs", 404, {"job": "nobody"})
        log = self.call("log", 200).body.decode().splitlines()
        self.checks.that(len(log) > len(records) and all(json.loads(line) for line in log), "the log is lines of JSON")

    def changes(self):
        def all_and_changed():
            whole = self.call("jobs", 200, query="?limit=1000").json()
            after, pages, changed = 0, 0, {}
            while True:
                page = self.call("jobs", 200, query=f"?changed_after={after}&limit=3").json()
                changed.update({job["id"]: job for job in page["jobs"]})
                pages += 1
                after = page.get("next", page["revision"])
                if "next" not in page:
                    return {job["id"]: job for job in whole["jobs"]}, changed, pages, after
        whole, changed, pages, after = self.steady(all_and_changed)
        self.checks.equal(changed, whole, "all changes are all jobs")
        self.checks.that(pages > 2, "changes come in pages")
        before = self.call("jobs", 200, query=f"?changed_after={after}").json()
        job = self.submit(201, {"name": "changed", "command": "sleep 60"}).json()["id"]
        heard = self.call("jobs", 200, query=f"?changed_after={before['revision']}").json()
        self.checks.that(job in [each["id"] for each in heard["jobs"]], "a new job is a change")
        self.call("cancel", 200, {"job": job})
        heard = self.call("jobs", 200, query=f"?changed_after={heard['revision']}").json()
        self.checks.equal([each["phase"] for each in heard["jobs"] if each["id"] == job], ["cancelled"], "and its end")
        self.call("jobs", 400, query="?changed_after=0&order=newest")
        self.call("jobs", 400, query="?changed_after=-1")

    def stories(self):
        """What the server tells is what `weir explain` tells."""
        for job in ("1", "refused", "trained", "unknown", "failing"):
            story, answer, told = self.steady(lambda: (self.call("story", 200, {"job": job}).json(), self.call("job", 200, {"job": job}).json(),
                                                       json.loads(self.explain(job, "--json"))["explain"]))
            self.checks.equal((story["explain"]["job"], story["explain"]["name"]), (answer["id"], answer["name"]), "story")
            if "ended" in answer:
                self.checks.equal(story["text"], self.explain(job).split("\nWhat would change it:")[0], f"the story of {job} for people")
            for each in (story["explain"], told):
                each.pop("told_until_s")  # now, which is later for the second
            self.checks.equal(story["explain"], told, f"the story of {job} for programs")
        self.call("story", 404, {"job": "nobody"})

    def figures(self):
        """What charts are made of."""
        columns = ("at", "gpus", "done", "rate", "loss")
        job = self.submit(201, {"name": "charted", "iterations": 40, "throughput": {"1": 20}, "retries": 0, "command": CHARTED,
                                "progress_line": "step {step} loss {loss}"}).json()["id"]
        self.over(job)
        progress = self.call("progress", 200, {"job": job}).json()
        self.checks.equal({len(progress[name]) for name in columns}, {len(progress["at"])}, f"columns of {progress}")
        self.checks.that(len(progress["at"]) > 3 and progress["at"] == sorted(progress["at"]), f"points in order: {progress}")
        self.checks.equal((progress["gpus"][0], progress["gpus"][-1], progress["done"][-1]), (1, 0, 40), f"ends of {progress}")
        self.checks.that(any(loss is not None for loss in progress["loss"]), f"the loss that it told: {progress}")
        self.call("progress", 404, {"job": "nobody"})
        self.call("observation", 404)  # this server schedules itself
        shown, jobs = self.steady(lambda: (self.call("overview", 200).json(), self.call("jobs", 200, query="?limit=1000").json()["jobs"]))
        self.checks.equal(shown["mode"], "schedule", "the mode")
        counted = {}
        for each in jobs:
            counted[each["phase"]] = counted.get(each["phase"], 0) + 1
        self.checks.equal({phase: count for phase, count in shown["phases"].items() if count}, counted, "jobs by phase")
        self.checks.equal((shown["gpus"], shown["gpus_up"], shown["nodes"]), (4, 4, 1), "the cluster")
        self.checks.equal(shown["promises"]["refused"], counted["refused"], "refused since the store was made")
        self.checks.that(abs(shown["at"] - time.time()) < 60, "the server's clock")
        self.server.wait_for("a sample", lambda: self.call("history", 200, query="?seconds=60").json()["at"])
        for query, step in (("", 5), ("?seconds=60", 5), ("?seconds=7201", 60), ("?seconds=31536000", 900)):
            history = self.call("history", 200, query=query).json()
            self.checks.equal(history.pop("step"), step, f"step of {query}")
            self.checks.equal({len(column) for column in history.values()}, {len(history["at"])}, f"columns of {query}")
            self.checks.that(all(at % step == 0 for at in history["at"]), f"rows begin at multiples: {history['at']}")
            self.checks.equal(history["gpus_up"][-1], 4, f"GPUs of {query}")
        self.call("history", 400, query="?seconds=59")
        self.call("history", 400, query="?hours=1")

    def explain(self, *arguments):
        return subprocess.run([self.weir, "explain", *arguments], capture_output=True, text=True, check=True, env={
            **os.environ, "WEIR_SERVER": f"http://{self.server.host}:{self.server.port}", "WEIR_TOKEN": self.server.token}).stdout

    def nodes(self):
        name = self.call("nodes", 200).json()["nodes"][0]["name"]
        running = self.submit(201, {"name": "risky", "command": "sleep 60", "duration": "50s", "deadline": "1m"}).json()
        self.server.wait_for("a job to run", lambda: self.call("nodes", 200).json()["nodes"][0]["jobs"])
        drained = self.call("drain", 200, {"node": name}).json()
        self.checks.equal((drained["changed"], running["id"] in drained["at_risk"]), (True, True), f"drain: {drained}")
        self.checks.equal(self.call("drain", 200, {"node": name}).json()["changed"], False, "drained twice")
        self.call("job", 200, {"job": running["id"]})
        self.checks.equal(self.call("nodes", 200).json()["nodes"][0]["up"], False, "a drained node")
        self.checks.equal(self.call("undrain", 200, {"node": name}).json()["changed"], True, "undrain")
        self.call("cancel", 200, {"job": running["id"]})
        self.call("drain", 404, {"node": "nowhere"})
        self.call("undrain", 404, {"node": "nowhere"})

    def stream(self, query, headers, count):
        """The first events of a stream."""
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=PATIENCE_S)
        try:
            connection.request("GET", "/v1/events" + query,
                               headers={"Authorization": "Bearer " + self.server.token, **headers})
            response = connection.getresponse()
            self.checks.equal(response.status, 200, "events: status")
            self.checks.equal(response.headers["Content-Type"], "text/event-stream", "events: content type")
            self.seen.add(("events", response.status))
            events, fields = [], {}
            while len(events) < count:
                line = response.fp.readline().decode().rstrip("\r\n")
                name, colon, value = line.partition(": ")
                if colon:
                    fields[name] = value
                elif not line and "id" in fields:
                    events.append((int(fields["id"]), fields["event"], fields["data"]))
                    fields = {}
            return events
        finally:
            connection.close()

    def events(self):
        # Chunks of the transfer begin with their length, on lines without a colon.
        def all_and_last():
            lines = [json.loads(line) for line in self.call("log", 200).body.decode().splitlines()[1:]]
            return [line for line in lines if "seq" in line], self.stream("?last=3", {}, 3)
        records, last = self.steady(all_and_last)
        for after in (0, 5, len(records) - 3):
            told = self.stream(f"?after={after}", {}, 3)
            self.checks.equal([event[0] for event in told], [after + 1, after + 2, after + 3], f"events after {after}")
            self.checks.equal([(seq, type_) for seq, type_, _ in told],
                              [(r["seq"], r["type"]) for r in records[after:after + 3]], "types of events")
            self.checks.equal([json.loads(data) for _, _, data in told], records[after:after + 3], "data of events")
        told = self.stream("", {"Last-Event-ID": "2"}, 1)
        self.checks.equal(told[0][0], 3, "Last-Event-ID")
        of_job = [r["seq"] for r in records if r["payload"].get("job") == 1][:3]
        self.checks.equal([event[0] for event in self.stream("?after=0&job=1", {}, 3)], of_job, "events of one job")
        self.checks.equal([event[0] for event in last], [r["seq"] for r in records[-3:]], "the last events")
        self.call("events", 400, query="?last=99999")
        self.call("events", 400, query="?after=x")
        self.call("events", 400, query="?job=0")
        self.call("events", 400, headers={"Last-Event-ID": "-1"})

    def backup(self):
        file = str(self.server.folder / "copy.db")
        written = self.call("backup", 200, body={"file": file}).json()
        self.checks.equal(written["bytes"], os.path.getsize(file), "bytes of the backup")
        self.call("backup", 409, body={"file": file})
        self.call("backup", 409, body={"file": "/nowhere/at/all"})
        self.call("backup", 400, body={"file": "here"})

    def tokens(self):
        """Who may do what; tests/attacks.py has what goes wrong."""
        made = self.call("createToken", 201, body={"name": "v", "role": "submitter", "tenant": "vision", "expires_in": "1d"}).json()
        vision = made.pop("token")
        self.checks.that(made in self.call("tokens", 200).json()["tokens"], f"{made} is in the list")
        self.checks.equal(self.call("whoami", 200, token=vision).json(), made, "the token that asks")
        self.call("createToken", 409, body={"name": "v", "role": "viewer"})
        self.call("createToken", 400, body={"name": "w", "role": "boss"})
        mine = self.submit(201, {"name": "mine", "command": "sleep 60"}, token=vision).json()
        self.checks.equal(mine["tenant"], "vision", "the tenant of a submitter's job")
        self.submit(403, {**SECOND, "tenant": "language"}, token=vision)
        self.call("dryRun", 403, body={**SECOND, "tenant": "language"}, token=vision)
        self.call("document", 200, {"job": mine["id"]}, token=vision)
        for operation in ("document", "logs", "cancel"):
            self.call(operation, 403, {"job": 1}, token=vision)
        self.call("cancel", 200, {"job": mine["id"]}, token=vision)
        for operation in ("drain", "undrain"):
            self.call(operation, 403, {"node": "n"}, token=vision)
        self.call("backup", 403, body={"file": "/x"}, token=vision)
        self.call("tokens", 403, token=vision)
        self.call("createToken", 403, body={"name": "w", "role": "operator"}, token=vision)
        self.call("revokeToken", 403, {"token": "v"}, token=vision)
        self.checks.that("revoked" in self.call("revokeToken", 200, {"token": "v"}).json(), "a revoked token")
        self.call("jobs", 401, token=vision)
        self.call("revokeToken", 404, {"token": "nobody"})
        self.call("revokeToken", 409, {"token": "first"})
        self.call("createToken", 201, body={"name": "late", "role": "viewer"})

    def tenants(self):
        """Who shares the cluster."""
        self.checks.equal(self.call("tenants", 200).json()["tenants"], [], "tenants of a server that was told of none")
        table = {"lease": "5m", "tenants": [{"name": "research", "guaranteed": 1, "weight": 3,
                                              "tenants": [{"name": "vision", "guaranteed": 1}, {"name": "language"}]}]}
        adopted = self.call("changeTenants", 200, body=table).json()
        self.checks.equal([(each["name"], each.get("parent"), each["share_of_weight"]) for each in adopted["tenants"]],
                          [("research", None, 0.75), ("vision", "research", 0.375), ("language", "research", 0.375), ("default", None, 0.25)],
                          "the tenants")
        shown = self.call("tenants", 200).json()
        self.checks.equal((shown["lease"], [each["name"] for each in shown["tenants"]]),
                          ("5m", ["research", "vision", "language", "default"]), "the tenants, asked again")
        log = self.call("log", 200).body
        self.checks.equal(log.count(b'"tenants_adopted"'), 1, "adopted once")
        self.call("changeTenants", 200, body=table)
        self.checks.equal(self.call("log", 200).body.count(b'"tenants_adopted"'), 1, "the same again changes nothing")
        for wrong in ([], {}, {"tenants": {}}, {"tenants": [{}]}, {"tenants": [{"name": "a", "guaranteed": 1000}]},
                      {"tenants": [{"name": "a"}, {"name": "a"}]}, {"tenants": [{"name": "a", "guaranteed": {"nowhere": 1}}]},
                      {"tenants": [{"name": "a", "guaranteed": -1}]}, {"tenants": [], "lease": "0s"}, {"tenants": [], "x": 1}):
            self.call("changeTenants", 400, body=wrong)
        where = [each["where"] for each in self.call("changeTenants", 400, body=b"tenants:\n- {name: a}\n- {name: a, weight: 0}\n", headers=YAML).json()["errors"]]
        self.checks.equal(where, ["body:3", "body:3"], "where a file is wrong")
        self.checks.equal(len(self.call("tenants", 200).json()["tenants"]), 4, "after what was refused")
        eyes = self.call("createToken", 201, body={"name": "eyes-of-vision", "role": "viewer", "tenant": "vision"}).json()["token"]
        self.call("tenants", 200, token=eyes)
        self.call("changeTenants", 403, body=table, token=eyes)
        self.checks.equal(self.call("changeTenants", 200, body=b"tenants: []\n", headers=YAML).json()["tenants"], [], "nobody has a share again")

    def without_shares(self):
        """Another policy gives none, and says so."""
        shares = self.server
        with Server(self.weir, options=["--cluster", "1x2xCPU", "--policy", "edf-admission"]) as self.server:
            self.call("changeTenants", 422, body={"tenants": [{"name": "a"}]})
            self.checks.equal(self.call("tenants", 200).json()["tenants"], [], "nobody has a share")
        self.server = shares

    def tenants_file(self):
        """`weir serve --tenants` reads the file at the start and on SIGHUP; a bad one changes nothing."""
        others = self.server
        file = others.folder / "tenants.yaml"
        file.write_text("tenants: [{name: research, guaranteed: 2}]\n")
        with Server(self.weir, options=["--cluster", "1x2xCPU", "--tenants", file]) as self.server:
            def named():
                return [each["name"] for each in self.call("tenants", 200).json()["tenants"]]
            def reload(text, word):
                file.write_text(text)
                self.server.process.send_signal(signal.SIGHUP)
                self.server.wait_for(word, lambda: word in self.server.messages())
            self.checks.equal(named(), ["research", "default"], "the tenants of the file")
            reload("tenants:\n- {name: a, guaranteed: 3}\n- {name: b, weight: 0}\n", "the tenants stay as they were")
            for mistake in (f"{file}:2: guaranteed", f"{file}:3: weight"):
                self.checks.that(mistake in self.server.messages(), f"{mistake} in {self.server.messages()}")
            self.checks.equal(named(), ["research", "default"], "the tenants after a bad file")
            reload("tenants: [{name: vision}]\n", "is read again: 1 tenant")
            self.checks.equal(named(), ["vision", "default"], "the tenants of the file, read again")
        self.checks.equal(self.server.exit_code, 0, f"exit code of the server with tenants; {self.server.last_words}")
        self.server = others

    def energy(self):
        """What is used is counted, by job and tenant, and outlives a restart; a bad file changes nothing."""
        self.checks.equal(self.call("energy", 200).json(), {"enabled": False, "kwh": 0.0, "tenants": []}, "energy, when nobody asks")
        others = self.server
        series = others.folder / "grid.csv"
        today = time.strftime("%Y-%m-%d", time.gmtime())
        tomorrow = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86400))
        # Always the same: a job would wait for a cleaner hour.
        hours = [f"{day}T{hour:02}:00Z,400\n" for day in (today, tomorrow) for hour in range(24)]
        series.write_text("utc_time,carbon_g_per_kwh\n" + "".join(hours))
        file = others.folder / "energy.yaml"
        good = ("supply: grid.csv\npue: 1.5\nclocks: false\npower: {gpu_watts: 36000, idle_gpu_watts: 0, node_watts: 0}\n"
                f"budget: {{kg_co2: 40, from: {today}T00:00:00Z, until: 2099-01-01T00:00:00Z}}\n")
        file.write_text(good)
        with Server(self.weir, options=["--cluster", "1x2xCPU", "--rescale", "0s", "--policy", "green", "--energy", file]) as self.server:
            shown = self.call("energy", 200).json()
            self.checks.equal((shown["enabled"], shown["unit"], shown["feed"]["state"], len(shown["supply"]["next"])),
                              (True, "g CO2", "fresh", 25), "energy at the start")
            self.checks.equal(shown["budget"]["amount"], 40000.0, "the budget in grams")
            self.checks.that(any("static_share 0.35" in line for line in shown["assumed"]), f"assumptions: {shown['assumed']}")
            job = self.submit(201, {"name": "burns", "tenant": "vision", "command": "sleep 2"}).json()["id"]
            self.over(job)
            burnt = self.call("job", 200, {"job": job}).json()["energy"]
            self.checks.that(0.02 < burnt["kwh"] < 0.3, f"kWh of two seconds at 54 kW: {burnt}")
            self.checks.that(300 <= burnt["amount"] / burnt["kwh"] <= 530, f"grams for a kWh: {burnt}")
            self.checks.equal((burnt["unit"], burnt["source"]), ("g CO2", "modelled"), "its unit and source")
            shown = self.call("energy", 200).json()
            self.checks.equal([each["name"] for each in shown["tenants"]], ["vision"], "who used energy")
            self.checks.that(abs(shown["tenants"][0]["amount"] - burnt["amount"]) < 1e-6, f"what vision used: {shown['tenants']}")
            self.checks.that(abs(shown["budget"]["used"] - burnt["amount"]) < 1e-6, f"what is used of the budget: {shown['budget']}")
            told = 'weir_energy_tenant_kwh{tenant="vision"}'
            self.server.wait_for(told, lambda: told in self.call("metrics", 200).body.decode())
            metrics = self.call("metrics", 200).body.decode()
            for name in ("weir_energy_watts", "weir_energy_budget 40000", "weir_energy_supply_stale 0"):
                self.checks.that(name in metrics, f"{name} in the metrics")
            for by, name in (("job", f"{job} burns"), ("tenant", "vision"), ("day", today)):
                told = subprocess.run([self.weir, "carbon", "report", "--by", by, "--json"], stdout=subprocess.PIPE,
                                      env={**os.environ, "WEIR_STATE": str(self.server.state)}, check=True)
                report = json.loads(told.stdout)
                row = next((row for row in report["rows"] if row["name"] in (name, tomorrow)), None)
                self.checks.that(row and abs(row["amount"] - burnt["amount"]) < 1e-6, f"carbon report by {by}: {report}")
            def reload(text, word):
                file.write_text(text)
                self.server.process.send_signal(signal.SIGHUP)
                self.server.wait_for(word, lambda: word in self.server.messages())
            reload("supply: nowhere.csv\npue: 0.5\nbudget: {kg_co2: -1, from: yesterday}\nprcie: 1\n", "energy stays as it was")
            for mistake in (":1: supply", ":2: pue", ":3: kg_co2", ":3: from", ":3: until", ":4: "):
                self.checks.that(f"{file}{mistake}" in self.server.messages(), f"{mistake} in {self.server.messages()}")
            self.checks.equal(self.call("energy", 200).json()["budget"]["amount"], 40000.0, "the budget after a bad file")
            reload(good.replace("kg_co2: 40", "kg_co2: 50"), f"{file} is read again")
            shown = self.call("energy", 200).json()
            self.checks.equal(shown["budget"]["amount"], 50000.0, "the budget, read again")
            self.checks.that(abs(shown["budget"]["used"] - burnt["amount"]) < 1e-6, "what was used stays used")
            file.write_text("supply: none\n")
            self.server.process.send_signal(signal.SIGHUP)
            self.server.wait_for("energy to be off", lambda: not self.call("energy", 200).json()["enabled"])
        self.checks.equal(self.server.exit_code, 0, f"exit code of the server with energy; {self.server.last_words}")
        self.server = others

    def energy_feed(self):
        """A feed that dies: what is known stays, it is told everywhere, and so is that it is back."""
        others = self.server
        site = others.folder / "site"
        site.mkdir()
        now = time.time()
        def publish(values):
            rows = (time.strftime("%Y-%m-%dT%H:00Z", time.gmtime(now + 3600 * hour)) + f",{value}\n" for hour, value in enumerate(values))
            (site / "now.csv").write_text("utc_time,price_eur_per_kwh\n" + "".join(rows))
        publish([0.25] * 48)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        def feed():
            process = subprocess.Popen([sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", site],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            def answers():
                try:
                    with socket.create_connection(("127.0.0.1", port), 1):
                        return True
                except OSError:
                    return False
            others.wait_for("the feed", answers)
            return process
        file = others.folder / "feed.yaml"
        file.write_text(f"supply: {{url: 'http://127.0.0.1:{port}/now.csv', every: 1s}}\n")
        process = feed()
        try:
            with Server(self.weir, options=["--cluster", "1x2xCPU", "--rescale", "0s", "--energy", file]) as self.server:
                def energy():
                    return self.call("energy", 200).json()
                def state(word):
                    self.server.wait_for(f"a feed that is {word}", lambda: energy()["feed"]["state"] == word)
                    return energy()
                self.checks.equal((energy()["unit"], energy()["supply"]["now"]), ("EUR", 0.25), "what the feed says")
                process.kill()
                process.wait()
                shown = state("stale")
                self.checks.equal((shown["enabled"], shown["supply"]["now"]), (True, 0.25), "what was known stays")
                self.checks.that("stale_since" in shown["feed"] and shown["feed"]["problem"], f"why: {shown['feed']}")
                health = self.call("health", 200, token=None).json()
                self.checks.that(health["status"] == "ok" and "supply is stale since" in health.get("detail", ""), f"health: {health}")
                self.server.wait_for("the metric", lambda: "weir_energy_supply_stale 1" in self.call("metrics", 200).body.decode())
                job = self.submit(201, {"name": "runs", "command": "true"}).json()["id"]
                self.over(job)
                self.checks.equal(self.call("job", 200, {"job": job}).json()["phase"], "finished", "jobs run meanwhile")
                publish([0.75] * 48)
                process = feed()
                self.checks.equal(state("fresh")["supply"]["now"], 0.75, "what the feed says when it is back")
                self.checks.that("detail" not in self.call("health", 200, token=None).json(), "nothing to tell any more")
                publish([-1] * 3 + ["much"])
                self.checks.equal(state("stale")["supply"]["now"], 0.75, "nonsense is not taken")
        finally:
            process.kill()
            process.wait()
        self.server = others

    def unauthorised(self):
        for name, (_, path, operation) in self.contract.operations.items():
            if operation.get("security") == []:
                continue
            names = {part: "1" for part in re.findall(r"{(\w+)}", path)}
            for token in (None, "wrong", self.server.token + "x", self.server.token[:-1]):
                answer = self.call(name, 401, names, token=token)
                self.checks.equal(answer.headers["WWW-Authenticate"], "Bearer", "WWW-Authenticate")

    def wrong_bodies(self):
        for name in ("submit", "dryRun", "whatIf", "backup", "createToken", "changeTenants"):
            self.call(name, 413, body=b" " * (2 << 20))
            self.call(name, 415, body=b"{}", headers={"Content-Type": "text/plain"})
        self.call("backup", 415, body=b"{}", headers=YAML)

    def full_disk(self):
        job = self.submit(201, {"name": "sleeper", "command": "sleep 60"}).json()["id"]
        # Not only ordered to run: what its processes say must be in the log before the disk is full.
        ready = f'"ranks_ready","payload":{{"job":{job},'.encode()
        self.server.wait_for("a job to run", lambda: ready in self.call("log", 200).body)
        name = self.call("nodes", 200).json()["nodes"][0]["name"]
        before = self.call("log", 200).body
        self.server.limit_files(0)
        try:
            self.submit(503, SECOND)
            self.call("health", 503, token=None)
            self.call("cancel", 503, {"job": job})
            self.call("drain", 503, {"node": name})
            self.call("nodes", 503)
            self.call("overview", 503)
            self.call("tenants", 503)
            self.call("changeTenants", 503, body={"tenants": [{"name": "a"}]})
            self.call("energy", 503)
            self.call("dryRun", 503, body=SECOND)
            self.call("whatIf", 503, body={"add_nodes": 1})
            self.call("counterfactuals", 503, {"job": job})
            self.call("undrain", 503, {"node": name})
            self.call("createToken", 503, body={"name": "full", "role": "viewer"})
            self.call("revokeToken", 503, {"token": "late"})
            self.call("backup", 503, body={"file": str(self.server.folder / "second.db")})
            self.call("job", 200, {"job": job})
            self.checks.equal(self.call("log", 200).body, before, "the log, after what could not be written")
        finally:
            self.server.limit_files(None)
        self.server.wait_for("the server to recover", lambda: self.server.ask("GET", "/healthz").status == 200)
        self.submit(201, SECOND)
        answer = self.call("cancel", 200, {"job": job}).json()
        self.checks.equal(answer["phase"], "cancelled", f"cancel, afterwards ({answer.get('exit')})")

    def routes(self):
        """Both have the same paths and methods."""
        for path, methods in self.contract.paths.items():
            target = re.sub(r"{\w+}", "1", path)
            answer = self.server.ask("OPTIONS", target)
            self.checks.equal(answer.status, 204, f"OPTIONS {path}: status")
            allowed = set(re.split(", *", answer.headers["Allow"]))
            expected = {method.upper() for method in methods if method != "parameters"} | {"OPTIONS"}
            expected |= {"HEAD"} if "GET" in expected else set()
            self.checks.equal(allowed, expected, f"OPTIONS {path}: Allow")
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - expected:
                answer = self.server.ask(method, target)
                self.checks.equal((answer.status, answer.headers["Allow"] is not None), (405, True), f"{method} {path}")
            if "GET" in expected and path != "/v1/events":
                self.checks.equal(self.server.ask("HEAD", target).body, b"", f"HEAD {path}: body")
            for other in (target + "/more", target + "s"):
                if other != "/v1/jobs/1s":  # the name of a job
                    self.checks.equal(self.server.ask("GET", other).status, 404, f"GET {other}")
        for other in ("/v1", "/v2/jobs", "/V1/jobs", "/v1/job", "/v1/jobs/1/nothing", "/favicon.ico"):
            self.checks.equal(self.server.ask("GET", other).status, 404, f"GET {other}")
        source = (ROOT / "src/control/api.cpp").read_text()
        served = set(re.findall(r'route(?:r\.add)?\("([A-Z]+)", "(/[^"]*)"', source))
        self.checks.equal(served, {(method, path) for method, path, _ in self.contract.operations.values()},
                          "routes of the server and of the contract")

    def job_schema(self):
        """The schema and the server agree. What only the server can know is in `beyond`."""
        schema = self.contract.files["reference/job.schema.json"]
        least = {"name": "a", "command": "x"}
        good = list(schema["examples"]) + [
            {**least, **more} for more in (
                {}, {"command": ["x", ""]}, {"gpus": 65536}, {"environment": {}}, {"environment": {"_A1": ""}},
                {"iterations": 1}, {"iterations": 10000000000}, {"iterations": 1, "batch": 0, "model": "a/b:c"},
                {"duration": "1d2h3m4.5s"}, {"duration": "1s", "deadline": "1s"}, {"duration": "1s", "rigid": True},
                {"iterations": 1, "deadline": "2999d", "kind": "hard"}, {"retries": 10000}, {"grace": "0s"},
                {"memory": "1024KiB"}, {"memory": "1.5GiB"}, {"ranks": "one"}, {"reports_progress": False},
                {"name": "0a.b-c_d"}, {"name": "x" * 128}, {"directory": "/"}, {"tenant": "a.b-c_1"}, {"priority": -1000}, {"priority": 1000},
                {"iterations": 2, "throughput": {"1": 0.001, "65536": 1000000}},
                {"iterations": 2, "model": {**GPT, "kv_heads": 1, "head_dim": 4, "ffn": 9, "gated": True, "tied": False}},
                {"iterations": 2, "model": {**GPT, "name": "m", "gpu": "h200", "experts": 2, "experts_per_token": 2}})]
        bad = [
            {}, [], "x", 7, None, {"name": "a"}, {"command": "x"}, {**least, "unknown": 1}, {**least, "count": 2},
            *({**least, **more} for more in (
                {"name": ""}, {"name": "1"}, {"name": "-a"}, {"name": "a b"}, {"name": "x" * 129}, {"name": 7},
                {"name": "a/b"}, {"name": ".."}, {"name": "a\n"}, {"command": ""}, {"command": []}, {"command": [1]},
                {"command": {"a": "b"}}, {"command": None}, {"directory": "here"}, {"directory": ""}, {"directory": 1}, {"tenant": ""}, {"tenant": "a b"}, {"tenant": 1}, {"tenant": "x" * 65}, {"priority": 1001}, {"priority": -1001}, {"priority": "1"}, {"priority": 0.5},
                {"environment": []}, {"environment": {"1A": "x"}}, {"environment": {"A": 1}}, {"environment": {"": "x"}},
                {"environment": {f"A{i}": "x" for i in range(257)}}, {"iterations": 0}, {"iterations": 10000000001},
                {"iterations": "5"}, {"iterations": True}, {"iterations": 1.5}, {"model": "m"}, {"batch": 1},
                {"throughput": {"1": 1}}, {"iterations": 1, "model": "a b"}, {"iterations": 1, "model": ""},
                {"model": GPT}, {"iterations": 1, "model": {}}, {"iterations": 1, "model": {**GPT, "batch": 0}},
                {"iterations": 1, "model": {**GPT, "layers": "1"}}, {"iterations": 1, "model": {**GPT, "speed": 1}},
                {"iterations": 1, "model": {**GPT, "name": "a b"}}, {"iterations": 1, "model": [GPT]}, {"iterations": 1, "model": {**GPT, "gated": 1}},
                {"iterations": 1, "batch": -1}, {"iterations": 1, "throughput": {}}, {"iterations": 1, "throughput": {"1": 0}},
                {"iterations": 1, "throughput": {"x": 1}}, {"iterations": 1, "throughput": {"1": "1"}},
                {"iterations": 1, "throughput": {"1": 1000001}}, {"rigid": 1}, {"rigid": "true"}, {"duration": 60},
                {"duration": "60"}, {"duration": "soon"}, {"duration": "-1s"}, {"iterations": 1, "duration": "1s"},
                {"gpus": 0}, {"gpus": -1}, {"gpus": 65537}, {"gpus": "2"}, {"gpus": 1e30}, {"deadline": "1h"},
                {"duration": "1s", "deadline": 5}, {"kind": "hard"}, {"duration": "1s", "deadline": "1h", "kind": "firm"},
                {"ranks": "two"}, {"retries": -1}, {"retries": 10001}, {"grace": 10}, {"grace": "ten"}, {"memory": 4},
                {"memory": "4GB"}, {"memory": "lots"}, {"reports_progress": "yes"}))]
        beyond = [{**least, **more} for more in (
            {"gpus": 3}, {"rigid": False}, {"duration": "0s"}, {"duration": "99999999d"}, {"grace": "2d"},
            {"memory": "1KiB"}, {"duration": "1s", "deadline": "tomorrow"}, {"duration": "1s", "deadline": "0s"},
            {"iterations": 1, "throughput": {"3": 1}}, {"command": "x" * 140000}, {"command": ["", "x"]},
            {"iterations": 1, "rigid": True, "gpus": 4, "throughput": {"1": 1}},
            {"iterations": 1, "model": {"config": "/etc/passwd", "batch": 1}}, {"iterations": 1, "model": {"batch": 1}},
            {"iterations": 1, "model": {**GPT, "heads": 3}}, {"iterations": 1, "model": GPT, "throughput": {"1": 1}},
            {"iterations": 1, "model": GPT, "batch": 1},
            {"command": "a\0b"}, {"environment": {"A": "\0"}}, {"directory": "/a\0b"}, {"iterations": 1, "model": "a\nb"})]
        for documents, is_valid, is_read in ((good, True, True), (bad, False, False), (beyond, True, False)):
            for document in documents:
                text = json.dumps(document)[:120]
                mistakes = self.contract.check(schema, document, file="reference/job.schema.json")
                self.checks.equal(not mistakes, is_valid, f"the schema on {text}: {mistakes}")
                answer = self.server.ask_json("POST", "/v1/dry-run", document)
                self.checks.equal(answer.status in (200, 422), is_read, f"the server on {text}: {answer}")
                for mistake in self.contract.check_answer("dryRun", answer):
                    self.checks.that(False, f"dry run of {text}: {mistake}")

    def observing(self):
        """A server beside a Kubernetes cluster that is away: nothing that would change it is taken."""
        schedules = self.server
        kubeconfig = schedules.folder / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "u", "user": {}}]}))
        with Server(self.weir, options=["--engine", "kubernetes", "--mode", "observe", "--kubeconfig", kubeconfig]) as self.server:
            self.call("submit", 403, body=SECOND)
            self.call("dryRun", 403, body=SECOND)
            self.call("whatIf", 403, body={"add_nodes": 1})
            self.call("counterfactuals", 403, {"job": 1})
            self.call("cancel", 403, {"job": 1})
            self.call("drain", 403, {"node": "n"})
            self.call("undrain", 403, {"node": "n"})
            self.call("tenants", 403)
            self.call("changeTenants", 403, body={"tenants": []})
            self.call("energy", 403)
            self.call("observation", 503)
            shown = self.call("overview", 200).json()
            self.checks.equal(shown["mode"], "observe", "the mode")
            self.checks.that("trouble" in shown, "a cluster that is away is told")
        self.checks.equal(self.server.exit_code, 0, f"exit code of the observing server; {self.server.last_words}")
        self.server = schedules

    def coverage(self):
        for name, (_, _, operation) in self.contract.operations.items():
            for status in operation["responses"]:
                key = (name, int(status))
                if key in NOT_PROVOKED:
                    self.checks.that(key not in self.seen, f"{key} can be provoked after all")
                else:
                    self.checks.that(key in self.seen, f"{name}: nobody saw status {status}")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: api_contract.py WEIR")
    try:
        import yaml  # noqa: F401
    except ImportError:
        print("PyYAML is missing (python3-yaml)")
        sys.exit(77)
    with Server(sys.argv[1]) as server:
        test = ContractTest(sys.argv[1], server)
        test.run()
    test.checks.equal(server.exit_code, 0, f"exit code of the server; {server.last_words}")
    sys.exit(test.checks.conclude("api_contract"))


if __name__ == "__main__":
    main()
