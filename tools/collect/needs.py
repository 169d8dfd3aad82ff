# SPDX-License-Identifier: Apache-2.0
"""What a command cannot go without. Where it is missing, one line says so and the exit status is 2."""
import re
import shutil
import sys

MISSING = 2  # exit status
LEAST_TORCH = (2, 4)  # fake tensors know enough from then on


def stop(command, reason):
    print(f"{command}: {reason}", file=sys.stderr)
    raise SystemExit(MISSING)


def too_old(torch):
    """What is wrong with its version, or None."""
    version = getattr(torch, "__version__", "of unknown version")
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= LEAST_TORCH:
        return None
    return f"PyTorch is {version}, expected {'.'.join(map(str, LEAST_TORCH))} or newer"


def pytorch(command, gpu):
    """The module; gpu: it must see one."""
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
    return torch


def nvcc(command):
    if shutil.which("nvcc") is None:
        stop(command, "nvcc is not in PATH: install the CUDA toolkit, or add its bin folder")
