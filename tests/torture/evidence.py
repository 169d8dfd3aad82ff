# SPDX-License-Identifier: Apache-2.0
"""What the record log says, what the processes left behind, and whether both agree."""
import datetime
import json
import os
import subprocess


def wall_ns(text):
    """2026-11-15T12:45:25.789893012Z -> nanoseconds."""
    whole, _, rest = text.rstrip("Z").partition(".")
    at = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc)
    return int(at.timestamp()) * 10**9 + int((rest + "0" * 9)[:9] if rest else 0)


class LogFold:
    """Follows a record log line by line and complains about what must not follow from anything."""

    def __init__(self, text):
        self.wrong = []
        self.names = {}
        self.promises = {}
        self.at_risk = set()
        self.refused = set()
        self.released = set()
        self.blocks = {}  # (job, generation) -> slots
        self.holds = {}  # job -> slots, now
        self.generation = {}
        self.clock_steps = []
        self.records = 0
        self.events = 0
        self.resizes = 0
        self.last_time = 0
        for number, line in enumerate(text.splitlines()):
            if number == 0:
                self.header = json.loads(line)
                continue
            entry = json.loads(line)
            if entry["time"] < self.last_time:
                self.complain(entry, "time goes back")
            self.last_time = entry["time"]
            if "seq" not in entry:
                self.end_of_decision(entry)
                self.events += 1
                continue
            self.records += 1
            if entry["seq"] != self.records:
                self.complain(entry, f"record {self.records} was expected")
            follow = getattr(self, "on_" + entry["type"], None)
            if follow:
                follow(entry, entry["payload"])
        self.end_of_decision({"seq": self.records + 1})

    def complain(self, entry, text):
        self.wrong.append(f"log, record {entry.get('seq', 'none')}: {text}: {json.dumps(entry)[:300]}")

    def end_of_decision(self, entry):
        taken = {}
        for job, slots in self.holds.items():
            for slot in slots:
                if slot in taken:
                    self.complain(entry, f"jobs {taken[slot]} and {job} have slot {slot} before this")
                taken[slot] = job

    def on_training_accepted(self, entry, what):
        if what["job"] != len(self.names) + 1:
            self.complain(entry, f"job {len(self.names) + 1} was expected")
        self.names[what["job"]] = what["spec"]["name"]

    def on_promise_made(self, entry, what):
        job = what["job"]
        if job in self.promises:
            self.complain(entry, f"a second promise; the first was {self.promises[job]}")
        if job in self.released or job in self.refused:
            self.complain(entry, "a promise to a job that is over")
        self.promises[job] = what["deadline"]

    def on_promise_refused(self, entry, what):
        if what["job"] in self.promises:
            self.complain(entry, "refused after a promise")
        self.refused.add(what["job"])

    def on_job_unpromised(self, entry, what):
        if what["job"] in self.promises:
            self.complain(entry, "a promise was withdrawn")

    def on_promise_at_risk(self, _entry, what):
        self.at_risk.add(what["job"])

    def on_job_resized(self, entry, what):
        job, generation, block = what["job"], what["generation"], what["block"]
        if job in self.released:
            self.complain(entry, "resized after its end")
        if generation <= self.generation.get(job, 0):
            self.complain(entry, f"generation {self.generation[job]} was there before")
        self.generation[job] = generation
        slots = range(block["first"], block["first"] + block["size"])
        self.blocks[job, generation] = slots
        self.holds[job] = slots
        self.resizes += 1

    def on_job_interrupted(self, _entry, what):
        self.holds.pop(what["job"], None)

    def on_job_released(self, entry, what):
        if what["job"] in self.released:
            self.complain(entry, "released twice")
        self.released.add(what["job"])
        self.holds.pop(what["job"], None)

    def on_clock_step_seen(self, entry, what):
        self.clock_steps.append((entry["time"], what))

    def compare(self, ledger, known_at):
        """With what clients were told before that time."""
        with ledger.lock:
            for job, known in ledger.known.items():
                if known.seen_at >= known_at:
                    continue
                if self.names.get(job) != known.fixed["name"]:
                    self.wrong.append(f"job {job} is {self.names.get(job)!r} in the log, {known.fixed['name']!r} before")
                if known.promised_at is not None and known.promised_at < known_at:
                    promised = wall_ns(known.fixed["deadline"])
                    if self.promises.get(job) != promised:
                        self.wrong.append(f"job {job}: promised {promised}, but the log has {self.promises.get(job)}")
                if known.over_at is not None and known.over_at < known_at:
                    is_there = job in (self.refused if known.final["phase"] == "refused" else self.released)
                    if not is_there:
                        self.wrong.append(f"job {job} is {known.final['phase']}, but not in the log")


class Marks:
    """Who ran when, by the processes' own word."""

    def __init__(self, folder):
        self.wrong = []
        self.runs = {}  # (job, generation, rank) -> [pid, begin, end or None, code, devices]
        self.again_after_success = 0
        self.killed = 0
        try:
            with open(os.path.join(folder, "marks")) as file:
                lines = file.read().splitlines()
        except OSError:
            lines = []
        for line in lines:
            what, job, generation, rank, pid, at, last = line.split(" ")
            key = (int(job), int(generation), int(rank or 0))
            if what == "clash":
                self.wrong.append(f"job {job} runs twice at once: {line}")
            elif what == "begin":
                if key in self.runs:
                    self.wrong.append(f"job {job}: generation {generation} was started twice: {line}")
                self.runs[key] = [int(pid), int(at), None, None, last]
            elif what == "end":
                run = self.runs.get(key)
                if run is None or run[0] != int(pid) or run[2] is not None:
                    self.wrong.append(f"an end without a beginning: {line}")
                else:
                    run[2], run[3] = int(at), int(last)
        self.check_jobs()

    def check_jobs(self):
        by_job = {}
        for key, run in self.runs.items():
            by_job.setdefault(key[0], []).append((run[1], key, run))
            self.killed += run[2] is None
        for job, runs in by_job.items():
            runs.sort()
            for i, (_, key, run) in enumerate(runs):
                later = [(k, r) for _, k, r in runs[i + 1:] if k[1] != key[1]]
                for other_key, other in later:
                    # One that was killed has no end; the lock is its witness.
                    if run[2] is not None and other[1] < run[2]:
                        self.wrong.append(f"job {job}: generations {key[1]} and {other_key[1]} ran at the same time")
                if run[3] == 0 and later:
                    self.again_after_success += 1

    def check_slots(self, fold):
        """Two jobs never had the same slot, and each saw the devices it was given."""
        by_slot = {}
        for (job, generation, rank), run in self.runs.items():
            slots = fold.blocks.get((job, generation))
            if slots is None:
                self.wrong.append(f"job {job} ran generation {generation}, which nobody decided")
                continue
            per_node = fold.header["payload"]["cluster"]["pools"][0]["stride"]
            devices = ",".join(str(slot % per_node) for slot in slots)
            if devices != run[4]:
                self.wrong.append(f"job {job}, generation {generation}: has devices {run[4]}, was given {devices}")
            if run[2] is None:
                continue
            for slot in slots:
                by_slot.setdefault(slot, []).append((run[1], run[2], job, generation, rank))
        for slot, uses in by_slot.items():
            uses.sort()
            for a, b in zip(uses, uses[1:]):
                if b[0] < a[1] and a[2:4] != b[2:4]:
                    self.wrong.append(f"slot {slot}: job {a[2]}.{a[3]} and job {b[2]}.{b[3]} had it at the same time")


def replay(weir, log_file):
    """Whether the same decisions are made again. None: this weir cannot say."""
    known = subprocess.run([weir, "trace", "replay", "--help"], capture_output=True, text=True)
    if known.returncode != 0:
        return None
    done = subprocess.run([weir, "trace", "replay", log_file], capture_output=True, text=True)
    return done.returncode == 0, (done.stdout + done.stderr).strip()
