# SPDX-License-Identifier: Apache-2.0
"""How long a call takes: CUDA graphs of several calls, each on data of its own, after the cache was emptied.

A training step finds little of its data in the L2 cache, so every call of a graph has inputs and outputs of its own, and
before each replay more than twice the L2 is read. A call's time is the replay's, less what an empty replay costs, over
the number of calls: the median over the replays. On a CPU the same calls run under a plain clock, to try the program.
"""
import gc
import statistics
import time
from dataclasses import dataclass, field

import kernels

GRAPH_SECONDS = 200e-6  # of calls in one graph
MOST_CALLS = 20
LEAST_SECONDS = 2e-3  # of timed work in all
LEAST_REPLAYS, MOST_REPLAYS = 10, 30
LONG_SECONDS = 2e-3  # calls longer than this are replayed less often
FEWEST_REPLAYS = 5
FLUSH_TIMES_L2 = 4
POOL_BYTES = 6 << 30
ALIGNMENT = 256  # bytes
REST_SECONDS = 0.2
PIECE_SECONDS = 0.1


@dataclass
class Timing:
    seconds: float
    spread: float  # (9th decile - 1st decile) / median of the replays
    calls: int
    replays: int
    launches: list = field(default_factory=list)
    warm_seconds: float = None
    cpu_seconds: float = None
    clock_mhz: int = None
    watts: float = None


@dataclass
class Sustained:
    first_seconds: float
    seconds: float
    clock_mhz: float


def calls_per_graph(seconds):
    """Enough calls that an event's error does not matter."""
    return max(1, min(MOST_CALLS, round(GRAPH_SECONDS / max(seconds, 1e-7))))


def replays_for(seconds, calls):
    if seconds > LONG_SECONDS:
        return FEWEST_REPLAYS
    return max(LEAST_REPLAYS, min(MOST_REPLAYS, int(LEAST_SECONDS / (seconds * calls)) + 1))


def median_and_spread(values):
    ordered = sorted(values)
    middle = statistics.median(ordered)
    tenth = len(ordered) // 10
    return middle, (ordered[-1 - tenth] - ordered[tenth]) / middle if middle > 0 else 0.0


class Pool:
    """Random numbers that inputs are cut from, always the next piece, so that no two calls share data."""

    def __init__(self, torch, dtype, device, nbytes, positive=False):
        self._data = torch.empty(nbytes // dtype.itemsize, dtype=dtype, device=device)
        step = 1 << 28
        for start in range(0, self._data.numel(), step):
            piece = self._data[start:start + step]
            piece.uniform_(1e-4, 1e-2) if positive else piece.normal_()
        self._next = 0
        self._align = ALIGNMENT // dtype.itemsize

    def take(self, *shape):
        count = 1
        for side in shape:
            count *= side
        if count > self._data.numel():
            raise MemoryError(f"{count} numbers wanted, the pool has {self._data.numel()}")
        if self._next + count > self._data.numel():
            self._next = 0
        start, self._next = self._next, self._next + -(-count // self._align) * self._align
        return self._data[start:start + count].view(shape)


class Pools:
    def __init__(self, torch, device, nbytes):
        self._torch, self._device, self._nbytes, self._made = torch, device, nbytes, {}

    def take(self, dtype, *shape):
        return self._pool(dtype, False).take(*shape)

    def take_scratch(self, dtype, *shape):
        """Small positive numbers that may be overwritten."""
        return self._pool(dtype, True).take(*shape)

    def _pool(self, dtype, positive):
        if (dtype, positive) not in self._made:
            self._made[dtype, positive] = Pool(self._torch, dtype, self._device, self._nbytes, positive)
        return self._made[dtype, positive]


class CpuTimer:
    """The same calls under a plain clock."""
    device = "cpu"

    def __init__(self, torch, _state=None):
        self.torch = torch
        self.pools = Pools(torch, "cpu", 1 << 24)
        self.about = {}

    def time(self, make_call, warm=False):
        calls = [make_call() for _ in range(2)]
        seconds = []
        for call in calls + calls:
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        middle, spread = median_and_spread(seconds)
        return Timing(middle, spread, 1, len(seconds), warm_seconds=middle if warm else None, cpu_seconds=middle)

    def sustain(self, make_call, seconds):
        once = self.time(make_call).seconds
        return Sustained(once, once, None)

    def release_memory(self):
        pass


class CudaTimer:
    device = "cuda"

    def __init__(self, torch, state):
        self.torch, self._state = torch, state
        self.pools = Pools(torch, "cuda", POOL_BYTES)
        self._driver = kernels.Driver()
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self._flushed = torch.ones(FLUSH_TIMES_L2 * l2 // 4, device="cuda")
        self._sum = torch.zeros((), device="cuda")
        self.stream = torch.cuda.Stream()
        self._memory = torch.cuda.graph_pool_handle()
        self._empty_replay_seconds = 0.0
        with torch.cuda.stream(self.stream):
            self._keep_memory = self.capture([lambda: self._sum.clone()])  # keeps the graphs' memory pool alive
        self._warm_up()
        self._calibrate()

    def _warm_up(self, seconds=1.5):
        torch = self.torch
        a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            for _ in range(20):
                a @ a
            torch.cuda.synchronize()

    def _calibrate(self):
        """What a replay costs besides its calls, from graphs of few and of many tiny calls."""
        tiny = self.torch.zeros(1024, device="cuda")
        medians = {}
        with self.torch.cuda.stream(self.stream):
            for calls in (5, 40):
                graph = self.capture([tiny.neg] * calls)
                medians[calls] = statistics.median(self.replay(graph, 100)[0])
        each = (medians[40] - medians[5]) / 35
        self._empty_replay_seconds = max(0.0, medians[5] - 5 * each)
        self.about = {"empty_replay_us": self._empty_replay_seconds * 1e6, "tiny_kernel_in_graph_us": each * 1e6}

    def capture(self, calls):
        """A graph of the calls; their outputs all live until its end, so that each has memory of its own."""
        graph = self.torch.cuda.CUDAGraph(keep_graph=True)
        graph.capture_begin(pool=self._memory, capture_error_mode="thread_local")
        try:
            outputs = [call() for call in calls]
        finally:
            graph.capture_end()
        graph.instantiate()
        del outputs
        return graph

    def replay(self, graph, count, flush=True):
        """Seconds of each replay, the clock and the power meanwhile."""
        torch = self.torch
        marks = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]
        for start, end in marks:
            if flush:
                torch.sum(self._flushed, dim=0, out=self._sum)
            start.record()
            graph.replay()
            end.record()
        clock, watts = self._state.clock_mhz(), self._state.watts()
        self.stream.synchronize()
        return [start.elapsed_time(end) / 1e3 for start, end in marks], clock, watts

    def _once(self, call):
        """Seconds between two events around an eager call: a first guess. And the CPU's share."""
        start, end = self.torch.cuda.Event(enable_timing=True), self.torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        self.stream.synchronize()
        return start.elapsed_time(end) / 1e3

    def _cpu_seconds(self, call):
        """The CPU's time for one eager call: the shortest of a few."""
        best = float("inf")
        for _ in range(4):
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
        self.stream.synchronize()
        return best

    def time(self, make_call, warm=False):
        """make_call() returns a call on fresh data. warm: also time it on data that is in the cache."""
        with self.torch.cuda.stream(self.stream):
            first = make_call()
            first()
            guess = min(self._once(first), self._once(first))
            cpu = self._cpu_seconds(first) if guess < 1e-3 else None
            count = calls_per_graph(guess)
            calls = [first] + [make_call() for _ in range(count - 1)]
            graph = self.capture(calls)
            guess = self._each(min(self.replay(graph, 3)[0]), count)
            if count < calls_per_graph(guess) // 2:  # the CPU was slow, not the GPU
                count = calls_per_graph(guess)
                calls += [make_call() for _ in range(count - len(calls))]
                graph = self.capture(calls)
                self.replay(graph, 1)
            launches = self._driver.launches(graph.raw_cuda_graph())
            launches = launches[:max(1, len(launches) // count)]
            seconds, clock, watts = self.replay(graph, replays_for(guess, count))
            middle, spread = median_and_spread([self._each(value, count) for value in seconds])
            timing = Timing(middle, spread, count, len(seconds), launches, None, cpu, clock, watts)
            if warm and guess < 1e-4:
                del graph
                again = self.capture([first] * count)
                self.replay(again, 2, flush=False)
                seconds, _, _ = self.replay(again, LEAST_REPLAYS, flush=False)
                timing.warm_seconds = statistics.median(self._each(value, count) for value in seconds)
        return timing

    def sustain(self, make_call, seconds):
        """Runs a call back to back for so long, from a rest: what it took at first, and later, when the card is warm."""
        with self.torch.cuda.stream(self.stream):
            first = make_call()
            first()
            guess = min(self._once(first), self._once(first))
            count = max(1, min(20, int(2e-3 / guess)))
            graph = self.capture([first] + [make_call() for _ in range(count - 1)])
            guess = min(self.replay(graph, 2, flush=False)[0])
            time.sleep(REST_SECONDS)
            first_seconds = statistics.median(self.replay(graph, 2, flush=False)[0]) / count
            started, samples = time.perf_counter(), []
            while time.perf_counter() - started < seconds:  # long pieces, so that the GPU hardly ever waits
                each, clock, _ = self.replay(graph, max(2, int(PIECE_SECONDS / guess)), flush=False)
                samples.append((statistics.median(each) / count, clock or 0))
        last = samples[len(samples) // 3:]
        return Sustained(first_seconds, *(statistics.median(sample[part] for sample in last) for part in range(2)))

    def release_memory(self):
        """Gives the graphs' memory back: it may have been cut into pieces too small for what comes next."""
        self._keep_memory = None
        gc.collect()
        self.torch.cuda.empty_cache()
        self._memory = self.torch.cuda.graph_pool_handle()
        with self.torch.cuda.stream(self.stream):
            self._keep_memory = self.capture([lambda: self._sum.clone()])

    def _each(self, seconds, count):
        return max(1e-9, seconds - self._empty_replay_seconds) / count


def make_timer(torch, device, state):
    return CudaTimer(torch, state) if device == "cuda" else CpuTimer(torch)
