#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times every algorithm cuDNN has for a convolution, beside the one its heuristic and PyTorch take.

    tools/collect/algorithms.py --out FOLDER [--seconds 90]

Writes conv_algorithms.csv: a row per convolution and algorithm, with the workspace it needs and the place the library's
heuristic gives it (0 = its choice). PyTorch's own choice is the row "torch", with its benchmark mode "torch_benchmark".
Goes on where the last run stopped. cuDNN is called through its C interface, in the copy that PyTorch loaded.
"""
import argparse
import ctypes
import sys
import time

import gpu_state
import kernels
import needs
import ops
import shapes
import table

COLUMNS = ["split", "pass", "dtype", "layout", "B", "Cin", "Cout", "ksize", "insize", "stride", "pad", "algorithm", "latency_ms",
           "workspace_bytes", "heuristic_rank", "spread", "n_kernels", "kernel_ids", "launches"]
WORKSPACE_BYTES = 2 << 30

ALGORITHMS = {
    "fwd": ["implicit_gemm", "implicit_precomp_gemm", "gemm", "direct", "fft", "fft_tiling", "winograd", "winograd_nonfused"],
    "dgrad": ["algo_0", "algo_1", "fft", "fft_tiling", "winograd", "winograd_nonfused"],
    "wgrad": ["algo_0", "algo_1", "fft", "algo_3", "winograd", "winograd_nonfused", "fft_tiling"],
}
NCHW, NHWC = 0, 1
DATA_TYPE = {"bf16": 9, "tf32": 0, "fp32": 0}
FLOAT = 0
CROSS_CORRELATION = 1
TENSOR_OP_MATH, FMA_MATH = 1, 3


class AlgorithmPerformance(ctypes.Structure):
    """One entry of the heuristic's answer; the same layout for all three passes."""
    _fields_ = [("algorithm", ctypes.c_int), ("status", ctypes.c_int), ("time", ctypes.c_float), ("memory", ctypes.c_size_t),
                ("determinism", ctypes.c_int), ("math_type", ctypes.c_int), ("reserved", ctypes.c_int * 3)]


class CudnnError(RuntimeError):
    pass


class Cudnn:
    """Convolutions by algorithm."""

    SUFFIX = {"fwd": "Forward", "dgrad": "BackwardData", "wgrad": "BackwardFilter"}

    def __init__(self, library="libcudnn.so.9"):
        self._lib = ctypes.CDLL(library)
        self._handle = ctypes.c_void_p()

    def open(self, stream):
        self._call("cudnnCreate", ctypes.byref(self._handle))
        self._call("cudnnSetStream", self._handle, ctypes.c_void_p(stream))

    def _call(self, function, *arguments):
        code = getattr(self._lib, function)(*arguments)
        if code:
            raise CudnnError(f"{function}: cuDNN status {code}")

    def _new(self, kind):
        made = ctypes.c_void_p()
        self._call(f"cudnnCreate{kind}Descriptor", ctypes.byref(made))
        return made

    def describe(self, case):
        """(input, filter, convolution, output) descriptors of a case."""
        out = shapes.conv_out(case["insize"], case["ksize"], case["stride"], case["pad"])
        layout, kind = (NCHW if case["layout"] == "nchw" else NHWC), DATA_TYPE[case.dtype]
        x, w, convolution, y = self._new("Tensor"), self._new("Filter"), self._new("Convolution"), self._new("Tensor")
        self._call("cudnnSetTensor4dDescriptor", x, layout, kind, case["B"], case["Cin"], case["insize"], case["insize"])
        self._call("cudnnSetFilter4dDescriptor", w, kind, layout, case["Cout"], case["Cin"], case["ksize"], case["ksize"])
        self._call("cudnnSetConvolution2dDescriptor", convolution, case["pad"], case["pad"], case["stride"], case["stride"], 1, 1,
                   CROSS_CORRELATION, FLOAT)
        self._call("cudnnSetConvolutionMathType", convolution, FMA_MATH if case.dtype == "fp32" else TENSOR_OP_MATH)
        self._call("cudnnSetTensor4dDescriptor", y, layout, kind, case["B"], case["Cout"], out, out)
        return x, w, convolution, y

    def forget(self, descriptors):
        for kind, made in zip(("Tensor", "Filter", "Convolution", "Tensor"), descriptors):
            self._call(f"cudnnDestroy{kind}Descriptor", made)

    @staticmethod
    def _order(which, x, w, convolution, y):
        """Each pass takes its descriptors in its own order; its result is last."""
        return {"fwd": (x, w, convolution, y), "dgrad": (w, y, convolution, x), "wgrad": (x, y, convolution, w)}[which]

    def heuristic(self, which, descriptors):
        """Algorithm numbers, best first by the library's own guess, without those it calls impossible."""
        answers, count = (AlgorithmPerformance * 16)(), ctypes.c_int()
        self._call(f"cudnnGetConvolution{self.SUFFIX[which]}Algorithm_v7", self._handle, *self._order(which, *descriptors), 16,
                   ctypes.byref(count), answers)
        possible = [one.algorithm for one in answers[:count.value] if one.status == 0 and one.memory <= WORKSPACE_BYTES]
        return list(dict.fromkeys(possible))

    def workspace(self, which, descriptors, algorithm):
        size = ctypes.c_size_t()
        self._call(f"cudnnGetConvolution{self.SUFFIX[which]}WorkspaceSize", self._handle, *self._order(which, *descriptors), algorithm,
                   ctypes.byref(size))
        return size.value

    def run(self, which, descriptors, pointers, algorithm, workspace, size):
        """pointers: of the input, the filter and the output."""
        x, w, convolution, y = descriptors
        px, pw, py = (ctypes.c_void_p(pointer) for pointer in pointers)
        one, zero = ctypes.byref(ctypes.c_float(1)), ctypes.byref(ctypes.c_float(0))
        area = (ctypes.c_void_p(workspace), ctypes.c_size_t(size))
        if which == "fwd":
            self._call("cudnnConvolutionForward", self._handle, one, x, px, w, pw, convolution, algorithm, *area, zero, y, py)
        elif which == "dgrad":
            self._call("cudnnConvolutionBackwardData", self._handle, one, w, pw, y, py, convolution, algorithm, *area, zero, x, px)
        else:
            self._call("cudnnConvolutionBackwardFilter", self._handle, one, x, px, y, py, convolution, algorithm, *area, zero, w, pw)


def tensors_of(case, pools, torch):
    dtype = torch.bfloat16 if case.dtype == "bf16" else torch.float32
    out = shapes.conv_out(case["insize"], case["ksize"], case["stride"], case["pad"])
    return (pools.take_scratch(dtype, case["B"] * case["Cin"] * case["insize"] ** 2),
            pools.take_scratch(dtype, case["Cout"] * case["Cin"] * case["ksize"] ** 2),
            pools.take_scratch(dtype, case["B"] * case["Cout"] * out * out))


def rows_of(case, torch, cudnn, timer, workspace, names):
    """All algorithms of one convolution."""
    which = case["pass"]
    descriptors = cudnn.describe(case)
    order = cudnn.heuristic(which, descriptors)
    rows = []

    def add(name, make_call, **more):
        timing = timer.time(make_call)
        rows.append({"algorithm": name, "latency_ms": timing.seconds * 1e3, "spread": timing.spread, "n_kernels": len(timing.launches),
                     "kernel_ids": "|".join(str(names.id_of(one.name)) for one in timing.launches),
                     "launches": kernels.packed(timing.launches, names.id_of)} | more)

    for number, name in enumerate(ALGORITHMS[which]):
        def make_call():
            tensors = tensors_of(case, timer.pools, torch)
            pointers = [one.data_ptr() for one in tensors]
            return lambda: cudnn.run(which, descriptors, pointers, number, workspace.data_ptr(), size)
        try:
            size = cudnn.workspace(which, descriptors, number)
            if size <= WORKSPACE_BYTES:
                add(name, make_call, workspace_bytes=size, heuristic_rank=order.index(number) if number in order else None)
        except RuntimeError as error:  # not for this shape
            if "illegal memory" in str(error):
                raise
    cudnn.forget(descriptors)
    for name, benchmark in (("torch", False), ("torch_benchmark", True)):
        torch.backends.cudnn.benchmark = benchmark
        add(name, ops.call_maker(case, torch, timer.pools))
    torch.backends.cudnn.benchmark = False
    common = {"split": case.split(), "dtype": case.dtype} | dict(case.params)
    return [common | row for row in rows]


def measure(folder, seconds, torch, say=print):
    import timing
    tables = table.Tables(folder)
    timer = timing.CudaTimer(torch, gpu_state.open_state("cuda"))
    cudnn = Cudnn()
    cudnn.open(timer.stream.cuda_stream)
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
    out = table.AppendedTable(tables.path("conv_algorithms"), COLUMNS)
    started, count = time.monotonic(), 0
    for case in shapes.algorithm_cases():
        key = "algorithms " + case.key()
        if (key, 0) in tables.done:
            continue
        if time.monotonic() - started > seconds:
            break
        tables.begin(key, 0)
        try:
            rows = rows_of(case, torch, cudnn, timer, workspace, tables.names)
        except RuntimeError as error:
            if "illegal memory" in str(error):
                raise
            tables.skip(key, 0, error)
            continue
        tables.add_together((out, rows), done=(key, 0, f"{len(rows)} algorithms"))
        count += 1
    say(f"algorithms: {count} convolutions, {time.monotonic() - started:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=90.0)
    given = parser.parse_args()
    measure(given.out, given.seconds, needs.pytorch("algorithms", gpu=True, graphs=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
