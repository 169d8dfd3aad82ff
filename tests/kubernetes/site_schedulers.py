# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for what sites put beside the stock scheduler, reduced to the rule that makes pods wait:

    gang-scheduler       binds the pods of a PodGroup when at least minMember of them fit together
    gpushare-scheduler   gives each pod its GPU memory on one GPU
    kueue                admits a Job of the queue while its quota lasts
    jobset               makes the Jobs of JobSets
"""
import copy
import json
import threading

from api import Refused

QUEUE_QUOTA_GPUS = 4
GPU = "nvidia.com/gpu"
GPU_MEMORY = "aliyun.com/gpu-mem"
GPU_COUNT = "aliyun.com/gpu-count"
GPU_INDEX = "ALIYUN_COM_GPU_MEM_IDX"
GROUP = "scheduling.x-k8s.io/pod-group"


class SiteScheduler(threading.Thread):
    """Looks a few times a second at what there is and acts. Ends with stop()."""

    def __init__(self, name, api, namespace):
        super().__init__(name=name, daemon=True)
        self.api = api
        self.namespace = namespace
        self.act = {"gang-scheduler": self.bind_gangs, "gpushare-scheduler": self.bind_shares,
                    "kueue": self.admit, "jobset": self.make_jobs}[name]
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.wait(0.3):
            try:
                self.act()
            except (Refused, OSError):
                pass  # something has changed since it looked, or the server is away: it looks again

    def stop(self):
        self.is_over.set()
        self.join()

    def waiting(self):
        return [pod for pod in self.api.list("Pod", self.namespace)
                if pod["spec"]["schedulerName"] == self.name and not pod["spec"].get("nodeName")
                and not pod["metadata"].get("deletionTimestamp")]

    def bind(self, pod, node, annotations=None):
        name = pod["metadata"]["name"]
        self.api.call("POST", f"/api/v1/namespaces/{self.namespace}/pods/{name}/binding", {
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name, "uid": pod["metadata"]["uid"], "annotations": annotations or {}},
            "target": {"kind": "Node", "name": node}})

    def refuse(self, pod, message):
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        others = pod["status"].get("conditions", [])
        if not any(one.get("message") == message for one in others):
            self.api.patch("Pod", pod["metadata"]["name"], {"status": {"conditions": [condition]}}, self.namespace,
                           "status")

    # ---- gangs

    def bind_gangs(self):
        gangs = {}
        for pod in self.waiting():
            gangs.setdefault(pod["metadata"].get("labels", {}).get(GROUP), []).append(pod)
        for name, pods in gangs.items():
            least = self.api.get("PodGroup", name, self.namespace)["spec"]["minMember"] - self.bound_members(name)
            places = self.place(pods)
            has_room = len(places) >= least
            for pod in pods:
                if has_room and pod["metadata"]["name"] in places:
                    self.bind(pod, places[pod["metadata"]["name"]])
                else:
                    self.refuse(pod, f"{len(places)} pods of the group fit together, {least} are needed")

    def bound_members(self, group):
        return sum(1 for pod in self.api.list("Pod", self.namespace)
                   if pod["spec"].get("nodeName") and pod["metadata"].get("labels", {}).get(GROUP) == group)

    def place(self, pods):
        """-> {pod: node} for those that fit beside each other."""
        free = {node["metadata"]["name"]: amount(node["status"]["allocatable"]) for node in self.api.list("Node")
                if not node["spec"].get("unschedulable") and not node["spec"].get("taints")}
        for pod in self.api.list("Pod"):
            if pod["spec"].get("nodeName") in free and pod["status"]["phase"] not in ("Succeeded", "Failed"):
                free[pod["spec"]["nodeName"]] -= gpus_of(pod["spec"])
        places = {}
        for pod in pods:
            node = next((node for node in sorted(free) if free[node] >= gpus_of(pod["spec"])), None)
            if node:
                places[pod["metadata"]["name"]] = node
                free[node] -= gpus_of(pod["spec"])
        return places

    # ---- shares

    def bind_shares(self):
        for pod in self.waiting():
            wanted = gpus_of(pod["spec"], GPU_MEMORY)
            place = next(((node, index) for node, index, free in self.free_memory() if free >= wanted), None)
            if place:
                self.bind(pod, place[0], {GPU_INDEX: str(place[1])})
            else:
                self.refuse(pod, f"no GPU has {wanted} units of memory free")

    def free_memory(self):
        """-> (node, index of its GPU, free units)"""
        pods = self.api.list("Pod")
        for node in self.api.list("Node"):
            name, count = node["metadata"]["name"], amount(node["status"]["allocatable"], GPU_COUNT)
            for index in range(count):
                held = [pod for pod in pods if pod["spec"].get("nodeName") == name
                        and pod["metadata"].get("annotations", {}).get(GPU_INDEX) == str(index)]
                total = amount(node["status"]["allocatable"], GPU_MEMORY) // count
                yield name, index, total - sum(gpus_of(pod["spec"], GPU_MEMORY) for pod in held)

    # ---- a queue with a quota

    def admit(self):
        workloads = self.api.list("Workload", self.namespace)
        jobs = {job["metadata"]["name"]: job for job in self.api.list("Job", self.namespace)}
        job_of = lambda workload: jobs.get(workload["metadata"]["ownerReferences"][0]["name"])
        admitted = [one for one in workloads if is_admitted(one) and job_of(one)]
        used = sum(gpus_of(job_of(one)["spec"]["template"]["spec"]) for one in admitted)
        for workload in workloads:
            job = job_of(workload)
            if is_admitted(workload) or not job:
                continue
            if used + gpus_of(job["spec"]["template"]["spec"]) <= QUEUE_QUOTA_GPUS:
                conditions = [{"type": kind, "status": "True", "reason": kind, "message": "",
                               "lastTransitionTime": "2026-01-01T00:00:00Z"} for kind in ("QuotaReserved", "Admitted")]
                self.api.patch("Workload", workload["metadata"]["name"], {"status": {"conditions": conditions}},
                               self.namespace, "status")
                self.api.patch("Job", job["metadata"]["name"], {"spec": {"suspend": False}}, self.namespace)
                return


    # ---- JobSets

    def make_jobs(self):
        """A template that has changed makes its Job anew."""
        for job_set in self.api.list("JobSet", self.namespace):
            owner = job_set["metadata"]
            mark = {"jobset.sigs.k8s.io/jobset-name": owner["name"]}
            for part in job_set["spec"]["replicatedJobs"]:
                name, made_from = f"{owner['name']}-{part['name']}-0", json.dumps(part, sort_keys=True)
                job = self.api.find("Job", name, self.namespace)
                if job and job["metadata"]["annotations"]["weir.test/made-from"] == made_from:
                    continue
                if job:
                    self.api.delete("Job", name, self.namespace)
                    continue  # made again when it is gone
                spec = copy.deepcopy(part["template"]["spec"])
                spec["template"]["metadata"] = {"labels": mark, "annotations": mark}
                self.api.create({"kind": "Job", "spec": spec, "metadata": {
                    "name": name, "namespace": self.namespace, "labels": mark,
                    "annotations": {"weir.test/made-from": made_from},
                    "ownerReferences": [{"apiVersion": job_set["apiVersion"], "kind": "JobSet", "name": owner["name"],
                                         "uid": owner["uid"], "controller": True}]}})


def is_admitted(workload):
    return any(condition["type"] == "Admitted" and condition["status"] == "True"
               for condition in workload.get("status", {}).get("conditions", []))


def amount(resources, resource=GPU):
    return int(resources.get(resource, 0))


def gpus_of(pod_spec, resource=GPU):
    return sum(amount(container.get("resources", {}).get("limits", {}), resource)
               for container in pod_spec["containers"])
