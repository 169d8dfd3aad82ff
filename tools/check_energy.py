#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the energy and carbon of a run of training jobs from its record log and the public inputs alone.

    tools/check_energy.py --log run.jsonl[.gz] --jobs trace.csv.gz --curves DIR --intensity series.csv.gz --day 2021-07-14
                          [--expect result.json] [--cap-watts W] [assumptions, see --help]

Shares no code with weir: it reads trace, throughput tables and intensity itself, works out the table of power by size and
clock from the formulas of docs/models/energy.md, plays the job_resized and clock_set records in exact integers, and
adds up what the site drew. The rules, by the name that a complaint carries:

    log        records follow each other in time; jobs are known; every job of the trace is accepted, with its work
    space      no GPU has two jobs, none is used that does not exist
    size       sizes are useful ones of the job's curve
    clock      a clock is one of the table, never below the one of least energy; the rate that goes with it is the table's
    finish     a job is released exactly when its work is done, at its rates by size and clock and the prices of changes
    done       every job that was not refused is done
    cap        the site never draws more than --cap-watts
    power      the site's power over time is what weir reports, to 1e-9
    carbon     carbon of every hour and in all is what weir reports, to 1e-9

The last two with --expect: {"units": g, "site_kwh": kWh, "peak_watts": W, "end_ns": ns, "trace": [[ns, W], ...]}. The first job of the
trace comes at 00:00 UTC of --day.

Exit code 0: all well, one line of figures. 1: rules are broken, one line each, up to 20. 2: an input cannot be read.
"""
import argparse
import json
import math
import sys
from datetime import datetime, timedelta, timezone

from check_run import FEMTO, MOST_COMPLAINTS, NONE, SECOND, Pool, Unreadable, ceil_to, mask_of, read_curves, read_log, read_rows, read_trace

HOUR = 3600 * SECOND
CLOSE = 1e-9
ALL = 1_000_000


# ---- What jobs draw: docs/models/energy.md, "The book a scheduler uses".

class PowerTables:
    def __init__(self, curves, a):
        self.assumed = a
        lines = {model: self.compute_line(curves, model) for model, _ in curves}
        self.points = {}  # (model, batch) -> {(gpus, clock permille): (micro-iterations per second, milliwatts)}
        for (model, batch), curve in curves.items():
            table = self.points[model, batch] = {}
            for size in curve.useful:
                table.update(self.of_size(lines[model], batch, size, curve.rates[size], size == curve.useful[0]))

    @staticmethod
    def compute_line(curves, model):
        """Iteration time at the least size over the batch of a GPU: a0 + s b, neither below 0."""
        points = [(batch / curve.useful[0], 1e6 / curve.rates[curve.useful[0]])
                  for (name, batch), curve in sorted(curves.items()) if name == model and curve.useful]
        n, sb, st = len(points), sum(b for b, _ in points), sum(t for _, t in points)
        sbb, sbt = sum(b * b for b, _ in points), sum(b * t for b, t in points)
        spread = n * sbb - sb * sb
        if spread > 0:
            slope = (n * sbt - sb * st) / spread
            fixed = (st - slope * sb) / n
            if slope < 0:
                return st / n, 0.0
            if fixed >= 0:
                return fixed, slope
        return 0.0, sbt / sbb if sbb else 0.0

    def of_size(self, line, batch, size, rate, is_least):
        a = self.assumed
        seconds = 1e6 / rate
        fixed = min(line[0], seconds)
        compute = seconds - fixed if is_least else min(line[1] * batch / size, seconds - fixed)
        sync = seconds - fixed - compute
        levels = sorted({a.lowest_clock + (2 * (1000 - a.lowest_clock) * i + a.clock_levels - 1) // (2 * (a.clock_levels - 1))
                         for i in range(a.clock_levels)} | {1000}, reverse=True)
        points = []
        for clock in levels:
            x = clock / 1000
            busy = fixed + compute * ((1 - a.clock_share) + a.clock_share / x)
            whole = busy + sync
            low = a.full_watts * a.static_share
            computing = low + (a.full_watts - low) * x ** 3
            waiting = low + (a.full_watts - low) * a.waiting_share * x ** 3
            watts = size * (computing * busy + waiting * (whole - busy)) / whole
            points.append((clock, rate if clock == 1000 else math.floor(1e6 / whole), math.floor(watts * 1000 + 0.5)))
        best = 0  # the clock of least energy; those below it are left out
        for i, (_, at_rate, power) in enumerate(points):
            if power * points[best][1] < points[best][2] * at_rate:
                best = i
        return {(size, clock): (at_rate, power) for clock, at_rate, power in points[:best + 1]}


# ---- The grid.

class Intensity:
    """g/kWh by the hour; times are those of the trace."""

    def __init__(self, path, day, first):
        rows = read_rows(path)
        try:
            time, value = rows[0].index("utc_time"), rows[0].index("ci_lifecycle")
            start = datetime.fromisoformat(day).replace(tzinfo=timezone.utc)
            self.by_hour = {}
            for row in rows[1:]:
                at = datetime.fromisoformat(row[time].replace("Z", "+00:00"))
                self.by_hour[(at - start) // timedelta(hours=1)] = float(row[value])
        except (ValueError, IndexError) as error:
            raise Unreadable(f"{path} or --day: {error}") from error
        self.first = first

    def by_hours(self, watts, start, end):
        """(hour, grams) of a constant power between two times."""
        at = start
        while at < end:
            hour = (at - self.first) // HOUR
            until = min(end, self.first + (hour + 1) * HOUR)
            if hour not in self.by_hour:
                raise Unreadable(f"the intensity has no hour {hour} from --day on")
            yield hour, watts / 1000 * self.by_hour[hour] * ((until - at) / HOUR)
            at = until


# ---- The run.

class Job:
    __slots__ = ("name", "key", "pool", "block", "clock", "left", "rate", "full", "speed", "ready", "since", "finish", "released", "refused")

    def advance(self, now):
        start = max(self.since, self.ready)
        if self.block[1] and now > start:
            self.left = max(0, self.left - self.rate * (now - start))
        self.since = now

    def pace(self, now, rate):
        self.rate = rate * self.speed // 1000
        self.finish = max(now, self.ready) - (-self.left // self.rate) if self.rate else None


class Replay:
    def __init__(self, header, trace, curves, tables, intensity, cap):
        self.trace, self.curves, self.tables, self.intensity, self.cap = trace, curves, tables, intensity, cap
        self.complaints, self.total = [], 0
        try:
            self.pools = [Pool(described) for described in header["cluster"]["pools"]]
            self.base, self.per_doubling = (round(header["rescale"][k] * SECOND) for k in ("base_s", "per_doubling_s"))
            self.slot = round(header["slot_s"] * SECOND)
            speed = header.get("speed", {"permille": 1000})
        except (KeyError, TypeError) as error:
            raise Unreadable(f"the log's header has no usable {error}") from error
        self.speed, self.speed_of = (speed, {}) if isinstance(speed, int) else (speed.get("permille", 1000), speed.get("jobs", {}))
        self.now = None
        self.jobs, self.names, self.groups, self.touched = {}, set(), set(), False
        self.steps = []  # (time, watts)
        self.clocks = 0

    def complain(self, rule, who, what):
        self.total += 1
        if len(self.complaints) < MOST_COMPLAINTS:
            at = "start" if self.now is None else f"{self.now // SECOND}.{self.now % SECOND:09}"
            self.complaints.append(f"{at} {who}: {rule}: {what}")

    def take(self, entry):
        time = entry["time"]
        if self.now is not None and time < self.now:
            self.complain("log", "-", f"seq {entry['seq']} is of {time} ns, before {self.now} ns")
        elif self.now is None or time > self.now:
            self.end_instant()
            self.now = time
        handler = getattr(self, "on_" + entry["type"], None)
        if handler is None:
            return
        payload = entry["payload"]
        if entry["type"] == "training_accepted":
            handler(payload)
            return
        job = self.jobs.get(payload["job"])
        if job is None:
            self.complain("log", f"job {payload['job']}", f"{entry['type']} for a job that was never accepted")
        else:
            handler(payload, job)

    def on_training_accepted(self, payload):
        spec, job = payload["spec"], Job()
        job.name, job.pool, job.block, job.clock = spec["name"], payload["pool"], NONE, 1000
        job.key = spec["curve"]["model"], spec["curve"]["global_batch"]
        job.rate = job.full = 0
        job.ready = job.since = self.now
        job.finish = job.released = None
        job.refused = False
        job.speed = self.speed_of.get(job.name, self.speed)
        known = self.trace.get(job.name)
        if known is None or known.key != job.key or known.iterations != spec["iterations"]:
            self.complain("log", job.name, "accepted otherwise than the trace has it")
        job.left = (known.iterations if known else spec["iterations"]) * FEMTO
        if job.name in self.names:
            self.complain("log", job.name, "accepted twice")
        self.names.add(job.name)
        self.jobs[payload["job"]] = job

    def on_promise_refused(self, _, job):
        job.refused = True

    def on_job_resized(self, payload, job):
        if job.released is not None:
            self.complain("finish", job.name, "resized after its end")
        is_over = job.finish is not None and job.finish <= self.now  # and the scheduler has not heard of it yet
        job.advance(self.now)
        block = payload["block"]["first"], payload["block"]["size"]
        job.block, job.clock, self.touched = (block if block[1] else NONE), 1000, True
        if is_over:
            return
        job.finish = None
        if not block[1]:
            return
        if block[1] not in self.curves[job.key].useful:
            self.complain("size", job.name, f"has {block[1]} GPUs, its curve has {self.curves[job.key].useful}")
        group = job.pool, *block
        cost = self.base if group in self.groups else self.base + self.per_doubling * block[1].bit_length()
        self.groups.add(group)
        job.ready = self.now + cost
        job.full = self.curves[job.key].rates.get(block[1], 0)
        job.pace(self.now, job.full)

    def on_clock_set(self, payload, job):
        self.clocks += 1
        is_over = job.finish is not None and job.finish <= self.now
        job.advance(self.now)
        job.clock, self.touched = payload["clock_permille"], True
        point = self.tables.points[job.key].get((job.block[1], job.clock))
        if point is None:
            self.complain("clock", job.name, f"{job.block[1]} GPUs at {job.clock} permille are not in its table")
            return
        share = ALL if job.clock == 1000 else point[0] * ALL // job.full
        if payload["rate_millionths"] != share:
            self.complain("clock", job.name, f"runs at {payload['rate_millionths']} millionths of its rate, its table has {share}")
        if not is_over:
            job.pace(self.now, job.full * share // ALL)

    def on_job_released(self, _, job):
        due = None if job.finish is None else ceil_to(job.finish, self.slot)
        if due != self.now:
            self.complain("finish", job.name, f"released at {self.now} ns, its work is done at {due} ns")
        job.released, job.block, self.touched = self.now, NONE, True

    # -- After the last record of an instant.

    def end_instant(self):
        if self.touched:
            self.steps.append((self.now, self.watts()))
            if self.cap is not None and self.steps[-1][1] > self.cap * (1 + CLOSE):
                self.complain("cap", "-", f"the site draws {self.steps[-1][1]} W")
        self.touched = False

    def watts(self):
        a = self.tables.assumed
        total = 0.0
        for index, pool in enumerate(self.pools):
            used = 0
            for job in self.jobs.values():
                if job.pool != index or not job.block[1]:
                    continue
                mask = mask_of(job.block)
                if used & mask:
                    self.complain("space", job.name, f"GPUs {job.block[0]}..{sum(job.block) - 1} have another job, too")
                if mask & ~pool.exists:
                    self.complain("space", job.name, f"GPUs {job.block[0]}..{sum(job.block) - 1} do not all exist")
                used |= mask
                total += self.tables.points[job.key].get((job.block[1], job.clock), (0, 0))[1] / 1000
            for node, gpus in enumerate(pool.node_gpus):
                busy = (used & mask_of((node * pool.stride, pool.stride))).bit_count()
                total += a.node_watts + (gpus - busy) * a.idle_watts if busy else a.asleep_watts
        return total * a.overhead

    def finish(self):
        self.end_instant()
        for job in self.jobs.values():
            if job.released is None and not job.refused:
                self.complain("done", job.name, "was never released")
        for name in sorted(set(self.trace) - self.names):
            self.complain("log", name, "is in the trace and was never accepted")

    def carbon(self, steps, end):
        """Grams by hour, kWh."""
        hours, energy = {}, 0.0
        for i, (start, watts) in enumerate(steps):
            until = steps[i + 1][0] if i + 1 < len(steps) else end
            energy += watts * (until - start) / SECOND / 3.6e6
            for hour, grams in self.intensity.by_hours(watts, start, until):
                hours[hour] = hours.get(hour, 0.0) + grams
        return hours, energy

    # -- What weir says.

    def compare(self, told, own_hours, own_kwh):
        def differ(a, b, scale=0.0):
            return abs(a - b) > CLOSE * max(abs(a), abs(b), scale)

        mine, theirs = dict(self.steps), dict((at, watts) for at, watts in told["trace"])
        a = b = None
        idle = self.tables.assumed.asleep_watts * self.tables.assumed.overhead * sum(len(p.node_gpus) for p in self.pools)
        for at in sorted(set(mine) | set(theirs)):
            a, b = mine.get(at, a), theirs.get(at, b)
            if differ(idle if a is None else a, idle if b is None else b):
                self.complain("power", f"at {at} ns", f"{a} W by the records, {b} W as reported")
        hours, _ = self.carbon([tuple(step) for step in told["trace"]], told["end_ns"])
        most = max(own_hours.values(), default=0.0)
        for hour in sorted(set(hours) | set(own_hours)):
            if differ(own_hours.get(hour, 0.0), hours.get(hour, 0.0), most):
                self.complain("carbon", f"hour {hour}", f"{own_hours.get(hour, 0.0)} g by the records, {hours.get(hour, 0.0)} g as reported")
        for what, own, said in (("g", sum(own_hours.values()), told["units"]), ("kWh", own_kwh, told["site_kwh"]),
                                ("W at most", max((w for _, w in self.steps), default=0.0), told["peak_watts"])):
            if differ(own, said):
                self.complain("carbon", "in all", f"{own} {what} by the records, {said} as reported")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--log", "--jobs", "--curves", "--intensity", "--day"):
        parser.add_argument(name, required=True)
    parser.add_argument("--expect")
    parser.add_argument("--cap-watts", type=float)
    for name, value in (("full-watts", 400), ("static-share", .35), ("waiting-share", .3), ("clock-share", .4), ("idle-watts", 55),
                        ("node-watts", 800), ("asleep-watts", 0), ("overhead", 1)):
        parser.add_argument(f"--{name}", type=float, default=float(value), help=f"default {value}")
    parser.add_argument("--lowest-clock", type=int, default=500, help="permille, default 500")
    parser.add_argument("--clock-levels", type=int, default=8, help="default 8")
    return parser.parse_args()


def main():
    given = options()
    try:
        curves, trace, entries = read_curves(given.curves), read_trace(given.jobs), read_log(given.log)
        first = min((job.submitted for job in trace.values()), default=0)
        replay = Replay(next(entries), trace, curves, PowerTables(curves, given), Intensity(given.intensity, given.day, first),
                        given.cap_watts)
        for entry in entries:
            replay.take(entry)
        replay.finish()
        told = None
        if given.expect:
            with open(given.expect) as text:
                told = json.load(text)
        end = told["end_ns"] if told else replay.now
        hours, energy = replay.carbon(replay.steps, end)
        if told:
            replay.compare(told, hours, energy)
    except (Unreadable, OSError, ValueError, KeyError) as error:
        print(f"check_energy: {error if not isinstance(error, KeyError) else f'nothing is known of {error}'}", file=sys.stderr)
        return 2
    for line in replay.complaints:
        print(line)
    if replay.total:
        print(f"{replay.total} complaints")
        return 1
    print(f"{len(replay.jobs)} jobs, {replay.clocks} clocks set, {len(replay.steps)} steps of power, {energy:.3f} kWh, "
          f"{sum(hours.values()):.1f} g, at most {max((w for _, w in replay.steps), default=0):.0f} W"
          + (": as reported" if told else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
