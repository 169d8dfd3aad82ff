#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures training steps of small GPTs on one GPU, for docs/measurements/gpt-steps-*.csv.

  tools/measure_gpt_steps.py --weir build/release/bin/weir --gpu h200 > docs/measurements/gpt-steps-h200.csv
  tools/measure_gpt_steps.py --device cpu --tiny

Needs PyTorch. bf16 weights, gradients and optimizer state, causal flash attention, tied head, fused AdamW, nothing
compiled; the mean of eight steps after three. With --weir, what `weir plan` says of the same model on one such GPU is
beside it: predicted_ms from the type of GPU alone, kernels_ms from its kernels.
"""
import argparse
import gc
import json
import subprocess
import sys
import time

# Layers, hidden, heads, vocabulary, batch, sequence.
COLUMNS = ["layers", "hidden", "heads", "vocab", "batch", "sequence"]
SIZES = [(12, 768, 12, 50304, 16, 1024), (24, 1024, 16, 50304, 16, 1024), (24, 2048, 16, 50304, 8, 2048),
         (24, 2304, 24, 51200, 8, 2048), (16, 4096, 32, 32000, 4, 4096)]
TINY = [(2, 32, 2, 128, 2, 16)]


def gpt(layers, hidden, heads, vocab):
    """The model as PyTorch modules, and its embedding."""
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
            self.qkv = nn.Linear(hidden, 3 * hidden, bias=False)
            self.out = nn.Linear(hidden, hidden, bias=False)
            self.up, self.down = nn.Linear(hidden, 4 * hidden, bias=False), nn.Linear(4 * hidden, hidden, bias=False)

        def forward(self, x):
            batch, tokens, _ = x.shape
            parts = self.qkv(self.norm1(x)).view(batch, tokens, 3, heads, hidden // heads)
            query, key, value = parts.permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, hidden))
            return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    embedding = nn.Embedding(vocab, hidden)
    return nn.Sequential(embedding, *[Block() for _ in range(layers)], nn.LayerNorm(hidden)), embedding


def step_ms(size, device, warm_up, steps):
    import torch
    from torch.nn import functional as F

    layers, hidden, heads, vocab, batch, sequence = size
    model, embedding = gpt(layers, hidden, heads, vocab)
    # A CPU only tries the program out, and not every CPU can multiply bf16.
    model = model.to(device, torch.bfloat16 if device == "cuda" else torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), **({"fused": True} if device == "cuda" else {}))
    tokens = torch.randint(0, vocab, (batch, sequence), device=device)

    def step():
        logits = model(tokens) @ embedding.weight.t()
        F.cross_entropy(logits.view(-1, vocab), tokens.view(-1)).backward()
        optimizer.step()
        optimizer.zero_grad()

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    for _ in range(warm_up):
        step()
    wait()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    wait()
    return (time.perf_counter() - start) / steps * 1000


def plan_command(weir, gpu, times, size):
    """`weir plan` for that model on one GPU, the whole batch at once, everything kept."""
    layers, hidden, heads, vocab, batch, sequence = size
    dims = (f"layers={layers},hidden={hidden},heads={heads},kv-heads={heads},ffn={4 * hidden},vocab={vocab},tied=1")
    return [weir, "plan", "--dims", dims, "--gpu", gpu, "--nodes", "1", "--gpus-per-node", "1", "--batch", str(batch),
            "--sequence", str(sequence), "--pin", f"mode=mtp,micro-batch={batch},recompute=none", "--times", times,
            "--json"]


def predicted_ms(weir, gpu, times, size):
    answer = subprocess.run(plan_command(weir, gpu, times, size), check=True, capture_output=True, text=True).stdout
    return json.loads(answer)["predicted_ms"]


def main(words=None, out=sys.stdout):
    parser = argparse.ArgumentParser(description="Measures training steps of small GPTs on one GPU.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="one model of a few thousand parameters: a test")
    parser.add_argument("--warm-up", type=int, default=3, help="steps before the clock starts")
    parser.add_argument("--steps", type=int, default=8, help="steps whose mean is taken")
    parser.add_argument("--weir", help="the program, for predictions beside the measurements")
    parser.add_argument("--gpu", default="h200", help="with --weir: the type of GPU")
    options = parser.parse_args(words)
    if options.steps < 1 or options.warm_up < 0:
        parser.error("--steps must be 1 or more, --warm-up 0 or more")

    columns = COLUMNS + ["measured_ms"] + (["predicted_ms", "kernels_ms"] if options.weir else [])
    print(",".join(columns), file=out)
    for size in TINY if options.tiny else SIZES:
        row = [*size, f"{step_ms(size, options.device, options.warm_up, options.steps):.2f}"]
        if options.weir:
            row += [f"{predicted_ms(options.weir, options.gpu, times, size):.3f}" for times in ("analytic", "kernels")]
        print(",".join(map(str, row)), file=out, flush=True)
        gc.collect()
        if options.device == "cuda":
            import torch
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
