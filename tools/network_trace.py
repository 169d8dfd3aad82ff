#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Large training jobs for `weir simulate --fabric`, drawn like those of `weir network study`.

    tools/network_trace.py OUT [--jobs 5000] [--gap 241] [--mix heavy] [--seed 1]

Writes OUT/jobs.yaml, OUT/curves/*.csv and OUT/traffic.yaml. Sizes 4 to 512 GPUs (powers of two: 192 and 384 become the next),
run times of philly_all clamped to 1,000..100,000 s, rigid jobs that come by chance, `gap` seconds apart in the mean.
"""
import argparse
import csv
import gzip
import os
import pathlib
import random

SIZES = {4: 50, 16: 40, 32: 10, 64: 330, 128: 175, 256: 124, 512: 271}
GPUS = [2**k for k in range(10)]
EXPERTS = "all_reduce: 0.0737, all_to_all: 0.258, all_gather: 0.0158"
MIXES = {  # model: (weight, traffic)
    "heavy": {"vgg": (50, "all_reduce: 0.23"), "experts": (50, EXPERTS)},
    "published": {
        "experts": (30, EXPERTS),
        "vgg": (32, "all_reduce: 0.14"),
        "resnet": (27, "all_reduce: 0.04"),
        "bert": (11, "all_reduce: 0.10"),
    },
}
BATCHES = range(1, 10)  # an iteration takes 0.1 s, and 0.1 s more for each


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--gap", type=float, default=241)
    parser.add_argument("--mix", choices=MIXES, default="heavy")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    data = pathlib.Path(os.environ.get("WEIR_DATA", pathlib.Path(__file__).resolve().parents[2] / "shared/data"))
    with gzip.open(data / "elasticflow/traces/philly_all.csv.gz", "rt") as file:
        durations = [float(row["duration"]) for row in csv.DictReader(file)]
    rng = random.Random(args.seed)
    mix = MIXES[args.mix]
    (args.out / "curves").mkdir(parents=True, exist_ok=True)
    for model in mix:
        with open(args.out / "curves" / f"{model}.csv", "w") as file:
            print("global_batch_size," + ",".join(map(str, GPUS)), file=file)
            for batch in BATCHES:
                rate = 1 / (0.1 + 0.1 * batch)
                print(f"{batch}," + ",".join(f"{rate:.6f}" for _ in GPUS), file=file)
    with open(args.out / "traffic.yaml", "w") as file:
        print("traffic:", file=file)
        for model, (_, parts) in mix.items():
            print(f"  - {{model: {model}, {parts}}}", file=file)
    now = 0.0
    with open(args.out / "jobs.yaml", "w") as file:
        print(f"workload: {{name: {args.mix}}}\njobs:", file=file)
        for number in range(args.jobs):
            now += args.gap * rng.expovariate(1)
            seconds = min(max(rng.choice(durations), 1000), 100000)
            gpus = rng.choices(list(SIZES), list(SIZES.values()))[0]
            model = rng.choices(list(mix), [weight for weight, _ in mix.values()])[0]
            batch = rng.choice(BATCHES)
            iterations = round(seconds / (0.1 + 0.1 * batch))
            print(
                f"  - {{name: j{number}, model: {model}, batch: {batch}, iterations: {iterations}, "
                f"submit: {round(now)}s, gpus: {gpus}, rigid: true}}",
                file=file,
            )


if __name__ == "__main__":
    main()
