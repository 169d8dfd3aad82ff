#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives exported plans to the targets' own parsers: DeepSpeed's, torchtitan's, InternEvo's and torchrun's.

Reads a JSON array of {"target", "text", "gpus"} and prints how many each parser took; ends with 1 where one refused.
Runs in the environment that tools/install_export_parsers.sh makes. No GPU is needed, and nothing is trained.
"""
import importlib.util
import io
import json
import os
import pathlib
import shlex
import sys
import tempfile
import types
from contextlib import redirect_stderr
from unittest.mock import MagicMock, patch

os.environ["DS_ACCELERATOR"] = "cpu"
os.environ["DEEPSPEED_LOG_LEVEL"] = "error"
os.environ["INTERNLM_ACCELERATOR"] = "cuda"


def bare_package(name):
    """A package whose own start is not run: it would load models and kernels that are not installed."""
    if name not in sys.modules:
        package = types.ModuleType(name)
        package.__path__ = list(importlib.util.find_spec(name).submodule_search_locations)
        sys.modules[name] = package


def read_deepspeed(text, gpus):
    import deepspeed.comm as comm
    from deepspeed.runtime.config import DeepSpeedConfig

    # As if all ranks were there: it compares the batch with their number.
    comm.get_rank = lambda: 0
    comm.get_world_size = lambda: gpus
    DeepSpeedConfig(json.loads(text))


def read_torchtitan(text, gpus):
    bare_package("torchtitan")
    from torchtitan.config import ConfigManager

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan.toml"
        file.write_text(text)
        read = ConfigManager().parse_args(["--job.config-file", str(file)]).parallelism
    degrees = (read.data_parallel_replicate_degree * read.data_parallel_shard_degree * read.tensor_parallel_degree
               * read.context_parallel_degree * read.pipeline_parallel_degree)
    if degrees != gpus:
        raise ValueError(f"{degrees} ranks on {gpus} GPUs")


# What a plan does not decide and InternEvo asks for.
INTERNEVO_REST = """
data.update(pack_sample_into_one=False, rampup_batch_size="")
ckpt = dict(enable_save_ckpt=False)
hybrid_zero_optimizer = dict(overlap_sync_grad=True, overlap_sync_param=False, clip_grad_norm=1.0)
grad_scaler = adam = beta2_scheduler = loss = dict()
"""


def read_internevo(text, gpus):
    """Its Config, its groups of ranks as the first of all ranks makes them, its check of arguments."""
    import torch

    for package in ("internlm", "internlm.utils", "internlm.core", "internlm.initialize"):
        bare_package(package)
    # The version that isp asks for: the text is read, nothing runs.
    with patch.object(torch, "__version__", "2.1.0"), patch.object(torch.distributed, "new_group", MagicMock()):
        from internlm.core.context import Config, ParallelMode
        from internlm.core.context import global_context as context
        from internlm.initialize.launch import args_sanity_check

        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "plan.py"
            file.write_text(text + INTERNEVO_REST)
            context.load_config(Config.from_file(str(file)))
        context._register_dist(0, gpus, None, None, list(range(gpus)), ParallelMode.GLOBAL)
        context._global_ranks[ParallelMode.GLOBAL] = 0
        context.init_parallel_groups()
        args_sanity_check()
    stages, config = context.pipeline_parallel_size, context.config
    if config.model.num_chunks > 1 and config.data.micro_num % stages != 0:
        raise ValueError(f"its interleaved schedule refuses {config.data.micro_num} microbatches on {stages} stages")


def read_torchrun(text, gpus):
    from torch.distributed.run import config_from_args, get_args_parser

    program, *words = shlex.split(text)
    config, _, arguments = config_from_args(get_args_parser().parse_args(words))
    if program != "torchrun" or config.max_nodes * config.nproc_per_node != gpus or arguments[-1] != "train.py":
        raise ValueError(f"{config} on {gpus} GPUs")


READERS = {"deepspeed": read_deepspeed, "torchtitan": read_torchtitan, "internevo": read_internevo,
           "torchrun": read_torchrun}


def refusal(target, text, gpus):
    """What the parser says against it, or nothing."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            READERS[target](text, gpus)
    except (Exception, SystemExit) as error:  # argparse and tyro end the program
        return f"{type(error).__name__}: {error} {said.getvalue()}".strip()
    return ""


INTERNEVO_PLAN = """
data = dict(seq_len=4096, micro_num=8, micro_bsz=1)
model = dict(num_layers=32, dtype="torch.bfloat16", checkpoint=True, num_chunks=1)
parallel = dict(zero1=dict(size=2), tensor=dict(size=4, mode="{mode}"), pipeline=dict(size={stages}),
                weight=dict(size=4))
"""

# A parser that takes anything would take every export: each must refuse its own.
WRONG = [
    ("internevo", INTERNEVO_PLAN.format(mode="ulysses", stages=2), 16),
    ("internevo", INTERNEVO_PLAN.format(mode="msp", stages=2), 16),
    ("internevo", INTERNEVO_PLAN.format(mode="isp", stages=3), 16),
    ("deepspeed", '{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 3}', 4),
    ("deepspeed", '{"train_batch_size": 8, "zero_optimization": {"stage": "four"}}', 8),
    ("torchtitan", '[parallelism]\ntensor_parallel_degrees = 2\n', 2),
    ("torchtitan", '[parallelisms]\ntensor_parallel_degree = 2\n', 2),
    ("torchrun", "torchrun --nodes 2 --nproc_per_node 8 train.py", 16),
    ("torchrun", "torchrun --nnodes 2 --nproc_per_node 8 train.py", 8),
]


def main():
    for target, text, gpus in WRONG:
        if not refusal(target, text, gpus):
            raise SystemExit(f"target_parsers: {target} takes {text!r} on {gpus} GPUs: it reads nothing")
    taken = dict.fromkeys(READERS, 0)
    for export in json.load(sys.stdin):
        said = refusal(export["target"], export["text"], export["gpus"])
        if said:
            raise SystemExit(f"target_parsers: {export['target']} refuses\n{export['text']}\n{said}")
        taken[export["target"]] += 1
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
