#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted starts against what came true: a piece of the public openb trace as pods under the stock kube-scheduler,
compressed in time, with more asked for than there is, so that pods wait. While it runs, weir is asked every few seconds
when each waiting pod will start; the first answer for each pod counts. Pods that come in the first quarter teach weir
how long pods run and do not count; newcomers go on coming until those that count have started, as in a cluster that is in
use. kube-scheduler tries a pod that found no room again after up to 10 s, in which newcomers overtake it; here, where a
second stands for minutes, after 1 s, and weir is told so (--pod-backoff).

    tests/kubernetes/replay_openb.py                 about 5 minutes, the figures that are quoted
    tests/kubernetes/replay_openb.py --short         about 100 s
    tests/kubernetes/replay_openb.py --without-weir  only how long pods wait: a look at the workload itself
"""
import datetime
import json
import statistics
import sys
import time

sys.dont_write_bytecode = True

import openb_pods
from control_plane import ControlPlane
from observing_server import ObservingServer
from weir_program import Failure, check, observe, parser

SKIPPED = 77
COMPRESSED_SCHEDULER = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
BACKOFF = ["--pod-backoff", "1s"]
LEAST_COVERAGE, MOST_COVERAGE = 0.70, 0.90


def seconds_of(text):
    """RFC 3339 to seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Replay:
    """Makes the pods at their times and notes when each was created and bound."""

    def __init__(self, plane, pods):
        self.plane, self.pods = plane, pods
        self.created = {}  # name: time
        self.bound = {}
        self.predictions = {}  # name: the first after its creation
        self.asked = 0
        self.audit_position = 0
        self.ended = 0.0

    def read_audit(self):
        """The audit log has the moments to the microsecond; the pods' own conditions have whole seconds."""
        with open(self.plane.audit_log, encoding="utf-8") as log:
            log.seek(self.audit_position)
            while (line := log.readline()).endswith("\n"):
                self.audit_position = log.tell()
                if '"subresource":"binding"' not in line and '"verb":"create"' not in line:
                    continue
                event = json.loads(line)
                about = event.get("objectRef", {})
                if about.get("resource") != "pods" or event.get("responseStatus", {}).get("code", 0) >= 300:
                    continue
                moment = seconds_of(event["stageTimestamp"])
                if about.get("subresource") == "binding":
                    self.bound[about["name"]] = moment
                elif "subresource" not in about:
                    self.created[about["name"]] = moment

    def waiting(self):
        """Oldest first."""
        return sorted((name for name in self.created if name not in self.bound), key=self.created.get)

    def undecided(self, until):
        """Pods made before `until` that still wait."""
        return [name for name in self.waiting() if self.created[name] < until]

    def note_predictions(self, observation):
        """Each with what a naive person would say at that moment."""
        self.asked += 1
        now = time.time()
        self.read_audit()
        duration = {pod.name: pod.duration for pod in self.pods}
        ended = [name for name, at in self.bound.items() if at + duration[name] < now]
        running = len(self.bound) - len(ended)
        mean = statistics.mean(duration[name] for name in ended) if ended else 0.0
        place = {name: number + 1 for number, name in enumerate(self.waiting())}
        for pending in observation["pending"]:
            predicted = pending.get("predicted_start")
            for full_name in pending["pods"]:
                name = full_name.split("/")[-1]
                if name in self.predictions or name not in place:
                    continue
                self.predictions[name] = {
                    "at": now, "predicted": predicted, "why_not": pending.get("no_prediction", ""),
                    "naive": now + place[name] * mean, "naive_shared": now + place[name] * mean / max(running, 1)}

    def play(self, every, ask, most_seconds, count_until):
        """`ask()` gives an observation. Until all pods of which the first prediction was made in the first `count_until`
        seconds are bound, or no more come."""
        begin = time.time()
        to_come = list(self.pods)
        next_ask = begin + every
        while time.time() < begin + most_seconds:
            now = time.time()
            while to_come and begin + to_come[0].at <= now:
                self.plane.admin.create(to_come.pop(0).manifest())
            if now >= next_ask:
                if ask:
                    self.note_predictions(ask())
                self.read_audit()
                next_ask = max(next_ask + every, time.time())
                if now > begin + count_until and not self.undecided(begin + count_until):
                    break
            due = begin + to_come[0].at if to_come else next_ask
            time.sleep(max(0.0, min(due, next_ask) - time.time()))
        self.ended = time.time()
        return begin


def report_waits(replay, gpus):
    waits = sorted(replay.bound[name] - replay.created[name] for name in replay.bound)
    latency = waits[len(waits) // 20]
    print(f"{len(replay.pods)} pods on {gpus} GPUs; {len(waits)} started, {len(replay.waiting())} still wait")
    print(f"waits: median {statistics.median(waits):.1f} s, 90 % {waits[9 * len(waits) // 10]:.1f} s, "
          f"longest {waits[-1]:.1f} s; without a queue {latency:.2f} s")
    return statistics.median(waits), latency


def report_predictions(replay, since, until):
    """-> coverage of the band, of predictions made between these times."""
    rows, unpredicted, unstarted, undecided = [], 0, 0, 0
    for name, prediction in replay.predictions.items():
        if not since <= prediction["at"] <= until or replay.created[name] > until:
            continue
        if prediction["predicted"] is None:
            unpredicted += 1
            continue
        band = {key: seconds_of(prediction["predicted"][key]) for key in ("low", "median", "high")}
        actual = replay.bound.get(name)
        if actual is None:  # it starts later than the end of the run
            unstarted += 1
            actual = replay.ended
            if band["high"] >= actual:
                undecided += 1  # nobody knows yet
                continue
        rows.append({"name": name, "actual": actual, "at": prediction["at"], **band,
                     "naive": prediction["naive"], "naive_shared": prediction["naive_shared"]})
    check(rows, f"nothing to compare: {unpredicted} waiting pods without a prediction, {unstarted} not started")
    covered = [row for row in rows if row["low"] - 0.5 <= row["actual"] <= row["high"] + 0.5]  # times have whole seconds
    coverage = len(covered) / len(rows)
    error = lambda key: statistics.median(abs(row[key] - row["actual"]) for row in rows)
    print(f"predictions: {len(rows)} pods (asked {replay.asked} times); "
          f"{unpredicted} waiting pods got none, {unstarted} had not started at the end, of which {undecided} are left out: "
          f"their band had not ended either")
    print(f"the 80 % band covers {100 * coverage:.1f} % of the starts; "
          f"early {sum(row['actual'] < row['low'] - 0.5 for row in rows)}, "
          f"late {sum(row['actual'] > row['high'] + 0.5 for row in rows)}; "
          f"its median width {statistics.median(row['high'] - row['low'] for row in rows):.1f} s")
    print(f"median absolute error: {error('median'):.1f} s; naive (queue position x mean duration) {error('naive'):.1f} s; "
          f"naive shared among the running pods {error('naive_shared'):.1f} s; "
          f"median wait left {statistics.median(row['actual'] - row['at'] for row in rows):.1f} s")
    return coverage, error("median"), error("naive"), rows


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--short", action="store_true")
    arguments.add_argument("--without-weir", action="store_true")
    arguments.add_argument("--one-shot", action="store_true", help="ask `weir observe`, not a running server")
    arguments.add_argument("--first", type=int, default=4000, help="number of the first pod in the trace")
    arguments.add_argument("--pods", type=int)
    arguments.add_argument("--arrive-seconds", type=float)
    arguments.add_argument("--compress", type=float, default=100, help="durations are divided by it")
    arguments.add_argument("--longest", type=float, help="seconds, compressed; longer ones are cut")
    arguments.add_argument("--load", type=float, help="what is asked for, in parts of what there is")
    arguments.add_argument("--every", type=float, default=5, help="seconds between questions")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--rows", help="write each prediction to this file, as JSON lines")
    options = arguments.parse_args()
    if not openb_pods.folder().exists():
        print(f"skipped: no trace at {openb_pods.folder()}; set WEIR_DATA")
        return SKIPPED
    count = options.pods or (350 if options.short else 1300)
    arrive = options.arrive_seconds or (110 if options.short else 400)
    longest = options.longest or (30 if options.short else 75)
    compress = options.compress * (2 if options.short else 1)
    load = options.load or (1.6 if options.short else 1.15)
    until = 0.6 * arrive
    pods = openb_pods.pods(options.first, count, arrive, compress, longest)
    nodes, gpus = openb_pods.nodes(openb_pods.gpu_seconds(pods) / arrive / load, options.seed)
    try:
        with ControlPlane(scheduler_settings=COMPRESSED_SCHEDULER) as plane:
            plane.admin.create_all(nodes)
            for namespace in sorted({pod.namespace for pod in pods}):
                plane.namespace(namespace)
            replay = Replay(plane, pods)
            limit = arrive
            if options.without_weir:
                replay.play(options.every, None, limit, until)
                report_waits(replay, gpus)
                return 0
            kubeconfig = plane.kubeconfig("admin")
            if options.one_shot:
                history = plane.folder / "history.json"
                begin = replay.play(options.every,
                                    lambda: observe(options.bin, kubeconfig, "--learned", history, *BACKOFF), limit, until)
            else:
                with ObservingServer(options.bin, kubeconfig, plane.folder / "weir", options=BACKOFF) as server:
                    begin = replay.play(options.every, server.observation, limit, until)
            wait, latency = report_waits(replay, gpus)
            check(wait > 10 * latency, f"no queue has formed: the median wait is {wait:.2f} s")
            coverage, error, naive, rows = report_predictions(replay, begin + arrive / 4, begin + until)
            if options.rows:
                with open(options.rows, "w", encoding="ascii") as file:
                    file.writelines(json.dumps(row) + "\n" for row in rows)
            if options.short:
                check(coverage >= LEAST_COVERAGE - 0.3, f"the band covers {100 * coverage:.1f} %, far from 80 %")
            else:
                check(LEAST_COVERAGE <= coverage <= MOST_COVERAGE, f"the band covers {100 * coverage:.1f} %, not 70 to 90 %")
            check(error < naive, "the naive estimate is better")
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
