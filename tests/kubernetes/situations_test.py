#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pending situations, made by hand, under the stock kube-scheduler: does weir name the right constraint, and does
the first change it suggests start the pods?

    tests/kubernetes/situations_test.py [--bin FOLDER] [NAME...]     all of situations/, or those named
    tests/kubernetes/situations_test.py --every-change [NAME...]     not only the first change: each of them
    tests/kubernetes/situations_test.py --remedies [NAME...]         check the situations themselves, without weir
"""
import sys
import time

import yaml

sys.dont_write_bytecode = True

from api import Refused, wait_for
from control_plane import HERE, ControlPlane
from site_schedulers import SiteScheduler
from situation import all_situations, apply_edits
from weir_program import Failure, observe, parser

SAY_SECONDS = 20  # until the scheduler has said no
NOTICE_SECONDS = 15  # until weir explains a workload that has just come
START_SECONDS = 20  # after the change; kube-scheduler waits up to 10 s before it tries a pod again


def install_crds(api):
    for file in sorted((HERE / "crds").glob("*.yaml")):
        api.create(yaml.safe_load(file.read_text()))
    wait_for("the kinds of the CRDs", lambda: all(api.ask("GET", path)[0] == 200 for path in (
        "/apis/jobset.x-k8s.io/v1alpha2/jobsets", "/apis/kueue.x-k8s.io/v1beta1/workloads",
        "/apis/scheduling.x-k8s.io/v1alpha1/podgroups")), 20)


def explanation(folder, kubeconfig, situation):
    """A workload that has only just come may be left alone for some seconds."""
    kind, name = situation.workload()
    end = time.monotonic() + NOTICE_SECONDS
    while True:
        observation = observe(folder, kubeconfig)
        for pending in observation["pending"]:
            workload = pending["workload"]
            is_it = (workload["kind"], workload["namespace"], workload["name"]) == (kind, situation.namespace, name)
            if is_it and pending["constraint"] != "not_seen_yet":
                return pending
        if time.monotonic() > end:
            found = [f"{one['workload']['kind']}/{one['workload']['name']}" for one in observation["pending"]]
            raise Failure(f"{kind}/{name} is not among the pending: {', '.join(found) or 'none'}")
        time.sleep(0.5)


def check_explanation(pending, situation):
    expected = situation.expect
    if pending["constraint"] != expected["constraint"]:
        raise Failure(f"said {pending['constraint']} ({pending['detail']}), it is {expected['constraint']}")
    if expected.get("detail", "") not in pending["detail"]:
        raise Failure(f"detail is \"{pending['detail']}\", without \"{expected['detail']}\"")
    if not pending["why"].strip():
        raise Failure("it does not say why")
    if not pending["changes"]:
        raise Failure("no change is suggested")
    if not pending["changes"][0]["edits"]:
        raise Failure(f"no edits: {pending['changes'][0]['text']}")


def play(plane, situation, weir, kubeconfig, number=0):
    """-> (constraint, text of the change, how many changes there are) as weir said them, or as the file says."""
    api = plane.admin
    site = [SiteScheduler(name, plane.api("admin"), situation.namespace) for name in situation.site]
    try:
        situation.make(plane)
        for one in site:
            one.start()
        wait_for("the scheduler's say", lambda: situation.is_waiting(api), SAY_SECONDS)
        if weir:
            pending = explanation(weir, kubeconfig, situation)
            check_explanation(pending, situation)
            count = len(pending["changes"])
            if number >= count:
                raise Failure(f"there were more than {count} changes before")
            change = pending["changes"][number]
        else:
            time.sleep(0.5)  # longer than a pod takes that is not held back
            if situation.has_started(api):
                raise Failure("it is not pending at all")
            pending, change, count = situation.expect, {"text": situation.said(api), "edits": situation.remedy}, 1
        try:
            apply_edits(api, change["edits"], situation.namespace)
            wait_for("its start", lambda: situation.has_started(api), START_SECONDS)
        except (Refused, TimeoutError, LookupError, IndexError, KeyError) as error:
            raise Failure(f"{change['text']} -> {type(error).__name__} {error}; {situation.said(api)}") from error
        return pending["constraint"], change["text"], count
    finally:
        for one in site:
            one.stop()


def report(plane, situation, weir, kubeconfig, number=0):
    """One line of the table. -> (whether it is good, how many changes there are)"""
    start = time.monotonic()
    constraint, count, is_good = situation.expect["constraint"], 1, False
    try:
        constraint, text, count = play(plane, situation, weir, kubeconfig, number)
        is_good = True
    except Failure as failure:
        text = str(failure)
    except (Refused, TimeoutError) as error:
        text = f"cannot be made: {error}"
    situation.clean(plane)
    name = situation.name + (f" ({number + 1})" if number else "")
    print(f"{'ok' if is_good else 'FAILED':6} {name:34} {constraint:17} {time.monotonic() - start:4.1f} s  {text}", flush=True)
    return is_good, count


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--remedies", action="store_true")
    arguments.add_argument("--every-change", action="store_true")
    arguments.add_argument("names", nargs="*", metavar="NAME")
    options = arguments.parse_args()
    situations = all_situations(options.names)
    weir = None if options.remedies else options.bin
    good, more, good_more = 0, 0, 0
    with ControlPlane() as plane:
        install_crds(plane.admin)
        kubeconfig = plane.kubeconfig("admin")
        for situation in situations:
            is_good, count = report(plane, situation, weir, kubeconfig)
            good += is_good
            for number in range(1, count if options.every_change else 1):
                more += 1
                good_more += report(plane, situation, weir, kubeconfig, number)[0]
    if options.every_change:
        print(f"{good_more} of {more} further changes")
    print(f"{good} of {len(situations)}")
    return 0 if good == len(situations) and good_more == more else 1


if __name__ == "__main__":
    sys.exit(main())
