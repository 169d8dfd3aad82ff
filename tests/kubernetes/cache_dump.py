# SPDX-License-Identifier: Apache-2.0
"""weir's cache of a cluster, as the program kube_cache_dump shows it, and the server's own state beside it."""
import json
import re
import subprocess
import threading
import time

from api import Refused
from weir_program import Failure, check

# As kube_cache_dump calls them: the kind.
KINDS = {"nodes": "Node", "pods": "Pod", "jobs": "Job", "jobsets": "JobSet", "podgroups": "PodGroup",
         "workloads": "Workload", "resourcequotas": "ResourceQuota", "priorityclasses": "PriorityClass",
         "namespaces": "Namespace", "persistentvolumeclaims": "PersistentVolumeClaim",
         "persistentvolumes": "PersistentVolume", "storageclasses": "StorageClass"}


class CacheDump:
    """A running kube_cache_dump. A context."""

    def __init__(self, folder, kubeconfig, log):
        self.log = log
        with open(log, "ab") as errors:
            self.process = subprocess.Popen([folder / "kube_cache_dump", "--kubeconfig", kubeconfig],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.first_line = self._line(70)
        found = re.match(r"synced in ([0-9.e-]+) s, (\d+) objects, RSS ([0-9.]+) MB", self.first_line)
        if not found:
            self.process.kill()
            raise Failure(f"kube_cache_dump said \"{self.first_line}\": {log.read_text()[-500:]}")
        self.sync_seconds, self.objects = float(found[1]), int(found[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ask(self, question, seconds=20):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return json.loads(self._line(seconds))

    def _line(self, seconds):
        """One that hangs is ended, which ends the reading."""
        alarm = threading.Timer(seconds, self.process.kill)
        alarm.start()
        try:
            line = self.process.stdout.readline().strip()
        finally:
            alarm.cancel()
        if not line:
            raise Failure(f"kube_cache_dump does not answer: {self.log.read_text()[-500:]}")
        return line

    def states(self):
        """{kind: state}"""
        return {source["kind"]: source["state"] for source in self.ask("sources")}

    def source(self, kind):
        return next(source for source in self.ask("sources") if source["kind"] == kind)

    def all_are_well(self):
        return set(self.states().values()) <= {"watching", "absent"}


def server_state(api):
    """What the cache must be equal to: {kind: {key: [uid, resourceVersion]}}."""
    state = {}
    for plural, kind in KINDS.items():
        try:
            items = api.list(kind)
        except Refused as refused:
            if refused.status != 404:
                raise
            items = []  # the cluster has no such kind
        state[plural] = {}
        for item in items:
            meta = item["metadata"]
            key = f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
            state[plural][key] = [meta["uid"], meta["resourceVersion"]]
    return state


def differences(mine, theirs):
    """In words, the first few of each kind."""
    found = []
    for kind in theirs:
        have, want = mine.get(kind, {}), theirs[kind]
        missing, extra = sorted(set(want) - set(have)), sorted(set(have) - set(want))
        stale = sorted(key for key in set(want) & set(have) if want[key] != have[key])
        for what, keys in (("missing", missing), ("extra", extra), ("stale", stale)):
            if keys:
                found.append(f"{len(keys)} {kind} {what}: {', '.join(keys[:3])}")
    return found


def check_equal(dump, api, seconds=15):
    """The cache becomes equal to the server, which nobody changes now. -> objects compared"""
    end = time.monotonic() + seconds
    while True:
        theirs = server_state(api)
        found = differences(dump.ask("snapshot"), theirs)
        if not found:
            return sum(len(objects) for objects in theirs.values())
        check(time.monotonic() < end, f"the cache differs: {'; '.join(found)}; {json.dumps(dump.ask('sources'))[:600]}")
        time.sleep(0.2)
