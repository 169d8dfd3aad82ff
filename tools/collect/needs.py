# SPDX-License-Identifier: Apache-2.0
"""What a command cannot go without. Where it is missing, one line says so and the exit status is 2."""
import re
import shutil
import sys

MISSING = 2  # exit status
LEAST_CLUSTERED = 9  # compute capability
LEAST_TORCH = (2, 5)  # has grouped-query attention (enable_gqa) and torch.OutOfMemoryError; fake tensors know enough since 2.4


def stop(command, reason):
    print(f"{command}: {reason}", file=sys.stderr)
    raise SystemExit(MISSING)


def too_old(torch):
    """What is wrong with its version, or None."""
    version = getattr(torch, "__version__", "of unknown version")
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= LEAST_TORCH:
        return None
    return f"PyTorch is {version}, expected {'.'.join(map(str, LEAST_TORCH))} or newer"


def pytorch(command, gpu, graphs=False):
    """The module; gpu: it must see one; graphs: and give out what a CUDA graph holds."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            stop(command, f"PyTorch does not load: {error}")
        stop(command, "PyTorch is not installed: python3 -m pip install torch")
    except (ImportError, OSError) as error:  # a library of its own is not there
        stop(command, f"PyTorch does not load: {str(error).splitlines()[0]}")
    if too_old(torch):
        stop(command, too_old(torch))
    if gpu and not torch.cuda.is_available():
        stop(command, "PyTorch sees no GPU: it needs NVIDIA's driver and a PyTorch that was built for CUDA")
    if graphs and not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph"):
        stop(command, f"PyTorch {torch.__version__} has no CUDAGraph.raw_cuda_graph, by which calls are timed: install a newer one")
    return torch


def shared_memory(command, torch, nbytes):
    """Of a thread block, on the GPU."""
    gpu = torch.cuda.get_device_properties(0)
    most = getattr(gpu, "shared_memory_per_block_optin", nbytes)
    if most < nbytes:
        stop(command, f"{gpu.name} gives a thread block {most / 1024:g} KB of shared memory at most, the collective's stand-in needs "
                      f"{nbytes / 1024:g} KB")


def clusters(command, torch, without):
    """Of thread blocks; without: what to do where there are none."""
    gpu = torch.cuda.get_device_properties(0)
    if gpu.major < LEAST_CLUSTERED:
        stop(command, f"{gpu.name} (compute capability {gpu.major}.{gpu.minor}) has no clusters of thread blocks, which came with "
                      f"{LEAST_CLUSTERED}.0: {without}")


def nvcc(command):
    if shutil.which("nvcc") is None:
        stop(command, "nvcc is not in PATH: install the CUDA toolkit, or add its bin folder")
