# SPDX-License-Identifier: Apache-2.0
"""From a case to calls of PyTorch: each call has inputs of its own, cut from the pools of random numbers.

call_maker(case, torch, pools) returns a function that makes one call (a function without arguments). Backward passes run
the operator's forward once outside the call, and the gradient in it.
"""
from shapes import HEADS, conv_out

EMBEDDING_ROWS = 32000


def call_maker(case, torch, pools):
    torch.backends.cuda.matmul.allow_tf32 = case.dtype == "tf32"
    torch.backends.cudnn.allow_tf32 = case.dtype == "tf32"
    dtype = torch.bfloat16 if case.dtype == "bf16" else torch.float32
    return FAMILIES[case.family](case, torch, lambda *shape: pools.take(dtype, *shape), pools)


# ---- matrix products ----

def gemm(case, torch, take, pools):
    b, m, n, k, layout = case["B"], case["M"], case["N"], case["K"], case["layout"]

    def operand(transposed, rows, columns):
        lead = (b,) if case.op == "bmm" else ()
        return take(*lead, columns, rows).transpose(-1, -2) if transposed else take(*lead, rows, columns)

    def make_call():
        left, right = operand(layout[0] == "t", m, n), operand(layout[1] == "t", n, k)
        if case.op == "linear":
            bias = take(k)
            return lambda: torch.addmm(bias, left, right)
        multiply = torch.bmm if case.op == "bmm" else torch.mm
        return lambda: multiply(left, right)
    return make_call


# ---- convolutions ----

def image_of(torch, take, layout, *shape):
    if layout == "nchw":
        return take(*shape)
    n, c, h, w = shape
    return take(n, h, w, c).permute(0, 3, 1, 2)


def conv(case, torch, take, pools):
    out = conv_out(case["insize"], case["ksize"], case["stride"], case["pad"])
    layout, stride, pad = case["layout"], [case["stride"]] * 2, [case["pad"]] * 2

    def make_call():
        inputs = image_of(torch, take, layout, case["B"], case["Cin"], case["insize"], case["insize"])
        weights = image_of(torch, take, layout, case["Cout"], case["Cin"], case["ksize"], case["ksize"])
        if case["pass"] == "fwd":
            return lambda: torch.conv2d(inputs, weights, None, stride, pad)
        gradient = image_of(torch, take, layout, case["B"], case["Cout"], out, out)
        wanted = [case["pass"] == "dgrad", case["pass"] == "wgrad", False]
        return lambda: torch.ops.aten.convolution_backward(gradient, inputs, weights, None, stride, pad, [1, 1], False, [0, 0], 1, wanted)
    return make_call


# ---- attention ----

def attention(case, torch, take, pools):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
               "math": SDPBackend.MATH}[case["backend"]]
    grouped = case["heads"] != case["kv_heads"]

    def operand(heads, length):
        """As a projection leaves it: heads behind the sequence."""
        return take(case["B"], length, heads, case["D"]).transpose(1, 2)

    def forward(q, k, v):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(case["causal"]), enable_gqa=grouped)

    def make_call():
        inputs = [operand(heads, length) for heads, length in ((case["heads"], case["Sq"]),) + ((case["kv_heads"], case["Sk"]),) * 2]
        if case["pass"] == "fwd":
            return lambda: forward(*inputs)
        inputs = [one.detach().requires_grad_() for one in inputs]
        output, gradient = forward(*inputs), operand(case["heads"], case["Sq"])
        return lambda: torch.autograd.grad(output, inputs, gradient, retain_graph=True)
    return make_call


# ---- rows of numbers ----

def backward_of(torch, function, inputs, gradient):
    """A call that runs only the gradient of function(inputs)."""
    inputs = [one.detach().requires_grad_() for one in inputs]
    output = function(*inputs)
    return lambda: torch.autograd.grad(output, inputs, gradient, retain_graph=True)


def vec(case, torch, take, pools):
    b, h, op = case["B"], case["H"], case.op
    functional, aten = torch.nn.functional, torch.ops.aten
    device_of = {"device": pools.take(torch.float32, 1).device}

    def matrix():
        return take(b, h)

    def scratch(*shape):
        return pools.take_scratch(torch.bfloat16 if case.dtype == "bf16" else torch.float32, *shape)

    def unary(function):
        x = matrix()
        return lambda: function(x)

    def binary(function, second=None):
        x, y = matrix(), matrix() if second is None else second()
        return lambda: function(x, y)

    def embedding():
        rows = torch.randint(0, EMBEDDING_ROWS, (b,), **device_of)
        if op == "embedding":
            table = take(EMBEDDING_ROWS, h)
            return lambda: functional.embedding(rows, table)
        gradient = matrix()
        return lambda: aten.embedding_dense_backward(gradient, rows, EMBEDDING_ROWS, -1, False)

    def adamw():
        fp32 = torch.float32
        params, averages, squares = ([pools.take_scratch(fp32, h) for _ in range(b)] for _ in range(3))
        gradients, steps = [take(h) for _ in range(b)], [torch.ones((), **device_of) for _ in range(b)]
        return lambda: torch._fused_adamw_(params, gradients, averages, squares, [], steps, lr=1e-5, beta1=0.9, beta2=0.999,
                                           weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False, grad_scale=None, found_inf=None)

    def add_inplace():
        x, y = scratch(b, h), matrix()
        return lambda: x.add_(y)

    def relu_inplace():
        x = scratch(b, h)
        return lambda: x.relu_()

    def fill():
        x = scratch(b, h)
        return lambda: x.zero_()

    def cat():
        x, y = take(b, h - h // 2), take(b, h // 2)
        return lambda: torch.cat([x, y], 1)

    def dropout_bwd():
        x, mask = matrix(), torch.rand(b, h, **device_of) < 0.9
        return lambda: aten.native_dropout_backward(x, mask, 1 / 0.9)

    def nll_bwd():
        x, target = matrix(), torch.randint(0, h, (b,), **device_of)
        return backward_of(torch, lambda y: functional.nll_loss(y, target), [x], torch.ones((), **device_of))

    def heads():
        """[heads, rows, H] that lies in memory as [rows, heads, H], as attention's inputs do."""
        return take(b // HEADS, HEADS, h).transpose(0, 1)

    def cat_heads():
        x = heads()
        return lambda: torch.cat((x[..., h // 2:], x[..., :h // 2]), -1)

    makers = {
        "add": lambda: binary(torch.add), "mul": lambda: binary(torch.mul),
        "add_mixed": lambda: binary(torch.add, lambda: pools.take(torch.float32, b, h)),
        "add_inplace": add_inplace, "mul_row": lambda: binary(torch.mul, lambda: take(h)),
        "mul_col": lambda: binary(torch.mul, lambda: take(b, 1)), "scale": lambda: unary(lambda x: x * 0.5),
        "neg": lambda: unary(torch.neg), "pow2": lambda: unary(lambda x: x.pow(2)), "gelu": lambda: unary(functional.gelu),
        "gelu_bwd": lambda: binary(aten.gelu_backward), "silu": lambda: unary(functional.silu),
        "silu_bwd": lambda: binary(aten.silu_backward), "relu": lambda: unary(torch.relu), "relu_inplace": relu_inplace,
        "relu_bwd": lambda: binary(lambda x, y: aten.threshold_backward(x, y, 0)), "copy": lambda: unary(torch.clone),
        "cast_up": lambda: unary(lambda x: x.to(torch.float32)),
        "cast_down": lambda: (lambda x: lambda: x.to(torch.bfloat16))(pools.take(torch.float32, b, h)),
        "transpose": lambda: (lambda x: lambda: x.t().contiguous())(matrix()), "cat": cat, "fill": fill,
        "dropout": lambda: unary(lambda x: torch.native_dropout(x, 0.1, True)), "dropout_bwd": dropout_bwd,
        "sum_rows": lambda: unary(lambda x: x.sum(0)), "mean_cols": lambda: unary(lambda x: x.mean(1, keepdim=True)),
        "ln": lambda: (lambda x, w, c: lambda: functional.layer_norm(x, (h,), w, c))(matrix(), take(h), take(h)),
        "ln_bwd": lambda: backward_of(torch, lambda x, w, c: functional.layer_norm(x, (h,), w, c), [matrix(), take(h), take(h)], matrix()),
        "rmsnorm": lambda: (lambda x, w: lambda: functional.rms_norm(x, (h,), w, 1e-5))(matrix(), take(h)),
        "rmsnorm_bwd": lambda: backward_of(torch, lambda x, w: functional.rms_norm(x, (h,), w, 1e-5), [matrix(), take(h)], matrix()),
        "softmax": lambda: unary(lambda x: torch.softmax(x, 1)),
        "softmax_bwd": lambda: backward_of(torch, lambda x: torch.softmax(x, 1), [matrix()], matrix()),
        "log_softmax": lambda: unary(lambda x: torch.log_softmax(x, 1)),
        "log_softmax_bwd": lambda: backward_of(torch, lambda x: torch.log_softmax(x, 1), [matrix()], matrix()),
        "mul_heads": lambda: (lambda x, y: lambda: x * y)(heads(), take(b // HEADS, h)),
        "add_heads": lambda: (lambda x, y: lambda: x + y)(heads(), take(HEADS, b // HEADS, h)),
        "copy_heads": lambda: (lambda x: lambda: x.contiguous())(heads()), "cat_heads": cat_heads,
        "nll_bwd": nll_bwd, "adamw": adamw, "embedding": embedding, "embedding_bwd": embedding,
    }
    return makers[op]


# ---- images ----

def image(case, torch, take, pools):
    functional = torch.nn.functional
    fp32 = torch.float32
    sides = (case["B"], case["C"], case["insize"], case["insize"])

    def function():
        if case.op == "maxpool":
            return lambda x: functional.max_pool2d(x, case["ksize"], case["stride"], case["pad"]), []
        if case.op == "avgpool":
            return lambda x: functional.adaptive_avg_pool2d(x, 1), []
        mean, var = pools.take_scratch(fp32, case["C"]), pools.take_scratch(fp32, case["C"])
        weights = [pools.take(fp32, case["C"]), pools.take(fp32, case["C"])]
        return lambda x, w, c: functional.batch_norm(x, mean, var, w, c, True, 0.1, 1e-5), weights

    def make_call():
        run, weights = function()
        x = image_of(torch, take, case["layout"], *sides)
        if case["pass"] == "fwd":
            return lambda: run(x, *weights)
        inputs = [one.detach().requires_grad_() for one in [x, *weights]]
        output = run(*inputs)
        gradient = take(output.numel())
        if case["layout"] == "nhwc":
            n, c, height, width = output.shape
            gradient = gradient.view(n, height, width, c).permute(0, 3, 1, 2)
        else:
            gradient = gradient.view(output.shape)
        return lambda: torch.autograd.grad(output, inputs, gradient, retain_graph=True)
    return make_call


FAMILIES = {"gemm": gemm, "conv": conv, "attention": attention, "vec": vec, "image": image}
