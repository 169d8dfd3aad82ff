# SPDX-License-Identifier: Apache-2.0
"""The kernels of a piece of a program, in order, with the operator that launched each: from a trace of PyTorch's profiler."""
import bisect
import json
import os
import tempfile
from dataclasses import dataclass

from kernels import without_arguments

LONGEST_TEXT = 1500


@dataclass(frozen=True)
class ProfiledKernel:
    name: str
    grid: tuple
    block: tuple
    smem: int
    regs: int
    start_us: float
    duration_us: float
    phase: str
    mark: int  # how many marks the CPU had passed when it launched this
    op: str
    details: str  # JSON: shapes, strides, types and plain arguments of the operator


def op_details(event):
    """JSON; where it would be very long, as for an optimizer's lists of tensors, only the types stay."""
    args = event.get("args", {})
    kept = {"dims": "Input Dims", "strides": "Input Strides", "types": "Input type", "values": "Concrete Inputs"}
    details = {short: args[long] for short, long in kept.items() if long in args}
    text = json.dumps(details, separators=(",", ":"))
    return text if len(text) <= LONGEST_TEXT else json.dumps({"types": details.get("types", [])[:8], "cut": True}, separators=(",", ":"))


def kernels_of(trace, phases, mark=""):
    """Kernels, copies and fills of a trace. phases: names of annotated ranges; mark: how the names of marks begin."""
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    launched = {event["args"]["correlation"]: event["ts"] for event in events
                if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})}
    ops = {event["args"]["External id"]: event for event in events if event.get("cat") == "cpu_op" and "External id" in event.get("args", {})}
    notes = [event for event in events if event.get("cat") == "user_annotation"]
    ranges = [(event["ts"], event["ts"] + event["dur"], event["name"]) for event in notes if event["name"] in phases]
    marks = sorted(event["ts"] for event in notes if mark and event["name"].startswith(mark))
    found = []
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        args = event["args"]
        when = launched.get(args.get("correlation"), event["ts"])
        phase = next((name for start, end, name in ranges if start <= when <= end), "")
        op = ops.get(args.get("External id"))
        name = without_arguments(event["name"]) if event["cat"] == "kernel" else f"({event['cat'][4:]})"
        found.append(ProfiledKernel(name, tuple(args.get("grid", (1, 1, 1))), tuple(args.get("block", (1, 1, 1))),
                                    int(args.get("shared memory", 0)), int(args.get("registers per thread", 0)), event["ts"], event["dur"],
                                    phase, bisect.bisect_right(marks, when), op["name"] if op else "", op_details(op) if op else "{}"))
    return sorted(found, key=lambda kernel: kernel.start_us)


def profile(torch, device, work, phases, mark=""):
    """Runs work() under the profiler."""
    from torch.profiler import ProfilerActivity
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        work()
        if device == "cuda":
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path) as file:
            return kernels_of(json.load(file), phases, mark)
