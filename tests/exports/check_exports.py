#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what `weir plan --export` writes against the grammar of each target (grammar.json), and gives it to the
targets' own parsers (target_parsers.py) where they are installed.

  check_exports.py FOLDER-OF-THE-PROGRAM [PYTHON-WITH-THE-PARSERS]
"""
import ast
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
GRAMMAR = json.loads((HERE / "grammar.json").read_text())
MODELS = HERE.parent.parent / "examples/models"

# Model, nodes, batch, sequence, pins, GPU, runtime: whole nodes, long sequences, pipelines, everything recomputed; sequences and
# batches that some trainer refuses to cut as the plan does; GPUs without bf16.
REQUESTS = [
    ("llama2-7b.json", 2, 64, 4096, ""),
    ("llama2-7b.json", 8, 8, 131072, ""),
    ("llama2-7b.json", 4, 64, 4096, "pp=4"),
    ("llama2-7b.json", 4, 64, 4096, "pp=4,interleave=2"),
    ("qwen2-7b.json", 4, 64, 4096, "pp=8"),
    ("gpt2-small.json", 4, 64, 1024, "pp=8"),
    ("llama2-7b.json", 2, 64, 4096, "tp=8,recompute=full"),
    ("llama2-7b.json", 2, 64, 4096, "wp=1"),
    ("llama2-7b-gqa.json", 8, 4, 262144, "sp=16"),
    ("llama2-7b-gqa.json", 8, 4, 262144, "hp=8,cp=2"),
    ("llama2-7b-gqa.json", 8, 32, 32768, "hp=1,cp=8"),
    ("gpt2-small.json", 1, 64, 1024, ""),
    ("qwen2-7b.json", 4, 64, 8192, ""),
    ("llama3.1-8b.json", 4, 64, 8192, ""),
    ("llama2-7b.json", 1, 8, 1000, ""),
    ("llama2-7b.json", 1, 8, 1000, "hp=8,cp=1"),
    ("llama2-7b.json", 1, 8, 1000, "mode=msp,tp=8"),
    ("llama2-7b.json", 1, 2, 4096, "pp=4"),
    ("llama2-7b.json", 2, 64, 4096, "", "V100-32G"),
    ("llama2-7b.json", 2, 64, 4096, "mode=mtp,tp=8", "V100-32G"),
    ("gpt2-small.json", 1, 64, 1024, "", "V100-16G"),
    ("gpt2-small.json", 1, 64, 1024, "", "A100-80G", "autocast"),
    ("llama2-7b.json", 2, 64, 4096, "", "A100-80G", "autocast"),
    ("gpt2-small.json", 1, 64, 1024, "wp=1,zp=8,sp=1,pp=1", "A100-80G", "autocast"),
    ("llama2-7b.json", 2, 64, 4096, "wp=16,hp=2", "A100-80G", "autocast"),
    ("gpt2-small.json", 1, 64, 1024, "", "V100-16G", "autocast"),
]


def fail(text):
    raise SystemExit(f"check_exports: {text}")


def fits(annotation, value):
    """Whether a value is of the annotated type: int, bool, str, a literal, or one of several."""
    if "Literal" in annotation:
        return repr(value) in annotation.replace('"', "'")
    kinds = {int: r"\bint\b|\bfloat\b|Enum", bool: r"\bbool\b", str: r"\bstr\b", float: r"\bfloat\b", list: r"\b[Ll]ist\b"}
    return re.search(kinds[type(value)], annotation) is not None


def number_or_text(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def check_megatron(text, gpus, batch, model, notes):
    fields = {**GRAMMAR["megatron"]["sections"][""], **GRAMMAR["by_hand"]["megatron"]["fields"]}
    degrees = {}
    for line in text.splitlines():
        name, *values = line.split()
        key = name.removeprefix("--").replace("-", "_")
        if key not in fields:
            fail(f"Megatron has no {name}")
        parsed = [number_or_text(v) for v in values]
        value = True if not parsed else parsed[0] if len(parsed) == 1 else parsed
        if not fits(fields[key], value):
            fail(f"{name} {values} is not {fields[key]}")
        degrees[key] = value
    model_gpus = (degrees["tensor_model_parallel_size"] * degrees["pipeline_model_parallel_size"]
                  * degrees.get("context_parallel_size", 1))
    if gpus % model_gpus != 0 or degrees["global_batch_size"] != batch:
        fail(f"{degrees} on {gpus} GPUs")
    if batch % (gpus // model_gpus * degrees["micro_batch_size"]) != 0:
        fail(f"batch {batch} cannot be divided: {degrees}")
    check_megatron_model(degrees, model)
    check_megatron_stages(degrees)
    check_megatron_rules(degrees, notes)
    if degrees["num_attention_heads"] % degrees["tensor_model_parallel_size"] != 0:
        fail(f"heads cannot be divided: {degrees}")
    ring = degrees.get("context_parallel_size", 1)
    if ring > 1 and degrees["seq_length"] % (2 * ring) != 0:
        fail(f"seq-length is no multiple of 2 * context-parallel-size: {degrees}")
    sizes = degrees.get("hierarchical_context_parallel_sizes")
    if sizes and sizes[0] * sizes[1] != degrees["context_parallel_size"]:
        fail(f"levels are not the whole: {degrees}")


def check_megatron_model(degrees, model):
    """A model of LLaMA's kind needs its norm, positions and missing biases said; a GPT-2 none of them. Neither has
    Megatron-LM's defaults for dropout and epsilon by accident."""
    config = json.loads((MODELS / model).read_text())
    is_llama = config["model_type"] != "gpt2"
    said = {"normalization": "RMSNorm", "position_embedding_type": "rope", "disable_bias_linear": True, "swiglu": True}
    for key, value in said.items():
        if degrees.get(key) != (value if is_llama else None):
            fail(f"{model}: {key} is {degrees.get(key)}")
    if degrees.get("add_qkv_bias", False) != (config["model_type"] == "qwen2"):
        fail(f"{model}: add_qkv_bias")
    if degrees.get("rotary_base") != config.get("rope_theta"):
        fail(f"{model}: rotary_base")
    epsilon = config.get("rms_norm_eps", 1e-6) if is_llama else config.get("layer_norm_epsilon", 1e-5)
    dropout = config.get("attention_dropout", 0) if is_llama else config.get("attn_pdrop", 0.1)
    said = (degrees["norm_epsilon"], degrees["attention_dropout"], degrees["hidden_dropout"])
    if said != (epsilon, dropout, 0 if is_llama else config.get("resid_pdrop", 0.1)):
        fail(f"{model}: epsilon and dropout are {said}")
    scaling = config.get("rope_scaling")
    if degrees.get("use_rope_scaling", False) != bool(scaling) or (
            scaling and degrees["rope_scaling_factor"] != scaling["factor"]):
        fail(f"{model}: rope_scaling")
    if degrees["vocab_size"] != config["vocab_size"]:
        fail(f"{model}: vocab_size")


def check_megatron_stages(degrees):
    """The first and the last stage may be told their layers; those between them share the rest evenly."""
    ends = [degrees[key] for key in ("decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers") if key in degrees]
    layers, stages = degrees["num_layers"] - sum(ends), degrees["pipeline_model_parallel_size"] - len(ends)
    if any(end < 1 for end in ends) or bool(layers) != bool(stages) or (stages and layers % stages != 0):
        fail(f"stages of {ends} and {layers} layers on {stages} others: {degrees}")
    if ends and (degrees["pipeline_model_parallel_size"] == 1 or "num_layers_per_virtual_pipeline_stage" in degrees):
        fail(f"ends of a pipeline that has none, or is interleaved: {degrees}")


def check_megatron_rules(degrees, notes):
    """What Megatron-LM's training script asserts of its arguments and its environment, and what the plan counted."""
    if degrees.get("fp16", False) == degrees.get("bf16", False):
        fail(f"one of fp16 and bf16: {degrees}")
    if degrees.get("fp16") and (degrees.get("use_flash_attn") or degrees.get("grad_reduce_in_bf16")):
        fail(f"a GPU without bf16 has no flash attention either: {degrees}")
    if degrees.get("bf16") and not degrees.get("grad_reduce_in_bf16"):
        fail(f"gradients would be kept and reduced in float32: {degrees}")
    is_fsdp = degrees.get("use_megatron_fsdp", False)
    if is_fsdp != (degrees.get("ckpt_format") == "fsdp_dtensor"):
        fail(f"the checkpoint format is not that of FSDP: {degrees}")
    is_split = degrees["tensor_model_parallel_size"] > 1 or degrees.get("context_parallel_size", 1) > 1
    if (is_split and not is_fsdp) != ("set CUDA_DEVICE_MAX_CONNECTIONS=1" in notes):
        fail(f"connections of {degrees}: {notes}")
    if is_fsdp != ("leave CUDA_DEVICE_MAX_CONNECTIONS unset" in notes):
        fail(f"connections of {degrees}: {notes}")


def check_deepspeed(text, gpus, batch, model, notes):
    config = json.loads(text)
    if ("activation_checkpointing" in config) != ("gradient_checkpointing_enable" in notes):
        fail(f"nobody says how to recompute: {notes}")
    is_split = config.get("sequence_parallel_size", 1) > 1
    precisions = [key for key in ("bf16", "fp16", "torch_autocast") if key in config]
    if len(precisions) != 1 or not config[precisions[0]]["enabled"]:
        fail(f"one of bf16, fp16 and autocast: {config}")
    exchanged = None if precisions == ["torch_autocast"] or not is_split else precisions[0]
    if is_split != ("splits no sequence" in notes) or exchanged != config.get("seq_parallel_communication_data_type"):
        fail(f"nobody says how to split sequences: {config} {notes}")
    known = set(GRAMMAR["deepspeed"]["keys"]) | set(GRAMMAR["deepspeed"]["sections"])
    for key, value in config.items():
        if key not in known:
            fail(f"DeepSpeed has no {key}")
        fields = GRAMMAR["deepspeed"]["sections"].get(key)
        for name, inner in value.items() if isinstance(value, dict) else ():
            if name not in (fields or known):
                fail(f"DeepSpeed has no {key}.{name}")
            if fields and not fits(fields[name], inner):
                fail(f"{key}.{name} {inner!r} is not {fields[name]}")
    ranks = gpus // config.get("sequence_parallel_size", 1)
    product = config["train_micro_batch_size_per_gpu"] * config["gradient_accumulation_steps"] * ranks
    if config["train_batch_size"] != batch or product != batch:
        fail(f"DeepSpeed would refuse {config} on {gpus} GPUs")


def check_torchtitan(text, gpus, batch, model, notes):
    config = tomllib.loads(text)
    if "[model]" not in notes:
        fail(f"nobody says which model: {notes}")
    for section, values in config.items():
        fields = GRAMMAR["torchtitan"]["sections"].get(section) or fail(f"torchtitan has no [{section}]")
        for name, value in values.items():
            if name not in fields or not fits(fields[name], value):
                fail(f"torchtitan's {section}.{name} is not {value!r}")
    degrees = config["parallelism"]
    is_ring = degrees["context_parallel_degree"] > 1
    if is_ring != (degrees.get("context_parallel_rotate_method") == "alltoall") or is_ring != ("set_rotate_method" in notes):
        fail(f"keys and values would be gathered: {config} {notes}")
    replicas = degrees["data_parallel_replicate_degree"] * degrees["data_parallel_shard_degree"]
    product = (replicas * degrees["tensor_parallel_degree"] * degrees["context_parallel_degree"]
               * degrees["pipeline_parallel_degree"])
    if product != gpus or config["training"]["global_batch_size"] != batch:
        fail(f"{config} on {gpus} GPUs")
    if batch % (config["training"]["local_batch_size"] * replicas) != 0:
        fail(f"batch {batch} cannot be divided: {config}")
    parts = degrees["tensor_parallel_degree"] * degrees["context_parallel_degree"]
    if config["training"]["seq_len"] % (2 * parts) != 0:
        fail(f"seq_len is no multiple of {2 * parts}: {config}")
    if degrees["pipeline_parallel_degree"] > 1:
        check_torchtitan_stages(degrees, json.loads((MODELS / model).read_text()))
    if degrees.get("pipeline_parallel_schedule") == "1F1B":
        count = config["training"]["local_batch_size"] // degrees["pipeline_parallel_microbatch_size"]
        if count < degrees["pipeline_parallel_degree"]:
            fail(f"PyTorch refuses fewer microbatches than stages: {config}")


def check_torchtitan_stages(degrees, config):
    """Told the layers of a stage it makes as many stages as that gives, which must be one for each rank (1F1B) or more."""
    layers = config.get("num_hidden_layers") or config["n_layer"]
    length, ranks = degrees.get("pipeline_parallel_layers_per_stage"), degrees["pipeline_parallel_degree"]
    pieces = 1 if length is None else -(-layers // length) / ranks
    if (pieces != 1 if degrees["pipeline_parallel_schedule"] == "1F1B" else length is None or pieces < 2 or pieces % 1 != 0):
        fail(f"{layers} layers on {ranks} ranks: {degrees}")


def check_calls(node, fields, path):
    kinds = {"int": int, "bool": bool, "str": str, "float": (int, float)}
    for keyword in node.keywords:
        expected = fields.get(keyword.arg) or fail(f"InternEvo has no {path}.{keyword.arg}")
        if isinstance(expected, dict):
            check_calls(keyword.value, expected, f"{path}.{keyword.arg}")
        elif expected == "name":
            if not isinstance(keyword.value, ast.Name):
                fail(f"{path}.{keyword.arg} is no name")
        elif not isinstance(keyword.value.value, kinds[expected]):
            fail(f"{path}.{keyword.arg} is not {expected}")


def check_internevo(text, gpus, batch, model, notes):
    if "model_type" not in notes:
        fail(f"nobody says what is missing: {notes}")
    fields = GRAMMAR["by_hand"]["internevo"]["fields"]
    values = {}
    for node in ast.parse(text).body:
        name = node.targets[0].id
        expected = fields.get(name) or fail(f"InternEvo has no {name}")
        if isinstance(expected, dict):
            check_calls(node.value, expected, name)
    exec(compile(text, "exported", "exec"), values)
    parallel = values["parallel"]
    model_gpus = parallel["tensor"]["size"] * parallel["pipeline"]["size"]
    grid = parallel["sequence_2D"]
    if gpus % model_gpus != 0 or (grid["enable"] and grid["head_size"] * grid["context_size"] != parallel["tensor"]["size"]):
        fail(f"{parallel} on {gpus} GPUs")
    if gpus // model_gpus * values["data"]["micro_num"] * values["data"]["micro_bsz"] != batch:
        fail(f"batch {batch} is not {values['data']}")
    has_copies = parallel["tensor"]["mode"] == "isp" and grid["head_size"] > values["model"]["num_kv_attention_heads"]
    is_new = grid["enable"] or has_copies or "selective_checkpoint" in values
    if is_new != ("InternEvo's main branch" in notes):
        fail(f"which InternEvo has {grid}? {notes}")


def check_torchrun(text, gpus, batch, model, notes):
    fields = GRAMMAR["by_hand"]["torchrun"]["fields"]
    program, *words = shlex.split(text)
    numbers = {}
    if program != "torchrun" or words.pop() != "train.py":
        fail(text)
    while words:
        name = words.pop(0).removeprefix("--")
        kind = fields.get(name) or fail(f"torchrun has no --{name}")
        if kind != "bool":
            numbers[name] = words.pop(0)
    if int(numbers["nnodes"]) * int(numbers["nproc_per_node"]) != gpus:
        fail(text)


def check_weir(text, gpus, batch, model, notes):
    plan = json.loads(text)
    degrees = plan["plan"]
    if plan["gpus"] != gpus or degrees["split"] * degrees["dp"] * degrees["pp"] != gpus:
        fail(text)
    if degrees["dp"] * degrees["micro_batch"] * degrees["accumulate"] != batch:
        fail(text)


def check_json(command, text):
    """The same export as a field of JSON."""
    ran = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120)
    answer = json.loads(ran.stdout)
    if ran.returncode != 0 or answer["export"]["text"] != text or answer["predicted_ms"] <= 0:
        fail(f"{command} --json is another export")


def check_with_parsers(python, exports):
    """DeepSpeed, torchtitan, InternEvo and torchrun read them themselves."""
    ran = subprocess.run([python, HERE / "target_parsers.py"], input=json.dumps(exports), capture_output=True, text=True,
                         timeout=300)
    if ran.returncode != 0:
        fail(ran.stderr)
    taken = json.loads(ran.stdout.splitlines()[-1])
    if min(taken.values()) < 4:
        fail(f"too few exports to tell: {taken}")
    return taken


CHECKS = {"megatron": check_megatron, "deepspeed": check_deepspeed, "torchtitan": check_torchtitan,
          "internevo": check_internevo, "torchrun": check_torchrun, "weir": check_weir}


def main():
    weir = pathlib.Path(sys.argv[1]) / "weir"
    written = refused = 0
    seen = dict.fromkeys(CHECKS, 0)
    exports = []
    for (model, nodes, batch, sequence, pins, *more), target in itertools.product(REQUESTS, CHECKS):
        command = [weir, "plan", "--model-config", MODELS / model, "--nodes", str(nodes), "--batch", str(batch),
                   "--sequence", str(sequence), "--export", target]
        if pins:
            command += ["--pin", pins]
        for option, value in zip(("--gpu", "--runtime"), more):
            command += [option, value]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if ran.returncode == 0:
            CHECKS[target](ran.stdout, nodes * 8, batch, model, ran.stderr)
            check_json(command, ran.stdout)
            written += 1
            seen[target] += 1
            if target in ("deepspeed", "torchtitan", "internevo", "torchrun"):
                exports.append({"target": target, "text": ran.stdout, "gpus": nodes * 8})
        elif ran.returncode in (2, 3) and not ran.stdout and "expected" in ran.stderr:
            refused += 1
        else:
            fail(f"{command} ended with {ran.returncode}: {ran.stderr}")
    if min(seen.values()) < 4:
        fail(f"too few exports to tell: {seen}")
    print(f"{written} exports are what their readers accept, {refused} combinations were refused: {seen}")
    if len(sys.argv) > 2 and pathlib.Path(sys.argv[2]).exists():
        print(f"read by the targets' own parsers: {check_with_parsers(sys.argv[2], exports)}")
    elif "WEIR_EXPORT_PARSERS" in os.environ:
        fail(f"no parsers in {sys.argv[2:]}; call make deps-parsers")


if __name__ == "__main__":
    main()
