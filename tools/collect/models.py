# SPDX-License-Identifier: Apache-2.0
"""The networks whose whole training iterations are measured, written out here: nothing is downloaded.

make(name, torch) returns (module, batch_of), where batch_of(n) makes the inputs of n samples and the module returns the loss.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """One network: how it is built and at which batches it is measured."""
    kind: str
    sizes: dict
    batches: tuple


# The five that predictions are judged by, smallest batch first; there the CPU cannot launch as fast as the GPU works.
JUDGED = {
    "resnet50": Plan("resnet", {"blocks": (3, 4, 6, 3), "bottleneck": True}, (8, 64, 256)),
    "vgg16": Plan("vgg", {"widths": (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)}, (2, 32, 128)),
    "bert-base": Plan("bert", {"layers": 12, "hidden": 768, "heads": 12, "vocabulary": 30522, "length": 512}, (1, 16, 64)),
    "gpt2-medium": Plan("gpt", {"layers": 24, "hidden": 1024, "heads": 16, "vocabulary": 50257, "length": 1024}, (1, 8, 32)),
    "llama-1b": Plan("llama", {"layers": 16, "hidden": 2048, "heads": 32, "kv_heads": 8, "inner": 8192, "vocabulary": 32000, "length": 512},
                     (1, 8, 32)),
}
# Others, for fitting what only shows in whole iterations, such as how fast the CPU launches.
CALIBRATION = {
    "resnet18": Plan("resnet", {"blocks": (2, 2, 2, 2), "bottleneck": False}, (4, 96)),
    "vgg11": Plan("vgg", {"widths": (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0)}, (1, 48)),
    "bert-mini": Plan("bert", {"layers": 5, "hidden": 512, "heads": 8, "vocabulary": 30522, "length": 256}, (1, 24)),
    "gpt-mini": Plan("gpt", {"layers": 6, "hidden": 640, "heads": 10, "vocabulary": 32000, "length": 512}, (1, 12)),
    "llama-mini": Plan("llama", {"layers": 5, "hidden": 1024, "heads": 16, "kv_heads": 4, "inner": 2816, "vocabulary": 32000, "length": 256},
                       (1, 20)),
    # Deep and narrow, as far as a CPU sees them like the large ones.
    "resnet34": Plan("resnet", {"blocks": (3, 4, 6, 3), "bottleneck": False}, (2,)),
    "resnet101": Plan("resnet", {"blocks": (3, 4, 23, 3), "bottleneck": True}, (2,)),
    "vgg19": Plan("vgg", {"widths": (64, 64, 0, 128, 128, 0, 256, 256, 256, 256, 0, 512, 512, 512, 512, 0, 512, 512, 512, 512, 0)}, (1,)),
    "bert-deep": Plan("bert", {"layers": 24, "hidden": 256, "heads": 4, "vocabulary": 30522, "length": 128}, (1,)),
    "gpt-small": Plan("gpt", {"layers": 12, "hidden": 768, "heads": 12, "vocabulary": 50257, "length": 256}, (1,)),
    "gpt-deep": Plan("gpt", {"layers": 36, "hidden": 512, "heads": 8, "vocabulary": 32000, "length": 128}, (1,)),
    "llama-small": Plan("llama", {"layers": 12, "hidden": 768, "heads": 12, "kv_heads": 12, "inner": 2048, "vocabulary": 32000, "length": 256},
                        (1,)),
    "llama-deep": Plan("llama", {"layers": 28, "hidden": 512, "heads": 8, "kv_heads": 2, "inner": 1536, "vocabulary": 32000, "length": 128},
                       (1,)),
}
PLANS = {**JUDGED, **CALIBRATION}


def shrunk(plan):
    """The same code at a size a CPU runs in a moment."""
    small = {"blocks": (1, 1, 1, 1), "widths": (8, 0, 16, 0, 16, 0, 16, 0, 16, 0), "layers": 1, "hidden": 32, "heads": 4, "kv_heads": 2,
             "inner": 64, "vocabulary": 50, "length": 16}
    return Plan(plan.kind, {name: small.get(name, value) for name, value in plan.sizes.items()}, (1, 2))


def make(plan, torch, device):
    nn, functional = torch.nn, torch.nn.functional

    # ---- images ----

    def conv(cin, cout, ksize, stride=1):
        return nn.Conv2d(cin, cout, ksize, stride, ksize // 2, bias=False)

    class Residual(nn.Module):
        def __init__(self, cin, width, stride, bottleneck):
            super().__init__()
            cout = width * 4 if bottleneck else width
            if bottleneck:
                steps = [conv(cin, width, 1), nn.BatchNorm2d(width), nn.ReLU(True), conv(width, width, 3, stride), nn.BatchNorm2d(width),
                         nn.ReLU(True), conv(width, cout, 1), nn.BatchNorm2d(cout)]
            else:
                steps = [conv(cin, width, 3, stride), nn.BatchNorm2d(width), nn.ReLU(True), conv(width, cout, 3), nn.BatchNorm2d(cout)]
            self.body = nn.Sequential(*steps)
            self.skip = nn.Sequential(conv(cin, cout, 1, stride), nn.BatchNorm2d(cout)) if stride > 1 or cin != cout else nn.Identity()
            self.relu = nn.ReLU(True)

        def forward(self, x):
            return self.relu(self.body(x) + self.skip(x))

    class ResNet(nn.Module):
        def __init__(self, blocks, bottleneck):
            super().__init__()
            layers, cin = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
            for stage, count in enumerate(blocks):
                for index in range(count):
                    width = 64 << stage
                    layers.append(Residual(cin, width, 2 if stage and index == 0 else 1, bottleneck))
                    cin = width * 4 if bottleneck else width
            self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(cin, 1000))

        def forward(self, images, labels):
            return functional.cross_entropy(self.body(images), labels)

    class Vgg(nn.Module):
        def __init__(self, widths):
            super().__init__()
            layers, cin = [], 3
            for width in widths:
                layers += [nn.MaxPool2d(2)] if width == 0 else [nn.Conv2d(cin, width, 3, padding=1), nn.ReLU(True)]
                cin = width or cin
            self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(7), nn.Flatten(), nn.Linear(cin * 49, 4096), nn.ReLU(True),
                                      nn.Dropout(0.5), nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(0.5), nn.Linear(4096, 1000))

        def forward(self, images, labels):
            return functional.cross_entropy(self.body(images), labels)

    # ---- text ----

    class Attention(nn.Module):
        def __init__(self, hidden, heads, causal):
            super().__init__()
            self.heads, self.causal = heads, causal
            self.into, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)

        def forward(self, x):
            b, s, h = x.shape
            q, k, v = self.into(x).view(b, s, 3, self.heads, h // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
            return self.out(y.transpose(1, 2).reshape(b, s, h))

    class Block(nn.Module):
        """Norm before (GPT) or after (BERT) each half."""

        def __init__(self, hidden, heads, causal, norm_first):
            super().__init__()
            self.norm_first = norm_first
            self.attention = Attention(hidden, heads, causal)
            self.one, self.two = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
            self.inner = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            if self.norm_first:
                x = x + self.drop(self.attention(self.one(x)))
                return x + self.drop(self.inner(self.two(x)))
            x = self.one(x + self.drop(self.attention(x)))
            return self.two(x + self.drop(self.inner(x)))

    class Transformer(nn.Module):
        def __init__(self, layers, hidden, heads, vocabulary, length, gpt):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, hidden), nn.Embedding(length, hidden)
            self.drop = nn.Dropout(0.1)
            self.norm = nn.LayerNorm(hidden)
            self.blocks = nn.ModuleList(Block(hidden, heads, gpt, gpt) for _ in range(layers))
            self.gpt = gpt
            if not gpt:
                self.transform = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.LayerNorm(hidden))
            self.head = nn.Linear(hidden, vocabulary, bias=not gpt)
            self.head.weight = self.tokens.weight

        def forward(self, tokens, labels):
            x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
            x = self.drop(x if self.gpt else self.norm(x))
            for block in self.blocks:
                x = block(x)
            x = self.norm(x) if self.gpt else self.transform(x)
            return functional.cross_entropy(self.head(x).flatten(0, 1), labels.flatten())

    def rotated(x, cos, sin):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin

    class LlamaBlock(nn.Module):
        def __init__(self, hidden, heads, kv_heads, inner):
            super().__init__()
            self.heads, self.kv_heads, self.size = heads, kv_heads, hidden // heads
            self.q, self.out = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
            self.k, self.v = (nn.Linear(hidden, kv_heads * self.size, bias=False) for _ in range(2))
            self.gate, self.up = (nn.Linear(hidden, inner, bias=False) for _ in range(2))
            self.down = nn.Linear(inner, hidden, bias=False)
            self.one, self.two = nn.RMSNorm(hidden, 1e-5), nn.RMSNorm(hidden, 1e-5)

        def forward(self, x, cos, sin):
            b, s, h = x.shape
            y = self.one(x)
            q, k, v = (project(y).view(b, s, -1, self.size).transpose(1, 2) for project in (self.q, self.k, self.v))
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.kv_heads)
            x = x + self.out(y.transpose(1, 2).reshape(b, s, h))
            y = self.two(x)
            return x + self.down(functional.silu(self.gate(y)) * self.up(y))

    class Llama(nn.Module):
        def __init__(self, layers, hidden, heads, kv_heads, inner, vocabulary, length):
            super().__init__()
            self.tokens, self.head = nn.Embedding(vocabulary, hidden), nn.Linear(hidden, vocabulary, bias=False)
            self.blocks = nn.ModuleList(LlamaBlock(hidden, heads, kv_heads, inner) for _ in range(layers))
            self.norm = nn.RMSNorm(hidden, 1e-5)
            size = hidden // heads
            angles = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(0, size, 2).float() / size))
            self.register_buffer("cos", torch.cat((angles.cos(),) * 2, -1).bfloat16(), persistent=False)
            self.register_buffer("sin", torch.cat((angles.sin(),) * 2, -1).bfloat16(), persistent=False)

        def forward(self, tokens, labels):
            x = self.tokens(tokens)
            for block in self.blocks:
                x = block(x, self.cos, self.sin)
            return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())

    # ---- one of them ----

    if plan.kind in ("resnet", "vgg"):
        module = (ResNet if plan.kind == "resnet" else Vgg)(**plan.sizes).to(device).to(memory_format=torch.channels_last)
        side = 224 if device == "cuda" else 64

        def batch_of(n):
            images = torch.randn(n, 3, side, side, device=device).to(memory_format=torch.channels_last)
            return images, torch.randint(0, 1000, (n,), device=device)
    else:
        kinds = {"bert": lambda **sizes: Transformer(gpt=False, **sizes), "gpt": lambda **sizes: Transformer(gpt=True, **sizes), "llama": Llama}
        module = kinds[plan.kind](**plan.sizes).to(device)

        def batch_of(n):
            shape = (n, plan.sizes["length"])
            return tuple(torch.randint(0, plan.sizes["vocabulary"], shape, device=device) for _ in range(2))
    return module, batch_of
