#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a run of training jobs from its record log and the public inputs alone.

    tools/check_run.py --log run.jsonl[.gz] --jobs trace.csv.gz --curves DIR [--curves DIR...]
                       [--expect run.json] [--timelines all|none|N] [--json]

Shares no code with weir: it reads the trace and the throughput tables itself, works out from the
job_resized records who had which GPUs when, what every change cost and when each job was done, in
exact integers, and compares. The rules, by the name that a complaint carries:

    log        records follow each other in time; jobs are known; generations count up
    trace      jobs are accepted as the trace describes them, when it says
    curve      the curves the scheduler adopted are those of the tables
    cost       the header's rescale costs are the agreed ones
    answer     each job of the trace has exactly one answer; a refused job never runs (one that was
               planned provisionally may have run until then)
    block      blocks are aligned, inside the pool, inside one node unless made of whole nodes
    size       sizes are useful ones of the job's curve (edf, fifo and chronus: any measured one)
    space      blocks of different jobs are disjoint at every instant, and on nodes that are there
    change     a resize changes the GPUs
    ready      the scheduler knows when ranks were ready and what was left (job_observed)
    finish     a job ends when its work is done, to the nanosecond, and gets no GPUs afterwards
    deadline   a promise names the trace's deadline and is kept; only a lost node or a job slower
               than its curve excuses, and only if promise_at_risk told of it before the deadline
    timeline   steps ascend and end by the deadline, unless the promise is at risk; timelines of
               promised jobs are disjoint
    kept       a promised job has the block its timeline says, or one of at least that size
    plan       following its timeline from now on, every change at full price, a promised job is
               done by the timeline's end, also if it has other GPUs now and is sent back at once
               (not asked of jobs that are off their curve: the scheduler cannot know)
    expect     the counts are those of the simulator's own JSON (--expect)

The last part of timeline and all of plan are costly: they are checked after every N-th revision of a
timeline (default 50), at the end of that instant.

Exit code 0: all well, one line of counts. 1: rules are broken, one line each, up to 20. 2: an input
cannot be read.
"""
import argparse
import csv
import gzip
import heapq
import io
import json
import sys
from decimal import Decimal, InvalidOperation
from pathlib import Path

SECOND = 1_000_000_000
FEMTO = 1_000_000_000_000_000
MOST_COMPLAINTS = 20
ANY_MEASURED_SIZE = ("edf", "fifo", "chronus")
PROMISES_NOTHING = ("edf", "edf-knee", "fifo", "pollux")
PROMISES_BLINDLY = ("elasticflow", "edf-admission")  # their misses are a result, not a mistake
KEEPS_NO_TIMELINES = PROMISES_BLINDLY + ("chronus",)
PROVISIONAL = "planned_provisionally"  # an answer follows
MAY_RUN = ("promise_made", "job_unpromised", PROVISIONAL)


class Unreadable(Exception):
    """An input that cannot be checked at all."""


# ---- Inputs.

def open_text(path):
    try:
        raw = open(path, "rb")
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    if raw.peek(2)[:2] == b"\x1f\x8b":
        raw.close()
        raw = gzip.open(path)
    return io.TextIOWrapper(raw, encoding="utf-8", newline="")


def read_rows(path):
    """The rows of a CSV file, as lists."""
    try:
        with open_text(path) as text:
            return [row for row in csv.reader(text) if row]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise Unreadable(f"{path}: {error}") from error


def whole(text, scale, what):
    """A decimal times `scale`, rounded down."""
    try:
        return int(Decimal(text) * scale // 1)
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise Unreadable(f"{what} is {text!r}, expected a number") from error


class Curve:
    def __init__(self, points):
        self.rates = points  # by size; micro-iterations per second
        self.useful = []
        best = 0
        for size in sorted(points):
            if size & (size - 1) == 0 and points[size] > best:
                best = points[size]
                self.useful.append(size)


def read_curves(folder):
    """Curves by (model, global batch)."""
    curves = {}
    paths = sorted(p for p in Path(folder).glob("*.csv*") if p.name.endswith((".csv", ".csv.gz")))
    if not paths:
        raise Unreadable(f"{folder}: no throughput tables (<model>.csv) in this folder")
    for path in paths:
        rows = read_rows(path)
        if not rows or rows[0][0] != "global_batch_size":
            raise Unreadable(f"{path}: the first column is not global_batch_size")
        sizes = [whole(cell, 1, f"{path}: a size") for cell in rows[0][1:]]
        for row in rows[1:]:
            points = {}
            for size, cell in zip(sizes, row[1:]):
                if cell == "" or cell.lower() == "nan":
                    continue
                rate = whole(cell, 1_000_000, f"{path}: a rate")
                if rate > 0:
                    points[size] = rate
            batch = whole(row[0], 1, f"{path}: global_batch_size")
            curves[path.name.split(".csv")[0], batch] = Curve(points)
    return curves


class TraceJob:
    __slots__ = ("name", "submitted", "iterations", "key", "deadline", "gpus")


def read_trace(path):
    """Jobs by name."""
    rows = read_rows(path)
    if not rows:
        raise Unreadable(f"{path}: empty")

    def column(*names):
        for name in names:
            if name in rows[0]:
                return rows[0].index(name)
        raise Unreadable(f"{path}: no column {names[0]}")

    name, model, batch, gpus = (column(c) for c in ("job_id", "model_name", "batch_size", "num_gpu"))
    submitted = column("submission_time", "submit_time")
    iterations = column("num_iteration", "iteration", "real_iteration")
    deadline = column("deadline", "ddl")
    best_effort = rows[0].index("best_effort") if "best_effort" in rows[0] else None
    jobs = {}
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise Unreadable(f"{path}:{number}: {len(row)} cells, expected {len(rows[0])}")
        job = TraceJob()
        where = f"{path}:{number}:"
        job.name = row[name]
        job.submitted = whole(row[submitted], SECOND, f"{where} {rows[0][submitted]}")
        job.iterations = whole(row[iterations], 1, f"{where} {rows[0][iterations]}")
        job.key = row[model], whole(row[batch], 1, f"{where} batch_size")
        job.gpus = whole(row[gpus], 1, f"{where} num_gpu")
        job.deadline = None
        if best_effort is None or row[best_effort] != "1":
            job.deadline = whole(row[deadline], SECOND, f"{where} {rows[0][deadline]}")
        if job.name in jobs:
            raise Unreadable(f"{where} job_id {job.name} stands twice")
        jobs[job.name] = job
    return jobs


def read_log(path):
    """The header's payload, then each record."""
    last = None
    try:
        with open_text(path) as text:
            for number, line in enumerate(text, 1):
                try:
                    entry = json.loads(line)
                except ValueError as error:
                    if line.endswith("\n"):
                        raise Unreadable(f"{path}:{number}: not a JSON object") from error
                    raise Unreadable(f"{path}:{number}: the log was cut off after seq {last}") from error
                if not isinstance(entry, dict) or entry.get("schema") != 1:
                    raise Unreadable(f"{path}:{number}: not a record of schema 1")
                if number == 1:
                    if entry.get("type") != "log_header":
                        raise Unreadable(f"{path}:1: the first line is not a log_header")
                    yield entry["payload"]
                    continue
                if last is not None and entry["seq"] != last + 1:
                    raise Unreadable(f"{path}:{number}: seq {entry['seq']} follows {last}")
                last = entry["seq"]
                yield entry
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {error} (after seq {last})") from error
    except (KeyError, TypeError) as error:
        raise Unreadable(f"{path}: a record without {error}") from error


# ---- The cluster.

def ceil_to(value, step):
    return value if step == 0 else -(-value // step) * step


def mask_of(block):
    return ((1 << block[1]) - 1) << block[0]


class Pool:
    def __init__(self, described):
        self.name = described["name"]
        nodes, most, self.stride = (described[k] for k in ("nodes", "gpus_per_node", "stride"))
        self.node_gpus = described.get("node_gpus") or [most] * nodes
        self.slots = nodes * self.stride
        self.gpus = sum(self.node_gpus)
        self.exists = 0
        for node, gpus in enumerate(self.node_gpus):
            self.exists |= mask_of((node * self.stride, gpus))
        self.used = 0  # after the last instant
        self.closed = 0  # GPUs of lost nodes, or used by others
        self.foreign = {}  # by node: a mask
        self.is_sound = len(self.node_gpus) == nodes and self.stride >= max([1, *self.node_gpus])
        self.is_sound = self.is_sound and self.stride & (self.stride - 1) == 0

    def fault_of(self, block):
        """What is wrong with the block; nothing when it is right."""
        first, size = block
        if size & (size - 1) != 0:
            return f"{size} GPUs is no power of two"
        if first % size != 0:
            return f"first GPU {first} is no multiple of the size {size}"
        if first < 0 or first + size > self.slots:
            return f"GPUs {first}..{first + size - 1} are outside the pool's {self.slots}"
        if mask_of(block) & ~self.exists:
            return f"GPUs {first}..{first + size - 1} do not all exist"
        most = max(self.node_gpus)
        if size <= most and first // self.stride != (first + size - 1) // self.stride:
            return f"{size} GPUs from {first} straddle a node of {most}"
        return None


class Job:
    """A job as the log tells of it, and what it must have done."""
    __slots__ = ("id", "trace", "pool", "curve", "speed", "answer", "promised", "block", "generation",
                 "left", "rate", "ready", "finish", "released", "cancelled", "steps", "end", "version",
                 "at_risk", "warned", "lost_node_at")

    def left_at(self, now):
        if self.finish is not None and now >= self.finish:
            return 0
        return self.left - self.rate * max(0, now - self.ready) if self.block[1] else self.left


NONE = (0, 0)


# ---- The rules.

class Checker:
    def __init__(self, header, trace, books, timelines):
        self.trace = trace
        self.timelines = timelines
        self.complaints = []
        self.total_complaints = 0
        self.now = None
        self.read_header(header, books)
        self.jobs = {}
        self.by_name = {}
        self.changed = {}  # jobs resized or released at this instant, with the block before
        self.touched = set()  # promised jobs to be compared with their timelines after this instant
        self.due = []  # (time, job, version): timelines change
        self.known_groups = set()
        self.promised = {}  # active promised jobs with a timeline
        self.refused_now = []
        self.not_promised_any_more = {}  # timelines that do not meet the deadline: the user must be told
        self.had_failures = self.nodes_changed = False
        self.ignored_at = {}
        self.revisions = 0
        self.sweeps = 0
        self.next_sweep = 0
        self.records = 0
        self.rescales = 0

    def read_header(self, header, books):
        try:
            self.policy = header["policy"]
            self.workload = header["workload"]
            self.pools = [Pool(described) for described in header["cluster"]["pools"]]
            self.slot = round(Decimal(str(header["slot_s"])) * SECOND)
            rescale = [round(Decimal(str(header["rescale"][k])) * SECOND) for k in ("base_s", "per_doubling_s")]
            speed = header.get("speed", 1000)
        except (KeyError, TypeError, InvalidOperation) as error:
            raise Unreadable(f"the log's header has no usable {error}") from error
        if isinstance(speed, dict):
            self.speed, self.speed_of = speed.get("permille", 1000), speed.get("jobs", {})
        else:
            self.speed, self.speed_of = speed, {}
        for pool in self.pools:
            if not pool.is_sound:
                raise Unreadable(f"the log's header: pool {pool.name} has nodes that do not fit its stride")
        self.gpus = sum(pool.gpus for pool in self.pools)
        self.base = (7 if self.gpus >= 256 else 2) * SECOND
        self.per_doubling = 2 * SECOND
        if rescale != [self.base, self.per_doubling]:
            self.complain("cost", None, f"the header says {rescale} ns, {self.gpus} GPUs pay "
                          f"{[self.base, self.per_doubling]}")
        with_gpus = [i for i, pool in enumerate(self.pools) if pool.gpus > 0]
        self.curves = {pool: books[min(i, len(books) - 1)] for i, pool in enumerate(with_gpus)}

    def complain(self, rule, job, what, at=None):
        self.total_complaints += 1
        if len(self.complaints) >= MOST_COMPLAINTS:
            return
        time = self.now if at is None else at
        when = "start" if time is None else f"{time // SECOND}.{time % SECOND:09}"
        who = "-" if job is None else f"job {job}"
        if isinstance(job, Job):
            who = f"job {job.id} ({job.trace.name if job.trace else 'not in the trace'})"
        self.complaints.append(f"{when} {who}: {rule}: {what}")

    def full_cost(self, size):
        return self.base + self.per_doubling * size.bit_length()

    # -- Records.

    def take(self, entry):
        time, kind, payload = entry["time"], entry["type"], entry["payload"]
        self.records += 1
        if self.now is None or time > self.now:
            if self.now is not None:
                self.end_instant()
                self.pass_time(time)
            self.now = time
        elif time < self.now:
            self.complain("log", None, f"seq {entry['seq']} is of {time} ns, before {self.now} ns")
        handler = self.HANDLERS.get(kind)
        if handler is None:
            raise Unreadable(f"seq {entry['seq']}: records of type {kind} are not checked by this program")
        handler(self, payload, entry["reason"]["code"])

    def job_of(self, payload, kind):
        job = self.jobs.get(payload["job"])
        if job is None:
            self.complain("log", payload["job"], f"{kind} for a job that was never accepted")
        return job

    def curve_adopted(self, payload, _):
        key = payload["key"]["model"], payload["key"]["global_batch"]
        curve = self.curves.get(payload["pool"], {}).get(key)
        points = {size: rate for size, rate in payload["curve"]["points"]}
        if curve is None or points != curve.rates:
            self.complain("curve", None, f"{key[0]} with batch {key[1]} is adopted as {points}, the table has "
                          f"{curve.rates if curve else 'none'}")

    def training_accepted(self, payload, _):
        spec = payload["spec"]
        job = Job()
        job.id = payload["job"]
        job.trace = self.trace.get(spec["name"])
        job.pool = payload["pool"]
        job.answer = None
        job.promised = job.cancelled = job.at_risk = False
        job.lost_node_at = None
        job.block, job.rate, job.ready, job.generation = NONE, 0, self.now, 0
        job.finish = job.released = job.steps = job.end = job.warned = None
        job.version = 0
        if job.id in self.jobs:
            self.complain("log", job.id, "accepted twice")
        self.jobs[job.id] = job
        key = spec["curve"]["model"], spec["curve"]["global_batch"]
        job.speed = self.speed_of.get(spec["name"], self.speed)
        if job.trace is None:
            self.complain("trace", job.id, f"accepted as {spec['name']}, which the trace does not have")
            job.left = spec["iterations"] * FEMTO
        else:
            job.left = job.trace.iterations * FEMTO
            if spec["name"] in self.by_name:
                self.complain("answer", job, "was accepted before under another id")
            self.by_name[spec["name"]] = job
            self.compare_with_trace(job, spec, key)
        job.curve = self.curves.get(job.pool, {}).get(job.trace.key if job.trace else key)
        if job.curve is None:
            self.complain("curve", job, f"pool {job.pool} has no curve of {key[0]} with batch {key[1]}")
            job.curve = Curve({})

    def compare_with_trace(self, job, spec, key):
        trace = job.trace
        deadline = None if spec["deadline_kind"] == "none" else spec["deadline"]
        told = {"iterations": spec["iterations"], "model and batch": key, "deadline": deadline,
                "GPUs": spec["asked_gpus"], "time of arrival": self.now}
        true = {"iterations": trace.iterations, "model and batch": trace.key, "deadline": trace.deadline,
                "GPUs": trace.gpus, "time of arrival": ceil_to(trace.submitted, self.slot)}
        for what, value in told.items():
            if value != true[what]:
                self.complain("trace", job, f"accepted with {what} {value}, the trace has {true[what]}")

    def answered(self, payload, kind):
        job = self.job_of(payload, kind)
        if job is None:
            return None
        if job.answer not in (None, PROVISIONAL):
            self.complain("answer", job, f"{kind} after {job.answer}")
        job.answer = kind
        if kind in ("promise_refused", "job_unpromised"):
            self.promised.pop(job.id, None)
            job.version += 1
        return job

    def planned_provisionally(self, payload, _):
        job = self.answered(payload, PROVISIONAL)
        if job is not None:
            self.new_timeline(job, payload["timeline"])

    def promise_made(self, payload, _):
        job = self.answered(payload, "promise_made")
        if job is None:
            return
        job.promised = True
        deadline = job.trace.deadline if job.trace else None
        if payload["deadline"] != deadline:
            self.complain("deadline", job, f"promised by {payload['deadline']} ns, the trace has {deadline}")
        self.new_timeline(job, payload["timeline"])

    def promise_refused(self, payload, _):
        job = self.answered(payload, "promise_refused")
        if job is not None and job.block[1]:
            self.refused_now.append(job)

    def job_unpromised(self, payload, _):
        self.answered(payload, "job_unpromised")

    def timeline_revised(self, payload, reason):
        job = self.job_of(payload, "timeline_revised")
        if job is None:
            return
        if job.released is not None or job.answer not in ("promise_made", PROVISIONAL):
            self.complain("timeline", job, "a timeline for a job without a promise to keep")
            return
        if reason == "back_on_plan":
            job.at_risk = False
        self.new_timeline(job, payload["timeline"])

    def new_timeline(self, job, timeline):
        steps, end = timeline["steps"], timeline["end"]
        self.not_promised_any_more.pop(job.id, None)
        if not steps:
            if self.policy not in KEEPS_NO_TIMELINES:
                self.not_promised_any_more[job.id] = "a promise without a timeline"
            self.promised.pop(job.id, None)
            job.version += 1
            return
        self.revisions += 1
        before = None
        pool = self.pools[job.pool]
        for start, first, size in steps:
            if before is not None and start <= before:
                self.complain("timeline", job, f"a step at {start} ns follows one at {before} ns")
            before = start
            if size:
                self.check_block(job, pool, (first, size), "in its timeline ")
        if end <= before:
            self.complain("timeline", job, f"ends at {end} ns, before its last step")
        if job.trace and job.trace.deadline is not None and end > ceil_to(job.trace.deadline, self.slot):
            self.not_promised_any_more[job.id] = f"ends at {end} ns, after the deadline {job.trace.deadline} ns"
        job.steps, job.end = steps, end
        job.version += 1
        self.promised[job.id] = job
        self.touched.add(job.id)
        self.push_due(job, self.now)

    def check_block(self, job, pool, block, where=""):
        fault = pool.fault_of(block)
        if fault is not None:
            self.complain("block", job, where + fault)
        sizes = job.curve.rates if self.policy in ANY_MEASURED_SIZE else job.curve.useful
        if block[1] not in sizes:
            self.complain("size", job, f"{where}has {block[1]} GPUs, its curve has {sorted(sizes)}")

    def job_resized(self, payload, reason):
        job = self.job_of(payload, "job_resized")
        if job is None:
            return
        if reason == "node_lost":
            job.lost_node_at = self.now
        block = payload["block"]["first"], payload["block"]["size"]
        if block[1] == 0:
            block = NONE
        if job.answer not in MAY_RUN and (block[1] or not job.block[1]):
            self.complain("answer", job, f"gets {block[1]} GPUs, but the answer was {job.answer or 'not given yet'}")
        if payload["generation"] != job.generation + 1:
            self.complain("log", job, f"generation {payload['generation']} follows {job.generation}")
        job.generation = payload["generation"]
        if block == job.block:
            self.complain("change", job, f"resized to the GPUs it has ({block[1]} from {block[0]})")
        self.changed.setdefault(job.id, job.block)
        self.touched.add(job.id)
        is_over = job.finish is not None and self.now >= job.finish
        if job.released is not None or (is_over and self.slot == 0):
            self.complain("finish", job, f"resized after its end ({job.finish} ns)")
        if not is_over:
            job.left = job.left_at(self.now)
        job.block = block
        if block[1] == 0:
            if not is_over:
                job.finish = None
            return
        self.rescales += 1
        self.check_block(job, self.pools[job.pool], block)
        group = (job.pool, *block)
        cost = self.base if group in self.known_groups else self.full_cost(block[1])
        self.known_groups.add(group)
        if is_over:
            return
        job.ready = self.now + cost
        job.rate = job.curve.rates.get(block[1], 0) * job.speed // 1000
        job.finish = job.ready - (-job.left // job.rate) if job.rate else None

    def job_observed(self, payload, _):
        job = self.job_of(payload, "job_observed")
        if job is not None and job.lost_node_at == self.now:  # what it had not saved is lost, and only that
            if int(payload["left"]) < job.left:
                self.complain("ready", job, f"has {payload['left']} femto-iterations left after a node was lost, {job.left} before")
            job.left = int(payload["left"])
            return
        if job is None or job.speed != 1000:  # a job that is off its curve is known only roughly
            return
        if payload["ready_at"] != job.ready:
            self.complain("ready", job, f"makes progress from {payload['ready_at']} ns as observed, {job.ready} ns "
                          "as its GPUs cost")
        left = job.left_at(self.now)
        if payload["left"] != str(left):
            self.complain("ready", job, f"has {payload['left']} femto-iterations left as observed, {left} as worked out")

    def job_released(self, payload, reason):
        job = self.job_of(payload, "job_released")
        if job is None:
            return
        if job.released is not None:
            self.complain("finish", job, "released twice")
            return
        job.released = self.now
        job.cancelled = reason == "cancelled"
        if not job.cancelled:
            due = None if job.finish is None else ceil_to(job.finish, self.slot)
            if due != self.now:
                self.complain("finish", job, f"released at {self.now} ns, its work is done at {due} ns")
        self.changed.setdefault(job.id, job.block)
        job.block = NONE
        self.promised.pop(job.id, None)
        job.version += 1

    def event_ignored(self, _, reason):
        if reason == "malformed":
            self.ignored_at[self.now] = self.ignored_at.get(self.now, 0) + 1

    def promise_at_risk(self, payload, _):
        job = self.job_of(payload, "promise_at_risk")
        if job is None:
            return
        job.at_risk = True
        if job.warned is None:
            job.warned = self.now
        if not self.had_failures and job.speed >= 1000:
            self.complain("deadline", job, "its promise is at risk, and no node was lost and it is not slow")

    def pool_node_closed(self, payload, _):
        self.had_failures = True
        pool = self.pools[payload["pool"]]
        pool.closed |= mask_of((payload["node"] * pool.stride, pool.stride))
        self.nodes_changed = True

    def pool_node_opened(self, payload, _):
        pool = self.pools[payload["pool"]]
        pool.closed &= ~mask_of((payload["node"] * pool.stride, pool.stride))

    def foreign_use_known(self, payload, _):
        # The nodes of a pool are few; what is not a GPU or not up is closed by other records.
        self.had_failures = True
        pool = self.pools[payload["pool"]]
        first = payload["node"] * pool.stride
        pool.closed &= ~(pool.foreign.get(payload["node"], 0) << first)
        pool.foreign[payload["node"]] = payload["gpus"]
        pool.closed |= payload["gpus"] << first
        self.nodes_changed = True

    HANDLERS = {f.__name__: f for f in (curve_adopted, training_accepted, promise_made, promise_refused,
                                        job_unpromised, timeline_revised, job_resized, job_observed,
                                        job_released, event_ignored, promise_at_risk,
                                        planned_provisionally, pool_node_closed, pool_node_opened,
                                        foreign_use_known)}

    # -- After the last record of an instant.

    def end_instant(self):
        if self.changed or self.nodes_changed:
            self.check_space()
        for id, what in self.not_promised_any_more.items():
            if not self.jobs[id].at_risk:
                self.complain("timeline", self.jobs[id], what)
        self.not_promised_any_more.clear()
        for job in self.refused_now:
            if job.block[1]:
                self.complain("answer", job, f"was refused and still has {job.block[1]} GPUs")
        self.refused_now.clear()
        now = self.now
        while self.due and self.due[0][0] <= now:
            self.touch_due()
        for id in self.touched:
            self.check_kept(self.jobs[id], now)
        self.touched.clear()
        if self.timelines and self.revisions >= self.next_sweep and self.promised:
            self.next_sweep = self.revisions + self.timelines
            self.check_timelines()

    def check_space(self):
        for id, before in self.changed.items():
            if before[1]:
                self.pools[self.jobs[id].pool].used &= ~mask_of(before)
        for id in self.changed:
            job = self.jobs[id]
            if job.block[1] == 0:
                continue
            pool, mask = self.pools[job.pool], mask_of(job.block)
            if pool.used & mask:
                others = [str(o.id) for o in self.jobs.values() if o is not job and o.pool == job.pool
                          and o.block[1] and mask_of(o.block) & mask]
                self.complain("space", job, f"GPUs {job.block[0]}..{sum(job.block) - 1} are also those of job "
                              f"{', '.join(others) or '?'}")
            pool.used |= mask
        for pool in self.pools:
            if pool.used.bit_count() > pool.gpus:
                self.complain("space", None, f"{pool.used.bit_count()} GPUs of {pool.name} are in use, it has {pool.gpus}")
            if pool.used & pool.closed:
                self.complain("space", None, f"GPUs of lost nodes of {pool.name} are in use")
        self.changed.clear()
        self.nodes_changed = False

    def push_due(self, job, after):
        for start, _, _ in job.steps:
            if start > after:
                heapq.heappush(self.due, (start, job.id, job.version))
                return
        if job.end > after and self.slot == 0:
            heapq.heappush(self.due, (job.end, job.id, job.version))

    def touch_due(self):
        time, id, version = heapq.heappop(self.due)
        job = self.jobs[id]
        if job.version == version and job.released is None:
            self.touched.add(id)
            self.push_due(job, time)
        return time

    # Steps of timelines between two instants: nothing was recorded, so nothing may have been needed.
    def pass_time(self, until):
        while self.due and self.due[0][0] < until:
            time = self.touch_due()
            for id in self.touched:
                self.check_kept(self.jobs[id], time)
            self.touched.clear()

    @staticmethod
    def step_at(job, time):
        at = -1
        for start, _, _ in job.steps:
            if start > time:
                break
            at += 1
        return at

    def planned_block(self, job, time):
        at = self.step_at(job, time)
        if at < 0 or time >= job.end or job.steps[at][2] == 0:
            return NONE
        return job.steps[at][1], job.steps[at][2]

    def check_kept(self, job, time):
        if job.id not in self.promised or job.at_risk:
            return
        if time >= job.end and self.slot == 0:
            if job.speed >= 1000:
                self.complain("kept", job, f"its timeline ended at {job.end} ns and it is not done", time)
            return
        planned = self.planned_block(job, time)
        if job.block != planned and job.block[1] < planned[1]:
            self.complain("kept", job, f"has {job.block[1]} GPUs from {job.block[0]}, its timeline says {planned[1]} "
                          f"from {planned[0]}", time)

    def check_timelines(self):
        self.sweeps += 1
        now = self.now
        for index in self.curves:
            events = []
            for job in self.promised.values():
                if job.pool != index:
                    continue
                steps, last = job.steps, len(job.steps) - 1
                for i, (start, first, size) in enumerate(steps):
                    end = job.end if i == last else steps[i + 1][0]
                    if size and end > now:
                        mask = ((1 << size) - 1) << first
                        events.append((max(start, now), 1, mask, job.id))
                        events.append((end, 0, mask, job.id))
            events.sort()
            used = 0
            for time, is_start, mask, id in events:
                if not is_start:
                    used &= ~mask
                    continue
                if used & mask:
                    self.complain("timeline", self.jobs[id], f"from {time} ns it has GPUs that another timeline has too")
                used |= mask
        for job in self.promised.values():
            if not job.at_risk and job.speed == 1000 and job.trace:
                self.check_plan(job)

    def check_plan(self, job):
        now = self.now
        left = job.left_at(now)
        at = self.step_at(job, now)
        block = self.planned_block(job, now)
        if job.block == block:
            paid = max(now, job.ready)
        else:
            paid = now + self.full_cost(block[1]) if block[1] else now
        time = now
        steps = job.steps
        # With slots the GPUs are given back at the end of one; the work is done before.
        last = job.end if job.trace.deadline is None else min(job.end, job.trace.deadline)
        while True:
            until = steps[at + 1][0] if at + 1 < len(steps) else last
            if block[1]:
                rate = job.curve.rates.get(block[1], 0) * job.speed // 1000
                left -= rate * max(0, until - max(time, paid))
            if left <= 0:
                return
            at += 1
            if at >= len(steps):
                break
            time = until
            after = (steps[at][1], steps[at][2]) if steps[at][2] else NONE
            if after != block:
                block = after
                paid = time + self.full_cost(block[1])
        where = "on its way" if job.block == self.planned_block(job, now) else "sent back to its timeline"
        self.complain("plan", job, f"{where}, it has {left} femto-iterations left at the timeline's end {job.end} ns")

    # -- After the last record.

    def finish(self):
        if self.now is not None:
            self.end_instant()
        for name, trace in self.trace.items():
            job = self.by_name.get(name)
            if job is None:
                told = ceil_to(trace.submitted, self.slot)
                is_too_late = trace.deadline is not None and told >= trace.deadline
                if not (is_too_late and self.ignored_at.get(told, 0) > 0):
                    self.complain("answer", name, "is in the trace and not in the log", told)
            elif job.answer is None or (job.answer == PROVISIONAL and job.released is None):
                self.complain("answer", job, "was accepted and got no answer")
        for job in self.jobs.values():
            self.check_end(job)
        return self.counts()

    def check_end(self, job):
        if job.cancelled:
            return
        if job.released is None and job.finish is not None:
            self.complain("finish", job, f"is done at {job.finish} ns and was never released", job.finish)
        if not job.promised or self.policy in PROMISES_BLINDLY or not job.trace:
            return
        deadline = job.trace.deadline
        was_told = job.warned is not None and deadline is not None and job.warned < deadline
        if job.released is None:
            self.complain("deadline", job, "was promised and never finished")
        elif deadline is not None and job.finish is not None and job.finish > deadline and not (
                was_told and (self.had_failures or job.speed < 1000)):
            self.complain("deadline", job, f"ended at {job.finish} ns, promised by {deadline} ns", job.finish)

    def counts(self):
        promises = self.policy not in PROMISES_NOTHING
        met = lucky = admitted = missed = finished = 0
        total = 0
        for job in self.jobs.values():
            if not job.trace:
                continue
            done = job.released is not None and not job.cancelled and job.finish is not None
            on_time = done and job.trace.deadline is not None and job.finish <= job.trace.deadline
            admitted += job.promised
            met += on_time and (job.promised or not promises)
            lucky += on_time and promises and not job.promised
            missed += job.promised and not on_time
            if done:
                finished += 1
                total += job.finish - job.trace.submitted
        mean = float(Decimal(total) / SECOND / finished) if finished else None
        return {"policy": self.policy, "jobs": len(self.trace), "met": met, "met_without_promise": lucky,
                "admitted": admitted, "missed_after_admission": missed, "finished": finished,
                "rescales": self.rescales, "mean_jct_s": mean}

    def compare(self, counts, path):
        entry = expected_entry(path, self.policy, self.workload)
        for key in ("jobs", "met", "met_without_promise", "admitted", "missed_after_admission", "finished",
                    "rescales", "mean_jct_s"):
            told = entry.get(key)
            if told is None:  # a policy without promises admits nobody
                continue
            same = told == counts[key]
            if key == "mean_jct_s" and counts[key] is not None:
                same = abs(told - counts[key]) <= max(1e-6 * counts[key], 6e-5)  # JSON has 4 decimals
            if not same:
                self.complain("expect", None, f"{key} is {told} in {path}, {counts[key]} in the log")


def expected_entry(path, policy, workload):
    try:
        with open_text(path) as text:
            document = json.load(text)
    except (OSError, EOFError, ValueError) as error:
        raise Unreadable(f"{path}: {error}") from error
    runs = document.get("runs", document) if isinstance(document, dict) else document
    runs = [run for run in (runs if isinstance(runs, list) else [runs])
            if isinstance(run, dict) and run.get("policy") == policy]
    if len(runs) > 1:
        title = Path(workload).name.split(".")[0]
        runs = [run for run in runs if workload == run.get("jobs_file") or title == run.get("workload")]
    if len(runs) != 1:
        raise Unreadable(f"{path}: {len(runs)} runs of policy {policy} on {workload}, expected one")
    return runs[0]


def sampling(text):
    if text in ("all", "none"):
        return 1 if text == "all" else 0
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("write all, none or a number from 1 up")
    return int(text)


def check(arguments):
    books = [read_curves(folder) for folder in arguments.curves]
    trace = read_trace(arguments.jobs)
    log = read_log(arguments.log)
    header = next(log, None)
    if header is None:
        raise Unreadable(f"{arguments.log}: empty")
    checker = Checker(header, trace, books, arguments.timelines)
    try:
        for entry in log:
            checker.take(entry)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise Unreadable(f"{arguments.log}: after {checker.records} records: "
                         f"{type(error).__name__} {error} in a payload") from error
    counts = checker.finish()
    if arguments.expect:
        checker.compare(counts, arguments.expect)
    return checker, counts


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--log", required=True, help="the record log, plain or gzip")
    parser.add_argument("--jobs", required=True, help="the trace the run was made from")
    parser.add_argument("--curves", required=True, action="append", help="folder of throughput tables; once per pool")
    parser.add_argument("--expect", help="the simulator's JSON, to compare the counts")
    parser.add_argument("--timelines", type=sampling, default=50,
                        help="compare all timelines after every N-th revision: all, none or N (default 50)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    arguments = parser.parse_args(words)
    try:
        checker, counts = check(arguments)
    except Unreadable as error:
        print(f"check_run: {error}", file=sys.stderr)
        return 2
    for complaint in checker.complaints:
        print(f"check_run: {complaint}", file=sys.stderr)
    if checker.total_complaints > len(checker.complaints):
        print(f"check_run: and {checker.total_complaints - len(checker.complaints)} more", file=sys.stderr)
    if arguments.json:
        print(json.dumps({**counts, "records": checker.records, "violations": checker.total_complaints}))
    elif not checker.complaints:
        print(f"check_run: {checker.records} records, {checker.sweeps} times all timelines: all rules hold; "
              + ", ".join(f"{key} {value}" for key, value in counts.items()))
    return 1 if checker.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
