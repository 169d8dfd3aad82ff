#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of a tenant run as the tenant's user: `weir serve --tenant-user`, with a user of this machine that is made for
the test and removed after it.

  tests/tenant_users.py WEIR      needs root and useradd; without them exit code 77: skipped
"""
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile

from api_contract import Checks, Server

SECRET = "hush-8d21"  # in the server's environment
# What a job could be made to do if a shell or a format saw its arguments.
ODD = ["; rm -rf .", "$(id)", "`id`", "two\nlines", "", "'\"", "*", "%s%n", "-rf", "ü\t"]


class User:
    """Of this machine, with a group beside its own."""

    def __init__(self):
        self.name = f"weir-test-{os.getpid()}"
        self.home = tempfile.mkdtemp(prefix="weir-home-")

    def __enter__(self):
        subprocess.run(["useradd", "--no-create-home", "--home-dir", self.home, "--groups", "users", "--shell", "/bin/sh", self.name],
                       check=True, capture_output=True)
        self.uid = pwd.getpwnam(self.name).pw_uid
        os.chown(self.home, self.uid, self.uid)
        return self

    def __exit__(self, *_):
        subprocess.run(["userdel", self.name], check=False, capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)


class OpenServer(Server):
    """In a folder that others may pass through."""

    def __init__(self, *more, **named):
        before, tempfile.mkdtemp = tempfile.mkdtemp, self.make_folder
        self.plain_mkdtemp = before
        try:
            super().__init__(*more, **named)
        finally:
            tempfile.mkdtemp = before

    def make_folder(self, **named):
        folder = self.plain_mkdtemp(**named)
        os.chmod(folder, 0o711)
        return folder


class TenantUsers:
    def __init__(self, weir, user):
        self.weir, self.user, self.checks = weir, user, Checks()

    def run_job(self, name, command, **more):
        """Its log, and how it ended."""
        job = self.server.ask_json("POST", "/v1/jobs", {"name": name, "tenant": "vision", "command": command, **more}).json()
        path = f"/v1/jobs/{job['id']}"
        done = self.server.wait_for(f"{name} to end", lambda: (
            lambda shown: shown if shown["phase"] in ("finished", "failed", "cancelled", "refused") else None)(self.server.ask("GET", path).json()))
        return job["id"], done["phase"], self.server.ask("GET", path + "/logs").body.decode()

    def who_it_is(self):
        _, phase, log = self.run_job("who", ["sh", "-c", "id -u; id -g; id -Gn; pwd; touch here; grep -E '^(Cap(Eff|Prm|Amb)|NoNewPrivs)' /proc/self/status"])
        lines = log.splitlines()
        self.checks.equal(phase, "finished", f"the job: {log}")
        self.checks.equal(lines[0], str(self.user.uid), "user of the job")
        self.checks.equal(sorted(lines[2].split()), sorted([self.user.name, "users"]), "its groups: its own, none of root's")
        for name in ("CapEff", "CapPrm", "CapAmb"):
            self.checks.that(f"{name}:\t{'0' * 16}" in log, f"{name} is empty: {log}")
        self.checks.that("NoNewPrivs:\t1" in log, "it can gain no rights")

    def its_environment(self):
        _, _, log = self.run_job("environment", ["env"], environment={"MINE": "kept"})
        names = dict(line.split("=", 1) for line in log.splitlines() if "=" in line)
        self.checks.that(SECRET not in log and self.server.token not in log, f"no secret of the server: {log}")
        self.checks.equal((names.get("HOME"), names.get("USER"), names.get("LOGNAME"), names.get("MINE")),
                          (self.user.home, self.user.name, self.user.name, "kept"), "HOME, USER, LOGNAME and the job's own")

    def cannot_reach_the_server(self):
        state, server = self.server.state, self.server.process.pid
        kept = [str(path) for path in state.rglob("*") if path.is_file() and path.name not in ("url", "here") and not path.name.startswith("rank-")]
        self.checks.that(any(name.endswith("weir.db") for name in kept) and any(name.endswith("/token") for name in kept), f"{kept}")
        script = ("import os, sys\n"
                  "for path in sys.argv[2:]:\n"
                  "    try: print('read', path, open(path, 'rb').read(1))\n"
                  "    except (PermissionError, FileNotFoundError): pass\n"  # of a run that was put away since
                  "for folder in (sys.argv[1], sys.argv[1] + '/engine', sys.argv[1] + '/engine/runs'):\n"
                  "    try: print('listed', os.listdir(folder))\n"
                  "    except PermissionError: pass\n"
                  f"for pid in ({server}, os.getppid()):\n"
                  "    try: print('signalled', os.kill(pid, 0))\n"
                  "    except PermissionError: pass\n"
                  "    for name in ('environ', 'mem', 'fd'):\n"
                  "        try: print('opened', os.listdir(f'/proc/{pid}/fd') if name == 'fd' else open(f'/proc/{pid}/{name}').read(1))\n"
                  "        except PermissionError: pass\n"
                  "for number in os.listdir('/proc/self/fd'):\n"
                  "    try: target = os.readlink(f'/proc/self/fd/{number}')\n"
                  "    except OSError: continue\n"
                  "    if target.startswith('/') and not target.startswith(('/dev/null', '/proc/')) and not target.endswith('/lock'): print('has', target)\n"
                  "print('done')\n")
        _, phase, log = self.run_job("reach", ["/usr/bin/python3", "-c", script, str(state), *kept])
        self.checks.equal((phase, log), ("finished", "done\n"), f"{len(kept)} files, folders, the server and the supervisor are out of reach")

    def arguments_arrive_as_they_are(self):
        script = "import json, sys; print(json.dumps(sys.argv[1:]))"
        _, _, log = self.run_job("odd", ["/usr/bin/python3", "-c", script, *ODD])
        self.checks.equal(json.loads(log or "null"), ODD, "no shell sees the arguments")

    def owns_its_files(self):
        job, _, _ = self.run_job("files", ["sh", "-c", "echo said; echo 1 > made; echo 2 > $WEIR_CHECKPOINT_DIR/saved"])
        folder = self.server.wait_for("the end", lambda: next(iter(self.server.state.glob(f"engine/past/{job}/1")), None))
        for path in (folder / "folder/made", folder / "folder", folder.parent / "checkpoint/saved", folder / "rank-0.0.log"):
            self.checks.equal(path.stat().st_uid, self.user.uid, f"owner of {path}")
        self.checks.equal((folder.stat().st_uid, folder.stat().st_mode & 0o777), (0, 0o711), "the run's folder is the server's")

    def others_run_as_the_server(self):
        _, _, log = self.run_job("other", ["id", "-u"], tenant="language")
        self.checks.equal(log, "0\n", "a tenant without a user")

    def refused_options(self):
        def serve(*options, user=None):
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o777)
                return subprocess.run([self.weir, "serve", "--state", folder + "/state", "--port", "0", "--cluster", "1x1xCPU", *options],
                                      capture_output=True, text=True, timeout=60, user=user)
        for options, lines in ((["--tenant-user", "vision=weir-nobody-here"], 1), (["--tenant-user", "vision=root"], 1), (["--tenant-user", "vision"], 1),
                               (["--tenant-user", f"={self.user.name}"], 1), (["--tenant-user", f"a b={self.user.name},vision=,x=root"], 3),
                               (["--tenant-user", f"v={self.user.name}", "--tenant-user", "v=nobody"], 1),
                               (["--engine", "kubernetes", "--tenant-user", "v=nobody", "--kubeconfig", "/nowhere"], 2)):
            done = serve(*options)
            self.checks.that(done.returncode == 2 and len(done.stderr.splitlines()) <= lines and "tenant-user" in done.stderr, f"{options}: {done}")
        with tempfile.TemporaryDirectory() as folder:  # 0700
            done = subprocess.run([self.weir, "serve", "--state", folder + "/state", "--port", "0", "--cluster", "1x1xCPU", "--tenant-user", f"v={self.user.name}"],
                                  capture_output=True, text=True, timeout=60)
            self.checks.that(done.returncode == 2 and "can get to" in done.stderr, f"a folder nobody can enter: {done}")
        program = pathlib.Path(tempfile.mkdtemp(prefix="weir-bin-"))
        try:  # where the build folder is may be root's
            os.chmod(program, 0o755)
            shutil.copy(self.weir, program / "weir")
            self.weir, before = str(program / "weir"), self.weir
            done = serve("--tenant-user", f"v={self.user.name}", user=self.user.name)
            self.weir = before
            self.checks.that(done.returncode == 2 and "started as root" in done.stderr, f"not root: {done}")
        finally:
            shutil.rmtree(program)

    def run(self):
        os.environ["WEIR_TEST_SECRET"] = SECRET
        options = ["--cluster", "1x4xCPU", "--rescale", "0s", "--tenant-user", f"vision={self.user.name}"]
        with OpenServer(self.weir, options=options) as self.server:
            for check in (self.who_it_is, self.its_environment, self.cannot_reach_the_server, self.arguments_arrive_as_they_are,
                          self.owns_its_files, self.others_run_as_the_server):
                check()
        self.refused_options()
        return self.checks.conclude("tenant users")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: tenant_users.py WEIR")
    if os.geteuid() != 0 or not shutil.which("useradd"):
        print("skipped: needs root and useradd")
        sys.exit(77)
    with User() as made:
        code = TenantUsers(sys.argv[1], made).run()
    sys.exit(code)
