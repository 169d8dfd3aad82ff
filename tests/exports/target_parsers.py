#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives exported plans to the targets' own parsers: DeepSpeed's, torchtitan's and torchrun's.

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

os.environ["DS_ACCELERATOR"] = "cpu"
os.environ["DEEPSPEED_LOG_LEVEL"] = "error"


def read_deepspeed(text, gpus):
    import deepspeed.comm as comm
    from deepspeed.runtime.config import DeepSpeedConfig

    # As if all ranks were there: it compares the batch with their number.
    comm.get_rank = lambda: 0
    comm.get_world_size = lambda: gpus
    DeepSpeedConfig(json.loads(text))


def torchtitan_manager():
    """Its ConfigManager. The package's own start would load all its models, which need a newer torch."""
    if "torchtitan" not in sys.modules:
        package = types.ModuleType("torchtitan")
        package.__path__ = list(importlib.util.find_spec("torchtitan").submodule_search_locations)
        sys.modules["torchtitan"] = package
    from torchtitan.config import ConfigManager

    return ConfigManager()


def read_torchtitan(text, gpus):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan.toml"
        file.write_text(text)
        read = torchtitan_manager().parse_args(["--job.config-file", str(file)]).parallelism
    degrees = (read.data_parallel_replicate_degree * read.data_parallel_shard_degree * read.tensor_parallel_degree
               * read.context_parallel_degree * read.pipeline_parallel_degree)
    if degrees != gpus:
        raise ValueError(f"{degrees} ranks on {gpus} GPUs")


def read_torchrun(text, gpus):
    from torch.distributed.run import config_from_args, get_args_parser

    program, *words = shlex.split(text)
    config, _, arguments = config_from_args(get_args_parser().parse_args(words))
    if program != "torchrun" or config.max_nodes * config.nproc_per_node != gpus or arguments[-1] != "train.py":
        raise ValueError(f"{config} on {gpus} GPUs")


READERS = {"deepspeed": read_deepspeed, "torchtitan": read_torchtitan, "torchrun": read_torchrun}


def refusal(target, text, gpus):
    """What the parser says against it, or nothing."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            READERS[target](text, gpus)
    except (Exception, SystemExit) as error:  # argparse and tyro end the program
        return f"{type(error).__name__}: {error} {said.getvalue()}".strip()
    return ""


# A parser that takes anything would take every export: each must refuse its own.
WRONG = [
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
