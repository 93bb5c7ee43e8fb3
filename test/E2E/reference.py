# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the samples of ops/*.mlir compute, in NumPy, after the ops' documentation."""

import ast
import math
import re

import numpy as np

DTYPES = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32,
          "i1": np.bool_}


class Sample:
    """The op of a function of ops/*.mlir: its name and what is written behind it."""

    def __init__(self, text):
        self.op, self.rest = re.search(r"= oneflow\.(?!input)(\w+)(.*)", text).groups()
        kind = re.search(r"<(\w+)>", self.rest)
        self.kind = kind.group(1) if kind else ""
        shape = re.findall(r"tensor<((?:\d+x)*)(\w+)>", self.rest)[-1]
        self.shape = tuple(int(extent) for extent in shape[0].split("x")[:-1])
        self.dtype = DTYPES[shape[1]]

    def integers(self):
        """The first list of integers: dims, or a permutation."""
        return tuple(map(int, re.search(r"\[([\d, ]*)\]", self.rest).group(1).split(",")))

    def list_of(self, name):
        """The list of integers behind a keyword."""
        text = re.search(rf"{name} \[([\d, ]*)\]", self.rest).group(1)
        return [int(number) for number in text.split(",") if number.strip()]

    def behind(self, keyword):
        """The number behind a keyword."""
        return float(re.search(rf"{keyword} (-?[\d.]+)", self.rest).group(1))

    def number(self, name):
        return float(re.search(rf"{name} = ([^ :]+)", self.rest).group(1))


def read_samples(text):
    """{function name: Sample}."""
    functions = re.split(r"^func\.func @", text, flags=re.M)[1:]
    return {re.match(r"\w+", function).group(): Sample(function)
            for function in functions}


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al., SC'11): four words of 32 bits in uint64 arrays."""
    mask = np.uint64(0xFFFFFFFF)
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = ((p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0), p1 & mask,
                          (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1), p0 & mask)
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


def dropout_keeps(shape, step, ratio, seed, op_id, offset=0):
    """Which elements dropout keeps; `offset` is the logical index of the first row."""
    first = offset * math.prod(shape[1:])
    index = np.arange(first, first + math.prod(shape), dtype=np.uint64).reshape(shape)
    mask, same = np.uint64(2**32 - 1), np.zeros_like(index)
    draw = philox((index & mask, index >> np.uint64(32), same + np.uint64(step % 2**32),
                   same + np.uint64(op_id % 2**32)), (seed % 2**32, (seed >> 32) % 2**32))
    return draw[0] >= round(ratio * 2**32)


def dropout(sample, x, step, offset=0):
    ratio = sample.number("ratio")
    keeps = dropout_keeps(x.shape, int(step), ratio, int(sample.number("seed")),
                          int(sample.number("id")), int(offset))
    return np.where(keeps, x / (1 - ratio), 0)


erf = np.vectorize(math.erf, otypes=[np.float64])


def gelu(kind, x):
    if kind == "erf":
        return 0.5 * x * (1 + erf(x / math.sqrt(2)))
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_slope(kind, x):
    if kind == "erf":
        density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return 0.5 * (1 + erf(x / math.sqrt(2))) + x * density
    scale = math.sqrt(2 / math.pi)
    t = np.tanh(scale * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * scale * (1 + 3 * 0.044715 * x * x)


def log_sum_exp(x, dim):
    return np.log(np.sum(np.exp(x), axis=dim, keepdims=True))


def cross_entropy(_, logits, labels):
    log_sum = log_sum_exp(logits, 1)[:, 0]
    return log_sum - logits[np.arange(len(labels)), labels], log_sum


def cross_entropy_grad(_, dloss, logits, labels, log_sum):
    target = np.arange(logits.shape[1]) == labels[:, None]
    return dloss[:, None] * (np.exp(logits - log_sum[:, None]) - target)


def matmul(sample, lhs, rhs):
    lhs = np.swapaxes(lhs, -1, -2) if "transpose_lhs" in sample.rest else lhs
    rhs = np.swapaxes(rhs, -1, -2) if "transpose_rhs" in sample.rest else rhs
    return lhs @ rhs


def reduce(sample, x):
    function = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}
    return function[sample.kind](x, axis=sample.integers()).reshape(sample.shape)


def softmax_dim(sample):
    return int(re.search(r"dim (\d+)", sample.rest).group(1))


def norm_parts(sample, x, parameters):
    """The normalized dims, epsilon, and the parameters by name."""
    names = re.findall(r"(scale|bias) %", sample.rest)
    dims = tuple(range(int(re.search(r"dims_from (\d+)", sample.rest).group(1)), x.ndim))
    return dims, sample.number("epsilon"), dict(zip(names, parameters))


def layer_norm(sample, x, *parameters):
    dims, epsilon, given = norm_parts(sample, x, parameters)
    mean = x.mean(axis=dims, keepdims=True)
    inverse = 1 / np.sqrt(x.var(axis=dims, keepdims=True) + epsilon)
    result = (x - mean) * inverse * given.get("scale", 1) + given.get("bias", 0)
    return result, mean, inverse


def rms_norm(sample, x, *parameters):
    dims, epsilon, given = norm_parts(sample, x, parameters)
    inverse = 1 / np.sqrt((x * x).mean(axis=dims, keepdims=True) + epsilon)
    return x * inverse * given.get("scale", 1), inverse


def sgd_update(sample, p, g, v, rate):
    v = sample.number("momentum") * v + (g + sample.number("weight_decay") * p)
    return p - rate * v, v


def adamw_update(sample, p, g, m, v, step, rate):
    beta1, beta2 = sample.number("beta1"), sample.number("beta2")
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    root = np.sqrt(v / (1 - beta2**step)) + sample.number("epsilon")
    return (p - rate * sample.number("weight_decay") * p
            - rate * (m / (1 - beta1**step)) / root, m, v)


def slice_(sample, x):
    parts = zip(*map(sample.list_of, ("offsets", "sizes", "strides")))
    return x[tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in parts)]


def pad(sample, x):
    result = np.full(sample.shape, sample.behind("value"), sample.dtype)
    places = zip(sample.list_of("low"), sample.list_of("interior"), x.shape)
    result[np.ix_(*(low + (gap + 1) * np.arange(n) for low, gap, n in places))] = x
    return result


class Windows:
    """The windows of a sample over the last dimensions of a tensor."""

    def __init__(self, sample, sizes):
        self.sizes = sizes
        self.strides, self.low, self.high, self.dilations = map(
            sample.list_of, ("strides", "low", "high", "dilations"))
        self.rank = len(sizes)

    def extend(self, x, value=0):
        lead = [(0, 0)] * (x.ndim - self.rank)
        return np.pad(x, lead + list(zip(self.low, self.high)), constant_values=value)

    def each(self, extended):
        """For each place in a window: its number, and that element of all windows, as
        a view of the extended tensor."""
        shape = extended.shape[extended.ndim - self.rank:]
        for place in np.ndindex(*self.sizes):
            parts = []
            for k, size, extent, stride, dilation in zip(place, self.sizes, shape,
                                                         self.strides, self.dilations):
                count = (extent - (size - 1) * dilation - 1) // stride + 1
                first = k * dilation
                parts.append(slice(first, first + (count - 1) * stride + 1, stride))
            yield place, extended[(..., *parts)]


def convolution_groups(sample, x_channels, y_channels):
    """Slices of the channels of x and of the result, by group."""
    groups = int(sample.behind("groups"))
    for g in range(groups):
        yield tuple(slice(g * n // groups, (g + 1) * n // groups)
                    for n in (x_channels, y_channels))


def convolution(sample, x, weight):
    windows = Windows(sample, weight.shape[2:])
    result = np.zeros(sample.shape)
    for place, part in windows.each(windows.extend(x)):
        for i, o in convolution_groups(sample, x.shape[1], len(weight)):
            result[:, o] += np.einsum("ni...,oi->no...", part[:, i],
                                      weight[(o, slice(None), *place)])
    return result


def convolution_grad_input(sample, dy, weight):
    windows = Windows(sample, weight.shape[2:])
    extended = windows.extend(np.zeros(sample.shape))
    for place, part in windows.each(extended):
        for i, o in convolution_groups(sample, sample.shape[1], len(weight)):
            part[:, i] += np.einsum("no...,oi->ni...", dy[:, o],
                                    weight[(o, slice(None), *place)])
    inside = [slice(low, low + n) for low, n in zip(windows.low, sample.shape[2:])]
    return extended[(..., *inside)]


def convolution_grad_weight(sample, x, dy):
    windows = Windows(sample, sample.shape[2:])
    result = np.zeros(sample.shape)
    for place, part in windows.each(windows.extend(x)):
        for i, o in convolution_groups(sample, x.shape[1], dy.shape[1]):
            pairs = np.einsum("no...,ni...->oi...", dy[:, o], part[:, i])
            result[(o, slice(None), *place)] = pairs.reshape(*pairs.shape[:2], -1).sum(-1)
    return result


def element_numbers(windows, extents):
    """The number of each element of the extended spatial dimensions, -1 outside."""
    numbers = np.arange(math.prod(extents)).reshape(extents)
    return windows.extend(numbers, -1)


def pool(sample, x, index=None):
    windows = Windows(sample, sample.list_of("window"))
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    maximum = sample.kind == "max"
    extended = windows.extend(x, lowest if maximum else 0)
    result = np.full(sample.shape, lowest if maximum else 0, x.dtype)
    numbers = windows.each(element_numbers(windows, x.shape[x.ndim - windows.rank:]))
    for (_, part), (_, number) in zip(windows.each(extended), numbers):
        if maximum:
            result = np.maximum(result, part)
        else:
            result += part if index is None else np.where(number == index, part, 0)
    return result


def pool_index(sample, x, best):
    windows = Windows(sample, sample.list_of("window"))
    result = np.full(sample.shape, 2**31 - 1, np.int32)
    numbers = windows.each(element_numbers(windows, x.shape[x.ndim - windows.rank:]))
    for (_, part), (_, number) in zip(windows.each(windows.extend(x)), numbers):
        holds = (part == best) & (number >= 0)
        result = np.minimum(result, np.where(holds, number, 2**31 - 1))
    return result


def pool_grad(sample, dy, index=None):
    windows = Windows(sample, sample.list_of("window"))
    extents = sample.shape[len(sample.shape) - windows.rank:]
    extended = windows.extend(np.zeros(sample.shape, sample.dtype))
    numbers = windows.each(element_numbers(windows, extents))
    for (_, part), (_, number) in zip(windows.each(extended), numbers):
        part += dy if index is None else np.where(number == index, dy, 0)
    inside = [slice(low, low + n) for low, n in zip(windows.low, extents)]
    return extended[(..., *inside)]


def gather_grad(sample, dy, indices):
    dim = int(sample.behind("dim"))
    result = np.zeros(sample.shape, dy.dtype)
    # What is at an index comes first on both sides.
    rows = np.moveaxis(dy, range(dim, dim + indices.ndim), range(indices.ndim))
    np.add.at(np.moveaxis(result, dim, 0), indices, rows)
    return result


def divide(_, lhs, rhs):
    if lhs.dtype.kind == "f":
        return lhs / rhs
    return np.trunc(lhs / rhs)  # exact for the small integers of samples.py


def constant(sample):
    text = re.search(r"dense<(.*?)>", sample.rest).group(1)
    return np.broadcast_to(np.array(ast.literal_eval(text)), sample.shape)


FUNCTIONS = {
    "relu": lambda _, x: np.maximum(x, 0),
    "tanh": lambda _, x: np.tanh(x),
    "sigmoid": lambda _, x: 1 / (1 + np.exp(-x)),
    "erf": lambda _, x: erf(x),
    "exp": lambda _, x: np.exp(x),
    "log": lambda _, x: np.log(x),
    "sqrt": lambda _, x: np.sqrt(x),
    "neg": lambda _, x: -x,
    "gelu": lambda s, x: gelu(s.kind, x),
    "gelu_grad": lambda s, dy, x: dy * gelu_slope(s.kind, x),
    "relu_grad": lambda _, dy, y: np.where(y > 0, dy, 0),
    "add": lambda _, lhs, rhs: lhs + rhs,
    "sub": lambda _, lhs, rhs: lhs - rhs,
    "mul": lambda _, lhs, rhs: lhs * rhs,
    "div": divide,
    "max": lambda _, lhs, rhs: np.maximum(lhs, rhs),
    "min": lambda _, lhs, rhs: np.minimum(lhs, rhs),
    "compare": lambda s, lhs, rhs: {"eq": np.equal, "lt": np.less,
                                    "gt": np.greater}[s.kind](lhs, rhs),
    "cast": lambda s, x: x != 0 if s.dtype == np.bool_ else x.astype(s.dtype),
    "dropout": dropout,
    "matmul": matmul,
    "pool": pool,
    "pool_index": pool_index,
    "pool_grad": pool_grad,
    "convolution": convolution,
    "convolution_grad_input": convolution_grad_input,
    "convolution_grad_weight": convolution_grad_weight,
    "reduce": reduce,
    "broadcast": lambda s, x: np.broadcast_to(x, s.shape),
    "transpose": lambda s, x: np.transpose(x, s.integers()),
    "reshape": lambda s, x: x.reshape(s.shape),
    "constant": constant,
    "softmax": lambda s, x: np.exp(x - log_sum_exp(x, softmax_dim(s))),
    "log_softmax": lambda s, x: x - log_sum_exp(x, softmax_dim(s)),
    "cross_entropy": cross_entropy,
    "cross_entropy_grad": cross_entropy_grad,
    "pick": lambda _, x, indices: x[np.arange(len(indices)), indices],
    "slice": slice_,
    "pad": pad,
    "concat": lambda s, *xs: np.concatenate(xs, axis=int(s.behind("dim"))),
    "select": lambda _, condition, lhs, rhs: np.where(condition, lhs, rhs),
    "gather": lambda s, x, indices: np.take(x, indices, axis=int(s.behind("dim"))),
    "gather_grad": gather_grad,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "sgd_update": sgd_update,
    "adamw_update": adamw_update,
}


def evaluate(sample, operands):
    """The results of a sample on its operands, as a list."""
    results = FUNCTIONS[sample.op](sample, *operands)
    return list(results) if isinstance(results, tuple) else [np.asarray(results)]
