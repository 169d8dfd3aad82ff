# SPDX-License-Identifier: Apache-2.0
"""Small decoders of the architectures that `weir predict --model-config` knows, to trace: a test compares both.

    tools/collect/trace_model.py --model decoders:qwen3 --batch 8 --out tests/fixtures/ops/qwen3.json.gz

They are written as models.py writes its LLaMA: fused norms where PyTorch has them, scaled_dot_product_attention.
"""
import torch
from torch import nn
from torch.nn import functional

HIDDEN, LAYERS, HEADS, KV_HEADS, SIZE, INNER, WORDS, LENGTH = 1024, 6, 16, 4, 64, 2816, 32000, 512
NEOX_PART = 4  # one in so many numbers of a head rotates


def rotated(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Gated(nn.Module):
    """llama; qwen2 has biases of queries, keys and values, qwen3 their norms, internlm2 one matrix for them."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        if kind == "internlm2":
            self.into = nn.Linear(HIDDEN, (HEADS + 2 * KV_HEADS) * SIZE, bias=False)
        else:
            self.q, self.k, self.v = (nn.Linear(HIDDEN, heads * SIZE, bias=kind == "qwen2") for heads in (HEADS, KV_HEADS, KV_HEADS))
        if kind == "qwen3":
            self.q_norm, self.k_norm = nn.RMSNorm(SIZE), nn.RMSNorm(SIZE)
        self.out = nn.Linear(HEADS * SIZE, HIDDEN, bias=False)
        self.gate, self.up = (nn.Linear(HIDDEN, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, HIDDEN, bias=False)
        self.one, self.two = nn.RMSNorm(HIDDEN), nn.RMSNorm(HIDDEN)

    def parts(self, y, b, s):
        if self.kind == "internlm2":
            return self.into(y).view(b, s, -1, SIZE).split((HEADS, KV_HEADS, KV_HEADS), 2)
        q, k, v = (project(y).view(b, s, -1, SIZE) for project in (self.q, self.k, self.v))
        return (self.q_norm(q).bfloat16(), self.k_norm(k).bfloat16(), v) if self.kind == "qwen3" else (q, k, v)

    def forward(self, x, cos, sin):
        b, s, _ = x.shape
        q, k, v = (part.transpose(1, 2) for part in self.parts(self.one(x), b, s))
        y = functional.scaled_dot_product_attention(rotated(q, cos, sin), rotated(k, cos, sin), v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, -1))
        y = self.two(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class NeoX(nn.Module):
    """Biases, a part of each head rotates, both halves take the same input."""

    def __init__(self, kind):
        super().__init__()
        self.into, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, INNER), nn.Linear(INNER, HIDDEN)
        self.one, self.two = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)

    def forward(self, x, cos, sin):
        def turned(part):
            return torch.cat((rotated(part[..., :cos.shape[-1]], cos, sin), part[..., cos.shape[-1]:]), -1)

        b, s, _ = x.shape
        q, k, v = self.into(self.one(x)).view(b, s, HEADS, 3 * SIZE).transpose(1, 2).chunk(3, -1)
        y = functional.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        attended = self.out(y.transpose(1, 2).reshape(b, s, -1))
        return self.down(functional.gelu(self.up(self.two(x)))) + attended + x


class Decoder(nn.Module):
    def __init__(self, kind):
        super().__init__()
        is_neox = kind == "gpt_neox"
        self.tokens, self.head = nn.Embedding(WORDS, HIDDEN), nn.Linear(HIDDEN, WORDS, bias=False)
        self.layers = nn.ModuleList((NeoX if is_neox else Gated)(kind) for _ in range(LAYERS))
        self.norm = (nn.LayerNorm if is_neox else nn.RMSNorm)(HIDDEN)
        turning = SIZE // NEOX_PART if is_neox else SIZE
        self.register_buffer("cos", torch.ones(LENGTH, turning).bfloat16())
        self.register_buffer("sin", torch.ones(LENGTH, turning).bfloat16())

    def forward(self, tokens, labels):
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


def maker(kind):
    def make():
        return Decoder(kind), lambda n: tuple(torch.randint(0, WORDS, (n, LENGTH)) for _ in range(2))
    return make


llama, qwen2, qwen3, internlm2, gpt_neox = (maker(kind) for kind in ("llama", "qwen2", "qwen3", "internlm2", "gpt_neox"))
