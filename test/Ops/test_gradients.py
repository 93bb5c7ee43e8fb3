# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of each op against central differences, in f64."""

import numpy as np
import pytest

from evaluate import Function, tensor, tool

RANDOM = np.random.default_rng(11)
normal = lambda *shape: RANDOM.standard_normal(shape)
positive = lambda *shape: 0.5 + RANDOM.random(shape)


def prod_with_zeros():
    x = normal(4, 3, 2)
    x[0, 1, 0] = x[1, 0, 1] = x[1, 2, 1] = 0  # one zero, and two in one product
    return x


# name: (op, arrays of the trainable operands, result shapes); {0} is an operand and
# the types are added behind.
UNARY = {n: (n, normal(3, 4)) for n in ("tanh", "sigmoid", "erf", "exp", "neg", "relu",
                                        "gelu <erf>", "gelu <tanh>")}
UNARY |= {n: (n, positive(3, 4)) for n in ("log", "sqrt")}
UNARY["softmax"] = ("softmax %0 dim 1", normal(3, 4))
UNARY["softmax first"] = ("softmax %0 dim 0", normal(3, 4))
UNARY["log_softmax"] = ("log_softmax %0 dim 1", normal(3, 4))

GENERAL = {
    f"{n} {a} {b}": (f"{n} %0, %1", [normal(*a), positive(*b)], [(2, 3, 4)])
    for n in ("add", "sub", "mul", "div", "max", "min")
    for a, b in (((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (3, 1)), ((1, 4), (2, 3, 1)))
}
GENERAL |= {
    f"reduce {k} {d} {keep}": (f"reduce <{k}> %0 dims {d} {keep}", [x], [shape])
    for k in ("sum", "max", "min", "prod")
    for x in [normal(4, 3, 2)]
    for d, keep, shape in (([0], "", (3, 2)), ([1], "", (4, 2)), ([0, 2], "", (3,)),
                           ([1, 2], "{keep_dims}", (4, 1, 1)), ([0, 1, 2], "", ()))
}
GENERAL |= {
    "reduce prod with zeros": ("reduce <prod> %0 dims [1]", [prod_with_zeros()], [(4, 2)]),
    "broadcast": ("broadcast %0", [normal(4, 1, 3)], [(2, 4, 5, 3)]),
    "transpose": ("transpose %0 [2, 0, 1]", [normal(2, 3, 4)], [(4, 2, 3)]),
    "reshape": ("reshape %0", [normal(2, 6)], [(3, 4)]),
    "slice": ("slice %0 offsets [1, 0] sizes [2, 3] strides [2, 1]", [normal(5, 3)],
              [(2, 3)]),
    "slice one": ("slice %0 offsets [2, 0] sizes [1, 3] strides [4, 1]", [normal(5, 3)],
                  [(1, 3)]),
    "pad": ("pad %0 low [1, 0] high [2, 1] interior [1, 0] value 2.0 : f64",
            [normal(3, 4)], [(8, 5)]),
    "concat": ("concat %0, %1, %2 dim 1", [normal(2, 3), normal(2, 1), normal(2, 4)],
               [(2, 8)]),
    "gather": ("gather %0, %labels dim 1", [normal(3, 4, 2)], [(3, 5, 2)]),
    "gather_grad": ("gather_grad %0, %labels dim 0 extent 4", [normal(5, 3)], [(4, 3)]),
    "pick": ("pick %0, %labels", [normal(5, 4)], [(5,)]),
    "cross_entropy": ("cross_entropy %0, %labels", [normal(5, 4)], [(5,), (5,)]),
}
GENERAL |= {
    f"matmul {a} {b} {flags}": (f"matmul %0, %1 {flags}", [normal(*a), normal(*b)], [c])
    for a, b, flags, c in (
        ((5, 7), (7, 3), "", (5, 3)),
        ((7, 5), (7, 3), "{transpose_lhs}", (5, 3)),
        ((5, 7), (3, 7), "{transpose_rhs}", (5, 3)),
        ((7, 5), (3, 7), "{transpose_lhs, transpose_rhs}", (5, 3)),
        ((2, 5, 7), (7, 3), "", (2, 5, 3)),
        ((2, 4, 5, 7), (3, 7), "{transpose_rhs}", (2, 4, 5, 3)),
        ((2, 5, 7), (2, 7, 3), "", (2, 5, 3)),
        ((2, 7, 5), (2, 3, 7), "{transpose_lhs, transpose_rhs}", (2, 5, 3)))
}
GENERAL |= {
    f"{op} {axis} {parameters}": (
        f"{op} %0 {parameters} dims_from {axis} {{epsilon = 0.1 : f64}}",
        [normal(3, 4, 2)] + [normal(*(3, 4, 2)[axis:])] * parameters.count("%"),
        [(3, 4, 2)] + [(3, 4, 2)[:axis] + (1,) * (3 - axis)] * statistics)
    for op, statistics, choices in (
        ("layer_norm", 2, ("", "scale %1", "bias %1", "scale %1 bias %2")),
        ("rms_norm", 1, ("", "scale %1")))
    for axis in range(3) for parameters in choices
}


def check(tmp_path, op, arrays, shapes, trailing):
    """Compares the gradients of the sum of the results, weighted at random."""
    labels = np.array([0, 3, 1, 1, 2])
    with_labels = "%labels" in op
    types = [tensor(a) for a in arrays]
    lines = [f"  %{i} = oneflow.read @v{i} : {t}" for i, t in enumerate(types)]
    if with_labels:
        lines.append('  %labels = oneflow.input "labels" : tensor<5xi64>')
    results = [tensor(np.empty(s)) for s in shapes]
    left = "%r" if len(shapes) == 1 else f"%r:{len(shapes)}"
    lines.append(f"  {left} = oneflow.{op} : {trailing or signature(types, with_labels, results)}")
    total = None
    for i, (shape, result) in enumerate(zip(shapes, results)):
        name = "%r" if len(shapes) == 1 else f"%r#{i}"
        lines += [f'  %weight{i} = oneflow.input "weight{i}" : {result}',
                  f"  %w{i} = oneflow.mul {name}, %weight{i} : ({result}, {result}) -> {result}",
                  f"  %s{i} = oneflow.reduce <sum> %w{i} dims {list(range(len(shape)))} "
                  f": ({result}) -> tensor<f64>"]
        if total:
            lines.append(f"  %t{i} = oneflow.add {total}, %s{i} : "
                         "(tensor<f64>, tensor<f64>) -> tensor<f64>")
        total = f"%t{i}" if total else f"%s{i}"
    variables = "".join(f"oneflow.variable @v{i} : {t} {{trainable}}\n"
                        for i, t in enumerate(types))
    text = (variables + "func.func @train() {\n" + "\n".join(lines)
            + f'\n  oneflow.output "loss" {total} : tensor<f64>\n  return\n}}\n')
    source = tmp_path / "forward.mlir"
    source.write_text(text)
    differentiated = tool("oneflow-opt", source, "--oneflow-differentiate",
                          "--oneflow-apply-optimizer=optimizer=none")
    function = Function(differentiated,
                        [(0, "f64")] + [(a.ndim, "f64") for a in arrays], tmp_path,
                        "train")
    others = ([labels] if with_labels else []) + [normal(*s) for s in shapes]
    _, *gradients = function(*arrays, *others)
    step = 1e-5
    for which, gradient in enumerate(gradients):
        expected = np.empty_like(arrays[which])
        for index in np.ndindex(expected.shape):
            ends = []
            for sign in (step, -step):
                moved = [a.copy() for a in arrays]
                moved[which][index] += sign
                ends.append(function(*moved, *others)[0])
            expected[index] = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


def signature(types, with_labels, results):
    operands = types + (["tensor<5xi64>"] if with_labels else [])
    return f"({', '.join(operands)}) -> ({', '.join(results)})"


@pytest.mark.parametrize("name", UNARY)
def test_unary(tmp_path, name):
    op, x = UNARY[name]
    check(tmp_path, op if "%0" in op else f"{op} %0", [x], [x.shape], tensor(x))


@pytest.mark.parametrize("name", GENERAL)
def test_general(tmp_path, name):
    op, arrays, shapes = GENERAL[name]
    check(tmp_path, op, arrays, shapes, None)


def test_ties_are_shared(tmp_path):
    """Central differences say nothing where max has a kink: equal shares are ours."""
    text = """
    oneflow.variable @v0 : tensor<4xf64> {trainable}
    func.func @train() {
      %0 = oneflow.read @v0 : tensor<4xf64>
      %1 = oneflow.reduce <max> %0 dims [0] : (tensor<4xf64>) -> tensor<f64>
      oneflow.output "loss" %1 : tensor<f64>
      return
    }"""
    source = tmp_path / "forward.mlir"
    source.write_text(text)
    differentiated = tool("oneflow-opt", source, "--oneflow-differentiate",
                          "--oneflow-apply-optimizer=optimizer=none")
    function = Function(differentiated, [(0, "f64"), (1, "f64")], tmp_path, "train")
    _, gradient = function(np.array([2.0, 5.0, 1.0, 5.0]))
    np.testing.assert_array_equal(gradient, [0, 0.5, 0, 0.5])
