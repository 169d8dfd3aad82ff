# SPDX-License-Identifier: Apache-2.0
"""Which kernels a call launches: name, grid, block, cluster, registers, shared memory and how many blocks fit on an SM.

Read from the CUDA graph that is timed, node by node, through the driver's C interface: these are the launches that were
timed, and no profiler has to be switched on and off.
"""
import ctypes
import functools
import re
from dataclasses import dataclass

KERNEL_NODE, MEMCPY_NODE, MEMSET_NODE = 0, 1, 2
CLUSTER_DIMENSION = 4  # launch attribute
STATIC_SHARED_BYTES, REGISTERS = 1, 4  # function attributes


@dataclass(frozen=True)
class Launch:
    name: str
    grid: tuple
    block: tuple
    smem: int = 0
    regs: int = 0
    occ: int = 0  # blocks that fit on one SM
    cluster: int = 1

    def blocks(self):
        return self.grid[0] * self.grid[1] * self.grid[2]

    def threads(self):
        return self.block[0] * self.block[1] * self.block[2]


class KernelNodeParams(ctypes.Structure):
    _fields_ = [("func", ctypes.c_void_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("arguments", ctypes.c_void_p), ("extra", ctypes.c_void_p), ("kern", ctypes.c_void_p), ("context", ctypes.c_void_p),
                ("reserve", ctypes.c_char * 64)]


class Driver:
    """The part of the CUDA driver that looks into graphs."""

    def __init__(self):
        self._cuda = ctypes.CDLL("libcuda.so.1")

    def _call(self, function, *arguments):
        code = getattr(self._cuda, function)(*arguments)
        if code:
            raise RuntimeError(f"{function}: CUDA error {code}")

    def launches(self, graph):
        """The launches of a captured graph in order; copies and fills are launches named so."""
        count = ctypes.c_size_t()
        self._call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(count))
        nodes = (ctypes.c_void_p * count.value)()
        self._call("cuGraphGetNodes", ctypes.c_void_p(graph), nodes, ctypes.byref(count))
        found = [self._node(ctypes.c_void_p(node)) for node in nodes]
        return [launch for launch in found if launch]

    def _node(self, node):
        kind = ctypes.c_int()
        self._call("cuGraphNodeGetType", node, ctypes.byref(kind))
        if kind.value in (MEMCPY_NODE, MEMSET_NODE):
            return Launch("(memcpy)" if kind.value == MEMCPY_NODE else "(memset)", (1, 1, 1), (1, 1, 1))
        if kind.value != KERNEL_NODE:
            return None
        params = KernelNodeParams()
        self._call("cuGraphKernelNodeGetParams_v2", node, ctypes.byref(params))
        function = ctypes.c_void_p(params.func)
        if not params.func:
            self._call("cuKernelGetFunction", ctypes.byref(function), ctypes.c_void_p(params.kern))
        name, static, regs = self._facts(function.value)
        block = tuple(params.block)
        occ = ctypes.c_int()
        self._cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(ctypes.byref(occ), function, block[0] * block[1] * block[2],
                                                               ctypes.c_size_t(params.shared))
        return Launch(name, tuple(params.grid), block, static + params.shared, regs, occ.value, self._cluster(node))

    @functools.lru_cache(maxsize=None)
    def _facts(self, function):
        function = ctypes.c_void_p(function)
        name, value = ctypes.c_char_p(), ctypes.c_int()
        self._call("cuFuncGetName", ctypes.byref(name), function)
        self._call("cuFuncGetAttribute", ctypes.byref(value), STATIC_SHARED_BYTES, function)
        static = value.value
        self._call("cuFuncGetAttribute", ctypes.byref(value), REGISTERS, function)
        return readable(name.value.decode()), static, value.value

    def _cluster(self, node):
        value = (ctypes.c_uint * 16)()
        if self._cuda.cuGraphKernelNodeGetAttribute(node, CLUSTER_DIMENSION, ctypes.byref(value)):
            return 1
        return max(1, value[0]) * max(1, value[1]) * max(1, value[2])


@functools.lru_cache(maxsize=None)
def readable(name):
    """A kernel's name as people read it: demangled, without arguments."""
    if name.startswith("_Z"):
        try:
            demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
        except OSError:
            return name
        demangle.restype = ctypes.c_char_p
        status = ctypes.c_int()
        name = (demangle(name.encode(), None, None, ctypes.byref(status)) or name.encode()).decode()
    return without_arguments(name)


def without_arguments(name):
    """Cuts the argument list and the return type off a demangled name, which template arguments may contain brackets of."""
    depth = 0
    for position, letter in enumerate(name):
        if letter == "<":
            depth += 1
        elif letter == ">" and name[position - 1] != "-":
            depth -= 1
        elif letter == "(" and depth == 0 and position > 0 and not name.startswith("(anonymous namespace)", position):
            name = name[:position]
            break
    return name.removeprefix("void ").strip()


MATRIX_KERNEL = re.compile(r"nvjet|gemm|gemv|cutlass|xmma|fprop|dgrad|wgrad|conv|winograd|fft|fmha|flash|attention|splitK", re.I)
HELPER = re.compile(r"nchwToNhwc|nhwcToNchw|splitKreduce|reduce_kernel|\(mem", re.I)


def main_launch(launches):
    """The launch that does the work: the largest among those that look like matrix work, else the largest."""
    matrix = [one for one in launches if MATRIX_KERNEL.search(one.name) and not HELPER.search(one.name)]
    return max(matrix or launches, key=lambda one: one.blocks() * one.threads(), default=None)


def packed(launches, id_of):
    """All launches in one cell: id:grid:block:smem:regs:occ:cluster, then the next after a semicolon."""
    def one(launch):
        grid, block = ("x".join(str(side) for side in sides) for sides in (launch.grid, launch.block))
        return f"{id_of(launch.name)}:{grid}:{block}:{launch.smem}:{launch.regs}:{launch.occ}:{launch.cluster}"
    return ";".join(one(launch) for launch in launches)


def unpacked(cell, name_of):
    """The launches of a cell that packed() wrote."""
    def one(text):
        number, grid, block, *rest = text.split(":")
        return Launch(name_of(int(number)), *(tuple(int(side) for side in sides.split("x")) for sides in (grid, block)),
                      *(int(value) for value in rest))
    return [one(text) for text in cell.split(";") if text]
