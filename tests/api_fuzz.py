#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random requests made from docs/openapi.yaml against the real `weir serve`: right ones, wrong ones and nearly right
ones, by callers of every role. No answer is a 5xx, each has a status and a body of the contract, and the server lives.

  tests/api_fuzz.py WEIR [--requests 20000] [--seed 1]      needs PyYAML; without it exit code 77: skipped

What is sent is decided by the seed alone. Jobs that get through run harmless programs, and backups go to the server's
own folder: commands and files are taken from a list, never made up.
"""
import argparse
import collections
import http.client
import json
import random
import re
import sys
import urllib.parse

# Everywhere possible (docs/openapi.yaml, description).
ALWAYS = {400, 404, 405, 408, 413, 414, 415, 417, 429, 431, 501, 505}
TEXTS = ["", "a", "default", "vision", "first", "0", "-1", "1e9", "null", "true", "../..", "%2e%2e", "a b", "\u00e9", "\u202e", "x" * 70, "x" * 5000,
         "\r\nX: y", "\x1b[2J", "'; DROP TABLE jobs; --", "{}", "18446744073709551616", "9223372036854775807", "2026-11-16T08:00:00Z", "1h", "4GiB"]
NUMBERS = [0, 1, -1, 2, 3, 4, 7, 1000, 65536, 1 << 31, 1 << 53, (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63), 0.5, 1e308, 1e-308]
COMMANDS = ["true", ["true"], ["false"], ["weir-no-such-program"], ["sleep", "0.01"], [], [""], 7, None, {"a": "b"}, ""]
DIRECTORIES = ["/", "/nowhere/at/all", "here", "", 7]


class Generator:
    def __init__(self, contract, seed, folder):
        self.contract = contract
        self.random = random.Random(seed)
        self.folder = folder
        self.names = ["1", "2", "job", "nobody", "0", "-1", "99999999999999999999"]

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def pick(self, items):
        return self.random.choice(items)

    def anything(self, depth=0):
        kind = self.random.randrange(7 if depth < 3 else 5)
        if kind == 5:
            return [self.anything(depth + 1) for _ in range(self.random.randrange(4))]
        if kind == 6:
            return {self.pick(TEXTS): self.anything(depth + 1) for _ in range(self.random.randrange(4))}
        return [None, True, self.pick(NUMBERS), self.pick(TEXTS), self.pick(NUMBERS)][kind]

    def value(self, schema, file="openapi.yaml", depth=0):
        """Mostly as the schema wants it."""
        if "$ref" in schema:
            target, file = self.contract.find(schema["$ref"], file)
            return self.value(target, file, depth)
        if self.chance(3) or depth > 6:
            return self.anything()
        if "enum" in schema:
            return self.pick(schema["enum"])
        for word in ("oneOf", "anyOf"):
            if word in schema and "type" not in schema:
                return self.value(self.pick(schema[word]), file, depth + 1)
        types = schema.get("type", "string")
        kind = self.pick(types) if isinstance(types, list) else types
        if kind in ("integer", "number"):
            low, high = schema.get("minimum", 0), schema.get("maximum", 100)
            number = self.pick([low, high, low - 1, high + 1, self.random.randint(int(low), int(min(high, 1000)) if high > low else int(low))])
            return number if kind == "integer" or self.chance(50) else number + self.random.random()
        if kind == "boolean":
            return self.chance(50)
        if kind == "array":
            return [self.value(schema.get("items", {}), file, depth + 1) for _ in range(self.random.randrange(3))]
        if kind == "object":
            return self.record(schema, file, depth)
        return self.text(schema)

    def text(self, schema):
        pattern = schema.get("pattern", "")
        if "s|m|h|d" in pattern or "d" in pattern and "h" in pattern:
            return self.pick(["1s", "30m", "1h", "2d", "0s", "soon"])
        return self.pick(TEXTS) if self.chance(40) else self.pick(["a", "b-1", "job", "vision", "language", "1s", "10m", "2GiB"])

    def record(self, schema, file, depth):
        made = {}
        required = set(schema.get("required", []))
        for name, part in schema.get("properties", {}).items():
            if name == "command":
                made[name] = self.pick(COMMANDS) if self.chance(30) else ["true"]
            elif name == "directory":
                if self.chance(10):
                    made[name] = self.pick(DIRECTORIES)
            elif name == "file":
                made[name] = self.pick([f"{self.folder}/{self.random.randrange(5)}.db", "relative", "", 7, None, "/nowhere/at/all"])
            elif name == "environment":
                if self.chance(10):
                    made[name] = self.pick([{}, {"A": "b"}, {"1": "b"}, [], {"A": 1}])
            elif (name in required and not self.chance(3)) or self.chance(6):
                made[name] = self.value(part, file, depth + 1)
        if self.chance(2):
            made[self.pick(TEXTS)] = self.anything()
        return made

    def target(self, path, operation):
        for name in re.findall(r"{(\w+)}", path):
            word = self.pick(self.names) if self.chance(80) else self.pick(TEXTS)
            path = path.replace("{%s}" % name, urllib.parse.quote(word, safe=""))
        query = []
        for parameter in operation.get("parameters", []):
            if parameter.get("in") == "query" and self.chance(25):
                value = self.value(parameter["schema"])
                query.append((parameter["name"], value if isinstance(value, str) else json.dumps(value)))
        if self.chance(3):
            query.append((self.pick(TEXTS), self.pick(TEXTS)))
        return path + ("?" + urllib.parse.urlencode(query) if query else "")

    def body(self, operation):
        content = operation.get("requestBody", {}).get("content")
        if not content:
            return (b"x" * self.random.randrange(100), "text/plain") if self.chance(3) else (None, None)
        schema = content["application/json"]["schema"]
        text = json.dumps(self.value(schema)).encode()
        if self.chance(5):
            at = self.random.randrange(len(text) + 1)
            text = text[:at] + bytes([self.random.randrange(256)]) + text[at + self.random.randrange(3):]
            # What is damaged may still be a job: it must not run something else.
            text = text if b"command" not in text and b"file" not in text else text[:at]
        kind = self.pick(["application/json"] * 12 + list(content) + ["text/plain", "application/json; charset=utf-8", ""])
        return text, kind

    def request(self, operations):
        method, path, operation = self.pick(operations)
        if self.chance(2):
            method = self.pick(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
        body, kind = self.body(operation)
        headers = {"Content-Type": kind} if kind else {}
        for name in ("Idempotency-Key", "Last-Event-ID", "Accept-Encoding", "If-None-Match"):
            if self.chance(5):
                headers[name] = re.sub(r"[^\x20-\x7e]", "?", self.pick(TEXTS))
        return method, self.target(path, operation), body, headers


class Fuzz:
    def __init__(self, server, contract, checks, seed):
        self.server, self.contract, self.checks = server, contract, checks
        self.generator = Generator(contract, seed, server.folder)
        # Streams have no end; the log and the story are long and asked for elsewhere.
        self.operations = {name: each for name, each in contract.operations.items() if name not in ("events", "log")}
        self.connection = None
        self.statuses = collections.Counter()
        self.roles = {}
        for role, more in (("viewer", {}), ("submitter", {"tenant": "vision"}), ("operator", {})):
            answer = server.ask_json("POST", "/v1/tokens", {"name": f"fuzz-{role}", "role": role, **more})
            self.roles[role] = answer.json()["token"]

    def send(self, method, target, body, headers):
        for attempt in (0, 1):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=60)
            try:
                self.connection.request(method, target, body, headers)
                response = self.connection.getresponse()
                text = response.read()
                if response.will_close:
                    self.connection.close()
                    self.connection = None
                return response, text
            except (http.client.HTTPException, OSError):
                self.connection.close()
                self.connection = None
                if attempt:
                    raise

    def one(self):
        name = self.generator.pick(list(self.operations))
        method, target, body, headers = self.generator.request([self.operations[name]])
        role = self.generator.pick([None, "viewer", "submitter", "operator", "operator", "operator"])
        if role:
            headers["Authorization"] = "Bearer " + self.roles[role]
        response, text = self.send(method, target, body, headers)
        self.statuses[response.status] += 1
        said = f"{method} {target[:200]} {body and body[:300]} as {role}: {response.status} {text[:300]}"
        # Another method may have been drawn: all of the path's answers are known.
        path = self.operations[name][1]
        known = {int(status) for operation in self.operations.values() if operation[1] == path for status in operation[2]["responses"]}
        known |= ALWAYS | {401, 403, 204}
        # 503 is said of too much at once, and is in the contract; others of its kind are never right.
        self.checks.that(response.status < 500 or response.status == 503 and 503 in known or response.status in (501, 505), said)
        self.checks.that(response.status in known, "not in the contract: " + said)
        if method != "HEAD" and response.status >= 400 and response.status != 422:
            try:
                problem = json.loads(text)
                self.checks.that(problem.get("status") == response.status and problem.get("detail"), "no problem: " + said)
            except ValueError:
                self.checks.that(False, "no JSON: " + said)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weir")
    parser.add_argument("--requests", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        import yaml  # noqa: F401
    except ImportError:
        print("PyYAML is missing (python3-yaml)")
        sys.exit(77)
    from api_contract import Checks, Contract, Server
    checks = Checks()
    with Server(options.weir) as server:
        fuzz = Fuzz(server, Contract(), checks, options.seed)
        for _ in range(options.requests):
            fuzz.one()
            if not server.is_alive() or len(checks.failures) > 20:
                break
        checks.that(server.is_alive(), f"the server is there still; {server.messages()[-4000:]}")
        print(f"seed {options.seed}:", ", ".join(f"{status}: {count}" for status, count in sorted(fuzz.statuses.items())))
    checks.equal(server.exit_code, 0, f"exit code of the server; {server.last_words[-4000:]}")
    checks.that("ERROR: " not in server.last_words, f"a sanitizer complains: {server.last_words[-4000:]}")
    sys.exit(checks.conclude("api_fuzz"))


if __name__ == "__main__":
    main()
