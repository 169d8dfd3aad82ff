#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weir's cache of a cluster against a real API server: equal to it after random operations, and again after the
server or etcd was killed, history was compacted away, and credentials were revoked and rotated.

    tests/kubernetes/cache_test.py [--bin FOLDER] [--seconds 60] [--seed N]
"""
import json
import random
import sys
import threading
import time

import yaml

sys.dont_write_bytecode = True

from api import Refused, wait_for
from cache_dump import CacheDump, check_equal
from control_plane import HERE, ControlPlane
from cuttable_link import CuttableLink
from manifests import a_namespace, a_node, a_pod, pod_spec
from weir_program import Failure, check, parser

WRITERS = 5
ROLE = HERE.parent.parent / "deploy" / "observe" / "read-only-role.yaml"
NOTICE_SECONDS = 15  # until trouble shows
HEAL_SECONDS = 60  # backoff grows to 30 s
LATE_KIND_SECONDS = 150  # a kind that was absent or forbidden is looked for once a minute, and the server may be away then


class Writer:
    """Random creations, changes and deletions, under names of its own."""

    def __init__(self, api, number, seed):
        self.api = api
        self.name = f"w{number}"
        self.rng = random.Random(f"{seed}-{number}")
        self.there = {"Node": set(), "Pod": set(), "Job": set(), "ResourceQuota": set()}
        self.counter = 0
        self.operations = 0

    def make(self, kind, name):
        meta = {"name": name, "namespace": "default"}
        if kind == "Node":
            return a_node(name, gpus=self.rng.randint(0, 8), labels={"writer": self.name})
        if kind == "Pod":
            return a_pod(name, gpus=self.rng.randint(0, 4), nodeName=self.rng.choice(["", f"{self.name}-node"]))
        if kind == "Job":
            return {"kind": "Job", "metadata": meta, "spec": {"suspend": True, "template": {"spec": pod_spec(gpus=1)}}}
        return {"kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"count/secrets": "5"}}}

    def once(self):
        kind = self.rng.choices(list(self.there), [2, 10, 2, 1])[0]
        names = self.there[kind]
        what = self.rng.random()
        self.operations += 1
        if not names or what < 0.4:
            self.counter += 1
            name = f"{self.name}-{kind.lower()}-{self.counter}"
            if names and self.rng.random() < 0.2:  # the same name again, with another uid
                name = self.rng.choice(sorted(names))
                self.api.delete(kind, name, grace_seconds=0)
            self.api.create(self.make(kind, name))
            names.add(name)
        elif what < 0.75:
            name = self.rng.choice(sorted(names))
            self.api.patch(kind, name, {"metadata": {"labels": {"turn": str(self.operations)}}})
        else:
            name = self.rng.choice(sorted(names))
            self.api.delete(kind, name, grace_seconds=0)
            names.discard(name)

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                self.once()
            except (Refused, OSError):
                time.sleep(0.05)  # the server is away, or the name is still going


def write_for(plane, seconds, seed):
    """-> operations done"""
    writers = [Writer(plane.api("admin"), number, seed) for number in range(WRITERS)]
    threads = [threading.Thread(target=writer.run, args=(seconds,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(writer.operations for writer in writers)


def change_something(plane, turn):
    """A creation, a change and a deletion that must not be missed."""
    plane.admin.create(a_pod(f"turn-{turn}"))
    plane.admin.create(a_node(f"turn-{turn}"))
    plane.admin.patch("Node", "stays", {"metadata": {"labels": {"turn": str(turn)}}})
    if turn > 1:
        plane.admin.delete("Pod", f"turn-{turn - 1}", grace_seconds=0)


def in_trouble(dump, because=""):
    """Whether it says so, with a reason."""
    source = dump.source("pods")
    return source if source["state"] == "retrying" and source["detail"] and because in source["detail"] else None


class CacheTest:
    def __init__(self, plane, folder, seconds, seed):
        self.plane, self.folder, self.seconds, self.seed = plane, folder, seconds, seed
        self.turn = 0

    def dump(self, kubeconfig=None, name="dump"):
        return CacheDump(self.folder, kubeconfig or self.plane.kubeconfig("admin"), self.plane.folder / f"{name}.log")

    def heals(self, dump):
        """All kinds are watched, changes arrive, the cache is equal."""
        wait_for("all kinds are watched again", dump.all_are_well, HEAL_SECONDS, pause=0.2)
        self.turn += 1
        change_something(self.plane, self.turn)
        return check_equal(dump, self.plane.admin)

    # ---- what is tested

    def random_operations(self):
        with self.dump() as dump:
            operations = write_for(self.plane, self.seconds, self.seed)
            objects = check_equal(dump, self.plane.admin)
            stats = dump.ask("stats")
            lists = sum(source["relists"] for source in dump.ask("sources"))
            check(lists == 0, f"it listed again {lists} times: it must live on the watch alone")
            return (f"{operations} operations of {WRITERS} writers in {self.seconds:.0f} s, {objects} objects equal, "
                    f"an event applied in {stats['apply']['p99_ms']:.3f} ms (p99)")

    def server_killed(self):
        with self.dump() as dump:
            self.plane.kill("apiserver")
            said = wait_for("the trouble shows", lambda: in_trouble(dump), NOTICE_SECONDS)
            self.plane.start_again("apiserver")
            return f"said: {said['detail']}; {self.heals(dump)} objects equal"

    def server_killed_while_writing(self):
        with self.dump() as dump:
            writing = threading.Thread(target=write_for, args=(self.plane, 8, self.seed + 1))
            writing.start()
            time.sleep(2)
            self.plane.restart("apiserver")
            writing.join()
            return f"{self.heals(dump)} objects equal"

    def etcd_killed(self):
        with self.dump() as dump:
            self.plane.kill("etcd")
            time.sleep(2)
            self.plane.start_again("etcd")
            wait_for("the API server has etcd again", self.plane._apiserver_answers, 30)
            return f"{self.heals(dump)} objects equal"

    def history_compacted(self):
        """Cut off while objects come and go; afterwards the server has forgotten how (410)."""
        link = CuttableLink(self.plane.port)
        with self.dump(self.plane.kubeconfig("admin", link.port)) as dump:
            link.cut()
            wait_for("the trouble shows", lambda: in_trouble(dump), NOTICE_SECONDS)
            write_for(self.plane, 3, self.seed + 2)
            self.plane.compact_etcd()
            self.plane.restart("apiserver")  # its own memory of the history is gone as well
            write_for(self.plane, 1, self.seed + 3)
            link.mend()
            objects = self.heals(dump)
            source = dump.source("pods")
            check(source["lost"] >= 1, f"no 410 was met: {json.dumps(source)}")
            check(source["relists"] >= 1, f"it did not list again: {json.dumps(source)}")
        link.close()
        return f"410 met, {objects} objects equal"

    def token_rotated(self):
        """From a file. The old one dies, connections break, a new one is written some seconds later."""
        self._service_account("rotates")
        file = self.plane.folder / "token"
        file.write_text(self._bound_token("rotates", 1))
        return self._rotate({"tokenFile": str(file)}, "rotates", lambda: file.write_text(self._bound_token("rotates", 2)))

    def plugin_token_rotated(self):
        """The same with a program that hands out tokens."""
        self._service_account("plugged")
        credential = self.plane.folder / "credential.json"
        plugin = self.plane.folder / "plugin.sh"
        plugin.write_text(f"#!/bin/sh\ncat {credential}\n")
        plugin.chmod(0o755)

        def hand_out(number):
            credential.write_text(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                                              "status": {"token": self._bound_token("plugged", number)}}))
        hand_out(1)
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin),
                         "interactiveMode": "Never"}}
        return self._rotate(user, "plugged", lambda: hand_out(2))

    def certificate_user(self):
        certificate, key = self.plane.certificate("observer")
        fields = {"client-certificate": str(certificate), "client-key": str(key)}
        with self.dump(self.plane.kubeconfig("observer", user_fields=fields)) as dump:
            return f"{self.heals(dump)} objects equal"

    def _service_account(self, name):
        admin = self.plane.admin
        admin.create({"kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}})
        admin.create({"kind": "ClusterRoleBinding", "metadata": {"name": name},
                      "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "weir-observe"},
                      "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]})

    def _bound_token(self, account, number):
        secret = f"{account}-{number}"
        self.plane.admin.create({"kind": "Secret", "metadata": {"name": secret, "namespace": "default"}})
        return self.plane.service_account_token(account, bound_secret=secret)

    def _rotate(self, user_fields, account, write_new_token):
        link = CuttableLink(self.plane.port)
        kubeconfig = self.plane.kubeconfig(account, link.port, user_fields)
        with self.dump(kubeconfig, account) as dump:
            self.plane.admin.delete("Secret", f"{account}-1")
            time.sleep(11)  # the API server remembers a good token for 10 s
            link.cut()
            link.mend()
            said = wait_for("it says that it is not authorized", lambda: in_trouble(dump, because="401"), NOTICE_SECONDS)
            write_new_token()
            objects = self.heals(dump)
        link.close()
        return f"said: {said['detail']}; {objects} objects equal"


class LateKinds:
    """A cluster that cannot be seen whole at first: one kind is forbidden, another not installed yet."""

    def __init__(self, test):
        self.test, self.plane = test, test.plane
        role, binding = yaml.safe_load_all(ROLE.read_text())
        for rule in role["rules"]:
            rule["resources"] = [one for one in rule["resources"] if one != "resourcequotas"]
        role["metadata"]["name"] = binding["metadata"]["name"] = binding["roleRef"]["name"] = "all-but-quotas"
        binding["subjects"] = [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}]
        self.plane.admin.create(role)
        self.plane.admin.create(binding)
        self.dump = test.dump(self.plane.kubeconfig("nobody"), "nobody")
        states = self.dump.states()
        check(states["resourcequotas"] == "forbidden", f"quotas are {states['resourcequotas']}, not forbidden")
        check(states["jobsets"] == "absent", f"JobSets are {states['jobsets']}, not absent")
        others = {kind: state for kind, state in states.items() if state not in ("watching", "absent")}
        check(set(others) == {"resourcequotas"}, f"others suffer as well: {others}")
        detail = self.dump.source("resourcequotas")["detail"]
        check("resourcequotas" in detail or "forbidden" in detail, f"it does not say what is missing: {detail}")
        log = self.dump.log.read_text()
        check(log.count("\n") == 1, f"not one clear line in the log but: {log[:500]}")
        self.since = time.monotonic()
        for plural in ("jobsets",):
            self.plane.admin.create(yaml.safe_load((HERE / "crds" / f"{plural}.yaml").read_text()))
        self.plane.admin.create(dict(binding, metadata={"name": "quotas-too"}, roleRef=dict(
            binding["roleRef"], name="weir-observe")))
        wait_for("JobSets are served", lambda: self.plane.admin.ask(
            "GET", "/apis/jobset.x-k8s.io/v1alpha2/jobsets")[0] == 200, 20)
        self.plane.admin.create({"kind": "JobSet", "metadata": {"name": "late", "namespace": "default"}, "spec": {}})

    def late_kinds(self):
        """Minutes later, or not so many."""
        late = {"jobsets", "resourcequotas"}
        seen = lambda: {self.dump.states()[kind] for kind in late} == {"watching"}
        try:
            wait_for("JobSets and quotas are watched", seen, max(self.since + LATE_KIND_SECONDS - time.monotonic(), 1), 0.5)
        except TimeoutError as error:
            sources = [self.dump.source(kind) for kind in sorted(late)]
            raise Failure(f"{error}: {json.dumps(sources)}") from error
        objects = check_equal(self.dump, self.plane.admin)
        self.dump.__exit__()
        return f"a forbidden and an absent kind seen later, {objects} objects equal"


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--seconds", type=float, default=60, help="of random operations")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("names", nargs="*", metavar="NAME", help="only these: server_killed, ...")
    options = arguments.parse_args()
    failures = 0
    with ControlPlane(parts=()) as plane:
        for manifest in yaml.safe_load_all(ROLE.read_text()):
            plane.admin.create(manifest)
        plane.admin.create({"kind": "ClusterRoleBinding", "metadata": {"name": "observer"},
                            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "weir-observe"},
                            "subjects": [{"kind": "User", "name": "observer", "apiGroup": "rbac.authorization.k8s.io"}]})
        plane.admin.create(a_node("stays"))
        test = CacheTest(plane, options.bin, options.seconds, options.seed)
        steps = [test.random_operations, test.certificate_user, test.server_killed, test.server_killed_while_writing,
                 test.etcd_killed, test.history_compacted, test.token_rotated, test.plugin_token_rotated]
        if not options.names or "late_kinds" in options.names:
            steps.append(LateKinds(test).late_kinds)
        for step in steps:
            if options.names and step.__name__ not in options.names:
                continue
            start = time.monotonic()
            try:
                verdict, text = "ok", step()
            except (Failure, TimeoutError, Refused) as error:
                verdict, text, failures = "FAILED", str(error), failures + 1
            print(f"{verdict:6} {step.__name__:28} {time.monotonic() - start:5.1f} s  {text}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
