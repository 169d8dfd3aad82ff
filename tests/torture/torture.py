#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills `weir serve` at random moments under load, fills its disk, damages its store and sets its
clock, and compares what it says afterwards with what it told its clients and what really ran.

    tests/torture/torture.py --bin DIR [--kills 500] [--unsynced-kills 100] [--only PART...]
                             [--clients 32] [--seed N] [--folder DIR]

DIR has weir, weir-supervisor and weir-torture-job. Parts: kills, unsynced, disk, damage, clock.
Leaves with 1 and keeps the folder when something is wrong.
"""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # tests leave nothing in the source tree

import faults  # noqa: E402
from clients import Load, all_jobs
from evidence import LogFold, Marks, replay
from ledger import OVER, Ledger
from server import Connection, Server, Wrong

LOG_EVERY = 25  # restarts; reading the whole log takes a while


def raise_if_wrong(wrong):
    if wrong:
        shown = "\n  ".join(str(text) for text in wrong[:10])
        more = f"\n  and {len(wrong) - 10} more" if len(wrong) > 10 else ""
        raise Wrong(f"{shown}{more}")


class Torture:
    """One state folder, its server, its clients, and kills without end."""

    def __init__(self, setup, name, environment=None):
        self.folder = os.path.join(setup.folder, name)
        self.marks = os.path.join(self.folder, "marks")
        os.makedirs(self.marks)
        self.setup = setup
        self.name = name
        self.rng = random.Random(f"{setup.seed} {name}")
        self.ledger = Ledger()
        self.server = Server(setup.weir, os.path.join(self.folder, "state"),
                             ["--cluster", "2x8xCPU", "--snapshot-every", "200", "--rescale", "0.2s"], environment)
        self.load = Load(self.server, self.ledger, setup.job, self.marks, clients=setup.clients, seed=setup.seed,
                         nodes=("cpu-0001", "cpu-0002"))
        self.link = Connection(self.server, timeout=60)
        self.log = b""
        self.kills = self.early = self.supervisors = self.checks = 0
        self.start_s = 0.3

    def run(self, kills):
        try:
            self.server.start()
            self.load.start()
            began = time.monotonic()
            while self.kills < kills:
                self.kill_once()
                if self.kills % 25 == 0:
                    self.progress(kills, began)
            self.load.stop()
            self.settle()
            return self.summary(time.monotonic() - began)
        finally:
            self.load.is_stopping.set()
            self.server.clean_up()

    def progress(self, kills, began):
        print(f"  {self.name}: {self.kills}/{kills} kills, {len(self.ledger.known)} jobs, "
              f"{len(self.ledger.promises())} promises, {time.monotonic() - began:.0f} s", flush=True)

    def kill_once(self):
        """Kills it now, starts it again, and most of the time looks whether all is there."""
        self.server.kill()
        self.kills += 1
        self.link.close()
        if self.rng.random() < 0.1:
            self.kill_a_supervisor()
        if self.rng.random() < 0.15:
            time.sleep(self.rng.uniform(0, 1))  # jobs end while nobody looks
        self.server.spawn()
        began = time.monotonic()
        if self.rng.random() < 0.35:
            # At its start: while it reads the store, takes jobs over, decides for the first time.
            time.sleep(self.rng.uniform(0, 1.3 * self.start_s))
            self.early += 1
            return
        self.server.wait_ready()
        self.start_s = 0.7 * self.start_s + 0.3 * (time.monotonic() - began)
        self.look()
        time.sleep(self.rng.choice((0, self.rng.uniform(0, 0.1), self.rng.uniform(0, 1), self.rng.uniform(0, 1.5))))

    def kill_a_supervisor(self):
        supervisors = [pid for pid, variable, _ in self.server.processes() if variable == "WEIR_SUPERVISOR"]
        if supervisors:
            try:
                os.kill(self.rng.choice(supervisors), signal.SIGKILL)
                self.supervisors += 1
            except ProcessLookupError:
                pass

    def look(self):
        began = time.monotonic()
        views = all_jobs(self.link)
        if views is None:
            raise Wrong(f"the list of jobs did not come: {self.link.error}; the server's exit status is "
                        f"{self.server.process.poll()}:\n{self.server.said()}")
        self.ledger.see_all(views, began)
        self.checks += 1
        if self.checks % LOG_EVERY == 0:
            self.read_log()
        raise_if_wrong(self.ledger.wrong)

    def read_log(self):
        began = time.monotonic()
        answer = self.link.ask("GET", "/v1/log")
        if answer is None or answer.status != 200:
            raise Wrong(f"the log did not come:\n{self.server.said()}")
        if not answer.body.startswith(self.log):
            self.keep_log("log.before", self.log)
            self.keep_log("log.after", answer.body)
            raise Wrong("the past of the log has changed: log.before is not how log.after begins")
        self.log = answer.body
        fold = LogFold(self.log.decode())
        fold.compare(self.ledger, began)
        raise_if_wrong(fold.wrong)
        return fold

    def keep_log(self, name, log):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(log)

    def settle(self):
        """Without kills until every job is over; then stops it and looks at what is left."""
        self.server.kill()
        self.link.close()
        self.server.start()
        for node in self.load.nodes:
            self.link.ask("POST", f"/v1/nodes/{node}/undrain")
        self.look()
        end = time.monotonic() + 120
        cancel_at = time.monotonic() + 15
        while True:
            views = all_jobs(self.link)
            live = [view for view in views or [] if view["phase"] not in OVER]
            if views is not None and not live:
                break
            if time.monotonic() > end:
                raise Wrong(f"{len(live)} jobs do not end: {live[:3]}")
            if time.monotonic() > cancel_at:
                for view in live:
                    self.link.ask("POST", f"/v1/jobs/{view['id']}/cancel", b"")
            time.sleep(0.2)
        self.look()
        wait_until(lambda: not self.server.processes(), 30,
                   lambda: f"processes are left when all jobs are over: {self.server.processes()}")
        fold = self.read_log()
        self.server.stop()
        wait_until(lambda: not self.server.processes(), 5,
                   lambda: f"processes are left when the server is stopped: {self.server.processes()}")
        # And once more: the same again.
        before = self.log
        self.link.close()
        self.server.start()
        self.look()
        self.fold = self.read_log()
        if fold.records and len(self.log) < len(before):
            raise Wrong("the log became shorter")
        self.server.stop()
        self.witness = Marks(self.marks)
        self.witness.check_slots(self.fold)
        raise_if_wrong(self.witness.wrong)
        self.keep_log("log.jsonl", self.log)
        self.replayed = replay(self.setup.weir, os.path.join(self.folder, "log.jsonl"))
        if self.replayed is not None and not self.replayed[0]:
            raise Wrong(f"the log replayed is another one: {self.replayed[1]}")

    def summary(self, seconds):
        finals = [known.final for known in self.ledger.known.values()]
        phases = {phase: sum(view["phase"] == phase for view in finals) for phase in OVER}
        met = [view["met_deadline"] for view in finals if view.get("promised") and "met_deadline" in view]
        counts = self.ledger.counts
        return [
            ("kills of the server", f"{self.kills} ({self.early} at its start), {seconds:.0f} s"),
            ("kills of supervisors", self.supervisors),
            ("looks after a restart", self.checks),
            ("submissions acknowledged", counts.get("acknowledged", 0)),
            ("  of them at a second attempt", counts.get("answered at a second attempt", 0)),
            ("answers lost", counts.get("answers lost", 0)),
            ("answers 429, 503", f"{counts.get('answers 429', 0)}, {counts.get('answers 503', 0)}"),
            ("jobs", f"{len(finals)}: " + ", ".join(f"{n} {phase}" for phase, n in phases.items())),
            ("promises", f"{len(self.fold.promises)}, {sum(met)} of {len(met)} finished in time, "
                         f"{len(self.fold.at_risk)} announced at risk"),
            ("runs of processes", f"{len(self.witness.runs)}, {self.witness.killed} killed without an end, "
                                  f"{self.witness.again_after_success} again after success"),
            ("decisions", f"{self.fold.events} events, {self.fold.records} records, {self.fold.resizes} resizes"),
            ("replay", "not in this weir" if self.replayed is None else self.replayed[1]),
        ]


def wait_until(holds, limit, complaint):
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            raise Wrong(complaint())
        time.sleep(0.1)


class Setup:
    def __init__(self, options, folder):
        self.weir = os.path.join(options.bin, "weir")
        self.job = os.path.join(options.bin, "weir-torture-job")
        self.folder = folder
        self.seed = options.seed
        self.clients = options.clients


def print_table(title, rows):
    print(f"\n{title}")
    for name, value in rows:
        print(f"  {name:<32} {value}")
    print(flush=True)


def main():
    parts = {
        "kills": lambda setup, options: Torture(setup, "kills").run(options.kills),
        "unsynced": lambda setup, options: Torture(setup, "unsynced", {"WEIR_TEST_VFS": "unsynced"}).run(
            options.unsynced_kills),
        "disk": lambda setup, _: faults.full_disk(setup),
        "damage": lambda setup, _: faults.damaged_log(setup),
        "clock": lambda setup, _: faults.jumping_clock(setup),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--unsynced-kills", type=int, default=100)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", nargs="+", choices=sorted(parts), default=list(parts))
    parser.add_argument("--folder", help="default: a temporary one")
    options = parser.parse_args()
    folder = os.path.abspath(options.folder) if options.folder else tempfile.mkdtemp(prefix="weir-torture-")
    setup = Setup(options, folder)
    print(f"torture: seed {options.seed}, {options.clients} clients, in {folder}", flush=True)
    for part in options.only:
        try:
            print_table(part, parts[part](setup, options))
        except Wrong as wrong:
            print(f"torture: {part}: WRONG\n  {wrong}\n  the folder is kept: {folder}", file=sys.stderr)
            return 1
    if not options.folder:
        shutil.rmtree(folder, ignore_errors=True)
    print("torture: all is well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
