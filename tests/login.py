#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weir login` and `weir logout` with a real server over TLS and on a real terminal.

  tests/login.py WEIR
"""
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import time

from api_contract import Checks
from attacks import TlsServer


class Login:
    def __init__(self, weir, home):
        self.weir, self.checks, self.home = weir, Checks(), pathlib.Path(home)
        self.kept = self.home / ".config/weir/login.yaml"
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("WEIR_", "XDG_"))} | {"HOME": home}

    def run_weir(self, *words, given=None, **variables):
        return subprocess.run([self.weir, *words], input=given, capture_output=True, text=True, timeout=60, env=self.environment | variables)

    def on_terminal(self, words, typed):
        """What a person sees who types that."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(self.weir, [self.weir, *words], self.environment)
        seen = b""
        try:
            while b": " not in seen:
                seen += os.read(terminal, 4096)
            time.sleep(0.2)
            os.write(terminal, typed)
            while piece := os.read(terminal, 4096):
                seen += piece
        except OSError:
            pass
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()

    def run(self):
        with TlsServer(self.weir, options=["--cluster", "1x2xCPU", "--tls", "generated"]) as server:
            url = (server.state / "url").read_text().strip()
            authority = str(server.state / "tls-cert.pem")
            fingerprint = re.search(r"fingerprint of its key: (sha256//\S+)", server.messages()).group(1)
            made = self.run_weir("token", "create", "--name", "ci", "--role", "submitter", "--tenant", "vision", "--expires", "1d", WEIR_STATE=str(server.state))
            token = made.stdout.strip()
            self.checks.equal((made.returncode, len(token)), (0, 69), f"a token: {made.stderr}")

            self.checks.that(self.run_weir("jobs").returncode != 0, "nobody is logged in")
            for words, given, code in (((url,), token, None), ((url, "--fingerprint", fingerprint[:8] + "A" * 43 + "="), token, None),
                                       ((url, "--ca-file", authority), "wrong", 1), ((url, "--ca-file", authority), "", 2)):
                done = self.run_weir("login", *words, given=given)
                self.checks.that(done.returncode != 0 and (code is None or done.returncode == code), f"login {words}: {done}")
                self.checks.that(not self.kept.exists() and token not in done.stdout + done.stderr, f"nothing is kept or told: {done}")

            code, seen = self.on_terminal(["login", url, "--fingerprint", fingerprint], token.encode() + b"\n")
            self.checks.equal(code, 0, f"a login on a terminal: {seen!r}")
            self.checks.that(token not in seen and "as ci: submitter of vision, until 20" in seen, f"what is seen: {seen}")
            self.checks.equal(self.kept.stat().st_mode & 0o777, 0o600, "for its owner only")
            done = self.run_weir("submit", "--wait", "--name", "first", "--", "true")
            self.checks.equal(done.returncode, 0, f"a job: {done.stderr}")
            self.checks.that("first" in self.run_weir("jobs").stdout, "the list of jobs")
            self.checks.that(self.run_weir("token", "list").returncode != 0, "its role is the token's")
            self.checks.equal(self.run_weir("logout").stdout, "Logged out\n", "logout")
            self.checks.that(not self.kept.exists() and self.run_weir("jobs").returncode != 0, "all is forgotten")

            code, seen = self.on_terminal(["login", url, "--fingerprint", fingerprint], b"\x03")
            self.checks.that(code != 0 and not self.kept.exists(), f"interrupted: {code} {seen}")
            done = self.run_weir("login", url, "--ca-file", authority, "--json", given=token + "\n")
            self.checks.equal((json.loads(done.stdout)["name"], json.loads(done.stdout)["server"]), ("ci", url), f"{done}")
            self.checks.equal(self.run_weir("jobs").returncode, 0, "certificates are kept, too")
            self.run_weir("token", "revoke", "ci", WEIR_STATE=str(server.state))
            self.checks.that("revoked" in self.run_weir("jobs").stderr, "a token that was revoked")
        return self.checks.conclude("login")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: login.py WEIR")
    with tempfile.TemporaryDirectory(prefix="weir-home-") as folder:
        sys.exit(Login(sys.argv[1], folder).run())
