#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learns a picture with PyTorch DDP, as many scripts do. It knows nothing of weir: it loads its checkpoint if there is one,
saves now and then, and prints how far it is.

    torchrun --nproc_per_node 2 plain.py --checkpoint plain.pt --picture plain.pgm
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

import picture

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--batch", type=int, default=256, help="of all ranks together")
parser.add_argument("--width", type=int, default=64, help="of the network")
parser.add_argument("--rate", type=float, default=0.2)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--double", action="store_true", help="double precision")
parser.add_argument("--checkpoint", default="plain.pt")
parser.add_argument("--save-every", type=int, default=50, help="steps")
parser.add_argument("--print-every", type=int, default=10, help="steps")
parser.add_argument("--picture", help="a PGM file: what it has learnt, at every checkpoint")
parser.add_argument("--pause", type=float, default=0, help="seconds to rest after each step")
args = parser.parse_args()
dtype = torch.float64 if args.double else torch.float32

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
inputs, targets = picture.samples(dtype)
data = TensorDataset(inputs, targets)
sampler = DistributedSampler(data, seed=args.seed)
loader = DataLoader(data, batch_size=args.batch // world_size, sampler=sampler)

torch.manual_seed(args.seed)
net = picture.network(args.width, dtype)
optimizer = torch.optim.SGD(net.parameters(), lr=args.rate, momentum=0.9)
step, epoch = 0, 0
if os.path.exists(args.checkpoint):
    state = torch.load(args.checkpoint)
    step, epoch = state["step"], state["epoch"]
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
model = DistributedDataParallel(net)


def save():
    if rank != 0:
        return
    state = {"step": step, "epoch": epoch, "net": net.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, args.checkpoint + ".new")
    os.replace(args.checkpoint + ".new", args.checkpoint)
    if args.picture:
        picture.write(args.picture, net, inputs)


if rank == 0:
    print(f"from step {step} on {world_size} ranks", flush=True)
while step < args.steps:
    sampler.set_epoch(epoch)
    for batch_inputs, batch_targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(batch_inputs), batch_targets)
        loss.backward()
        optimizer.step()
        step += 1
        time.sleep(args.pause)
        if rank == 0 and step % args.print_every == 0:
            print(f"step {step} loss {loss.item():.6f}", flush=True)
        if step % args.save_every == 0:
            save()
        if step >= args.steps:
            break
    epoch += 1
save()
