# SPDX-License-Identifier: Apache-2.0
"""A piece of the public openb trace as pods and nodes, compressed in time.

Durations are the trace's, divided by one factor and cut at the long end (services that ran for months); arrivals keep
their order and the shape of their gaps, and are stretched to fill the time wanted. The nodes are drawn from the
trace's until what is asked for is `load` times what they have: queues form. A pod that asks for a part of a GPU asks
for a whole one here. Namespaces are the trace's classes of service: all it says of who asked.
"""
import csv
import gzip
import os
import random
from dataclasses import dataclass
from pathlib import Path

from manifests import a_node, a_pod

REPOSITORY = Path(__file__).resolve().parent.parent.parent
LONGEST_GAP_SECONDS = 3600  # of the trace: nights and holidays are cut


def folder():
    data = Path(os.environ.get("WEIR_DATA", REPOSITORY.parent / "shared" / "data"))
    return data / "openb"


@dataclass
class OpenbPod:
    name: str
    namespace: str
    at: float  # seconds after the start
    duration: float  # seconds
    gpus: int
    cpu_milli: int
    memory_mib: int

    def manifest(self):
        return a_pod(self.name, self.namespace, gpus=self.gpus, cpu=f"{self.cpu_milli}m",
                     memory=f"{self.memory_mib}Mi", annotations={"weir.test/duration": f"{self.duration:.3f}s"})


def read_rows(name):
    with gzip.open(folder() / f"openb_{name}.csv.gz", "rt", encoding="ascii") as file:
        return list(csv.DictReader(file))


def pods(first, count, arrive_seconds, compress, longest_seconds):
    """`count` pods of the trace from number `first` on, in the order of their creation."""
    rows = [row for row in read_rows("pod_list_default") if row["scheduled_time"]]
    rows.sort(key=lambda row: float(row["creation_time"]))
    rows = rows[first:first + count]
    if len(rows) < count:
        raise SystemExit(f"the trace has only {len(rows)} pods from number {first} on")
    ats, last = [0.0], float(rows[0]["creation_time"])
    for row in rows[1:]:
        created = float(row["creation_time"])
        ats.append(ats[-1] + min(created - last, LONGEST_GAP_SECONDS))
        last = created
    stretch = arrive_seconds / max(ats[-1], 1e-9)
    made = []
    for row, at in zip(rows, ats):
        ran = (float(row["deletion_time"]) - float(row["scheduled_time"])) / compress
        made.append(OpenbPod(row["name"], "qos-" + row["qos"].lower(), at * stretch, min(max(ran, 1.0), longest_seconds),
                             int(row["num_gpu"]), int(row["cpu_milli"]), int(row["memory_mib"])))
    return made


def gpu_seconds(all_pods):
    return sum(pod.gpus * pod.duration for pod in all_pods)


def nodes(gpus, seed):
    """Drawn from the trace's until they have so many GPUs; the largest pods must fit somewhere."""
    rows = read_rows("node_list_gpu_node")
    rng = random.Random(seed)
    rng.shuffle(rows)
    largest = max(rows, key=lambda row: (int(row["gpu"]), int(row["cpu_milli"]), int(row["memory_mib"])))
    chosen, has = [], 0
    for row in [largest] + [row for row in rows if row is not largest]:
        if has >= gpus:
            break
        chosen.append(a_node(row["sn"], gpus=int(row["gpu"]), cpu=f"{row['cpu_milli']}m", memory=f"{row['memory_mib']}Mi",
                             labels={"nvidia.com/gpu.product": row["model"]}))
        has += int(row["gpu"])
    return chosen, has
