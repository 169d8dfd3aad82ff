#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What training loops draw on this machine's GPU, by batch and by how busy they keep it.

    tools/measure_power.py --out power.csv

Three loops with made-up data that stays on the GPU (no loader, no network): a convolutional network of ResNet-50's
shape, a transformer of GPT-2 small's, and a recommender that is little more than two tables. bf16 autocast. Each runs at
several batches as fast as it can, and at some of them with pauses between the steps, so that the loop is busy 25, 50 and
75 % of the time. Clocks and power limits stay as they are.

Needs PyTorch and an NVIDIA GPU. Energy is the GPU's own counter (NVML, in millijoules): what it counted between the first
and the last time it moved inside the window, so its coarse steps cost nothing. Where there is no counter, samples of the
power are integrated, and the row says so. A configuration that fails is a row with the error; each row is in the file as
soon as it is known. With the defaults it takes under 9 minutes.

    --device cpu --dry    a few seconds, no GPU, no energy: only to see that the program works
"""
import argparse
import csv
import ctypes
import datetime
import gc
import math
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

COLUMNS = ["workload", "batch", "duty_percent", "seconds", "iterations", "iterations_per_second", "samples_per_second",
           "mean_watts", "joules_per_iteration", "busy_percent", "utilisation_percent", "sm_clock_mhz", "memory_mib",
           "temperature_c", "energy_source", "error"]

COUNTER = "counter"
SAMPLES = "samples"


# ---- what is measured ----

@dataclass(frozen=True)
class Configuration:
    workload: str
    batch: int
    duty_percent: int = 100


BATCHES = {"convnet": [8, 32, 64, 128, 256], "transformer": [1, 4, 8, 16, 32], "recommender": [256, 1024, 4096, 16384, 65536]}
# With pauses: a small, a middle and the largest batch.
PAUSED_BATCHES = {"convnet": [8, 64, 256], "transformer": [1, 8, 32], "recommender": [256, 4096, 65536]}
DUTIES = [75, 50, 25]
DRY_BATCHES = {"convnet": [2, 4], "transformer": [1, 2], "recommender": [16, 64]}


def configurations(batches, paused, duties):
    """First everything at full speed, largest batch first: if time runs out, what was measured is the most useful."""
    busy = [Configuration(workload, batch) for workload in batches for batch in sorted(batches[workload], reverse=True)]
    pauses = [Configuration(workload, batch, duty)
              for workload in paused for batch in sorted(paused[workload], reverse=True) for duty in duties]
    return busy + pauses


# ---- figures from readings ----

def pause_after(busy_seconds, duty_percent):
    """How long to wait after so much work for the loop to be busy duty_percent of the time."""
    return busy_seconds * (100 - duty_percent) / duty_percent


@dataclass
class Readings:
    """What the meter said during one window. Times in seconds, energy in joules, power in watts."""
    energy: list = field(default_factory=list)  # (time, joules of the counter), each reading
    power: list = field(default_factory=list)  # (time, watts)
    utilisation: list = field(default_factory=list)
    clock: list = field(default_factory=list)
    temperature: list = field(default_factory=list)


def counted_watts(energy):
    """Mean power between the first and the last time the counter moved; None when it moved less than twice."""
    moves = [now for before, now in zip(energy, energy[1:]) if now[1] != before[1]]
    if len(moves) < 2:
        return None
    (start, first), (end, last) = moves[0], moves[-1]
    return (last - first) / (end - start)


def sampled_watts(power):
    """Mean over time of the samples, straight lines between them; None without two of them."""
    if len(power) < 2 or power[-1][0] <= power[0][0]:
        return None
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(power, power[1:]))
    return area / (power[-1][0] - power[0][0])


def mean_watts(readings):
    """(watts, where they come from); (None, "") when nothing is known."""
    watts = counted_watts(readings.energy)
    if watts is not None:
        return watts, COUNTER
    watts = sampled_watts(readings.power)
    return (watts, SAMPLES) if watts is not None else (None, "")


def mean(values):
    return sum(values) / len(values) if values else None


@dataclass
class Window:
    """What a loop did in one window."""
    seconds: float
    iterations: int
    busy_seconds: float
    memory_mib: float = None


def row_of(configuration, window, readings):
    watts, source = mean_watts(readings)
    rate = window.iterations / window.seconds
    return {"workload": configuration.workload, "batch": configuration.batch, "duty_percent": configuration.duty_percent,
            "seconds": window.seconds, "iterations": window.iterations, "iterations_per_second": rate,
            "samples_per_second": rate * configuration.batch, "mean_watts": watts,
            "joules_per_iteration": watts / rate if watts is not None and rate > 0 else None,
            "busy_percent": 100 * window.busy_seconds / window.seconds,
            "utilisation_percent": mean(readings.utilisation), "sm_clock_mhz": mean(readings.clock),
            "memory_mib": window.memory_mib, "temperature_c": mean(readings.temperature), "energy_source": source}


def idle_row(name, seconds, readings):
    watts, source = mean_watts(readings)
    return {"workload": name, "seconds": seconds, "mean_watts": watts, "utilisation_percent": mean(readings.utilisation),
            "sm_clock_mhz": mean(readings.clock), "temperature_c": mean(readings.temperature), "energy_source": source}


def error_row(configuration, error):
    text = " ".join(str(error).split())[:200] or type(error).__name__
    return {"workload": configuration.workload, "batch": configuration.batch, "duty_percent": configuration.duty_percent,
            "error": text}


def cell(value):
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Table:
    """The CSV file: comments, then one row after the other, each written at once."""

    def __init__(self, out, comments):
        self._out = out
        for line in comments:
            self._out.write("# " + " ".join(line.split()) + "\n")
        self._csv = csv.writer(out, lineterminator="\n")
        self._csv.writerow(COLUMNS)
        self._out.flush()

    def add(self, row):
        self._csv.writerow([cell(row.get(column)) for column in COLUMNS])
        self._out.flush()


# ---- meters ----

class NoMeter:
    """Where there is no GPU."""
    name, about, period = "none", [], 0.05

    def read(self, readings):
        pass


class NvmlMeter:
    """NVML through its C interface, which comes with the driver."""
    period = 0.01  # the counter moves every 20 to 100 ms
    LIBRARIES = ["libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1", "libnvidia-ml.so"]
    SM_CLOCK = 1
    GPU_TEMPERATURE = 0
    SLOW_EVERY = 10  # clock, utilisation and temperature: every tenth reading

    class Utilization(ctypes.Structure):
        _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]

    def __init__(self, gpu):
        self._nvml = self._load()
        self._call("nvmlInit_v2")
        self._device = ctypes.c_void_p()
        if gpu.isdigit():
            self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(int(gpu)), ctypes.byref(self._device))
        else:
            self._call("nvmlDeviceGetHandleByUUID", gpu.encode(), ctypes.byref(self._device))
        self._readings = 0
        self.name = self._text("nvmlDeviceGetName", 96)
        self.about = [f"driver: {self._text('nvmlSystemGetDriverVersion', 80, of_device=False)}",
                      f"power limit: {self._scaled('nvmlDeviceGetEnforcedPowerLimit', 1e-3)} W",
                      f"highest SM clock: {self._unsigned('nvmlDeviceGetMaxClockInfo', self.SM_CLOCK)} MHz"]

    @classmethod
    def _load(cls):
        for library in cls.LIBRARIES:
            try:
                return ctypes.CDLL(library)
            except OSError:
                continue
        raise OSError("no libnvidia-ml.so.1: is the NVIDIA driver installed?")

    def _call(self, function, *arguments):
        code = getattr(self._nvml, function)(*arguments)
        if code != 0:
            raise OSError(f"{function}: NVML error {code}")

    def _try(self, function, *arguments):
        try:
            self._call(function, *arguments)
        except (OSError, AttributeError):
            return None
        return True

    def _text(self, function, size, of_device=True):
        text = ctypes.create_string_buffer(size)
        device = (self._device,) if of_device else ()
        return text.value.decode() if self._try(function, *device, text, ctypes.c_uint(size)) else "unknown"

    def _unsigned(self, function, *kind):
        value = ctypes.c_uint()
        kinds = [ctypes.c_uint(k) for k in kind]
        return value.value if self._try(function, self._device, *kinds, ctypes.byref(value)) else None

    def _scaled(self, function, factor):
        value = self._unsigned(function)
        return None if value is None else value * factor

    def read(self, readings):
        millijoules = ctypes.c_ulonglong()
        if self._try("nvmlDeviceGetTotalEnergyConsumption", self._device, ctypes.byref(millijoules)):
            readings.energy.append((time.monotonic(), millijoules.value * 1e-3))
        self._readings += 1
        if self._readings % self.SLOW_EVERY != 1:
            return
        watts = self._scaled("nvmlDeviceGetPowerUsage", 1e-3)
        if watts is not None:
            readings.power.append((time.monotonic(), watts))
        clock = self._unsigned("nvmlDeviceGetClockInfo", self.SM_CLOCK)
        if clock is not None:
            readings.clock.append(clock)
        temperature = self._unsigned("nvmlDeviceGetTemperature", self.GPU_TEMPERATURE)
        if temperature is not None:
            readings.temperature.append(temperature)
        utilisation = self.Utilization()
        if self._try("nvmlDeviceGetUtilizationRates", self._device, ctypes.byref(utilisation)):
            readings.utilisation.append(utilisation.gpu)


class SmiMeter:
    """nvidia-smi, where NVML itself cannot be loaded: samples only."""
    period = 0.2
    FIELDS = ["power.draw", "utilization.gpu", "clocks.sm", "temperature.gpu"]

    def __init__(self, gpu):
        self._gpu = gpu
        self.name, driver, limit, clock = self._query(["name", "driver_version", "power.limit", "clocks.max.sm"])
        self.about = [f"driver: {driver}", f"power limit: {limit} W", f"highest SM clock: {clock} MHz"]

    def _query(self, fields):
        command = ["nvidia-smi", "-i", self._gpu, "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return [text.strip() for text in done.stdout.splitlines()[0].split(",")]

    def read(self, readings):
        now = time.monotonic()
        for text, kept in zip(self._query(self.FIELDS), [readings.power, readings.utilisation, readings.clock,
                                                         readings.temperature]):
            try:
                value = float(text)
            except ValueError:  # "[N/A]"
                continue
            kept.append((now, value) if kept is readings.power else value)


class Watch:
    """Reads a meter in a thread of its own while a block runs."""

    def __init__(self, meter):
        self._meter = meter
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.readings = Readings()

    def _run(self):
        while not self._stop.is_set():
            try:
                self._meter.read(self.readings)
            except (OSError, subprocess.SubprocessError, IndexError) as error:  # one reading less
                print(f"measure_power: a reading failed: {error}", file=sys.stderr)
            self._stop.wait(self._meter.period)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


# ---- loops ----

CHUNK_SECONDS = 0.05  # of steps between two pauses: long against the pause's own error
WARM_UP_SECONDS = 1.5
WARM_UP_STEPS = 5


def run_chunk(step, finish, steps, clock):
    """Seconds that so many steps take, until the device has done them."""
    start = clock()
    for _ in range(steps):
        step()
    finish()
    return clock() - start


def warm_up(step, finish, seconds, clock):
    """Runs until the device is warm; says how long a step takes then."""
    start = clock()
    run_chunk(step, finish, WARM_UP_STEPS, clock)
    steps, took = 1, run_chunk(step, finish, 1, clock)
    while clock() - start < seconds:
        steps = steps_per_chunk(took / steps)
        took = run_chunk(step, finish, steps, clock)
    return took / steps


def steps_per_chunk(step_seconds):
    return max(1, math.ceil(CHUNK_SECONDS / max(step_seconds, 1e-6)))


def run_window(step, finish, step_seconds, duty_percent, seconds, clock=time.monotonic, sleep=time.sleep):
    """Chunks of steps and pauses until the time is over."""
    steps = steps_per_chunk(step_seconds)
    start = clock()
    iterations, busy = 0, 0.0
    while clock() - start < seconds:
        took = run_chunk(step, finish, steps, clock)
        iterations += steps
        busy += took
        pause = pause_after(took, duty_percent)
        if pause > 0:
            sleep(pause)
    return Window(clock() - start, iterations, busy)


def measure(configuration, loops, meter, seconds, clock=time.monotonic, sleep=time.sleep, warm=WARM_UP_SECONDS):
    """One row. What goes wrong in the loop is the row's error."""
    loop = None
    try:
        loop = loops.make(configuration.workload, configuration.batch)
        step_seconds = warm_up(loop, loops.finish, warm, clock)
        with Watch(meter) as watch:
            window = run_window(loop, loops.finish, step_seconds, configuration.duty_percent, seconds, clock, sleep)
        window.memory_mib = loops.memory_mib()
        return row_of(configuration, window, watch.readings)
    except Exception as error:  # noqa: BLE001  (out of memory and whatever else a driver raises)
        return error_row(configuration, error)
    finally:
        del loop
        loops.clear()


def measure_idle(name, meter, seconds, sleep=time.sleep):
    with Watch(meter) as watch:
        sleep(seconds)
    return idle_row(name, seconds, watch.readings)


class TorchLoops:
    """Makes the training loops. Weights and data are random; what they learn does not matter."""

    def __init__(self, torch, device, dry):
        self._torch, self._device, self._dry = torch, device, dry
        torch.manual_seed(1)
        if device.type == "cuda":
            torch.backends.cudnn.benchmark = True

    def touch(self):
        """From here on the process has a place on the GPU, which costs power also when nothing runs."""
        self._torch.ones(1, device=self._device)
        self.finish()

    def make(self, workload, batch):
        return {"convnet": self._convnet, "transformer": self._transformer, "recommender": self._recommender}[workload](batch)

    def finish(self):
        if self._device.type == "cuda":
            self._torch.cuda.synchronize(self._device)

    def memory_mib(self):
        return self._torch.cuda.max_memory_allocated(self._device) / 2**20 if self._device.type == "cuda" else None

    def clear(self):
        gc.collect()  # what a failed step left in a cycle
        if self._device.type == "cuda":
            self._torch.cuda.empty_cache()
            self._torch.cuda.reset_peak_memory_stats(self._device)

    def _step(self, model, optimizer, loss_of):
        def step():
            optimizer.zero_grad(set_to_none=True)
            with self._torch.autocast(self._device.type, dtype=self._torch.bfloat16):
                loss = loss_of(model)
            loss.backward()
            optimizer.step()
        return step

    def _convnet(self, batch):
        torch, nn = self._torch, self._torch.nn
        size, classes = (32, 10) if self._dry else (224, 1000)
        model = convnet(nn, [1, 1, 1, 1] if self._dry else [3, 4, 6, 3], classes)
        model = model.to(self._device, memory_format=torch.channels_last).train()
        images = torch.randn(batch, 3, size, size, device=self._device).contiguous(memory_format=torch.channels_last)
        labels = torch.randint(classes, (batch,), device=self._device)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
        return self._step(model, optimizer, lambda net: nn.functional.cross_entropy(net(images).float(), labels))

    def _transformer(self, batch):
        torch, nn = self._torch, self._torch.nn
        layers, width, heads, length, words = (2, 32, 2, 16, 100) if self._dry else (12, 768, 12, 1024, 50304)
        model = transformer(torch, layers, width, heads, length, words).to(self._device).train()
        text = torch.randint(words, (batch, length + 1), device=self._device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

        def loss_of(net):
            return nn.functional.cross_entropy(net(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        return self._step(model, optimizer, loss_of)

    def _recommender(self, batch):
        torch, nn = self._torch, self._torch.nn
        users, items, width = 6040, 3706, 64  # as many as MovieLens-1M has
        model = recommender(torch, users, items, width).to(self._device).train()
        user = torch.randint(users, (batch,), device=self._device)
        item = torch.randint(items, (batch,), device=self._device)
        liked = torch.randint(2, (batch,), device=self._device).float()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

        def loss_of(net):
            return nn.functional.binary_cross_entropy_with_logits(net(user, item).float(), liked)
        return self._step(model, optimizer, loss_of)


def convnet(nn, depths, classes):
    """ResNet-50's shape with depths 3, 4, 6, 3."""

    class Block(nn.Module):
        def __init__(self, width_in, width, stride):
            super().__init__()
            out = 4 * width
            self.body = nn.Sequential(
                nn.Conv2d(width_in, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out))
            self.skip = nn.Identity() if stride == 1 and width_in == out else nn.Sequential(
                nn.Conv2d(width_in, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x):
            return nn.functional.relu(self.body(x) + self.skip(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    width_in = 64
    for stage, depth in enumerate(depths):
        width = 64 * 2**stage
        for i in range(depth):
            layers.append(Block(width_in, width, 2 if i == 0 and stage > 0 else 1))
            width_in = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width_in, classes))


def transformer(torch, layers, width, heads, length, words):
    """GPT-2 small's shape with 12 layers of width 768."""
    nn = torch.nn
    fused = getattr(nn.functional, "scaled_dot_product_attention", None)  # from PyTorch 2.0 on

    def attend(q, k, v):
        if fused is not None:
            return fused(q, k, v, is_causal=True)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        hidden = torch.ones(scores.size(-2), scores.size(-1), device=q.device).triu(1).bool()
        return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            batch, long, _ = x.shape
            q, k, v = (part.view(batch, long, heads, width // heads).transpose(1, 2)
                       for part in self.qkv(self.before(x)).chunk(3, -1))
            x = x + self.join(attend(q, k, v).transpose(1, 2).reshape(batch, long, width))
            return x + self.mlp(self.after(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.word, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
            self.head.weight = self.word.weight

        def forward(self, text):
            x = self.word(text) + self.place(torch.arange(text.size(1), device=text.device))
            return self.head(self.norm(self.blocks(x)))

    return Model()


def recommender(torch, users, items, width):
    """Neural collaborative filtering: two tables and a small network."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.user, self.item = nn.Embedding(users, width), nn.Embedding(items, width)
            self.mlp = nn.Sequential(nn.Linear(2 * width, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))

        def forward(self, user, item):
            return self.mlp(torch.cat([self.user(user), self.item(item)], -1)).squeeze(-1)

    return Model()


# ---- the program ----

def gpu_of_driver(index, visible):
    """What the driver calls the GPU that PyTorch calls cuda:INDEX when CUDA_VISIBLE_DEVICES is so: a number or a UUID."""
    names = [name.strip() for name in (visible or "").split(",") if name.strip()]
    return names[index] if index < len(names) else str(index)


def open_meter(device):
    """Asks the driver only, so that the GPU stays as it is until PyTorch uses it."""
    if device.type != "cuda":
        return NoMeter()
    gpu = gpu_of_driver(device.index or 0, os.environ.get("CUDA_VISIBLE_DEVICES"))
    try:
        return NvmlMeter(gpu)
    except (OSError, AttributeError) as error:
        print(f"measure_power: {error}; asking nvidia-smi instead", file=sys.stderr)
        return SmiMeter(gpu)


def header(torch, device, meter, options):
    return ["SPDX-License-Identifier: Apache-2.0",
            f"GPU: {meter.name if device.type == 'cuda' else 'none, on the CPU'}", *meter.about,
            f"PyTorch: {torch.__version__}", f"date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}",
            f"method: tools/measure_power.py, {options.seconds:g} s a row after a warm-up of {WARM_UP_SECONDS:g} s; one GPU, "
            "training with bf16 autocast and made-up data on the GPU; clocks and limits as found; duty_percent by pauses "
            "between chunks of steps; idle-before is without a process on the GPU; mean_watts from the energy counter between its first and last move "
            f"(energy_source {COUNTER}) or integrated from samples ({SAMPLES})",
            "workloads: convnet is ResNet-50's shape at 224 x 224 with SGD, transformer GPT-2 small's at 1024 tokens with "
            "AdamW, recommender two tables of MovieLens-1M's size and a small network with Adam"]


def measure_all(plan, loops, meter, table, options, end, clock=time.monotonic, sleep=time.sleep):
    """Every row in turn; what would end after `end` is a row that says so."""
    longest = options.seconds + options.warm_up + 2  # 2 s to make the network
    for configuration in plan:
        if clock() + longest + options.idle_seconds > end:
            row = error_row(configuration, "not run: the time limit was near")
        else:
            row = measure(configuration, loops, meter, options.seconds, clock, sleep, options.warm_up)
        table.add(row)
        print(f"{configuration.workload:12} batch {configuration.batch:6} duty {configuration.duty_percent:3} %  "
              f"{cell(row.get('samples_per_second')) or '-':>10} samples/s  {cell(row.get('mean_watts')) or '-':>8} W  "
              f"{row.get('error', '')}", flush=True)
    table.add(measure_idle("idle-after", meter, options.idle_seconds, sleep))


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, metavar="FILE", help="the CSV file to write")
    parser.add_argument("--seconds", type=float, default=8, help="measured time of each row (default 8)")
    parser.add_argument("--limit", type=float, default=525, help="seconds for everything (default 525)")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu (default cuda)")
    parser.add_argument("--dry", action="store_true", help="tiny networks and few rows: does the program work?")
    options = parser.parse_args(arguments)
    if not 0 < options.seconds <= 600:
        parser.error("--seconds: write a number above 0, up to 600")
    if not 0 < options.limit <= 86400:
        parser.error("--limit: write a number of seconds above 0, up to 86400")
    options.warm_up = min(WARM_UP_SECONDS, options.seconds)
    options.idle_seconds = min(8, options.seconds)
    return options


def main(arguments):
    options = parse(arguments)
    end = time.monotonic() + options.limit
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # as the driver counts
    try:
        import torch
    except ImportError:
        print("measure_power: PyTorch is missing: python3 -c 'import torch' must work", file=sys.stderr)
        return 77
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("measure_power: no GPU that PyTorch can use; --device cpu --dry tries the program without", file=sys.stderr)
        return 2
    meter = open_meter(device)
    plan = (configurations(DRY_BATCHES, DRY_BATCHES, [50]) if options.dry
            else configurations(BATCHES, PAUSED_BATCHES, DUTIES))
    with open(options.out, "w", newline="", encoding="utf-8") as out:
        table = Table(out, header(torch, device, meter, options))
        table.add(measure_idle("idle-before", meter, options.idle_seconds))
        loops = TorchLoops(torch, device, options.dry)
        loops.touch()
        table.add(measure_idle("idle-with-context", meter, options.idle_seconds))
        measure_all(plan, loops, meter, table, options, end)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
