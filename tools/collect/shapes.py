# SPDX-License-Identifier: Apache-2.0
"""Which calls are timed: operators, shapes and number formats, the same on every machine.

A case is one call of one operator. Its shapes are drawn log-uniformly over the ranges of the public kernel tables and from
the layers of well-known networks at batches of our own. Whether a case is for fitting or held out follows from its shape
alone: one shape is on the same side in every number format, layout, pass and algorithm, and on every device.
"""
import hashlib
import math
import random
from dataclasses import dataclass

SEED = 14
HELD_OUT_OF_TEN = 2  # two shapes of ten are held out

ELEMENT_BYTES = {"bf16": 2, "tf32": 4, "fp32": 4}

# What a case is worth measuring for: longer ones cost more device time than they teach.
LONGEST_SECONDS = 0.008
SLOWEST_FLOPS = {"bf16": 450e12, "tf32": 200e12, "fp32": 30e12}  # only to leave out what would take too long
SLOWEST_BYTES = 2.0e12


@dataclass(frozen=True)
class Case:
    family: str  # gemm, conv, attention, vec or image: one table each
    op: str
    dtype: str
    params: tuple  # ((name, value), ...), in the order of the table's columns

    def __getitem__(self, name):
        return dict(self.params)[name]

    def key(self):
        """Tells this case from every other one."""
        return f"{self.family}/{self.op}/{self.dtype}/" + ",".join(f"{name}={value}" for name, value in self.params)

    def shape_key(self):
        """What the split looks at: the numbers of the shape alone."""
        numbers = [str(value) for _, value in self.params if isinstance(value, int)]
        return f"{self.family}/" + "x".join(numbers)

    def split(self):
        return "test" if stable_hash(self.shape_key()) % 10 < HELD_OUT_OF_TEN else "train"


def stable_hash(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def make(family, op, dtype, **params):
    return Case(family, op, dtype, tuple(params.items()))


# ---- work of a case ----

def conv_out(insize, ksize, stride, pad):
    return (insize + 2 * pad - ksize) // stride + 1


def attention_pairs(case):
    """Query-key pairs that are really looked at; a causal mask starts at the upper left corner."""
    sq, sk = case["Sq"], case["Sk"]
    if not case["causal"]:
        return sq * sk
    return sum(min(row + 1, sk) for row in range(sq)) if sq <= 4096 else sq * sk - sk * (sk - 1) // 2


def flops(case):
    if case.family == "gemm":
        return 2 * case["B"] * case["M"] * case["N"] * case["K"]
    if case.family == "conv":
        out = conv_out(case["insize"], case["ksize"], case["stride"], case["pad"])
        return 2 * case["B"] * case["Cout"] * out * out * case["Cin"] * case["ksize"] ** 2
    if case.family == "attention":
        forward = 4 * case["B"] * case["heads"] * attention_pairs(case) * case["D"]
        return forward if case["pass"] == "fwd" else forward * 5 // 2
    return elements(case)


def elements(case):
    if case.family == "vec":
        return case["B"] * case["H"]
    return case["B"] * case["C"] * case["insize"] ** 2


# Bytes per element of the B x H matrix, s = bytes of the number format: what must be read and written once.
VEC_BYTES = {
    "add": lambda s: 3 * s, "mul": lambda s: 3 * s, "add_mixed": lambda s: 2 + 4 + 4, "add_inplace": lambda s: 3 * s,
    "mul_row": lambda s: 2 * s, "mul_col": lambda s: 2 * s, "scale": lambda s: 2 * s, "neg": lambda s: 2 * s,
    "pow2": lambda s: 2 * s, "gelu": lambda s: 2 * s, "gelu_bwd": lambda s: 3 * s, "silu": lambda s: 2 * s,
    "silu_bwd": lambda s: 3 * s, "relu": lambda s: 2 * s, "relu_inplace": lambda s: 2 * s, "relu_bwd": lambda s: 3 * s,
    "copy": lambda s: 2 * s, "cast_up": lambda s: 6, "cast_down": lambda s: 6, "transpose": lambda s: 2 * s,
    "cat": lambda s: 2 * s, "fill": lambda s: s, "dropout": lambda s: 2 * s + 1, "dropout_bwd": lambda s: 2 * s + 1,
    "sum_rows": lambda s: s, "mean_cols": lambda s: s, "ln": lambda s: 2 * s, "ln_bwd": lambda s: 3 * s,
    "rmsnorm": lambda s: 2 * s, "rmsnorm_bwd": lambda s: 3 * s, "softmax": lambda s: 2 * s, "softmax_bwd": lambda s: 3 * s,
    "log_softmax": lambda s: 2 * s, "log_softmax_bwd": lambda s: 3 * s, "nll_bwd": lambda s: s,
    "mul_heads": lambda s: 2 * s, "copy_heads": lambda s: 2 * s, "cat_heads": lambda s: 2 * s, "add_heads": lambda s: 3 * s,
    "adamw": lambda s: 28, "embedding": lambda s: 2 * s, "embedding_bwd": lambda s: 2 * s,
}
IMAGE_BYTES = {"bn": (2, 3), "maxpool": (1, 1), "avgpool": (1, 1)}  # reads and writes of the input: forward, backward


def bytes_moved(case):
    """Compulsory traffic: each tensor once."""
    s = ELEMENT_BYTES[case.dtype]
    if case.family == "gemm":
        b, m, n, k = (case[name] for name in "BMNK")
        return s * b * (m * n + n * k + m * k)
    if case.family == "conv":
        out = conv_out(case["insize"], case["ksize"], case["stride"], case["pad"])
        activations = case["B"] * (case["Cin"] * case["insize"] ** 2 + case["Cout"] * out * out)
        return s * (activations + case["Cin"] * case["Cout"] * case["ksize"] ** 2)
    if case.family == "attention":
        rows = case["heads"] * case["Sq"] * 2 + case["kv_heads"] * case["Sk"] * 2
        once = s * case["B"] * case["D"] * rows + 4 * case["B"] * case["heads"] * case["Sq"]
        return once if case["pass"] == "fwd" else 2 * once
    if case.family == "vec":
        return elements(case) * VEC_BYTES[case.op](s)
    inner = elements(case) * s * IMAGE_BYTES[case.op][0 if case["pass"] == "fwd" else 1]
    if case.op == "maxpool":
        out = conv_out(case["insize"], case["ksize"], case["stride"], case["pad"])
        return inner + case["B"] * case["C"] * out * out * (s + 8)
    return inner


def footprint(case):
    """Bytes of memory one call needs, for choosing what fits."""
    if case.family == "attention" and case["backend"] == "math":
        return bytes_moved(case) + 14 * case["B"] * case["heads"] * case["Sq"] * case["Sk"]
    return bytes_moved(case)


def likely_seconds(case):
    return max(flops(case) / SLOWEST_FLOPS[case.dtype], footprint(case) / SLOWEST_BYTES)


def worth_it(case):
    if case.op == "transpose" and case["B"] == 1:
        return False  # nothing to do
    return likely_seconds(case) <= LONGEST_SECONDS and footprint(case) <= 6e9


# ---- drawing ----

def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def rounded(rng, value, low):
    """As people choose sizes: mostly multiples of 8 or 64, now and then anything."""
    step = rng.choices([1, 8, 64, 128], [10, 25, 45, 20])[0]
    return max(low, round(value / step) * step or step)


def draw(rng, low, high):
    return min(high, rounded(rng, log_uniform(rng, low, high), low))


def fill_up(cases, count, draw_case):
    """Draws until there are so many different cases worth measuring."""
    seen = {case.key() for case in cases}
    while len(cases) < count:
        case = draw_case()
        if case is not None and case.key() not in seen and worth_it(case):
            seen.add(case.key())
            cases.append(case)
    return cases


GEMM_DTYPES = (["bf16", "tf32", "fp32"], [66, 18, 16])
HIDDEN = [256, 384, 512, 640, 768, 1024, 1152, 1280, 1408, 1536, 1600, 1792, 2048, 2304, 2560, 3072, 3584, 4096, 5120, 6144, 8192]
FACTORS = [(1, 1), (1, 3), (3, 1), (1, 4), (4, 1), (1, 2.6875), (2.6875, 1), (1, 2), (2, 1), (1, 0.25), (0.25, 1)]
VOCABULARIES = [30522, 32000, 50257, 50304, 32128, 128256, 10000]


def draw_tokens(rng):
    return rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64]) * rng.choice([64, 128, 197, 256, 384, 512, 1024, 2048])


def gemm_layout(rng, op):
    if op == "linear":
        return "nt"
    return rng.choices(["nn", "nt", "tn"], [40, 20, 40])[0]


def draw_gemm(rng):
    """[M,N] x [N,K]: N is the reduction, as in the public tables."""
    dtype = rng.choices(*GEMM_DTYPES)[0]
    op = rng.choices(["linear", "mm"], [40, 60])[0]
    kind = rng.choices(["network", "any", "edges", "few rows", "vocabulary"], [45, 31, 12, 5, 7])[0]
    if kind == "network":
        m, hidden, factors = draw_tokens(rng), rng.choice(HIDDEN), rng.choice(FACTORS)
        n, k = (int(hidden * factor) for factor in factors)
    elif kind == "edges":  # around whole tiles and whole waves
        tile_m, tile_k = rng.choice([64, 128, 256]), rng.choice([64, 128, 192, 256])
        tiles = rng.choice([66, 132, 264, 396, 528]) + rng.choice([-4, -2, -1, 0, 1, 2, 4])
        across = rng.choice([d for d in range(1, 33) if tiles % d == 0])
        m, k = tiles // across * tile_m + rng.choice([0, 0, 0, -1, 1, 8]), across * tile_k + rng.choice([0, 0, 0, -8, 8])
        n = draw(rng, 128, 8192)
    elif kind == "few rows":
        m, n, k = rng.choice([1, 2, 4, 8, 16, 24, 32, 64]), draw(rng, 256, 16384), draw(rng, 256, 16384)
    elif kind == "vocabulary":
        m, n, k = draw_tokens(rng), rng.choice(HIDDEN[:14]), rng.choice(VOCABULARIES)
    else:
        m, n, k = draw(rng, 1, 32768), draw(rng, 64, 16384), draw(rng, 64, 16384)
    layout = gemm_layout(rng, op)
    # The two products of a backward pass: to the inputs (nn) and to the weights (tn), where the tokens are the reduction.
    if kind in ("network", "vocabulary") and layout == "nn":
        n, k = k, n
    elif kind in ("network", "vocabulary") and layout == "tn":
        m, n, k = k, m, n
    return make("gemm", op, dtype, layout=layout, B=1, M=m, N=n, K=k)


def draw_bmm(rng):
    dtype = rng.choices(*GEMM_DTYPES)[0]
    if rng.random() < 0.5:  # attention written out
        b, d = rng.choice([1, 2, 4, 8, 16]) * rng.choice([8, 12, 16, 20, 32]), rng.choice([32, 64, 80, 96, 128])
        s = rng.choice([64, 128, 192, 256, 384, 512, 768, 1024, 2048])
        layout = rng.choice(["nt", "nn", "tn"])
        m, n, k = (s, d, s) if layout == "nt" else (s, s, d)
    else:
        b, layout = round(log_uniform(rng, 2, 1024)), rng.choice(["nn", "nt", "tn"])
        m, n, k = draw(rng, 8, 4096), draw(rng, 8, 4096), draw(rng, 8, 4096)
    return make("gemm", "bmm", dtype, layout=layout, B=b, M=m, N=n, K=k)


# (Cin, Cout, ksize, insize, stride, pad) of residual, VGG-like and inception-like networks.
CONV_LAYERS = [
    (3, 64, 7, 224, 2, 3), (64, 64, 1, 56, 1, 0), (64, 64, 3, 56, 1, 1), (64, 256, 1, 56, 1, 0), (256, 64, 1, 56, 1, 0),
    (256, 128, 1, 56, 1, 0), (128, 128, 3, 56, 2, 1), (128, 512, 1, 28, 1, 0), (256, 512, 1, 56, 2, 0), (512, 128, 1, 28, 1, 0),
    (128, 128, 3, 28, 1, 1), (512, 256, 1, 28, 1, 0), (256, 256, 3, 28, 2, 1), (256, 1024, 1, 14, 1, 0),
    (512, 1024, 1, 28, 2, 0), (1024, 256, 1, 14, 1, 0), (256, 256, 3, 14, 1, 1), (1024, 512, 1, 14, 1, 0),
    (512, 512, 3, 14, 2, 1), (512, 2048, 1, 7, 1, 0), (1024, 2048, 1, 14, 2, 0), (2048, 512, 1, 7, 1, 0), (512, 512, 3, 7, 1, 1),
    (64, 128, 3, 56, 2, 1), (64, 128, 1, 56, 2, 0), (128, 256, 3, 28, 2, 1), (256, 512, 3, 14, 2, 1),
    (3, 64, 3, 224, 1, 1), (64, 64, 3, 224, 1, 1), (64, 128, 3, 112, 1, 1), (128, 128, 3, 112, 1, 1), (128, 256, 3, 56, 1, 1),
    (256, 256, 3, 56, 1, 1), (256, 512, 3, 28, 1, 1), (512, 512, 3, 28, 1, 1), (512, 512, 3, 14, 1, 1),
    (192, 64, 1, 28, 1, 0), (96, 128, 3, 28, 1, 1), (16, 32, 5, 28, 1, 2), (480, 192, 1, 14, 1, 0), (112, 224, 3, 14, 1, 1),
    (32, 128, 5, 14, 1, 2), (832, 384, 1, 7, 1, 0), (192, 384, 3, 7, 1, 1), (48, 128, 5, 7, 1, 2), (3, 96, 4, 224, 4, 0),
    (3, 768, 16, 224, 16, 0), (192, 192, 3, 35, 1, 1), (80, 192, 3, 73, 1, 0), (32, 64, 3, 147, 1, 1),
]
CONV_BATCHES = [1, 2, 3, 4, 6, 12, 20, 24, 28, 40, 48, 80, 96, 112, 160, 192, 224]  # not those of the traced networks, but for 2
CONV_KINDS = [("bf16", "nhwc"), ("bf16", "nchw"), ("tf32", "nhwc"), ("tf32", "nchw"), ("fp32", "nchw")]
PASSES = ["fwd", "dgrad", "wgrad"]


def draw_conv_shape(rng):
    if rng.random() < 0.6:
        cin, cout, ksize, insize, stride, pad = rng.choice(CONV_LAYERS)
        return dict(B=rng.choice(CONV_BATCHES), Cin=cin, Cout=cout, ksize=ksize, insize=insize, stride=stride, pad=pad)
    ksize = rng.choices([1, 3, 5, 7], [30, 50, 14, 6])[0]
    insize = max(ksize, round(log_uniform(rng, 5, 256)))
    return dict(B=round(log_uniform(rng, 1, 256)), Cin=draw(rng, 8, 2048), Cout=draw(rng, 8, 2048), ksize=ksize, insize=insize,
                stride=rng.choices([1, 2], [75, 25])[0], pad=rng.choices([ksize // 2, 0], [80, 20])[0])


def draw_conv(rng):
    dtype, layout = rng.choices(CONV_KINDS, [58, 12, 10, 8, 12])[0]
    return make("conv", "conv", dtype, **{"pass": rng.choice(PASSES)}, layout=layout, **draw_conv_shape(rng))


BACKENDS = ["flash", "efficient", "cudnn", "math"]


def draw_attention_shape(rng):
    d = rng.choices([32, 64, 80, 96, 128, 256], [6, 45, 6, 5, 33, 5])[0]
    b, heads = rng.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64]), rng.choice([1, 2, 4, 8, 12, 16, 20, 25, 32, 40])
    sk = rng.choice([64, 128, 197, 256, 384, 512, 640, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384])
    if rng.random() < 0.08:
        return dict(B=b, heads=heads, kv_heads=heads, Sq=1, Sk=sk, D=d, causal=0)
    grouped = rng.random() < 0.15 and heads % 4 == 0
    return dict(B=b, heads=heads, kv_heads=heads // 4 if grouped else heads, Sq=sk, Sk=sk, D=d, causal=int(rng.random() < 0.5))


def attention_cases(rng, count):
    """The same shape on every backend and pass, so that backends can be compared."""
    cases = []
    while len(cases) < count:
        shape = draw_attention_shape(rng)
        dtype = rng.choices(["bf16", "tf32", "fp32"], [84, 8, 8])[0]
        backends = ["efficient", "math"] if dtype != "bf16" else BACKENDS
        if shape["kv_heads"] != shape["heads"]:
            backends = [name for name in backends if name != "efficient"]  # it takes no grouped heads
        passes = ["fwd"] if shape["Sq"] == 1 else ["fwd", "bwd"]
        for backend in backends:
            for which in passes:
                case = make("attention", "sdpa", dtype, **{"pass": which}, backend=backend, **shape)
                cheap = backend != "math" or rng.random() < 0.5
                if worth_it(case) and cheap and case not in cases:
                    cases.append(case)
    return cases[:count]


HEADS = 16  # of the operators on [heads, rows, H] that lies in memory as [rows, heads, H]; B = heads x rows

# Operators on B rows of H numbers, with the number formats that occur in training.
VEC_OPS = {op: ["bf16", "fp32"] for op in VEC_BYTES}
for _op in ("cast_up", "cast_down", "add_mixed"):
    VEC_OPS[_op] = ["bf16"]
for _op in ("adamw", "nll_bwd"):
    VEC_OPS[_op] = ["fp32"]
ROW_OPS = {"ln", "ln_bwd", "rmsnorm", "rmsnorm_bwd", "softmax", "softmax_bwd", "log_softmax", "log_softmax_bwd", "sum_rows", "mean_cols",
           "embedding", "embedding_bwd", "nll_bwd"}
OFTEN = {"ln", "ln_bwd", "softmax", "softmax_bwd", "add", "gelu", "copy", "cast_up", "cast_down", "adamw", "sum_rows", "embedding_bwd"}


def draw_vec(rng, op, dtype):
    total = log_uniform(rng, 2e3, 4e8)
    if op in ("log_softmax", "log_softmax_bwd", "nll_bwd") and rng.random() < 0.6:
        h = rng.choice(VOCABULARIES)
    elif op in ROW_OPS:
        h = rng.choice(HIDDEN + [64, 128, 197, 1000, 96, 3000])
    elif op.endswith("_heads"):
        return make("vec", op, dtype, B=max(1, round(total / 64 / HEADS)) * HEADS, H=rng.choice([32, 64, 64, 80, 128]))
    elif op == "adamw":  # B tensors of H numbers
        return make("vec", op, dtype, B=rng.choice([1, 2, 4, 8, 16, 32, 64, 128]), H=draw(rng, 64, 3e7))
    else:
        h = draw(rng, 64, 16384)
    return make("vec", op, dtype, B=max(1, round(total / h)), H=h)


def vec_cases(rng, count):
    cases = []
    for size in range(10, 33):  # copy sweep, 1 KB to 4 GB
        cases.append(make("vec", "copy", "fp32", B=1, H=2**size // 4))
    choices = [(op, dtype) for op, dtypes in VEC_OPS.items() for dtype in dtypes for _ in range(2 if op in OFTEN else 1)]
    turn = iter(range(10**9))
    return fill_up(cases, count, lambda: draw_vec(rng, *choices[next(turn) % len(choices)]))


def draw_image(rng):
    op = rng.choices(["bn", "maxpool", "avgpool"], [60, 25, 15])[0]
    insize, ksize, stride, pad = rng.choice([7, 8, 14, 16, 28, 32, 56, 64, 96, 112, 224]), 0, 0, 0
    if op == "maxpool":
        ksize, stride, pad = rng.choice([(2, 2, 0), (3, 2, 1), (3, 1, 1)])
    return make("image", op, rng.choices(["bf16", "fp32"], [70, 30])[0], **{"pass": rng.choice(["fwd", "bwd"])},
                layout=rng.choices(["nhwc", "nchw"], [75, 25])[0], B=rng.choice(CONV_BATCHES),
                C=rng.choice([16, 32, 64, 96, 128, 192, 256, 384, 512, 1024, 2048]), insize=insize, ksize=ksize, stride=stride, pad=pad)


COUNTS = {"gemm": 8500, "bmm": 1500, "conv": 13000, "attention": 3000, "vec": 4500, "image": 5000}


def all_cases(counts=None, seed=SEED):
    """Every case, in an order in which each beginning is a fair sample of the whole."""
    counts = {**COUNTS, **(counts or {})}

    def rng(name):
        return random.Random(f"{seed} {name}")

    gemm, bmm, conv, image = rng("gemm"), rng("bmm"), rng("conv"), rng("image")
    cases = fill_up([], counts["gemm"], lambda: draw_gemm(gemm))
    cases += fill_up([], counts["bmm"], lambda: draw_bmm(bmm))
    cases += fill_up([], counts["conv"], lambda: draw_conv(conv))
    cases += attention_cases(rng("attention"), counts["attention"])
    cases += vec_cases(rng("vec"), counts["vec"])
    cases += fill_up([], counts["image"], lambda: draw_image(image))
    return sorted(cases, key=lambda case: stable_hash(case.key()))


def algorithm_cases(count=700):
    """Convolutions to be timed with every algorithm of the library, one pass and format each."""
    draws = random.Random(f"{SEED} algorithms")

    def one():
        dtype, layout = draws.choices([("fp32", "nchw"), ("tf32", "nchw"), ("bf16", "nhwc")], [45, 25, 30])[0]
        return make("conv", "conv", dtype, **{"pass": draws.choice(PASSES)}, layout=layout, **draw_conv_shape(draws))

    return sorted(fill_up([], count, one), key=lambda case: stable_hash(case.key()))


def sustained_cases():
    """Long-running calls that heat the card, to see how far its clock falls: products of growing size, attention, and a copy."""
    sizes = [(1024, 1024, 1024), (2048, 2048, 2048), (4096, 1024, 4096), (4096, 4096, 4096), (8192, 1024, 1024), (8192, 4096, 1024),
             (16384, 1024, 3072), (16384, 2048, 2048), (8192, 8192, 8192), (16384, 4096, 4096), (32768, 768, 768), (32768, 768, 3072)]
    cases = [make("gemm", "mm", dtype, layout="nn", B=1, M=m, N=n, K=k) for dtype in ("bf16", "tf32") for m, n, k in sizes]
    cases += [make("attention", "sdpa", "bf16", **{"pass": which}, backend=backend, B=8, heads=16, kv_heads=16, Sq=s, Sk=s, D=d, causal=1)
              for which in ("fwd", "bwd") for backend in ("flash", "cudnn") for s, d in ((1024, 64), (4096, 128))]
    cases += [make("conv", "conv", "bf16", **{"pass": which}, layout="nhwc", B=128, Cin=256, Cout=256, ksize=3, insize=28, stride=1, pad=1)
              for which in PASSES]
    return cases + [make("vec", op, "bf16", B=16384, H=8192) for op in ("copy", "add", "gelu")]


def dry_cases():
    """One small case of every code path, for a machine without a GPU."""
    cases = [make("gemm", op, dtype, layout=layout, B=1, M=8, N=16, K=24)
             for op, layout in (("linear", "nt"), ("mm", "nn"), ("mm", "tn"), ("mm", "nt")) for dtype in ELEMENT_BYTES]
    cases += [make("gemm", "bmm", "bf16", layout=layout, B=3, M=8, N=16, K=24) for layout in ("nn", "nt", "tn")]
    cases += [make("conv", "conv", dtype, **{"pass": which}, layout=layout, B=2, Cin=8, Cout=16, ksize=3, insize=8, stride=1, pad=1)
              for which in PASSES for dtype, layout in CONV_KINDS]
    cases += [make("attention", "sdpa", "bf16", **{"pass": which}, backend=backend, B=2, heads=4, kv_heads=4, Sq=16, Sk=16, D=32, causal=1)
              for which in ("fwd", "bwd") for backend in BACKENDS]
    cases += [make("vec", op, dtype, B=HEADS, H=64) for op, dtypes in VEC_OPS.items() for dtype in dtypes]
    cases += [make("image", op, "bf16", **{"pass": which}, layout=layout, B=2, C=8, insize=8, ksize=k, stride=k, pad=0)
              for op, k in (("bn", 0), ("maxpool", 2), ("avgpool", 0)) for which in ("fwd", "bwd") for layout in ("nhwc", "nchw")]
    return cases
