#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the simulator tell the truth? Runs real jobs under `weir serve`, exports the log, and lets the simulator play
the same submissions with the measured costs. Compares finish times job by job. The limit is for the simulator that knows submissions and start costs only.

    tools/check_truth.py [--weir build/release/bin/weir] [--jobs 50] [--limit 15] [--keep FOLDER]

Also decides the whole log again (`weir trace replay`): the records must be the same bytes.
"""
import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--weir", default="build/release/bin/weir")
parser.add_argument("--jobs", type=int, default=50)
parser.add_argument("--limit", type=float, default=15.0, help="percent, mean")
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--keep", help="where to keep the log")
arguments = parser.parse_args()

weir = os.path.abspath(arguments.weir)
here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
trainer = os.path.join(here, "examples", "live", "train.py")
folder = tempfile.mkdtemp()
environment = dict(os.environ, WEIR_STATE=os.path.join(folder, "state"), XDG_CONFIG_HOME=folder)


def run(*words, check=True):
    done = subprocess.run([weir, *words], env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if check and done.returncode not in (0, 3):
        raise SystemExit(f"weir {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def job_yaml(number, draw):
    """A third may change their size, a third are rigid, a third are plain programs; most have a deadline."""
    kind = number % 3
    deadline = f"deadline: {draw.randint(20, 90)}s\n" if number % 5 else ""
    if kind == 2:
        length = draw.randint(2, 8)
        return (f"name: plain-{number}\ncommand: [sleep, '{length}']\nduration: {length}s\n"
                f"gpus: {draw.choice([1, 1, 2])}\n{deadline}")
    steps = draw.randint(60, 240)
    rigid = f"rigid: true\ngpus: {draw.choice([1, 2])}\n" if kind == 1 else ""
    return (f"name: train-{number}\ncommand: [python3, {trainer}, '{steps}', '0.05']\niterations: {steps}\n"
            f"throughput: {{1: 20, 2: 38, 4: 76}}\nreports_progress: true\ngrace: 2s\n{rigid}{deadline}")


server = subprocess.Popen([weir, "serve", "--cluster", "1x8xCPU", "--port", "0"], env=environment,
                          stderr=open(os.path.join(folder, "server.log"), "w", encoding="utf-8"))
try:
    for _ in range(300):
        if run("nodes", check=False).returncode == 0:
            break
        time.sleep(0.1)
    draw = random.Random(arguments.seed)
    for number in range(1, arguments.jobs + 1):
        path = os.path.join(folder, f"job-{number}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(job_yaml(number, draw))
        run("submit", path)
        time.sleep(draw.expovariate(1 / 0.7))
        if number % 10 == 0:
            print(f"submitted {number} of {arguments.jobs}", flush=True)
    for waited in range(600):
        active = [phase for phase in ("queued", "running", "paused")
                  if '"id"' in run("jobs", "--json", "--phase", phase).stdout]
        if not active:
            break
        if waited % 10 == 0:
            print(f"some are still {', '.join(active)}", flush=True)
        time.sleep(1)
    log = os.path.join(folder, "live.jsonl")
    run("trace", "export", "--out", log)
    jobs = run("jobs", "--json", "--limit", "1000").stdout
    broken = len(re.findall(r'"met_deadline": ?false', jobs))
    print(run("trace", "replay", log).stdout, end="")
    # Only what was submitted and what starts cost; then with the speed of each job as well.
    played = run("simulate", "--from-log", log, "--job-speed", "1")
    print(played.stdout, end="")
    print(run("simulate", "--from-log", log).stdout.splitlines()[-1])
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
        shutil.copy(log, arguments.keep)
    found = re.search(r"finish times of (\d+) jobs are foretold within ([\d.]+) %", played.stdout)
    if not found:
        raise SystemExit("the simulator did not say how well it foretells")
    count, error = int(found[1]), float(found[2])
    print(f"{count} of {arguments.jobs} jobs finished; mean error {error} % (limit {arguments.limit} %); "
          f"{broken} promises broken")
    sys.exit(0 if error <= arguments.limit and count >= arguments.jobs * 0.6 and broken == 0 else 1)
finally:
    server.send_signal(signal.SIGTERM)
    server.wait()
    subprocess.run(["pkill", "-KILL", "-f", f"weir-supervisor {folder}/"], check=False)
    shutil.rmtree(folder, ignore_errors=True)
