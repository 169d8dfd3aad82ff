#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The tables of docs/models/transformer.md about long sequences: LLaMA2-7B at 128K to 1M tokens on 64 A100s, planned freely
# and with one sequence over all GPUs, beside heads only, one ring only and heads x one ring. Prints them as they stand there.
#
#   tools/plan_long_sequences.py WEIR            print both tables
#   tools/plan_long_sequences.py WEIR --check    and compare their rows with the page; 1 when one is missing, or a search
#                                                takes 5 s or more
import argparse
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/models/transformer.md"
CLUSTER = ["--gpu", "A100-80G", "--nodes", "8", "--nics", "4", "--nic-rate", "200"]
MODELS = {"MHA": "llama2-7b.json", "GQA": "llama2-7b-gqa.json"}
LENGTHS = {"128K": 1 << 17, "256K": 1 << 18, "512K": 1 << 19, "1M": 1 << 20}
BATCH_TOKENS = 1 << 22  # of LoongTrain's evaluation
LONGEST_SEARCH_S = 5


def plan(weir, model, length, more):
    words = [weir, "plan", "--model-config", ROOT / "examples/models" / MODELS[model], *CLUSTER,
             "--sequence", str(LENGTHS[length]), *more, "--json"]
    begin = time.monotonic()
    ran = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(ran.stdout), time.monotonic() - begin


def degrees(answer):
    d = answer["plan"]
    text = f"hp {d['hp']} x cp {d['cp']}" if d["mode"] == "isp" else f"{d['mode']} {d['split']}"
    if d["window"] != d["cp"]:
        text += f", window {d['window']}"
    if d["placement"] != "head-first":
        text += f", {d['placement']}"
    if d["dp"] > 1:
        text += f", dp {d['dp']}"
    if d["pp"] > 1:
        text += f", pp {d['pp']}"
    if d["wp"] > 1:
        text += f", wp {d['wp']}"
    if d["recompute"] != "none":
        text += f", {d['recompute']}"
    if d["memory_pool"]:
        text += ", pool"
    return text


def times_as_long(answer, family):
    if "predicted_ms" not in family:
        return "-"
    return f"{family['predicted_ms'] / answer['predicted_ms']:.3f}"


def row(name, answer, families):
    cells = [name, degrees(answer), f"{answer['predicted_ms'] / 1000:.1f}", f"{100 * answer['mfu']:.1f}"]
    cells += [times_as_long(answer, family) for family in families]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weir")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    page = PAGE.read_text()
    missing, longest = [], 0
    for title, is_free in (("a batch of 4M tokens", True), ("one sequence over all 64 GPUs", False)):
        print(f"\n{title}\n")
        for model in MODELS:
            for length, tokens in LENGTHS.items():
                more = ["--batch", str(BATCH_TOKENS // tokens)] if is_free else ["--batch", "1", "--pin", "sp=64"]
                answer, seconds = plan(options.weir, model, length, more)
                longest = max(longest, seconds)
                # 64 is above the heads: heads only is not possible there.
                families = answer["attention"] if is_free else answer["attention"][1:]
                line = row(f"{model} {length}", answer, families)
                print(line)
                if line not in page:
                    missing.append(line)
    print(f"\nthe longest answer, alternatives included: {longest:.2f} s")
    if not options.check:
        return 0
    for line in missing:
        print(f"not in {PAGE.name}: {line}", file=sys.stderr)
    return 1 if missing or longest >= LONGEST_SEARCH_S else 0


if __name__ == "__main__":
    sys.exit(main())
