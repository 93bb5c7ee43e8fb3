# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each op computes, against NumPy."""

import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

from evaluate import Function, tensor

RANDOM = np.random.default_rng(7)


def normal(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def run(tmp_path, op, arrays, results, attributes=""):
    """Applies `op`, whose operands are named %0, %1, ..."""
    types = [tensor(a) for a in arrays]
    outputs = ", ".join(tensor(np.empty(s, d)) for s, d in results)
    count = len(results)
    inputs = "".join(f'  %{i} = oneflow.input "{i}" : {t}\n' for i, t in enumerate(types))
    names = [f"%r#{i}" if count > 1 else "%r" for i in range(count)]
    writes = "".join(f'  oneflow.output "{i}" {n} : {tensor(np.empty(s, d))}\n'
                     for i, (n, (s, d)) in enumerate(zip(names, results)))
    left = f"%r:{count}" if count > 1 else "%r"
    operands = ", ".join(f"%{i}" for i in range(len(arrays)))
    op = op.replace("OPERANDS", operands)
    text = (f"func.func @main() {{\n{inputs}  {left} = oneflow.{op} {attributes} : "
            f"({', '.join(types)}) -> ({outputs})\n{writes}  return\n}}\n")
    if attributes == "same":
        text = text.replace(f"same : ({', '.join(types)}) -> ({outputs})", f": {types[0]}")
    dtypes = {np.float64: "f64", np.float32: "f32", np.float16: "f16", np.int64: "i64",
              np.int32: "i32", np.bool_: "i1"}
    outputs = [(len(s), dtypes[d]) for s, d in results]
    values = Function(text, outputs, tmp_path)(*arrays)
    # Ops must compute the same where they do not know the extents of their tensors, as
    # on ranks that hold uneven parts.
    unknown = Function(text, outputs, tmp_path, extents="dynamic")(*arrays)
    for value, other in zip(values, unknown):
        np.testing.assert_array_equal(value, other)
    return values


@pytest.mark.parametrize("dtype,tolerance", [(np.float32, 1e-5), (np.float16, 2e-3)])
@pytest.mark.parametrize("lhs,rhs,tl,tr", [
    ((5, 7), (7, 3), False, False),
    ((7, 5), (7, 3), True, False),
    ((5, 7), (3, 7), False, True),
    ((7, 5), (3, 7), True, True),
    ((2, 5, 7), (7, 3), False, False),
    ((2, 4, 5, 7), (3, 7), False, True),
    ((2, 5, 7), (2, 7, 3), False, False),
    ((2, 7, 5), (2, 3, 7), True, True),
    ((2, 4, 5, 7), (2, 4, 3, 7), False, True),
])
def test_matmul(tmp_path, lhs, rhs, tl, tr, dtype, tolerance):
    a, b = normal(*lhs, dtype=dtype), normal(*rhs, dtype=dtype)
    wide = [x.astype(np.float64) for x in (a, b)]
    expected = np.matmul(wide[0].swapaxes(-1, -2) if tl else wide[0],
                         wide[1].swapaxes(-1, -2) if tr else wide[1])
    flags = [n for n, on in (("transpose_lhs", tl), ("transpose_rhs", tr)) if on]
    [result] = run(tmp_path, "matmul OPERANDS", [a, b], [(expected.shape, dtype)],
                   "{" + ", ".join(flags) + "}" if flags else "")
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def test_matmul_accumulates_in_f32(tmp_path):
    # In f16, 2048 + 1 is 2048: a sum of 4096 ones would stop half way.
    ones = np.ones((1, 4096), np.float16)
    [result] = run(tmp_path, "matmul OPERANDS", [ones, ones], [((1, 1), np.float16)],
                   "{transpose_rhs}")
    assert result[0, 0] == 4096


@pytest.mark.parametrize("dtype,tolerance", [(np.float32, 1e-4), (np.float16, 1e-2)])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("stride,low,high,dilation", [(1, 1, 1, 1), (2, 0, 1, 1),
                                                      (3, 4, 2, 2)])
def test_convolution(tmp_path, dtype, tolerance, groups, stride, low, high, dilation):
    """Windows of 3 over 11 elements, and both gradients, by the formula."""
    x, w = normal(5, 8, 11, dtype=dtype), normal(12, 8 // groups, 3, dtype=dtype)
    count = (11 + low + high - 2 * dilation - 1) // stride + 1
    dy = normal(5, 12, count, dtype=dtype)
    result, dx, dw = (np.zeros(shape) for shape in (dy.shape, x.shape, w.shape))
    wide = [value.astype(np.float64) for value in (x, w, dy)]
    for o in range(12):
        for c in range(8 // groups):
            i = o // (12 // groups) * (8 // groups) + c
            for p, k in np.ndindex(count, 3):
                at = p * stride + k * dilation - low
                if 0 <= at < 11:
                    result[:, o, p] += wide[0][:, i, at] * wide[1][o, c, k]
                    dx[:, i, at] += wide[2][:, o, p] * wide[1][o, c, k]
                    dw[o, c, k] += (wide[2][:, o, p] * wide[0][:, i, at]).sum()
    attributes = (f"strides [{stride}] low [{low}] high [{high}] dilations [{dilation}] "
                  f"groups {groups}")
    for op, operands, expected in (("", (x, w), result), ("_grad_input", (dy, w), dx),
                                   ("_grad_weight", (x, dy), dw)):
        extents = {"": "", "_grad_input": "extents [11]", "_grad_weight": "extents [3]"}[op]
        folder = tmp_path / f"convolution{op}"
        folder.mkdir()
        [found] = run(folder, f"convolution{op} OPERANDS {attributes} {extents}",
                      list(operands), [(expected.shape, dtype)])
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=10 * tolerance)


def test_pool_takes_the_first_of_equal_elements(tmp_path):
    """And nothing of what is not a number, nor of the padding of lowest values."""
    x = np.array([[1, 3, 3, 2, 2, 2], [np.nan, 1, -np.inf, -np.inf, 5, np.nan],
                  [-np.inf, -np.inf, 0, 0, -0.0, 0]], np.float32)
    windows = "window [3] strides [2] low [1] high [0] dilations [1]"
    folders = [tmp_path / name for name in ("pool", "index", "grad")]
    for folder in folders:
        folder.mkdir()
    [best] = run(folders[0], f"pool <max> OPERANDS {windows}", [x], [((3, 3), np.float32)])
    np.testing.assert_array_equal(best, [[3, 3, 2], [np.nan, 1, np.nan], [-np.inf, 0, 0]])
    none = 2**31 - 1
    [index] = run(folders[1], f"pool_index OPERANDS {windows}", [x, best],
                  [((3, 3), np.int32)])
    np.testing.assert_array_equal(index, [[1, 1, 3], [none, 1, none], [0, 2, 3]])
    dy = np.array([[1, 10, 100]] * 3, np.float32)
    [dx] = run(folders[2], f"pool_grad %0 at %1 {windows} extents [6]", [dy, index],
               [((3, 6), np.float32)])
    np.testing.assert_array_equal(dx, [[0, 11, 0, 100, 0, 0], [0, 10, 0, 0, 0, 0],
                                       [1, 0, 10, 100, 0, 0]])


@pytest.mark.parametrize("dims,keep", [([0], False), ([1], True), ([0, 2], False),
                                       ([0, 1, 2], False), ([0, 1, 2], True), ([], False)])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_reduce(tmp_path, kind, dims, keep, dtype):
    x = (3 * normal(2, 3, 4)).astype(dtype)
    expected = getattr(np, kind)(x, axis=tuple(dims), keepdims=keep)
    [result] = run(tmp_path, f"reduce <{kind}> OPERANDS dims {dims}", [x],
                   [(expected.shape, dtype)], "{keep_dims}" if keep else "")
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_reduce_passes_nan(tmp_path):
    x = np.array([[1, np.nan, 2], [3, 4, 5]], np.float32)
    [result] = run(tmp_path, "reduce <max> OPERANDS dims [1]", [x], [((2,), np.float32)])
    np.testing.assert_array_equal(result, [np.nan, 5])


def test_broadcast(tmp_path):
    x = normal(4, 1, 3)
    [result] = run(tmp_path, "broadcast OPERANDS", [x], [((2, 4, 5, 3), np.float32)])
    np.testing.assert_array_equal(result, np.broadcast_to(x, (2, 4, 5, 3)))


@pytest.mark.parametrize("permutation", [[0, 2, 1], [2, 0, 1], [1, 2, 0], [2, 1, 0]])
def test_transpose(tmp_path, permutation):
    x = normal(2, 3, 4)
    expected = x.transpose(permutation)
    [result] = run(tmp_path, f"transpose OPERANDS {permutation}", [x],
                   [(expected.shape, np.float32)])
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("before,after", [((2, 3, 4), (6, 4)), ((6, 4), (2, 3, 4)),
                                          ((6, 4), (4, 6)), ((6,), (6, 1)), ((1, 1), ()),
                                          ((), (1,)), ((4, 6), (24,)), ((2, 6), (3, 1, 4))])
def test_reshape(tmp_path, before, after):
    x = normal(*before)
    [result] = run(tmp_path, "reshape OPERANDS", [x], [(after, np.float32)])
    np.testing.assert_array_equal(result, x.reshape(after))


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("log", [False, True])
def test_softmax(tmp_path, dim, log):
    x = 30 * normal(3, 4, 5)
    x[0, 0, 0] = 1e4  # exp of it overflows
    wide = x.astype(np.float64) - x.max(axis=dim, keepdims=True)
    total = np.exp(wide).sum(axis=dim, keepdims=True)
    expected = wide - np.log(total) if log else np.exp(wide) / total
    name = "log_softmax" if log else "softmax"
    [result] = run(tmp_path, f"{name} OPERANDS dim {dim}", [x], [(x.shape, np.float32)],
                   "same")
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def norm(x, dims, epsilon, centered):
    """(normalized, mean, inverse) in f64."""
    x = x.astype(np.float64)
    mean = x.mean(axis=dims, keepdims=True) if centered else 0
    inverse = 1 / np.sqrt(np.mean((x - mean) ** 2, axis=dims, keepdims=True) + epsilon)
    return (x - mean) * inverse, mean, inverse


@pytest.mark.parametrize("dtype,tolerance", [(np.float64, 1e-13), (np.float32, 1e-5),
                                             (np.float16, 4e-3)])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("parameters", ["", "scale", "bias", "scale bias"])
def test_layer_norm(tmp_path, axis, parameters, dtype, tolerance):
    x = (3 + 2 * normal(3, 4, 20)).astype(dtype)
    dims = tuple(range(axis, 3))
    given = {name: normal(*x.shape[axis:], dtype=dtype) for name in parameters.split()}
    result, mean, inverse = norm(x, dims, 1e-3, True)
    if "scale" in given:
        result = result * given["scale"]
    if "bias" in given:
        result = result + given["bias"]
    wide = np.float64 if dtype == np.float64 else np.float32
    operands = " ".join(f"{name} %{i + 1}" for i, name in enumerate(given))
    found = run(tmp_path, f"layer_norm %0 {operands} dims_from {axis}",
                [x, *given.values()], [(x.shape, dtype), (mean.shape, wide),
                                       (mean.shape, wide)], "{epsilon = 1.0e-3 : f64}")
    for value, expected in zip(found, (result, mean, inverse)):
        np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype,tolerance", [(np.float64, 1e-13), (np.float32, 1e-5),
                                             (np.float16, 4e-3)])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("scaled", [False, True])
def test_rms_norm(tmp_path, axis, scaled, dtype, tolerance):
    x = normal(3, 4, 20, dtype=dtype)
    scale = [normal(*x.shape[axis:], dtype=dtype)] if scaled else []
    result, _, inverse = norm(x, tuple(range(axis, 3)), 1e-3, False)
    wide = np.float64 if dtype == np.float64 else np.float32
    found = run(tmp_path, f"rms_norm %0 {'scale %1' if scaled else ''} dims_from {axis}",
                [x, *scale], [(x.shape, dtype), (inverse.shape, wide)],
                "{epsilon = 1.0e-3 : f64}")
    for value, expected in zip(found, (result * scale[0] if scaled else result, inverse)):
        np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)


def test_layer_norm_far_from_zero(tmp_path):
    """The mean of squares less the square of the mean would be all rounding here."""
    x = (4096 + normal(4, 64).astype(np.float64)).astype(np.float32)
    expected, _, _ = norm(x, (1,), 1e-5, True)
    result, _, _ = run(tmp_path, "layer_norm %0 dims_from 1", [x],
                       [(x.shape, np.float32)] + [((4, 1), np.float32)] * 2,
                       "{epsilon = 1.0e-5 : f64}")
    np.testing.assert_allclose(result, expected, atol=2e-3)


@pytest.mark.parametrize("op,statistics", [("layer_norm", 2), ("rms_norm", 1)])
def test_norms_of_halves_sum_in_f32(tmp_path, op, statistics):
    # The squares overflow f16, and so does the sum.
    x = np.full((2, 512), 300, np.float16)
    x[:, ::2] *= -1
    result, *_, inverse = run(tmp_path, f"{op} %0 dims_from 1", [x],
                              [(x.shape, np.float16)] + [((2, 1), np.float32)] * statistics,
                              "{epsilon = 0.0 : f64}")
    np.testing.assert_array_equal(result, x / 300)
    np.testing.assert_allclose(inverse, 1 / 300, rtol=1e-6)


def test_cross_entropy(tmp_path):
    logits, labels = 20 * normal(6, 5), np.array([0, 4, 2, 2, 1, 3])
    wide = logits.astype(np.float64)
    log_sum = np.log(np.exp(wide).sum(axis=1))
    loss, result = run(tmp_path, "cross_entropy OPERANDS", [logits, labels],
                       [((6,), np.float32)] * 2)
    np.testing.assert_allclose(result, log_sum, rtol=1e-5)
    np.testing.assert_allclose(loss, log_sum - wide[np.arange(6), labels], rtol=1e-4,
                               atol=1e-5)


def test_cross_entropy_grad(tmp_path):
    logits, labels = normal(6, 5), np.array([0, 4, 2, 2, 1, 3])
    dloss, log_sum = normal(6), np.log(np.exp(logits).sum(axis=1))
    expected = dloss[:, None] * (np.exp(logits - log_sum[:, None]) - np.eye(5)[labels])
    [result] = run(tmp_path, "cross_entropy_grad OPERANDS",
                   [dloss, logits, labels, log_sum], [((6, 5), np.float32)])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_pick(tmp_path):
    x, indices = normal(6, 5), np.array([0, 4, 2, 2, 1, 3])
    [result] = run(tmp_path, "pick OPERANDS", [x, indices], [((6,), np.float32)])
    np.testing.assert_array_equal(result, x[np.arange(6), indices])


def test_slice(tmp_path):
    x = normal(4, 6, 5)
    [result] = run(tmp_path, "slice OPERANDS offsets [1, 0, 0] sizes [2, 3, 5] "
                   "strides [1, 2, 1]", [x], [((2, 3, 5), np.float32)])
    np.testing.assert_array_equal(result, x[1:3, ::2])


@pytest.mark.parametrize("dtype,value", [(np.float32, "-1.5 : f32"), (np.int64, "7 : i64"),
                                         (np.float16, "0.0 : f16")])
def test_pad(tmp_path, dtype, value):
    x = (3 * normal(3, 4)).astype(dtype)
    expected = np.full((3, 10), float(value.split()[0]), dtype)
    expected[:, 1:8:2] = x
    [result] = run(tmp_path, "pad OPERANDS low [0, 1] high [0, 2] interior [0, 1] value "
                   + value, [x], [((3, 10), dtype)])
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dim", [0, 1])
def test_concat(tmp_path, dim):
    parts = [normal(2, 3), normal(4, 3), normal(1, 3)]
    parts = [part if dim == 0 else part.T.copy() for part in parts]
    expected = np.concatenate(parts, axis=dim)
    [result] = run(tmp_path, f"concat OPERANDS dim {dim}", parts,
                   [(expected.shape, np.float32)])
    np.testing.assert_array_equal(result, expected)


def test_select(tmp_path):
    condition, x, y = RANDOM.random((3, 1)) < 0.5, normal(2, 3, 4), normal(4)
    [result] = run(tmp_path, "select OPERANDS", [condition, x, y],
                   [((2, 3, 4), np.float32)])
    np.testing.assert_array_equal(result, np.where(condition, x, y))


INDICES = np.array([[0, 4, -1], [-5, 4, 2]])


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather(tmp_path, dim, dtype):
    x = normal(5, 5, 5)
    expected = np.take(x, INDICES, axis=dim)
    [result] = run(tmp_path, f"gather OPERANDS dim {dim}", [x, INDICES.astype(dtype)],
                   [(expected.shape, np.float32)])
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dim", [0, 1])
def test_gather_grad(tmp_path, dim):
    dy = normal(2, 3, 4) if dim == 0 else normal(4, 2, 3)
    expected = np.zeros((5, 4), np.float32)
    np.add.at(expected, INDICES, dy if dim == 0 else np.moveaxis(dy, 0, -1))
    expected = expected if dim == 0 else expected.T
    [result] = run(tmp_path, f"gather_grad OPERANDS dim {dim} extent 5", [dy, INDICES],
                   [(expected.shape, np.float32)])
    np.testing.assert_array_equal(result, expected)


def test_gather_grad_accumulates_in_f32(tmp_path):
    # In f16, 2048 + 1 is 2048.
    dy, indices = np.ones((4096, 1), np.float16), np.zeros(4096, np.int64)
    [result] = run(tmp_path, "gather_grad OPERANDS dim 0 extent 2", [dy, indices],
                   [((2, 1), np.float16)])
    np.testing.assert_array_equal(result, [[4096], [0]])


@pytest.mark.parametrize("op,result", [("cross_entropy", 2), ("pick", 1)])
@pytest.mark.parametrize("label", [-1, 5])
def test_labels_are_checked(tmp_path, op, result, label):
    """Upstream lowers a failed check to its message and abort()."""
    script = f"""
import sys, pathlib, numpy as np
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import test_kernels
test_kernels.run(pathlib.Path({str(tmp_path)!r}), "{op} OPERANDS",
                 [np.zeros((2, 5), np.float32), np.array([0, {label}])],
                 [((2,), np.float32)] * {result})
"""
    done = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True,
                          text=True, check=False)
    assert done.returncode == -signal.SIGABRT
    assert "in [0, 5)" in done.stdout + done.stderr


def test_sgd_update(tmp_path):
    p, g, v = normal(4, 3), normal(4, 3), normal(4, 3)
    velocity = 0.9 * v + (g + 0.1 * p)
    new_p, new_v = run(tmp_path, "sgd_update OPERANDS", [p, g, v, np.float32(0.5)],
                       [((4, 3), np.float32)] * 2,
                       "{momentum = 0.9 : f64, weight_decay = 0.1 : f64}")
    np.testing.assert_allclose(new_v, velocity, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(new_p, p - 0.5 * velocity, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("step", [1, 2, 3, 100, 12345, 10**9, 2**40])
def test_adamw_update(tmp_path, step):
    p, g, m, v = normal(4, 3), normal(4, 3), normal(4, 3), abs(normal(4, 3))
    b1, b2, rate, decay = 0.9, 0.999, 0.25, 0.125
    wide = [x.astype(np.float64) for x in (p, g, m, v)]
    first = b1 * wide[2] + (1 - b1) * wide[1]
    second = b2 * wide[3] + (1 - b2) * wide[1] ** 2
    expected = (wide[0] - rate * decay * wide[0] - rate * (first / (1 - b1**step))
                / (np.sqrt(second / (1 - b2**step)) + 1e-8))
    results = run(tmp_path, "adamw_update OPERANDS",
                  [p, g, m, v, np.int64(step), np.float32(rate)],
                  [((4, 3), np.float32)] * 3,
                  "{beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, "
                  "weight_decay = 0.125 : f64}")
    for result, value in zip(results, (expected, first, second)):
        np.testing.assert_allclose(result, value, rtol=1e-5, atol=1e-6)


def philox(counter, key):
    """Philox 4x32-10 on arrays of counter words, in Python's integers."""
    c, k, mask = [w.astype(object) for w in counter], list(key), 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def test_philox_reference():
    """Known answers of the authors' library, Random123 (kat_vectors)."""
    zero = np.zeros(1, np.uint64)
    assert [int(w[0]) for w in philox([zero] * 4, [0, 0])] == [
        0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("seed,op_id,step", [(0, 0, 0), (2**40 + 3, 17, 5),
                                             (-1, -2, 2**31)])
def test_dropout(tmp_path, seed, op_id, step):
    x = 1 + abs(normal(40, 25))
    word = lambda v: v & 0xFFFFFFFF
    index = np.arange(1000)
    constant = lambda v: np.full(1000, word(v), np.uint64)
    draw = philox([index, constant(0), constant(step), constant(op_id)],
                  [word(seed), word(seed >> 32)])[0].reshape(40, 25)
    expected = np.where(draw >= round(0.25 * 2**32), x / np.float32(0.75), 0)
    text = f"""
    func.func @main() {{
      %x = oneflow.input "x" : tensor<40x25xf32>
      %step = oneflow.input "step" : tensor<i64>
      %0 = oneflow.dropout %x at %step : tensor<i64>
          {{ratio = 0.25 : f64, seed = {seed} : i64, id = {op_id} : i64}} : tensor<40x25xf32>
      oneflow.output "y" %0 : tensor<40x25xf32>
      return
    }}"""
    [result] = Function(text, [(2, "f32")], tmp_path)(x, np.int64(step))
    np.testing.assert_allclose(result, expected.astype(np.float32), rtol=1e-6)
    assert 0.2 < np.mean(result == 0) < 0.3
