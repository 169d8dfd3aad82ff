#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a training script: it can stop at any step and go on later, on more or fewer GPUs.

Takes SECONDS_PER_STEP on one GPU and less on more, keeps its step in the checkpoint folder, and tells
weir how far it is. Nothing here needs a GPU or a package.

    train.py STEPS [SECONDS_PER_STEP]
"""
import json
import os
import signal
import socket
import sys
import time

steps = int(sys.argv[1])
seconds_per_step = float(sys.argv[2]) if len(sys.argv) > 2 else 0.05
gpus = int(os.environ.get("WEIR_GPUS", "1"))
checkpoint = os.path.join(os.environ.get("WEIR_CHECKPOINT_DIR", "."), "step")
address = os.environ.get("WEIR_PROGRESS", "").replace("@", "\0", 1)
progress = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
progress.setblocking(False)


def save(step):
    with open(checkpoint + ".new", "w", encoding="ascii") as file:
        file.write(str(step))
    os.replace(checkpoint + ".new", checkpoint)


def tell(step):
    try:
        progress.sendto(json.dumps({"step": step}).encode(), address)
    except OSError:
        pass  # nobody listens, or too busy: training does not wait


step = 0
if os.path.exists(checkpoint):
    with open(checkpoint, encoding="ascii") as file:
        step = int(file.read())


def stop(_signal, _frame):
    save(step)
    print(f"asked to stop at step {step}; saved", flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
print(f"from step {step} to {steps} on {gpus} GPU(s)", flush=True)
tell(step)
per_step = seconds_per_step / (gpus * 0.95 if gpus > 1 else 1)
next_step = time.monotonic()
while step < steps:
    next_step += per_step
    time.sleep(max(0.0, next_step - time.monotonic()))
    step += 1
    tell(step)
    if step % 20 == 0:
        save(step)
save(step)
print(f"done: {step} steps", flush=True)
