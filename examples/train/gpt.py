#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT with PyTorch DDP, on tokens that follow a rule it can learn. Its dimensions are those of a config.json,
the file that `weir plan --model-config` and a job's `model: {config: ...}` read.

    torchrun --nproc_per_node 2 gpt.py --config gpt.json --batch 4
"""
import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--config", default=str(Path(__file__).resolve().parent / "gpt.json"))
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--batch", type=int, default=4, help="samples of all ranks together")
parser.add_argument("--sequence", type=int, help="tokens of a sample; default: the config's")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--checkpoint", help="a file: loaded if it is there, and saved now and then")
parser.add_argument("--save-every", type=int, default=50, help="steps")
parser.add_argument("--times", action="store_true", help="print what each step took, too, in seconds and in CPU seconds")
args = parser.parse_args()
config = json.loads(Path(args.config).read_text())
hidden, heads, vocab = config["n_embd"], config["n_head"], config["vocab_size"]
sequence = args.sequence or config["n_positions"]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.up, self.down = nn.Linear(hidden, 4 * hidden, bias=False), nn.Linear(4 * hidden, hidden, bias=False)
        self.register_buffer("hidden_from", torch.full((sequence, sequence), float("-inf")).triu(1), persistent=False)

    def forward(self, x):
        samples, tokens, _ = x.shape
        query, key, value = self.qkv(self.norm1(x)).view(samples, tokens, 3, heads, -1).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / (hidden // heads) ** 0.5 + self.hidden_from
        mixed = scores.softmax(-1) @ value
        x = x + self.out(mixed.transpose(1, 2).reshape(samples, tokens, hidden))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(vocab, hidden), nn.Embedding(sequence, hidden)
        nn.init.normal_(self.token.weight, std=0.02)
        self.blocks = nn.Sequential(*[Block() for _ in range(config["n_layer"])])
        self.norm = nn.LayerNorm(hidden)

    def forward(self, tokens):
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1]))
        return self.norm(self.blocks(x)) @ self.token.weight.t()


def some_samples(step):
    """Each token follows from the one before it. The same for all ranks; every rank takes its part."""
    source = torch.Generator().manual_seed(args.seed * 1_000_003 + step)
    tokens = [torch.randint(0, vocab, (args.batch,), generator=source)]
    for _ in range(sequence):
        tokens.append((tokens[-1] * 5 + 7) % vocab)
    return torch.stack(tokens, 1)[rank::world_size]


dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
if args.batch % world_size != 0:
    raise SystemExit(f"--batch is {args.batch}, expected a multiple of the {world_size} ranks")
torch.manual_seed(args.seed)
net = Gpt()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
step = 0
if args.checkpoint and os.path.exists(args.checkpoint):
    state = torch.load(args.checkpoint)
    step = state["step"]
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
model = DistributedDataParallel(net)

while step < args.steps:
    samples = some_samples(step)
    began, busy = time.perf_counter(), time.process_time()
    loss = F.cross_entropy(model(samples[:, :-1]).flatten(0, 1), samples[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    took, busy = time.perf_counter() - began, time.process_time() - busy
    step += 1
    if rank == 0:
        print(f"step {step} loss {loss.item():.6f}" + (f" took {took:.6f} {busy:.6f}" if args.times else ""), flush=True)
    if args.checkpoint and rank == 0 and (step % args.save_every == 0 or step == args.steps):
        torch.save({"step": step, "net": net.state_dict(), "optimizer": optimizer.state_dict()}, args.checkpoint + ".new")
        os.replace(args.checkpoint + ".new", args.checkpoint)
