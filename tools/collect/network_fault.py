# SPDX-License-Identifier: Apache-2.0
"""What is told when a network cannot be traced: one line for what the user can put right, instead of the frames between PyTorch and here."""
import contextlib
import logging
import os
import re
import traceback
import warnings

FOLDER = os.path.dirname(os.path.abspath(__file__))
# What PyTorch, cuDNN and Triton say where there is no driver; another device than the GPU is the network's own mistake.
NO_GPU = re.compile(r"CUDA error|CUDA driver|NVIDIA driver|No CUDA GPUs|hasPrimaryContext|not compiled with CUDA|not linked with support for cuda"
                    r"|Invalid device id|invalid device ordinal|0 active drivers|CUDA-capable", re.IGNORECASE)
OPERATOR_FRAMES = ("__torch_function__", "__torch_dispatch__")
EXPECTED = ("expected make() to return a module and batch_of(n), which returns a tuple of the module's inputs; a module alone is given "
            "images")
MOST_DESCRIBED = 6  # of what a tuple holds


class Mistake(Exception):
    """What the user can put right."""


def first_line(error):
    return (str(error).splitlines() or [""])[0]


def is_ours(frame):
    """Of the collector's own files."""
    return os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == FOLDER


def described(torch, value):
    """What the user's code gave: "tuple (a tensor of shape [8, 4], int)"."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {list(value.shape)}"
    if isinstance(value, (tuple, list)):
        parts = [described(torch, one) for one in value[:MOST_DESCRIBED]] + ["..."] * (len(value) > MOST_DESCRIBED)
        return f"{type(value).__name__} ({', '.join(parts)})"
    return "None" if value is None else type(value).__name__


def frames_of(error):
    """The outermost first."""
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def own_place(torch, error):
    """Where in the user's files it was raised: "net.py:12 (forward)"; None if nowhere."""
    library = os.path.dirname(torch.__file__)
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        inside = [os.path.abspath(file).startswith(os.path.join(folder, "")) for folder in (library, FOLDER, os.path.dirname(os.__file__))]
        if file.startswith("<") or (any(inside) and "site-packages" not in file.removeprefix(library)):
            continue
        return f"{os.path.relpath(file) if file.startswith(os.getcwd()) else file}:{line} ({name})"
    return None


def asked(torch, error, module):
    """The module and the operator that were at work: "LSTM (encoder.0), lstm"."""
    names, layer, operator = {id(one): name for name, one in module.named_modules()} if module is not None else {}, None, None
    for frame in frames_of(error):
        here = frame.f_locals.get("self")
        if isinstance(here, torch.nn.Module):
            layer = here
        if frame.f_code.co_name in OPERATOR_FRAMES and "func" in frame.f_locals:
            operator = getattr(frame.f_locals["func"], "__name__", None) or str(frame.f_locals["func"])
        elif frame.f_code.co_filename.startswith(FOLDER) and "node" in frame.f_locals:
            operator = frame.f_locals["node"].name()
    parts = [f"{type(layer).__name__} ({names[id(layer)]})" if names.get(id(layer)) else type(layer).__name__] if layer is not None else []
    return ", ".join(parts + ([operator] if operator else []))


@contextlib.contextmanager
def quiet():
    """What is told says it; fake tensors would print the frames as well, and warn of cuDNN's questions."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Accessing the data pointer of FakeTensor")
            yield
    finally:
        log.setLevel(before)


def told(torch, error, module=None):
    """The Mistake to tell for what the network raised; None for a fault of the collector's own."""
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
    if isinstance(error, Mistake):
        return error
    if isinstance(error, (DataDependentOutputException, DynamicOutputShapeException)):
        place = own_place(torch, error) or asked(torch, error, module)
        return Mistake(f"the network looks at its own numbers{place and f' at {place}'}, by {error.func}: what it does then cannot be told "
                       "without running it")
    place = own_place(torch, error)
    if NO_GPU.search(str(error)) and not torch.cuda.is_available():
        who = ", ".join(filter(None, (asked(torch, error, module), place))) or "the network"
        return Mistake(f"{who} asks for a GPU, and there is none here ({first_line(error)}): write that part with other operators, or try "
                       "on a machine with the GPU")
    if place is None:
        return None
    return Mistake(f"the network fails at {place}: {type(error).__name__}: {error}")


def call(torch, what, function, *arguments):
    """What a function or module of the user's returns. Where it is called in another way than it takes, no line of the user's is in the
    traceback: then what was called is told. A fault that a line of the collector's raises stays one."""
    try:
        return function(*arguments)
    except Exception as error:
        module = function if isinstance(function, torch.nn.Module) else None
        mistake, inner = told(torch, error, module), frames_of(error)[1:]  # the first is this function
        is_our_fault = bool(inner) and is_ours(inner[-1]) and inner[-1].f_code.co_name not in OPERATOR_FRAMES
        if mistake is None and not is_our_fault:
            who = asked(torch, error, module)
            mistake = Mistake(f"{what} fails{who and f' in {who}'}: {type(error).__name__}: {first_line(error).rstrip('.:')}; {EXPECTED}")
        if mistake is None:
            raise
        raise mistake from error
