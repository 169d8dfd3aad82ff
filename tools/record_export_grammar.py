#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records which fields Megatron-Core, DeepSpeed and torchtitan accept, from their packages on PyPI.

  tools/record_export_grammar.py [--check]

Needs pip and the network. Nothing is imported or installed: definitions are read with ast. --check compares with
tests/exports/grammar.json instead of writing it.
"""
import ast
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

GRAMMAR = pathlib.Path(__file__).resolve().parent.parent / "tests/exports/grammar.json"

# Package, version, and the classes whose annotated fields count, by the name of their section.
PACKAGES = {
    "megatron": ("megatron-core", "0.16.1", {
        "megatron/core/model_parallel_config.py": {"ModelParallelConfig": ""},
        "megatron/core/transformer/transformer_config.py": {"TransformerConfig": ""},
        "megatron/core/distributed/distributed_data_parallel_config.py": {"DistributedDataParallelConfig": ""},
    }),
    "deepspeed": ("deepspeed", "0.19.8", {
        "deepspeed/runtime/zero/config.py": {"DeepSpeedZeroConfig": "zero_optimization"},
    }),
    "torchtitan": ("torchtitan", "0.2.2", {
        "torchtitan/config/job_config.py": {"Training": "training", "Parallelism": "parallelism",
                                            "ActivationCheckpoint": "activation_checkpoint"},
    }),
}
# Top-level keys of DeepSpeed are string constants, not fields.
DEEPSPEED_CONSTANTS = ("deepspeed/runtime/constants.py", "deepspeed/runtime/activation_checkpointing/config.py")


def files_of(package, version):
    """Path inside the package -> text."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder,
                        f"{package}=={version}"], check=True)
        (archive,) = pathlib.Path(folder).iterdir()
        found = {}
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as bundle:
                for name in bundle.namelist():
                    if name.endswith(".py"):
                        found[name] = bundle.read(name).decode()
        else:
            with tarfile.open(archive) as bundle:
                for member in bundle.getmembers():
                    if member.name.endswith(".py"):
                        found[member.name.partition("/")[2]] = io.TextIOWrapper(bundle.extractfile(member)).read()
        return found


def fields_of(text, wanted):
    """Annotated fields of a class, as name -> annotation."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef) and node.name == wanted:
            return {item.target.id: ast.unparse(item.annotation) for item in node.body
                    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)}
    raise SystemExit(f"no class {wanted}: the package has changed")


def constants_of(text):
    return sorted({node.value.value for node in ast.parse(text).body
                   if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
                   and isinstance(node.value.value, str)})


def record():
    grammar = {}
    for target, (package, version, classes) in PACKAGES.items():
        files = files_of(package, version)
        sections = {}
        for path, names in classes.items():
            for name, section in names.items():
                sections.setdefault(section, {}).update(fields_of(files[path], name))
        grammar[target] = {"read_from": f"{package} {version}", "sections": sections}
        if target == "deepspeed":
            grammar[target]["keys"] = sorted(set().union(*(constants_of(files[path]) for path in DEEPSPEED_CONSTANTS)))
            # A key of its own, read by name in DeepSpeedConfig.
            if '"sequence_parallel_size" in config' in files["deepspeed/runtime/config.py"]:
                grammar[target]["keys"].append("sequence_parallel_size")
    return grammar


def main():
    recorded = json.loads(GRAMMAR.read_text()) if GRAMMAR.exists() else {"by_hand": {}}
    fresh = {**record(), "by_hand": recorded["by_hand"]}
    if "--check" in sys.argv[1:]:
        if fresh != recorded:
            raise SystemExit("tests/exports/grammar.json is not what the packages say: run without --check and look")
        print("the grammar is what the packages say")
        return
    GRAMMAR.write_text(json.dumps(fresh, indent=1, sort_keys=True) + "\n")
    print(f"wrote {GRAMMAR}")


if __name__ == "__main__":
    main()
