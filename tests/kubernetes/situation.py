# SPDX-License-Identifier: Apache-2.0
"""One pending situation: a file in situations/ made real on a control plane, and changed by edits.

    nodes:    nodes in short, see manifests.a_node
    objects:  whole manifests, made before any pod
    bound:    names of volume claims that have their volumes before any pod comes
    running:  pods in short, see manifests.a_pod; `node` names the one each is bound to, as a scheduler would
    deleted:  names of running pods that are deleted before the pending workload comes
    pending:  the workload that waits: `pod` or `job` in short, or `objects` as whole manifests
    with:     what the site has beside the stock scheduler, see site_schedulers.py
    expect:   constraint, detail (a part of it), and the workload as Kind/name when it is not the obvious one
    remedy:   edits that are known to start it: a check of the situation itself
"""
import copy
from pathlib import Path

import yaml

from api import Refused, wait_for
from manifests import a_node, a_pod

FOLDER = Path(__file__).resolve().parent / "situations"
# Removed with a situation, in this order. Namespaces go at the end of the whole test.
OF_NAMESPACE = ["JobSet", "Job", "PodGroup", "Workload", "Pod", "PersistentVolumeClaim", "ResourceClaim", "ResourceQuota"]
OF_CLUSTER = ["Node", "PersistentVolume", "StorageClass", "PriorityClass", "RuntimeClass", "DeviceClass", "ResourceSlice"]
SPEC_IN_SHORT = {"gpus", "cpu", "memory", "resources"}


class Situation:
    def __init__(self, file):
        self.name = file.stem
        self.text = yaml.safe_load(file.read_text())
        unknown = set(self.text) - {"nodes", "objects", "bound", "running", "deleted", "pending", "with", "expect", "remedy"}
        if unknown:
            raise ValueError(f"{file}: unknown {', '.join(sorted(unknown))}")
        self.namespace = self.name
        self.site = self.text.get("with", [])
        self.expect = self.text["expect"]
        self.remedy = self.text["remedy"]
        self.pending = self._pending_objects()

    def workload(self):
        """-> (kind, name) that the explanation must be about."""
        if "workload" in self.expect:
            return tuple(self.expect["workload"].split("/"))
        return self.pending[-1]["kind"], self.pending[-1]["metadata"]["name"]

    # ---- what the file says, as manifests

    def _pod(self, short):
        short = dict(short)
        meta = {key: short.pop(key) for key in ("name", "labels", "annotations") if key in short}
        in_short = {key: short.pop(key) for key in list(short) if key in SPEC_IN_SHORT}
        more = short.pop("spec", {})
        short.pop("node", None)
        if short:
            raise ValueError(f"{self.name}: a pod has no {', '.join(short)}")
        pod = a_pod(namespace=self.namespace, **meta, **in_short)
        pod["spec"].update(more)
        return pod

    def _job(self, short):
        short = dict(short)
        meta = {key: short.pop(key) for key in ("name", "labels", "annotations") if key in short}
        job_spec = {key: short.pop(key) for key in ("parallelism", "completions", "suspend") if key in short}
        job_spec.setdefault("completions", job_spec.get("parallelism", 1))
        template = self._pod(dict(short, name="template"))
        job_spec["template"] = {"metadata": {"annotations": template["metadata"]["annotations"]},
                                "spec": template["spec"]}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": dict(meta, namespace=self.namespace),
                "spec": job_spec}

    def _manifest(self, manifest):
        manifest = copy.deepcopy(manifest)
        if manifest["kind"] in OF_NAMESPACE:
            manifest["metadata"]["namespace"] = self.namespace
        return manifest

    def _pending_objects(self):
        pending = self.text["pending"]
        if "pod" in pending:
            return [self._pod(pending["pod"])]
        if "job" in pending:
            return [self._job(pending["job"])]
        return [self._manifest(one) for one in pending["objects"]]

    # ---- made real

    def make(self, plane):
        api = plane.admin
        plane.namespace(self.namespace)
        for node in self.text.get("nodes", []):
            api.create(a_node(**node))
        for manifest in self.text.get("objects", []):
            create_with_owner(api, self._manifest(manifest))
        # A quota that its controller has not looked at yet refuses nothing.
        wait_for("quotas are in force", lambda: all(quota.get("status", {}).get("hard") for quota in api.list(
            "ResourceQuota", self.namespace)), 20)
        for name in self.text.get("bound", []):
            wait_for(f"claim {name} is bound", lambda: api.get("PersistentVolumeClaim", name, self.namespace).get(
                "status", {}).get("phase") == "Bound", 60)
        self._run(plane)
        for name in self.text.get("deleted", []):
            api.delete("Pod", name, self.namespace)
        for manifest in self.pending:
            create_with_owner(api, manifest)

    def _run(self, plane):
        """Binds while the stock scheduler looks away: the pods are where the file says, and free to move."""
        shorts = self.text.get("running", [])
        if not shorts:
            return
        api = plane.admin
        plane.parts["scheduler"].pause()
        try:
            for short in shorts:
                pod = self._pod(short)
                api.create(pod)
                bind(api, self.namespace, pod["metadata"]["name"], short["node"])
        finally:
            plane.parts["scheduler"].resume()
        for short in shorts:
            wait_for(f"{short['name']} runs",
                     lambda: api.get("Pod", short["name"], self.namespace)["status"]["phase"] == "Running", 20)

    def pods(self, api):
        """Those of the pending workload."""
        kind, name = self.workload()
        return [pod for pod in api.list("Pod", self.namespace) if belongs(pod, kind, name)]

    def is_waiting(self, api):
        """Whether whoever schedules it has had its say: no to a pod, or to the creation of one."""
        pods = self.pods(api)
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName") or pod["status"]["phase"] == "Pending"]
        if waiting:
            return all(self._has_been_refused(pod) for pod in waiting)
        return not pods and self._pods_are_not_made(api)

    def _has_been_refused(self, pod):
        if self.expect["constraint"] in ("scheduler_name", "node_name", "resource_claim"):
            return True  # nobody will ever say anything
        for condition in pod["status"].get("conditions", []):
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                return True
        return False

    def _pods_are_not_made(self, api):
        kind, name = self.workload()
        if kind != "Job":
            return False
        if api.get("Job", name, self.namespace)["spec"].get("suspend"):
            return True
        return any(event["reason"] == "FailedCreate" and event["involvedObject"]["name"] == name
                   for event in api.list("Event", self.namespace))

    def has_started(self, api):
        """All pods there are run, and there are some."""
        pods = [pod for pod in self.pods(api) if not pod["metadata"].get("deletionTimestamp")]
        return bool(pods) and all(pod["spec"].get("nodeName") and pod["status"]["phase"] == "Running" for pod in pods)

    def said(self, api):
        """What the scheduler wrote on the first pod that waits, for the reader of a failure."""
        for pod in self.pods(api):
            for condition in pod["status"].get("conditions", []):
                if condition["type"] == "PodScheduled" and condition["status"] == "False":
                    return condition.get("message", condition.get("reason", ""))
        return ""

    def clean(self, plane):
        api = plane.admin
        for kind in OF_NAMESPACE:
            try:
                api.delete_collection(kind, self.namespace)
            except Refused as refused:
                if refused.status != 404:
                    raise
        for kind in OF_CLUSTER:
            for one in api.list(kind):
                if not one["metadata"]["name"].startswith("system-"):
                    if one["metadata"].get("finalizers"):
                        api.patch(kind, one["metadata"]["name"], {"metadata": {"finalizers": None}})
                    api.delete(kind, one["metadata"]["name"], grace_seconds=0)
        wait_for("no pod is left", lambda: not self._left_pods(api), 30)
        wait_for("no node is left", lambda: not api.list("Node"), 30)
        api.delete("Namespace", self.namespace)

    def _left_pods(self, api):
        pods = api.list("Pod")
        for pod in pods:
            api.delete("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"], grace_seconds=0)
        return pods


def belongs(pod, kind, name):
    meta = pod["metadata"]
    if kind == "Pod":
        return meta["name"] == name
    if kind == "PodGroup":
        return meta.get("labels", {}).get("scheduling.x-k8s.io/pod-group") == name
    if kind == "JobSet":
        return meta.get("labels", {}).get("jobset.sigs.k8s.io/jobset-name") == name
    return any(owner["kind"] == kind and owner["name"] == name for owner in meta.get("ownerReferences", []))


def bind(api, namespace, pod, node):
    try:
        api.call("POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/binding",
                 {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
                  "target": {"kind": "Node", "name": node}})
    except Refused as refused:
        # On a slow machine the scheduler may have been first: right where it chose the same node.
        if refused.status != 409 or api.get("Pod", pod, namespace)["spec"].get("nodeName") != node:
            raise


def create_with_owner(api, manifest):
    """An owner is written as {kind, name}; its uid is looked up here. A status goes its own way."""
    manifest = copy.deepcopy(manifest)
    meta = manifest["metadata"]
    for owner in meta.get("ownerReferences", []):
        found = api.get(owner["kind"], owner["name"], meta.get("namespace"))
        owner.update(uid=found["metadata"]["uid"], apiVersion=found["apiVersion"], controller=True)
    status = manifest.get("status")
    api.create(manifest)
    if status and manifest["kind"] not in ("Node", "Pod"):
        api.patch(manifest["kind"], meta["name"], {"status": status}, meta.get("namespace"), "status")


# ---- edits, as `weir observe --json` writes them

def apply_edits(api, edits, namespace):
    for edit in edits:
        if edit["action"] == "create":
            manifest = copy.deepcopy(edit["manifest"])
            if manifest["kind"] in OF_NAMESPACE:
                manifest["metadata"].setdefault("namespace", namespace)
            api.create(manifest)
            continue
        reference = edit["object"]
        kind, name, of = reference["kind"], reference["name"], reference.get("namespace", namespace)
        if edit["action"] == "delete":
            _delete(api, kind, name, of)
        elif edit["action"] == "patch":
            _patch(api, kind, name, of, edit["patch"])
        else:
            raise ValueError(f"no such action: {edit['action']}")


def _delete(api, kind, name, namespace):
    found = api.find(kind, name, namespace)
    if found is None:
        raise LookupError(f"{kind} {name} is to be deleted and is not there")
    is_going = "deletionTimestamp" in found["metadata"]
    api.delete(kind, name, namespace, grace_seconds=0 if is_going else None)
    wait_for(f"{kind} {name} is gone", lambda: api.find(kind, name, namespace) is None, 20)


def _patch(api, kind, name, namespace, patch):
    """What may not be changed is deleted and made anew, as a person would."""
    of_status = [line for line in patch if line["path"].startswith("/status")]
    of_spec = [line for line in patch if line not in of_status]
    if of_status:
        api.patch(kind, name, of_status, namespace, "status")
    if not of_spec:
        return
    try:
        api.patch(kind, name, of_spec, namespace)
    except Refused as refused:
        if refused.status not in (403, 422):
            raise
        _make_anew(api, kind, name, namespace, of_spec)


def _make_anew(api, kind, name, namespace, patch):
    old = api.get(kind, name, namespace)
    fresh = json_patched(old, patch)
    fresh.pop("status", None)
    meta = fresh["metadata"]
    fresh["metadata"] = {key: meta[key] for key in ("name", "namespace", "labels", "annotations", "ownerReferences")
                         if key in meta}
    if kind == "Job":  # its own marks
        fresh["spec"].pop("selector", None)
        for labels in (fresh["metadata"].get("labels", {}), fresh["spec"]["template"]["metadata"].get("labels", {})):
            for key in list(labels):
                if key.endswith("controller-uid") or key.endswith("job-name"):
                    del labels[key]
    api.delete(kind, name, namespace, grace_seconds=0)
    wait_for(f"{kind} {name} is gone", lambda: api.find(kind, name, namespace) is None, 20)
    api.create(fresh)


def json_patched(document, patch):
    """RFC 6902: add, remove, replace."""
    document = copy.deepcopy(document)
    for line in patch:
        words = [word.replace("~1", "/").replace("~0", "~") for word in line["path"].split("/")[1:]]
        target = document
        for word in words[:-1]:
            target = target[int(word)] if isinstance(target, list) else target[word]
        last = words[-1]
        if isinstance(target, list):
            index = len(target) if last == "-" else int(last)
            if line["op"] == "add":
                target.insert(index, line["value"])
            elif line["op"] == "replace":
                target[index] = line["value"]
            else:
                del target[index]
        elif line["op"] in ("add", "replace"):
            target[last] = line["value"]
        elif line["op"] == "remove":
            del target[last]
        else:
            raise ValueError(f"no such operation: {line}")
    return document


def all_situations(names=()):
    """In the order of their names; all, or those named."""
    files = sorted(FOLDER.glob("*.yaml"))
    if names:
        unknown = set(names) - {file.stem for file in files}
        if unknown:
            raise SystemExit(f"no situation {', '.join(sorted(unknown))}; there are: {', '.join(f.stem for f in files)}")
        files = [file for file in files if file.stem in names]
    return [Situation(file) for file in files]
