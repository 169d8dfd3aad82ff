# SPDX-License-Identifier: Apache-2.0
"""Objects as tests need them, in short."""


def a_namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def a_node(name, gpus=0, cpu="64", memory="512Gi", pods=110, labels=None, resources=None, taints=None,
           unschedulable=False, ready=True):
    """`resources`: more of them, or others: {"aliyun.com/gpu-mem": 64}."""
    capacity = {"cpu": str(cpu), "memory": str(memory), "pods": str(pods), "ephemeral-storage": "1Ti"}
    if gpus:
        capacity["nvidia.com/gpu"] = str(gpus)
    capacity.update({key: str(value) for key, value in (resources or {}).items()})
    all_labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    all_labels.update(labels or {})
    spec = {}
    if taints:
        spec["taints"] = taints
    if unschedulable:
        spec["unschedulable"] = True
    condition = {"type": "Ready", "status": "True" if ready else "False",
                 "reason": "KubeletReady" if ready else "KubeletBroken"}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": all_labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "spec": spec, "status": {"capacity": capacity, "allocatable": capacity, "conditions": [condition]}}


def pod_spec(gpus=0, cpu="1", memory="1Gi", resources=None, **fields):
    """One container. Extended resources are written as limits, as people write them."""
    limits = {key: str(value) for key, value in (resources or {}).items()}
    if gpus:
        limits["nvidia.com/gpu"] = str(gpus)
    container = {"name": "main", "image": "trainer",
                 "resources": {"requests": {"cpu": str(cpu), "memory": str(memory)}, "limits": limits}}
    spec = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
    spec.update(fields)
    return spec


def a_pod(name, namespace="default", labels=None, annotations=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": labels or {}, "annotations": annotations or {}},
            "spec": pod_spec(**spec)}
