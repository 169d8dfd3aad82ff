#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weir's plans for every model of the public profiles, beside the public search and the uniform grid: docs/plans.md.

    tools/check_plans.py              prints what it found; exit code 1 when a line does not hold
    tools/check_plans.py --quick      only the settings with a figure of the public search (seconds)
    tools/check_plans.py --scale      search time against layers and GPUs
    tools/check_plans.py --markdown   the tables of docs/plans.md
    tools/check_plans.py --plot FILE  with --scale: the plot of docs/plans.md

Seconds are checked only with --seconds: they depend on who else uses the machine.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("WEIR_DATA") or ROOT.parent / "shared" / "data") / "aceso"
SKIPPED = 77

# db, model, size, nodes, GPUs of a node, MiB, batch; seconds allowed; the most an iteration may take (ms) with derived
# and with own recomputation; what the public search found in 200 s on 16 processes.
FIRST = [
    ("miniset", "gpt", "1_3B", 1, 4, 12000, 512, 2, 58492.6, 57820, 58760.92),
    ("miniset", "t5", "770M", 1, 4, 12000, 512, 2, 33657.5, 33350, 33659.50),
    ("miniset", "resnet", "1B", 1, 4, 12000, 768, 2, 17532, 16620, 17672.05),
    ("eurosys", "gpt", "6_7B", 2, 8, 28000, 1024, 8, 84257, 83640, None),
]
OTHERS = [
    ("eurosys", "gpt", "350M", 1, 1, 28000, 1024),
    ("eurosys", "gpt", "1_3B", 1, 4, 28000, 1024),
    ("eurosys", "gpt", "2_6B", 1, 8, 28000, 1024),
    ("eurosys", "gpt", "13B", 1, 8, 28000, 1024),
    ("eurosys", "gpt", "13B", 4, 8, 28000, 1024),
    ("eurosys", "t5", "770M", 1, 1, 28000, 1024),
    ("eurosys", "t5", "3B", 1, 4, 28000, 1024),
    ("eurosys", "t5", "3B", 1, 8, 28000, 1024),
    ("eurosys", "t5", "6B", 1, 8, 28000, 1024),
    ("eurosys", "t5", "11B", 2, 8, 28000, 1024),
    ("eurosys", "t5", "11B", 4, 8, 28000, 1024),
    ("eurosys", "t5", "22B", 4, 8, 28000, 1024),
    ("miniset", "resnet", "500M", 1, 4, 12000, 768),
    ("eurosys", "resnet", "500M", 1, 1, 28000, 1536),
    ("eurosys", "resnet", "2B", 1, 4, 28000, 1536),
    ("eurosys", "resnet", "4B", 1, 8, 28000, 1536),
    ("eurosys", "resnet", "6_8B", 2, 8, 28000, 1536),
    ("eurosys", "resnet", "13B", 4, 8, 28000, 1536),
]
OTHER_SECONDS = 30


def plan(weir, setting, seconds, *words):
    db, model, size, nodes, gpus, memory, batch = setting[:7]
    begin = time.monotonic()
    done = subprocess.run(
        [weir, "plan", "--json", "--profiles", str(DATA), "--db", db, "--model", model, "--size", size, "--nodes", str(nodes),
         "--gpus-per-node", str(gpus), "--memory", f"{memory}MiB", "--batch", str(batch), "--budget", f"{seconds}s", *words],
        capture_output=True, text=True)
    took = time.monotonic() - begin
    if done.returncode == 3:
        return None, took, done.stderr
    if done.returncode != 0:
        sys.exit(f"{' '.join(done.args)}\n{done.stderr}")
    return json.loads(done.stdout), took, ""


def title(setting):
    db, model, size, nodes, gpus, memory, batch = setting[:7]
    name = {"gpt": "GPT", "t5": "T5", "resnet": "Wide-ResNet"}[model]
    return f"{name} {size.replace('_', '.')}, {nodes}x{gpus}, {memory} MiB, batch {batch}, {db}"


def number(value):
    return "-" if value is None else f"{value:,.1f}"


def gap(answer):
    return f"{(answer['predicted_ms'] / answer['lower_bound_ms'] - 1) * 100:.2f} %"


def shape(answer):
    sizes = [stage["gpus"] for stage in answer["stages"]]
    return f"{len(sizes)} stages, microbatch {answer['microbatch']}"


def table(headings, rows, markdown):
    cells = [[str(cell) for cell in row] for row in [headings, *rows]]
    if markdown:
        lines = ["| " + " | ".join(row) + " |" for row in cells]
        return "\n".join([lines[0], "|" + "---|" * len(headings), *lines[1:]])
    widths = [max(len(row[i]) for row in cells) for i in range(len(headings))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells)


def check_first(weir, options, problems):
    rows = []
    for setting in FIRST:
        seconds, derived_limit, own_limit, public = setting[7:]
        for rule, limit in (("derived", derived_limit), ("own", own_limit)):
            answer, took, _ = plan(weir, setting, seconds, "--cost-model", "published", "--recompute", rule)
            rows.append([title(setting), rule, number(public), number(answer["predicted_ms"]), number(limit), gap(answer), f"{took:.2f}",
                         number(answer.get("uniform_grid_ms"))])
            if answer["predicted_ms"] > limit:
                problems.append(f"{title(setting)}, {rule}: {answer['predicted_ms']} ms, limit {limit}")
            if options.seconds and took >= seconds:
                problems.append(f"{title(setting)}, {rule}: {took:.2f} s, limit {seconds}")
    for rule in ("derived", "own"):
        answer, took, _ = plan(weir, FIRST[2], 2, "--cost-model", "published", "--recompute", rule, "--tp1-measurements", "one")
        rows.append([title(FIRST[2]) + ", one measurement at tp 1", rule, "18,138.2", number(answer["predicted_ms"]), "-", gap(answer), f"{took:.2f}",
                     number(answer.get("uniform_grid_ms"))])
    print(table(["setting", "recomputation", "public search ms", "weir ms", "at most", "proved gap", "s", "uniform grid ms"], rows, options.markdown))


def check_others(weir, options, problems):
    rows = []
    for setting in OTHERS:
        answer, took, why = plan(weir, setting, OTHER_SECONDS, "--cost-model", "published")
        if answer is None:
            rows.append([title(setting), "-", "-", "-", "-", f"{took:.2f}", why.strip().splitlines()[0]])
            continue
        grid = answer.get("uniform_grid_ms")
        rows.append([title(setting), number(grid), number(answer["predicted_ms"]),
                     "-" if grid is None else f"{grid / answer['predicted_ms']:.2f}", gap(answer), f"{took:.2f}", shape(answer)])
        if grid is not None and answer["predicted_ms"] > grid:
            problems.append(f"{title(setting)}: {answer['predicted_ms']} ms, the uniform grid has {grid}")
        if options.seconds and took >= OTHER_SECONDS:
            problems.append(f"{title(setting)}: {took:.2f} s, limit {OTHER_SECONDS}")
    print(table(["setting", "uniform grid ms", "weir ms", "times faster", "proved gap", "s", "plan"], rows, options.markdown))


def check_scale(weir, options, problems):
    """Both lines with one budget: what counts is when the answer was found and how good it is."""
    rows = []
    points = {"layers": [], "GPUs": []}
    for layers in (8, 16, 32, 64, 128, 256, 512, 1000):
        setting = ("eurosys", "gpt", "scale-layer", 1, 8, 28000, 1024)
        answer, took, _ = plan(weir, setting, 10, "--layers", str(layers), "--margin", "1000MiB", "--cost-model", "published")
        rows.append([f"{layers} layers, 8 GPUs", number(answer["predicted_ms"]), gap(answer), f"{took:.2f}", answer["evaluations"]])
        points["layers"].append((layers, took, answer["predicted_ms"] / answer["lower_bound_ms"]))
        if options.seconds and took >= 10:
            problems.append(f"{layers} layers: {took:.2f} s")
    for nodes in (1, 2, 4, 8, 16, 32, 64, 128):
        setting = ("eurosys", "gpt", "13B", nodes, 8, 28000, 8192)
        answer, took, why = plan(weir, setting, 30, "--cost-model", "published")
        if answer is None:
            rows.append([f"GPT 13B, {8 * nodes} GPUs", "-", "-", f"{took:.2f}", why.strip().splitlines()[0]])
            continue
        rows.append([f"GPT 13B, {8 * nodes} GPUs", number(answer["predicted_ms"]), gap(answer), f"{took:.2f}", answer["evaluations"]])
        points["GPUs"].append((8 * nodes, took, answer["predicted_ms"] / answer["lower_bound_ms"]))
    print(table(["setting", "weir ms", "proved gap", "s", "stages looked at"], rows, options.markdown))
    if options.plot:
        pathlib.Path(options.plot).write_text(plot(points))


def plot(points):
    """Two log-log panels: seconds against layers and against GPUs."""
    import math
    parts = []
    for index, (name, values) in enumerate(points.items()):
        left, top, width, height = 70 + 400 * index, 30, 300, 220
        low_x, high_x = math.log10(values[0][0]), math.log10(values[-1][0])
        low_y, high_y = -2, 2

        def place(x, y):
            return (left + (math.log10(x) - low_x) / (high_x - low_x) * width, top + height - (math.log10(max(y, 0.01)) - low_y) / (high_y - low_y) * height)

        for power in range(low_y, high_y + 1):
            y = place(values[0][0], 10 ** power)[1]
            parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" class="g"/>'
                         f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{10 ** power:g}</text>')
        for x, _, _ in values:
            parts.append(f'<text x="{place(x, 1)[0]:.1f}" y="{top + height + 18}" text-anchor="middle">{x}</text>')
        path = " ".join(f"{'M' if i == 0 else 'L'}{place(x, y)[0]:.1f},{place(x, y)[1]:.1f}" for i, (x, y, _) in enumerate(values))
        parts.append(f'<path d="{path}" class="l"/>')
        parts += [f'<circle cx="{place(x, y)[0]:.1f}" cy="{place(x, y)[1]:.1f}" r="3.5" class="d"><title>{x}: {y:.2f} s, gap {(g - 1) * 100:.2f} %</title></circle>'
                  for x, y, g in values]
        parts.append(f'<text x="{left + width / 2}" y="{top + height + 38}" text-anchor="middle">{name}</text>')
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 310" font-family="sans-serif" font-size="12">'
            '<style>.g{stroke:#ddd}.l{fill:none;stroke:#2a6fb0;stroke-width:2}.d{fill:#2a6fb0}</style><rect width="800" height="310" fill="white"/>'
            '<text x="70" y="16">seconds to the answer, proof included (limit 10 s for layers, 30 s for GPUs)</text>' + "".join(parts) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default=str(ROOT / "build/release/bin/weir"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--seconds", action="store_true")
    parser.add_argument("--plot")
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"skipped: data not found ({DATA})")
        sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)
    problems = []
    if options.scale:
        check_scale(options.weir, options, problems)
    else:
        check_first(options.weir, options, problems)
        if not options.quick:
            print()
            check_others(options.weir, options, problems)
    for problem in problems:
        print(f"does not hold: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
