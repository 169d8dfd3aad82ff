# SPDX-License-Identifier: Apache-2.0
"""A full disk, a read-only one, a damaged store, and a clock that is set while jobs run."""
import contextlib
import datetime
import glob
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time

from clients import Load, all_jobs
from evidence import LogFold, Marks, replay
from ledger import OVER, Ledger, Submission
from server import Connection, Server, Wrong

OPTIONS = ["--cluster", "2x8xCPU", "--rescale", "0.2s"]


def expect(holds, text):
    if not holds:
        raise Wrong(text)


def wait_for(holds, limit, text):
    end = time.monotonic() + limit
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > end:
            raise Wrong(f"{text} (within {limit} s)")
        time.sleep(0.05)


def look(link, ledger, text):
    began = time.monotonic()
    views = all_jobs(link)
    expect(views is not None, f"{text}: the list of jobs did not come")
    ledger.see_all(views, began)
    expect(not ledger.wrong, f"{text}: " + "; ".join(ledger.wrong[:5]))
    return views


def end_all(server, link):
    """Cancels what is left and waits until no process is."""
    def is_over():
        views = all_jobs(link) or []
        live = [view["id"] for view in views if view["phase"] not in OVER]
        for job in live:
            link.ask("POST", f"/v1/jobs/{job}/cancel", b"")
        return not live and not server.processes()
    wait_for(is_over, 60, f"jobs or processes are left: {server.processes()}")


# ---- A full disk and a read-only one


@contextlib.contextmanager
def small_disk(folder, megabytes):
    os.makedirs(folder)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "weir-torture", folder],
                          capture_output=True, text=True)
    if done.returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def fill(file):
    """Until not a byte more goes in."""
    with contextlib.suppress(OSError), open(file, "ab", buffering=0) as filler:
        while True:
            filler.write(b"\0" * 65536)
    with contextlib.suppress(OSError), open(file, "ab", buffering=0) as filler:
        while True:
            filler.write(b"\0")


def health(link):
    answer = link.ask("GET", "/healthz")
    return (answer.status, answer.json()) if answer is not None else (None, {})


def full_disk(setup):
    folder = os.path.join(setup.folder, "disk")
    marks = os.path.join(folder, "marks")
    os.makedirs(marks)
    with small_disk(os.path.join(folder, "small"), 24) as disk:
        if disk is None:
            return [("skipped", "a small disk cannot be mounted here; run it as root")]
        server = Server(setup.weir, os.path.join(disk, "state"), OPTIONS + ["--snapshot-every", "200"])
        server.errors = os.path.join(folder, "stderr")
        try:
            return full_disk_on(setup, server, marks, os.path.join(disk, "filler"), disk)
        finally:
            server.clean_up()


def full_disk_on(setup, server, marks, filler, disk):
    rows = []
    ledger = Ledger()
    link = Connection(server)
    server.start()
    load = Load(server, ledger, setup.job, marks, clients=8, seed=setup.seed + 7, most_live=30)
    load.start()
    try:
        for number in range(3):
            wanted = ledger.counts.get("acknowledged", 0) + 20
            wait_for(lambda: ledger.counts.get("acknowledged", 0) >= wanted, 60, "no submission is accepted")
            fill(filler)
            began = time.monotonic()
            wait_for(lambda: health(link)[0] == 503, 30, "the disk is full, but /healthz is not 503")
            seen = time.monotonic() - began
            detail = health(link)[1].get("detail", "")
            expect(detail, "/healthz does not say why")
            refused = ledger.counts.get("answers 503", 0)
            wait_for(lambda: ledger.counts.get("answers 503", 0) > refused + 5, 30, "submissions are not answered with 503")
            look(link, ledger, "while the disk is full")
            if number == 1:
                # It dies as well. Without space it may start or refuse to, but says why.
                server.kill()
                link.close()
                server.spawn()
                time.sleep(2)
                if server.is_running():
                    server.process.kill()
                    server.process.wait()
                    rows.append(("started on a full disk", "ran"))
                else:
                    said = server.said().strip()
                    expect(server.process.returncode in (1, 4) and said,
                           f"started on a full disk: left with {server.process.returncode}, said {said!r}")
                    rows.append(("started on a full disk", f"{server.process.returncode}: {said.splitlines()[0]}"))
                os.remove(filler)
                server.start()
            else:
                os.remove(filler)
            began = time.monotonic()
            wait_for(lambda: health(link)[0] == 200, 15, f"there is space again, but /healthz says {health(link)}")
            wanted = ledger.counts.get("acknowledged", 0)
            wait_for(lambda: ledger.counts.get("acknowledged", 0) > wanted, 15, "no submission is accepted after that")
            look(link, ledger, "when there is space again")
            rows.append((f"disk full, {number + 1}", f"seen after {seen:.1f} s, well {time.monotonic() - began:.1f} s "
                                                     f"after the space came back: {detail}"))
        load.stop()
        end_all(server, link)
        look(link, ledger, "at the end")
    finally:
        load.is_stopping.set()
    lost = [view for view in (known.final for known in ledger.known.values())
            if view and view["phase"] == "failed" and "No space" in view.get("exit", "") + view.get("reason", "")]
    expect(not lost, f"{len(lost)} jobs failed for want of space: {lost[:2]}")
    rows.append(("jobs", len(ledger.known)))
    rows.append(("submissions refused", ledger.counts.get("answers 503", 0)))
    witness = Marks(marks)
    expect(not witness.wrong, "; ".join(witness.wrong[:5]))
    # Read-only: the kernel does not allow it under open files, so between two runs.
    server.stop()
    wait_for(lambda: subprocess.run(["mount", "-o", "remount,ro", disk], capture_output=True).returncode == 0, 10,
             "the disk cannot be made read-only: a file in it is open")
    server.spawn()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.process.wait(10)
    said = server.said()
    if server.is_running():
        wait_for(lambda: health(link)[0] == 503, 10, "the disk is read-only, but /healthz is not 503")
        rows.append(("read-only disk", f"runs, unavailable: {health(link)[1].get('detail')}"))
        look(link, ledger, "on a read-only disk")
    else:
        expect(server.process.returncode in (1, 4) and "ead-only" in said,
               f"on a read-only disk it left with {server.process.returncode} and said {said!r}")
        rows.append(("read-only disk", f"left with {server.process.returncode}: {said.strip().splitlines()[0]}"))
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    link.close()
    if not server.is_running():
        server.start()
    wait_for(lambda: health(link)[0] == 200, 15, f"the disk can be written again, but /healthz says {health(link)}")
    look(link, ledger, "when the disk can be written again")
    server.stop()
    rows.append(("jobs after that", f"{len(ledger.known)}, as they were"))
    return rows


# ---- A damaged store


def make_history(setup, folder):
    """A stopped server with jobs, promises, snapshots and entries after the last of them."""
    marks = os.path.join(folder, "marks")
    os.makedirs(marks)
    server = Server(setup.weir, os.path.join(folder, "state"), OPTIONS + ["--snapshot-every", "60"])
    ledger = Ledger()
    link = Connection(server)
    rng = random.Random(setup.seed)
    load = Load(server, ledger, setup.job, marks, clients=0, seed=setup.seed)
    try:
        server.start()
        for i in range(40):
            name = f"history-{i}"
            ledger.add(Submission(name, None, ""))
            answer = link.ask("POST", "/v1/jobs", json.dumps(load.document(name, rng)))
            expect(answer is not None and answer.status in (201, 422), "a submission was not answered")
        end_all(server, link)
        look(link, ledger, "before any damage")
        server.stop()
        return server.state, ledger
    finally:
        server.clean_up()


def dump(state):
    with contextlib.closing(sqlite3.connect(os.path.join(state, "weir.db"))) as store:
        return "\n".join(store.iterdump())


def damaged_log(setup):
    folder = os.path.join(setup.folder, "damage")
    state, ledger = make_history(setup, folder)
    with contextlib.closing(sqlite3.connect(os.path.join(state, "weir.db"))) as store:
        first, last = store.execute("select min(entry), max(entry) from log").fetchone()
        snapshots = [row[0] for row in store.execute("select entry from snapshots order by entry")]
    expect(snapshots and snapshots[-1] < last and first + 8 < snapshots[0], f"no history to damage: {snapshots}, {last}")
    early = (first + snapshots[0]) // 2
    late = (snapshots[-1] + 1 + last) // 2

    def flip(entry):
        def damage(store):
            body = bytearray(store.execute("select body from log where entry = ?", (entry,)).fetchone()[0])
            body[len(body) // 2] ^= 0x04
            store.execute("update log set body = ? where entry = ?", (bytes(body), entry))
        return damage

    def delete(begin, end):
        return lambda store: store.execute("delete from log where entry between ? and ?", (begin, end))

    # What --accept-damage does: everything is there that was, it refuses, or it goes on without the end.
    cases = [
        ("a byte before the snapshot", flip(early), (early, early), "whole"),
        ("a row before the snapshot", delete(early, early), (early, early), "whole"),
        ("three rows before the snapshot", delete(early, early + 2), (early, early + 2), "whole"),
        ("a byte after the snapshot", flip(late), (late, late), "refused"),
        ("the last row", delete(last, last), (last, last), "cut"),
    ]
    rows = [("history", f"{len(ledger.known)} jobs, entries {first} to {last}, snapshots at {snapshots}")]
    for number, (title, damage, lost, accepted) in enumerate(cases):
        copy = os.path.join(folder, f"case-{number}", "state")
        shutil.copytree(state, copy)
        with contextlib.closing(sqlite3.connect(os.path.join(copy, "weir.db"))) as store:
            damage(store)
            store.commit()
        before = dump(copy)
        server = Server(setup.weir, copy, OPTIONS + ["--snapshot-every", "60"])
        try:
            said = server.refuse()
            for entry in lost:
                expect(str(entry) in said, f"{title}: entry {entry} is lost, but it says: {said}")
            expect(dump(copy) == before, f"{title}: refused, but the store was changed")
            rows.append((title, said.strip().splitlines()[0].replace(folder, "...")))
            if accepted == "refused":
                server.refuse("--accept-damage")
                expect(dump(copy) == before, f"{title}: refused, but the store was changed")
                continue
            server.start("--accept-damage")
            for entry in lost:
                expect("warning" in server.said() and str(entry) in server.said(),
                       f"{title}: accepted without a word: {server.said()}")
            if accepted == "whole":
                look(Connection(server), ledger, title)
            server.stop()
        finally:
            server.clean_up()
    return rows


# ---- A clock that is set


def faketime_library():
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    return found[0] if found else None


class FakeClock:
    """The wall clock of a server; the clock since boot stays true."""

    def __init__(self, folder):
        self.file = os.path.join(folder, "clock")
        self.ahead = 0
        self.set(0)

    def set(self, ahead):
        self.ahead = ahead
        with open(self.file + ".new", "w") as file:
            file.write(f"{ahead:+d}\n")
        os.replace(self.file + ".new", self.file)

    def environment(self):
        return {"LD_PRELOAD": faketime_library(), "FAKETIME_TIMESTAMP_FILE": self.file, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}

    def check(self):
        """The wall clock is set, and the clock since boot is not."""
        code = "import time; print(time.time(), time.clock_gettime(time.CLOCK_BOOTTIME))"
        shown = subprocess.run(["python3", "-c", code], env=dict(os.environ, **self.environment()), text=True,
                               capture_output=True, check=True).stdout.split()
        expect(abs(float(shown[0]) - time.time() - self.ahead) < 60, f"the clock cannot be set: {shown}")
        expect(abs(float(shown[1]) - time.clock_gettime(time.CLOCK_BOOTTIME)) < 60, f"more is set than the clock: {shown}")


def jumping_clock(setup):
    if faketime_library() is None:
        return [("skipped", "libfaketime is not installed")]
    folder = os.path.join(setup.folder, "clock")
    marks = os.path.join(folder, "marks")
    os.makedirs(marks)
    clock = FakeClock(folder)
    clock.set(3600)
    clock.check()
    clock.set(0)
    server = Server(setup.weir, os.path.join(folder, "state"), OPTIONS + ["--snapshot-every", "200"],
                    clock.environment())
    try:
        return jumping_clock_on(setup, server, clock, marks)
    finally:
        server.clean_up()


SPAN = 25.0  # seconds from submission to deadline: long beside a job, short beside a jump
LENGTH = 2.0


def submit_promised(setup, link, marks, clock, number):
    """A promised job: its id, and by when it must be over on the clock since boot."""
    job = {"name": f"jump-{number}", "duration": f"{LENGTH}s", "grace": "3s",
           "command": [setup.job, marks, "plain", str(round(LENGTH * 700)), "0"], "deadline": f"{SPAN}s"}
    if number % 2 == 1:
        at = datetime.datetime.fromtimestamp(time.time() + clock.ahead + SPAN, datetime.timezone.utc)
        job["deadline"] = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    due = time.clock_gettime(time.CLOCK_BOOTTIME) + SPAN
    answer = link.ask("POST", "/v1/jobs", json.dumps(job))
    expect(answer is not None and answer.status == 201 and answer.json()["promised"],
           f"a job with room enough is not promised (clock {clock.ahead:+d} s): {answer and answer.body}")
    late_by = time.clock_gettime(time.CLOCK_BOOTTIME) + SPAN - due
    return answer.json()["id"], due, late_by


def jumping_clock_on(setup, server, clock, marks):
    link = Connection(server)
    server.start()
    promised = {}
    jumps = [0, 3600, 0, -3600, 0, 3600, -3600]
    for round_number, ahead in enumerate(jumps):
        if round_number in (3, 5):
            server.kill()  # the clock is set while nobody looks
            link.close()
            clock.set(ahead)
            server.start()
        else:
            clock.set(ahead)
        # The first at once: the server may not have noticed yet.
        for i in range(4):
            job, due, slack = submit_promised(setup, link, marks, clock, len(promised))
            promised[job] = (due, slack)
            time.sleep(0.4)
    def is_over():
        return all(view["phase"] in OVER for view in all_jobs(link) or [{"phase": ""}])
    wait_for(is_over, 90, "jobs do not end")
    views = {view["id"]: view for view in all_jobs(link)}
    answer = link.ask("GET", "/v1/log")
    server.stop()
    fold = LogFold(answer.body.decode())
    witness = Marks(marks)
    expect(not fold.wrong + witness.wrong, "; ".join((fold.wrong + witness.wrong)[:5]))
    expect(not fold.at_risk, f"promises at risk because of the clock: {sorted(fold.at_risk)}")
    expect(len(fold.clock_steps) >= len(jumps) - 1, f"{len(jumps) - 1} jumps, but {len(fold.clock_steps)} steps seen")
    started = {}
    for line in answer.body.decode().splitlines():
        entry = json.loads(line)
        if entry["type"] == "training_accepted":
            started[entry["payload"]["job"]] = entry["time"]
    least = SPAN
    for job, (due, slack) in promised.items():
        expect(views[job]["phase"] == "finished" and views[job]["met_deadline"], f"a promise was broken: {views[job]}")
        ends = [run[2] for key, run in witness.runs.items() if key[0] == job]
        expect(len(ends) == 1 and ends[0] is not None, f"job {job} ran {len(ends)} times")
        expect(ends[0] / 1e9 <= due + slack, f"job {job} ended {ends[0] / 1e9 - due:.1f} s after its deadline")
        least = min(least, due - ends[0] / 1e9)
        span = (fold.promises[job] - started[job]) / 1e9
        expect(abs(span - SPAN) <= 1 + slack, f"job {job} asked for {SPAN} s, its promise is {span:.3f} s away")
    with open(os.path.join(setup.folder, "clock", "log.jsonl"), "wb") as file:
        file.write(answer.body)
    replayed = replay(setup.weir, os.path.join(setup.folder, "clock", "log.jsonl"))
    expect(replayed is None or replayed[0], f"the log replayed is another one: {replayed and replayed[1]}")
    return [("jumps of the wall clock", ", ".join(f"{ahead:+d} s" for ahead in jumps[1:])),
            ("steps in the log", len(fold.clock_steps)),
            ("promises", f"{len(promised)}, all kept, half of them given as a time of the new clock"),
            ("least time to spare", f"{least:.1f} s of {SPAN} s"),
            ("replay", "not in this weir" if replayed is None else replayed[1])]
