#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plain.py with weir_worker: the same batches in the same order on any number of ranks, and nothing is lost when it is resized.

    torchrun --nproc_per_node 2 elastic.py --checkpoint saved --picture elastic.pgm
"""
import argparse
import contextlib
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import picture

# From a checkout it need not be installed.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import weir_worker


def largest(number):
    """Over all ranks, so that they leave at the same step."""
    box = torch.tensor([number])
    dist.all_reduce(box, op=dist.ReduceOp.MAX)
    return int(box.item())


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--batch", type=int, default=256, help="of all ranks together")
parser.add_argument("--most-local", type=int, default=128, help="samples that a rank can hold at once")
parser.add_argument("--width", type=int, default=64, help="of the network")
parser.add_argument("--rate", type=float, default=0.2)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--double", action="store_true", help="double precision")
parser.add_argument("--checkpoint", help="a folder; default: $WEIR_CHECKPOINT_DIR")
parser.add_argument("--save-every", type=float, default=10, help="seconds")
parser.add_argument("--print-every", type=int, default=10, help="steps")
parser.add_argument("--picture", help="a PGM file: what it has learnt, at every checkpoint")
parser.add_argument("--pause", type=float, default=0, help="seconds to rest after each step")
parser.add_argument("--trace", help="a file to note in: which rank took which sample of which epoch, at which step")
args = parser.parse_args()
dtype = torch.float64 if args.double else torch.float32

weir_worker.start(save_every=args.save_every, agree=largest)
dist.init_process_group("gloo")
rank = dist.get_rank()
inputs, targets = picture.samples(dtype)
plan = weir_worker.batch_plan(args.batch, most_local=args.most_local)
sampler = weir_worker.ElasticSampler(len(inputs), seed=args.seed)
trace = open(args.trace, "a", buffering=1 << 20) if args.trace else None

torch.manual_seed(args.seed)
net = picture.network(args.width, dtype)
optimizer = torch.optim.SGD(net.parameters(), lr=args.rate, momentum=0.9)
checkpoints = weir_worker.Checkpoints(args.checkpoint)
step = 0
loaded = checkpoints.load(torch.load)
if loaded:
    step = loaded.step
    net.load_state_dict(loaded.value["net"])
    optimizer.load_state_dict(loaded.value["optimizer"])
    sampler.load_state_dict(loaded.value["sampler"])
model = DistributedDataParallel(net)


def save():
    if rank == 0:
        state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "sampler": sampler.state_dict()}
        checkpoints.save(step, lambda file: torch.save(state, file))
        if args.picture:
            picture.write(args.picture, net, inputs)
    dist.barrier()  # nobody leaves before it is written


def note(batch):
    start = batch.first + batch.plan.first
    lines = (f"{step} {sampler.epoch} {start + i} {index} {rank}\n" for i, index in enumerate(batch.indices))
    trace.write("".join(lines))
    trace.flush()


if rank == 0:
    print(f"from step {step} on {plan.world_size} ranks", flush=True)
epoch = sampler.epoch
while step < args.steps:
    sampler.set_epoch(epoch)
    for batch in sampler.batches(plan):
        optimizer.zero_grad()
        last = len(batch.micro_batches) - 1
        total = 0.0
        for number, (indices, weight) in enumerate(zip(batch.micro_batches, batch.weights)):
            with contextlib.nullcontext() if number == last else model.no_sync():
                loss = torch.nn.functional.mse_loss(model(inputs[indices]), targets[indices])
                (loss * weight * plan.world_size).backward()
            total += loss.detach() * weight / batch.plan.weight
        optimizer.step()
        step += 1
        sampler.advance(batch)
        if trace:
            note(batch)
        time.sleep(args.pause)
        weir_worker.report(step, loss=total)
        if rank == 0 and step % args.print_every == 0:
            print(f"step {step} loss {total.item():.6f}", flush=True)
        if step >= args.steps:
            break
        if weir_worker.should_checkpoint():
            save()
            if weir_worker.should_leave():
                weir_worker.leave()
    epoch += 1
save()
