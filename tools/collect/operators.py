# SPDX-License-Identifier: Apache-2.0
"""The operators of one training iteration, on any machine with PyTorch: nothing is computed and no GPU is needed.

The network is built from fake tensors, which have a shape, a type and a device but no numbers, on a GPU that need not be there. Forward,
backward and optimizer then run as they would, and what reaches the GPU's libraries is written down (gradients.py: the backward pass).

trace(make, batch, torch) returns what ops.json holds; src/formats/traced_training_json.h describes the file.
"""
import contextlib
import gzip
import importlib.util
import json
import os
import sys

import gradients
import models
import needs
import network_fault
from network_fault import Mistake
from replaced import replaced

FORMAT, VERSION = "weir-ops", 1
PHASES = ("forward", "backward", "optimizer")
TYPES = {"torch.float32": "fp32", "torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float64": "fp64", "torch.int64": "int64",
         "torch.int32": "int32", "torch.int16": "int16", "torch.int8": "int8", "torch.uint8": "uint8", "torch.bool": "bool"}
# Launch nothing: only a name, memory, or a question.
SILENT = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_unsafe_view", "_reshape_alias", "lift_fresh", "detach",
          "as_strided_", "_local_scalar_dense", "device", "is_pinned", "sym_size", "sym_stride", "sym_numel", "sym_storage_offset", "_version"}
CONVOLUTIONS = ("aten::convolution", "aten::convolution_backward")
MOST_CUDNN_HEAD, MOST_FLASH_HEAD = 128, 256
MOST_BATCH = 1_000_000  # that weir reads (kMostTracedBatch in src/formats/traced_training_json.cpp)
GPU = "cuda"


# ---- what is written down ----

def tensor_entry(tensor):
    entry = {"dtype": TYPES.get(str(tensor.dtype), str(tensor.dtype).removeprefix("torch.")), "shape": [int(size) for size in tensor.shape]}
    if not tensor.is_contiguous():
        entry["strides"] = [int(stride) for stride in tensor.stride()]
    return entry


def tensors_of(torch, value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in tensors_of(torch, part)]
    return []


def plain(value):
    """Whole numbers and lists of them; nothing else changes how long a kernel takes."""
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, (bool, int)) for one in value):
        return [int(one) for one in value]
    return None


def named_arguments(func, args, kwargs):
    return {spec.name: value for spec, value in zip(func._schema.arguments, args)} | kwargs


class Notes:
    """Operators in the order of their first call; equal calls of a phase are one entry."""

    def __init__(self, torch):
        self._torch, self._entries, self.phase, self.is_on = torch, {}, PHASES[0], False

    def add(self, func, args, kwargs, result):
        name = func._schema.name
        if not self.is_on or not name.startswith("aten::") or name.removeprefix("aten::") in SILENT or func.is_view:
            return
        named = named_arguments(func, args, kwargs)
        # Of an optimizer's lists, all of one length, the first says it all.
        lists = [value for value in named.values() if isinstance(value, (list, tuple)) and tensors_of(self._torch, value)]
        inputs = tensors_of(self._torch, lists[0]) if len(lists) > 1 else tensors_of(self._torch, list(named.values()))
        outputs = [] if len(lists) > 1 else tensors_of(self._torch, result)
        entry = {"phase": self.phase, "op": name, "count": 0, "in": [tensor_entry(one) for one in inputs],
                 "out": [tensor_entry(one) for one in outputs]}
        arguments = {key: plain(value) for key, value in named.items() if plain(value) is not None}
        if arguments:
            entry["args"] = arguments
        self._entries.setdefault(json.dumps(entry), entry)["count"] += 1

    def entries(self):
        return list(self._entries.values())


def laid_as_inputs(torch, args, result):
    """Where an operand has its channels last, cuDNN's results have too; fake convolutions do not know cuDNN."""
    from torch._prims_common import suggest_memory_format
    if all(suggest_memory_format(one) == torch.contiguous_format for one in tensors_of(torch, args) if one.dim() == 4):
        return result

    def laid(value):
        return value.to(memory_format=torch.channels_last) if isinstance(value, torch.Tensor) and value.dim() == 4 else value
    return tuple(laid(one) for one in result) if isinstance(result, tuple) else laid(result)


def recorder(torch, notes):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if getattr(func, "_schema", None) is not None and func._schema.name in CONVOLUTIONS:
                result = laid_as_inputs(torch, args, result)
            if hasattr(func, "_schema"):
                notes.add(func, args, kwargs or {}, result)
            return result
    return Recorder()


# ---- a GPU that is not there ----

@contextlib.contextmanager
def movable_modules(torch):
    """Module.to() for fake tensors: each parameter is replaced, once even where two modules share it."""
    moved = {}

    def once(tensor, make):
        if id(tensor) not in moved:
            moved[id(tensor)] = (make(tensor), tensor)  # keeps the old one, and so its id
        return moved[id(tensor)][0]

    def as_parameter(before, tensor):
        parameter = torch.nn.Parameter(tensor, before.requires_grad)
        for hooks in ("_backward_hooks", "_post_accumulate_grad_hooks"):
            if getattr(before, hooks, None):
                setattr(parameter, hooks, getattr(before, hooks))
        return parameter

    def apply(self, function, recurse=True):
        for child in self.children() if recurse else ():
            child._apply(function)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = once(parameter, lambda one: as_parameter(one, function(one.detach())))
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = once(buffer, function)
        return self

    with replaced(torch.nn.Module, "_apply", apply):
        yield


@contextlib.contextmanager
def gpu_autocast(torch):
    """torch.autocast("cuda") turns itself off where there is no GPU; a network's own, which it may make as it is imported, shall not."""
    with replaced(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False), \
            replaced(torch.cuda, "is_bf16_supported", lambda *_, **__: True):
        yield


@contextlib.contextmanager
def told_questions(torch):
    """Who asks for a GPU is told that there is none; what it does then is not what it does on one. PyTorch and the collector may ask."""
    before, told = torch.cuda.is_available, []

    def is_available():
        asking = sys._getframe(1)
        place = f"{os.path.basename(asking.f_code.co_filename)}:{asking.f_lineno}"
        is_network = asking.f_globals.get("__name__", "").partition(".")[0] != "torch" and not network_fault.is_ours(asking)
        if is_network and not before() and not told:
            told.append(place)
            print(f"note: {place} asks torch.cuda.is_available(), which says no here: what the network does then is traced", file=sys.stderr)
        return before()

    with replaced(torch.cuda, "is_available", is_available):
        yield


@contextlib.contextmanager
def chosen_attention(torch):
    """PyTorch asks the GPU which attention it can run; here the order of a Hopper GPU is taken: cuDNN, flash, plain products."""
    from torch.overrides import TorchFunctionMode
    aten, functional = torch.ops.aten, torch.nn.functional

    def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        query, key, value = (one.to(torch.get_autocast_dtype(GPU)) if torch.is_autocast_enabled(GPU) else one for one in (query, key, value))
        size = query.shape[-1]
        is_half = query.dtype in (torch.bfloat16, torch.float16)
        if is_half and size % 8 == 0 and size <= MOST_CUDNN_HEAD and query.dim() == 4:
            return aten._scaled_dot_product_cudnn_attention(query, key, value, attn_mask, True, dropout_p, is_causal, scale=scale)[0]
        if is_half and size % 8 == 0 and size <= MOST_FLASH_HEAD and query.dim() == 4 and attn_mask is None:
            return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)[0]
        return aten._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]

    before = functional.scaled_dot_product_attention

    class Chooser(TorchFunctionMode):
        """For who has the function under another name."""

        def __torch_function__(self, func, types, args=(), kwargs=None):
            return (attention if func is before else func)(*args, **(kwargs or {}))

    with replaced(functional, "scaled_dot_product_attention", attention), Chooser():
        yield


def is_compiled(module):
    """By torch.compile(module), module.compile() or a forward() that is compiled."""
    forward = getattr(module, "forward", None)
    return (type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None
            or hasattr(forward, "_torchdynamo_orig_callable") and not getattr(forward, "_torchdynamo_disable", False))


@contextlib.contextmanager
def one_gpu(torch):
    """What spreads a network over GPUs calls the module inside, and asks for no other process."""
    single, several = torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel

    def hold(self, module, *_, **__):
        torch.nn.Module.__init__(self)
        self.module = module
        self.require_backward_grad_sync = True  # no_sync() changes it

    def forward(self, *inputs, **named):
        return self.module(*inputs, **named)

    with replaced(single, "__init__", hold), replaced(single, "forward", forward), \
            replaced(several, "__init__", hold), replaced(several, "forward", forward):
        yield


def tell_left_out(module, torch):
    """PyTorch does not compile for fake tensors, and there is one GPU: says so where the network asks for more."""
    spread = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    asked = sorted({type(one).__name__ for one in module.modules() if isinstance(one, spread)})
    if any(map(is_compiled, module.modules())):
        asked.insert(0, "torch.compile")
    if asked:
        print(f"note: the network asks for {' and '.join(asked)}: it is traced without, eager on one GPU", file=sys.stderr)


# ---- one iteration ----

def check_torch(torch):
    if needs.too_old(torch):
        raise Mistake(needs.too_old(torch))


def check_loss(loss, torch):
    is_number = isinstance(loss, torch.Tensor) and loss.dim() == 0
    if not is_number or loss.grad_fn is None:
        returned = "a number that depends on none" if is_number else network_fault.described(torch, loss)
        raise Mistake(f"the module must return its loss, one number that depends on the parameters, but it returns {returned}")


def check_parameters(module):
    if not any(one.requires_grad for one in module.parameters()):
        raise Mistake("the network has no parameter that is trained (requires_grad): it has no backward pass and nothing to optimize")


def inputs_of(batch_of, batch, torch):
    inputs = network_fault.call(torch, f"batch_of({batch})", batch_of, batch)
    if not isinstance(inputs, (tuple, list)):
        raise Mistake(f"batch_of({batch}) returns {network_fault.described(torch, inputs)}, expected a tuple of the module's inputs: "
                      "(x,) where there is one")
    return inputs


def step(module, inputs, optimizer, notes, torch):
    notes.phase = "forward"
    with gradients.Gradients(torch).in_place() as walk:
        with torch.autocast(GPU, torch.bfloat16):
            loss = network_fault.call(torch, f"the module, given {network_fault.described(torch, inputs)},", module, *inputs)
        check_loss(loss, torch)
        notes.phase = "backward"
        walk.run([loss], [torch.ones_like(loss)])
    notes.phase = "optimizer"
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def trace(make, batch, torch, learning_rate=1e-5):
    """make() returns a module and batch_of(n): the inputs of n samples for the module, which returns the loss."""
    check_torch(torch)
    from torch._subclasses.fake_tensor import FakeTensorMode
    notes, module = Notes(torch), None
    try:
        with network_fault.quiet(), FakeTensorMode(allow_non_fake_inputs=True), movable_modules(torch), gpu_autocast(torch), \
                one_gpu(torch), torch.device(GPU):
            module, batch_of = make()
            check_parameters(module)
            tell_left_out(module, torch)
            module.to(GPU)
            inputs = inputs_of(batch_of, batch, torch)
            optimizer = torch.optim.AdamW(module.parameters(), lr=learning_rate, fused=True)
            with recorder(torch, notes), chosen_attention(torch):
                for notes.is_on in (False, True):  # the first step makes the optimizer's state
                    step(module, inputs, optimizer, notes, torch)
    except Exception as error:
        mistake = network_fault.told(torch, error, module)
        if mistake is None:
            raise
        raise mistake from error
    parameters = [one for one in module.parameters() if one.requires_grad]
    return {"batch": batch, "torch": torch.__version__, "parameters": sum(one.numel() for one in parameters), "tensors": len(parameters),
            "ops": notes.entries()}


# ---- which network ----

def image_classifier(module, torch, side, channels_last):
    """A module that takes images and returns a number for each class, and its inputs."""
    functional = torch.nn.functional

    class Classifier(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = module

        def forward(self, images, labels):
            return functional.cross_entropy(self.body(images), labels)

    layout = torch.channels_last if channels_last else torch.contiguous_format

    def batch_of(n):
        return torch.randn(n, 3, side, side).to(memory_format=layout), torch.zeros(n, dtype=torch.int64)
    return Classifier().to(memory_format=layout), batch_of


def imported(place):
    """A module of the user's folder comes first, also where one of the collector has its name."""
    file = os.path.join(os.getcwd(), *place.split(".")) + ".py"
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    if not os.path.exists(file) or os.path.realpath(getattr(sys.modules.get(place), "__file__", None) or file) == os.path.realpath(file):
        return importlib.import_module(place)
    spec = importlib.util.spec_from_file_location("traced_" + place.replace(".", "_"), file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def named_function(name):
    place, _, attribute = name.partition(":")
    try:
        module = imported(place)
    except ImportError as error:
        raise Mistake(f"--model is \"{name}\": {error}")
    except Exception as error:  # of the user's lines
        raise Mistake(f"--model is \"{name}\": {type(error).__name__}: {error}")
    if not hasattr(module, attribute):
        raise Mistake(f"--model is \"{name}\", but {place} has no {attribute}")
    return getattr(module, attribute)


def maker(name, torch, side=224, channels_last=True):
    """What trace() takes, for one of models.PLANS or "package.module:function"."""
    if name in models.PLANS:
        return lambda: models.make(models.PLANS[name], torch, GPU)
    if ":" not in name:
        raise Mistake(f"--model is \"{name}\", expected package.module:function or one of {', '.join(models.PLANS)}")
    function = named_function(name)
    if not callable(function):
        raise Mistake(f"{name} is {type(function).__name__}; {network_fault.EXPECTED}")

    def make():
        made = network_fault.call(torch, f"{name}()", function)
        if isinstance(made, torch.nn.Module):
            return image_classifier(made, torch, side, channels_last)
        if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], torch.nn.Module) and callable(made[1]):
            return made
        raise Mistake(f"{name}() returns {network_fault.described(torch, made)}; {network_fault.EXPECTED}")
    return make


def text_of(name, traced):
    """JSON, an operator in a line."""
    head = {"format": FORMAT, "version": VERSION, "model": name, **{key: value for key, value in traced.items() if key != "ops"}}
    lines = ",\n  ".join(json.dumps(entry) for entry in traced["ops"])
    return json.dumps(head)[:-1] + ",\n \"ops\": [\n  " + lines + "]}\n"


def check_place(path):
    """Before the work, not after it."""
    folder = os.path.dirname(path) or "."
    if not os.path.basename(path) or os.path.isdir(path):
        raise Mistake(f"--out is \"{path}\", with --model expected a file, such as {os.path.join(path, 'ops.json')}")
    if not os.path.isdir(folder):
        raise Mistake(f"--out is \"{path}\", but there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise Mistake(f"--out is \"{path}\", but nothing can be written to {folder}")


def write(path, name, traced):
    """The whole file or none; gzip where the name ends so."""
    data, part = text_of(name, traced).encode(), path + ".part"
    try:
        with open(part, "wb") as file:
            file.write(gzip.compress(data, mtime=0) if path.endswith(".gz") else data)
        os.replace(part, path)
    except OSError as error:
        if os.path.isfile(part):
            os.remove(part)
        raise Mistake(f"--out is \"{path}\", which cannot be written: {error.strerror}")
