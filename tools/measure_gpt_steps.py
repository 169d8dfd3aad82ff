#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures training steps of small GPTs on one GPU, for docs/measurements/gpt-steps-*.csv.

  tools/measure_gpt_steps.py

Needs PyTorch and a GPU. bf16 weights, causal flash attention, tied head, fused AdamW, nothing compiled; the mean of eight
steps after three.
"""
import time

import torch
from torch import nn
from torch.nn import functional as F

# Layers, hidden, heads, vocabulary, batch, sequence.
SIZES = [(12, 768, 12, 50304, 16, 1024), (24, 1024, 16, 50304, 16, 1024), (24, 2048, 16, 50304, 8, 2048),
         (24, 2304, 24, 51200, 8, 2048), (16, 4096, 32, 32000, 4, 4096)]


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.up, self.down = nn.Linear(hidden, 4 * hidden, bias=False), nn.Linear(4 * hidden, hidden, bias=False)

    def forward(self, x):
        batch, tokens, hidden = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, hidden // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, hidden))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


def step_ms(layers, hidden, heads, vocab, batch, sequence):
    embedding = nn.Embedding(vocab, hidden)
    model = nn.Sequential(embedding, *[Block(hidden, heads) for _ in range(layers)], nn.LayerNorm(hidden))
    model = model.cuda().bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.randint(0, vocab, (batch, sequence), device="cuda")

    def step():
        logits = model(tokens) @ embedding.weight.t()
        F.cross_entropy(logits.view(-1, vocab), tokens.view(-1)).backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(8):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / 8 * 1000


def main():
    print("layers,hidden,heads,vocab,batch,sequence,measured_ms")
    for size in SIZES:
        print(",".join(map(str, size)), f"{step_ms(*size):.2f}", sep=",", flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
