# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every gradient is the central difference of what the op computes.

op-cases makes one function of all differentiable samples: the output of a sample's name
is the sum of its results times fixed random weights, "total" the sum of all. A step
through `eval` moves one element of one variable of every sample, which are
independent, so that few runs do.
"""

import os

import numpy as np
import pytest

from runtime import Session, compile_plan, execute
from samples import SAMPLES, draw

TRAIN = ["--train", "--loss", "mean", "--loss-output", "total", "--optimizer", "none"]
# Of larger variables, that many elements drawn at random.
ELEMENTS = 40


def build(folder, ranks):
    module = execute(os.environ["OP_CASES"], SAMPLES, "gradients", ranks)
    return compile_plan(module, folder / f"gradients{ranks}.ofp", *TRAIN)


def prepare(session):
    """Sets every variable and draws the inputs; ({variable: value}, inputs)."""
    values = {name: draw(name, shape, dtype) for name, shape, dtype in session.variables}
    for name, value in values.items():
        session.set(name, value)
    inputs = {name: draw(name, shape, dtype)
              for name, shape, dtype in session.inputs["eval"]}
    return values, inputs


def is_single(name):
    return "f32" in name.split(" ")[0]


def gradients_of(session, values, inputs):
    outputs = session.run("train", inputs)
    assert len(outputs) == len(values) + 1
    return {name: outputs[f"{name}.gradient"] for name in values}


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory):
    with Session(build(tmp_path_factory.mktemp("gradients"), 1)) as session:
        yield session


def test_central_differences(one_rank, known_failures):
    session = one_rank
    values, inputs = prepare(session)
    assert len(values) > 90
    found = gradients_of(session, values, inputs)

    # Variables of the same place among those of their sample move together.
    groups, places = {}, {}
    for name in values:
        sample = name.split(" ")[0]
        places[sample] = places.get(sample, -1) + 1
        groups.setdefault(places[sample], []).append(name)
    # Half an element's step: large for single precision, where rounding is coarse.
    step = {name: 2.0**-6 if is_single(name) else 1e-5 for name in values}
    order = {name: np.random.default_rng(5).permutation(value.size)[:ELEMENTS]
             for name, value in values.items()}

    def losses(names, number, sign):
        for name in names:
            moved = values[name].copy()
            moved.reshape(-1)[order[name][number]] += sign * step[name]
            session.set(name, moved)
        return session.run("eval", inputs)

    wrong = set()
    for names in groups.values():
        for number in range(max(len(order[name]) for name in names)):
            moved = [name for name in names if number < len(order[name])]
            above, below = losses(moved, number, 1), losses(moved, number, -1)
            for name in moved:
                sample = name.split(" ")[0]
                expected = (above[sample] - below[sample]) / (2 * step[name])
                gradient = found[name].reshape(-1)[order[name][number]]
                limit = 1e-3 if is_single(name) else 1e-6
                if not abs(gradient - expected) <= limit * max(1.0, abs(expected)):
                    wrong.add(name)
        for name in names:
            session.set(name, values[name])
    known_failures.check("gradient ", wrong)


@pytest.mark.parametrize("ranks", [2, 3])
def test_more_ranks_have_the_same_gradients(one_rank, known_failures, tmp_path, ranks):
    expected = gradients_of(one_rank, *prepare(one_rank))
    with Session(build(tmp_path, ranks)) as session:
        found = gradients_of(session, *prepare(session))
    wrong = []
    for name, value in expected.items():
        limit = 1e-5 if is_single(name) else 1e-12
        scale = max(1.0, np.max(np.abs(value), initial=0))
        if not np.allclose(found[name], value, rtol=limit, atol=limit * scale):
            wrong.append(name)
    known_failures.check(f"gradient on {ranks} ", wrong)


# At points where the function has no derivative, or where its formula would divide by
# zero, the stated rules hold.
TIES = """
oneflow.variable @a : tensor<4xf64> {trainable}
oneflow.variable @b : tensor<4xf64> {trainable}
oneflow.variable @c : tensor<4xf64> {trainable}
oneflow.variable @d : tensor<4xf64> {trainable}
oneflow.variable @relu : tensor<4xf64> {trainable}
oneflow.variable @maxima : tensor<2x4xf64> {trainable}
oneflow.variable @minima : tensor<2x4xf64> {trainable}
oneflow.variable @product : tensor<3x4xf64> {trainable}
func.func @main() {
  %a = oneflow.read @a : tensor<4xf64>
  %b = oneflow.read @b : tensor<4xf64>
  %c = oneflow.read @c : tensor<4xf64>
  %d = oneflow.read @d : tensor<4xf64>
  %relu = oneflow.read @relu : tensor<4xf64>
  %maxima = oneflow.read @maxima : tensor<2x4xf64>
  %minima = oneflow.read @minima : tensor<2x4xf64>
  %product = oneflow.read @product : tensor<3x4xf64>
  %0 = oneflow.max %a, %b : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %1 = oneflow.min %c, %d : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %2 = oneflow.relu %relu : tensor<4xf64>
  %3 = oneflow.reduce <max> %maxima dims [1] {keep_dims} : (tensor<2x4xf64>) -> tensor<2x1xf64>
  %4 = oneflow.reduce <min> %minima dims [1] {keep_dims} : (tensor<2x4xf64>) -> tensor<2x1xf64>
  %5 = oneflow.reduce <prod> %product dims [1] {keep_dims} : (tensor<3x4xf64>) -> tensor<3x1xf64>
  %6 = oneflow.add %0, %1 : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %7 = oneflow.add %6, %2 : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %8 = oneflow.reduce <sum> %3 dims [0] : (tensor<2x1xf64>) -> tensor<1xf64>
  %9 = oneflow.reduce <sum> %4 dims [0] : (tensor<2x1xf64>) -> tensor<1xf64>
  %10 = oneflow.reduce <sum> %5 dims [0] : (tensor<3x1xf64>) -> tensor<1xf64>
  %11 = oneflow.reduce <sum> %7 dims [0] {keep_dims} : (tensor<4xf64>) -> tensor<1xf64>
  %12 = oneflow.add %8, %9 : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
  %13 = oneflow.add %10, %11 : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
  %14 = oneflow.add %12, %13 : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
  oneflow.output "total" %14 : tensor<1xf64>
  return
}
"""

POINTS = {
    "a": [1, 2, 3, 3], "b": [2, 2, 1, 3], "c": [1, 2, 3, 3], "d": [2, 2, 1, 3],
    "relu": [-1, 0, 2, -0.0],
    "maxima": [[1, 5, 5, 2], [3, 3, 3, 3]], "minima": [[1, 5, 1, 1], [2, 0, 7, 8]],
    "product": [[2, 3, 5, 7], [2, 0, 5, 7], [2, 0, 0, 7]],
}
SLOPES = {
    # Half to each of two equal operands.
    "a": [0, 0.5, 1, 0.5], "b": [1, 0.5, 0, 0.5],
    "c": [1, 0.5, 0, 0.5], "d": [0, 0.5, 1, 0.5],
    # Nothing at zero.
    "relu": [0, 0, 1, 0],
    # Shared equally by all that attain it.
    "maxima": [[0, 0.5, 0.5, 0], [0.25] * 4], "minima": [[1 / 3, 0, 1 / 3, 1 / 3], [0, 1, 0, 0]],
    # The product of the others, zeros among them.
    "product": [[105, 70, 42, 30], [0, 70, 0, 0], [0, 0, 0, 0]],
}


@pytest.mark.parametrize("mesh", ["dp=1", "dp=2"])
def test_ties_and_zeros(tmp_path, mesh):
    text = TIES
    if mesh == "dp=2":  # Ties that lie on different ranks.
        for name in ("maxima", "minima", "product"):
            text = text.replace(f"variable @{name} :",
                                f"variable @{name} on @mesh storage [S(1)] :")
        text = "oneflow.placement @mesh cpu [dp = 2]\n" + text
    plan = compile_plan(text, tmp_path / "ties.ofp", *TRAIN)
    with Session(plan) as session:
        for name, value in POINTS.items():
            session.set(name, value)
        outputs = session.run("train", {})
    for name, slope in SLOPES.items():
        np.testing.assert_allclose(outputs[f"{name}.gradient"], slope, rtol=1e-14)
