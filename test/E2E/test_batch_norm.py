# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm has no signature of its own: what it becomes computes what NumPy computes,
with the statistics of the whole batch on every mesh.

Gradients are central differences; how the running statistics move is the formula.
"""

import numpy as np
import pytest

from runtime import Session, compile_plan

SHAPE = (6, 5, 3, 2)
CHANNELS = SHAPE[1]
EPSILON, MOMENTUM = 1e-3, 0.75
# Batch and channels split, unevenly too, and both.
MESHES = {"one": ["--mesh", "dp=1"], "dp2": ["--mesh", "dp=2"], "dp4": ["--mesh", "dp=4"],
          "tp2": ["--mesh", "tp=2", "--sbp", "x=S(1)@tp"],
          "dp2tp2": ["--mesh", "dp=2,tp=2", "--sbp", "x=[S(0), S(1)]"]}
VARIABLES = ("scale", "bias", "running_mean", "running_variance")


def module(training, dtype="f64", shape=SHAPE, attribute=""):
    """The op on an input, with variables; "total" is a weighted sum of all results."""
    tensor = "tensor<" + "x".join(map(str, shape)) + f"x{dtype}>"
    row, wide = f"tensor<{shape[1]}x{dtype}>", f"tensor<{shape[1]}xf{64 if dtype == 'f64' else 32}>"
    dims = list(range(len(shape)))
    variables = "\n".join(f"oneflow.variable @{name} : {row} " +
                          ("{trainable}" if name in ("scale", "bias") or training == "plain"
                           else "") for name in VARIABLES)
    reads = "\n".join(f"  %{name} = oneflow.read @{name} : {row}" for name in VARIABLES)
    flag = ", training" if training is True else ""
    return f"""
oneflow.variable @x0 : {tensor} {{trainable}}
{variables}
func.func @main() {{
  %in = oneflow.input "x" : {tensor}
  %w = oneflow.input "w" : {tensor}
  %x0 = oneflow.read @x0 : {tensor}
{reads}
  %x = oneflow.add %in, %x0 : ({tensor}, {tensor}) -> {tensor}
  %y, %m, %v = oneflow.batch_norm %x scale %scale bias %bias mean %running_mean variance %running_variance {{epsilon = {EPSILON} : f64, momentum = {MOMENTUM} : f64{flag}{attribute}}} : ({tensor}, {row}, {row}, {row}, {row}) -> ({tensor}, {wide}, {wide})
  %p = oneflow.mul %y, %w : ({tensor}, {tensor}) -> {tensor}
  %s = oneflow.reduce <sum> %p dims {dims} : ({tensor}) -> tensor<{dtype}>
  oneflow.output "total" %s : tensor<{dtype}>
  oneflow.output "y" %y : {tensor}
  oneflow.output "mean" %m : {wide}
  oneflow.output "variance" %v : {wide}
  return
}}
"""


def draw(shape=SHAPE, dtype=np.float64):
    random = np.random.default_rng(3)
    values = {"x0": random.standard_normal(shape), "scale": random.uniform(0.5, 2, shape[1]),
              "bias": random.standard_normal(shape[1]),
              "running_mean": random.standard_normal(shape[1]),
              "running_variance": random.uniform(0.5, 2, shape[1])}
    inputs = {"x": random.standard_normal(shape) * 2 + 1, "w": random.standard_normal(shape)}
    return ({name: value.astype(dtype) for name, value in values.items()},
            {name: value.astype(dtype) for name, value in inputs.items()})


def column(value, shape=SHAPE):
    return value.reshape(1, -1, *[1] * (len(shape) - 2))


def normalize(x, values, training):
    dims = tuple(dim for dim in range(x.ndim) if dim != 1)
    mean = x.mean(axis=dims) if training else values["running_mean"]
    variance = x.var(axis=dims) if training else values["running_variance"]
    inverse = 1 / np.sqrt(column(variance, x.shape) + EPSILON)
    y = (x - column(mean, x.shape)) * inverse * column(values["scale"], x.shape)
    return y + column(values["bias"], x.shape), mean, variance


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mesh", MESHES)
def test_values(tmp_path, mesh, training):
    values, inputs = draw()
    plan = compile_plan(module(training), tmp_path / "norm.ofp", *MESHES[mesh])
    with Session(plan) as session:
        for name, value in values.items():
            session.set(name, value)
        found = session.run("main", inputs)
    y, mean, variance = normalize(inputs["x"] + values["x0"], values, training)
    np.testing.assert_allclose(found["y"], y, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["mean"], mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["variance"], variance, rtol=1e-12, atol=1e-12)


def test_nothing_cancels(tmp_path):
    """A mean of many deviations, and sums in f32 of what f16 holds."""
    for dtype, offset, limit in ((np.float32, 4096, 1e-3), (np.float16, 8, 1e-2)):
        shape = (64, 3, 8, 8)
        values, inputs = draw(shape, dtype)
        values["x0"][...] = 0
        inputs["x"] = (inputs["x"] + offset).astype(dtype)
        name = "f32" if dtype == np.float32 else "f16"
        plan = compile_plan(module(True, name, shape), tmp_path / f"{name}.ofp")
        with Session(plan) as session:
            for key, value in values.items():
                session.set(key, value)
            found = session.run("main", inputs)
        x = inputs["x"].astype(np.float64)
        y, mean, variance = normalize(x, values, True)
        assert found["variance"].dtype == np.float32
        np.testing.assert_allclose(found["mean"], mean, rtol=1e-6)
        np.testing.assert_allclose(found["variance"], variance, rtol=1e-5)
        np.testing.assert_allclose(found["y"].astype(np.float64), y, atol=limit * 10)


def gradients(plan, values, inputs, entry="train"):
    with Session(plan) as session:
        for name, value in values.items():
            session.set(name, value)
        outputs = session.run(entry, inputs)
        after = {name: session.get(name) for name in ("running_mean", "running_variance")}
    return outputs, after


def total(values, inputs, training):
    y, _, _ = normalize(inputs["x"] + values["x0"], values, training)
    return float((y * inputs["w"]).sum())


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("training", [True, "plain"])
def test_gradients_and_running_statistics(tmp_path, mesh, training):
    """With a loss, an op in its inference form is trained with the batch's statistics,
    unless its own are trained: then they are what it says."""
    values, inputs = draw()
    text = module(training)
    if training == "plain":  # Statistics that are no variables themselves.
        for name in ("running_mean", "running_variance"):
            row = f"tensor<{CHANNELS}xf64>"
            text = text.replace(f"  %{name} = oneflow.read", f"  %{name}_ = oneflow.read")
            text = text.replace("  %x = oneflow.add", f"  %{name} = oneflow.add %{name}_, "
                                f"%{name}_ : ({row}, {row}) -> {row}\n  %x = oneflow.add")
    else:
        text = text.replace(", training", "")
    plan = compile_plan(text, tmp_path / "norm.ofp", "--train", "--loss", "mean",
                        "--loss-output", "total", "--optimizer", "none", *MESHES[mesh])
    outputs, after = gradients(plan, values, inputs)
    batch = training is True

    def loss(moved):
        doubled = dict(moved)
        if not batch:
            for name in ("running_mean", "running_variance"):
                doubled[name] = 2 * moved[name]
        return total(doubled, inputs, batch)

    np.testing.assert_allclose(outputs["loss"], loss(values), rtol=1e-12)
    names = ["x0", "scale", "bias"] + ([] if batch else ["running_mean", "running_variance"])
    assert {f"{name}.gradient" for name in names} | {"loss"} == set(outputs)
    for name in names:
        expected = np.zeros_like(values[name])
        for at in np.ndindex(*expected.shape):
            slopes = []
            for sign in (1, -1):
                moved = {key: value.copy() for key, value in values.items()}
                moved[name][at] += sign * 1e-5
                slopes.append(loss(moved))
            expected[at] = (slopes[0] - slopes[1]) / 2e-5
        np.testing.assert_allclose(outputs[f"{name}.gradient"], expected, rtol=1e-6, atol=1e-7)
    _, mean, variance = normalize(inputs["x"] + values["x0"], values, True)
    for name, statistic in (("running_mean", mean), ("running_variance", variance)):
        moved = MOMENTUM * values[name] + (1 - MOMENTUM) * statistic
        np.testing.assert_allclose(after[name], moved if batch else values[name], rtol=1e-12)


def test_evaluation_uses_the_running_statistics(tmp_path):
    """Also of an op that says training."""
    values, inputs = draw()
    plan = compile_plan(module(True), tmp_path / "norm.ofp", "--train", "--loss", "mean",
                        "--loss-output", "total", "--optimizer", "none")
    outputs, after = gradients(plan, values, inputs, "eval")
    np.testing.assert_allclose(outputs["y"], normalize(inputs["x"] + values["x0"], values,
                                                       False)[0], rtol=1e-12)
    np.testing.assert_array_equal(after["running_mean"], values["running_mean"])
