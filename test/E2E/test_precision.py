# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixed precision: what is computed is what NumPy rounds, and it trains as f32 does."""

import csv
import json
import os
import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from runtime import COMPILE, Session, compile_plan, execute, needs_mpi, run_tool

MODELS = pathlib.Path(os.environ["ONEFLOW_MODELS"])
LOW = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
# Half a unit in the last place of a number near 1.
HALF_ULP = {"bf16": 2.0**-9, "f16": 2.0**-12}
BATCH = 64
MESHES = {
    "one": ["--mesh", "dp=1"],
    "dp2": ["--mesh", "dp=2"],
    "tp2": ["--mesh", "tp=2", "--sbp", "fc1.*=S(0)@tp", "--sbp", "fc2.weight=S(1)@tp",
            "--sbp", "fc3.*=S(0)@tp"],
}


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    execute(sys.executable, MODELS / "digits.py", "--output", folder)
    return folder


def train_digits(digits, folder, *options, train_options=()):
    """The report of 30 epochs, and the plan."""
    plan = compile_plan(digits / "digits_mlp.onnx", folder / "p.ofp", "--dim",
                        f"batch={BATCH}", "--train", *options)
    report = run_tool("train", plan, "--data", digits / "digits_train.npz",
                      "--validation", digits / "digits_test.npz", "--epochs", 30,
                      "--threads", 1, "--json", *train_options)
    return json.loads(report), plan


@pytest.fixture(scope="module")
def f32_report(digits, tmp_path_factory):
    return train_digits(digits, tmp_path_factory.mktemp("f32"))[0]


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("low", LOW)
def test_digits_are_learned_as_in_f32(digits, f32_report, tmp_path, low, mesh):
    """Not more than one percentage point less: 3 of the 360 held-out samples.

    Between neighboring epochs at the end of training in f32 the accuracy moves by one or
    two samples; a run that rounds otherwise ends somewhere in that range.
    """
    saved = tmp_path / "state.safetensors"
    report, plan = train_digits(digits, tmp_path, "--precision", low, *MESHES[mesh],
                                train_options=["--save", saved, "--save-state"])
    assert report["validation_accuracy"] >= f32_report["validation_accuracy"] - 0.01
    assert report["mean_loss"] == pytest.approx(f32_report["mean_loss"], rel=0.1)

    state = load_file(saved)
    floats = {name: value.dtype for name, value in state.items()
              if value.dtype.kind not in "iu"}
    assert set(floats.values()) == {np.dtype(np.float32)}
    assert {"fc1.weight", "fc1.weight.second_moment"} < set(floats)
    # The masters hold what the low type cannot.
    weight = state["fc1.weight"]
    assert np.mean(weight == weight.astype(LOW[low]).astype(np.float32)) < 0.05
    with Session(plan) as session:
        assert {dtype for name, _, dtype in session.variables
                if name not in ("optimizer.step", "optimizer.good_steps")} == {np.float32}
    # 660 steps do not fill an interval of 2000, and nothing overflowed since the last
    # change, or the count would not be what is left.
    assert ("optimizer.loss_scale" in state) == (low == "f16")
    if low == "f16":
        halvings = np.log2(65536 / state["optimizer.loss_scale"])
        assert halvings == int(halvings) >= 0
        assert state["optimizer.step"] == 660 - halvings
        assert state["optimizer.good_steps"] == 660 if halvings == 0 else True


@needs_mpi
def test_digits_are_learned_under_mpi(digits, f32_report, tmp_path):
    plan = compile_plan(digits / "digits_mlp.onnx", tmp_path / "p.ofp", "--dim",
                        f"batch={BATCH}", "--train", "--precision", "f16", "--mesh", "dp=2")
    report = json.loads(run_tool(
        "train", plan, "--data", digits / "digits_train.npz", "--validation",
        digits / "digits_test.npz", "--epochs", 30, "--threads", 1, "--json", ranks=2))
    assert report["validation_accuracy"] >= f32_report["validation_accuracy"] - 0.01


def losses(digits, plan, folder, steps, *options):
    log = folder / "losses.csv"
    run_tool("train", plan, "--data", digits / "digits_train.npz", "--steps", steps,
             "--loss-log", log, "--threads", 1, *options)
    with open(log) as file:
        return np.array([float(row["loss"]) for row in csv.DictReader(file)])


def test_the_list_is_the_users(digits, tmp_path):
    """With matmul high nothing is low, and the curve is that of f32 to the bit."""
    curves = {}
    for name, options in {"f32": [], "low": ["--precision", "bf16"],
                          "high": ["--precision", "bf16", "--precision-ops",
                                   "matmul=high"]}.items():
        plan = compile_plan(digits / "digits_mlp.onnx", tmp_path / f"{name}.ofp", "--dim",
                            f"batch={BATCH}", "--train", *options)
        curves[name] = losses(digits, plan, tmp_path, 20)
    np.testing.assert_array_equal(curves["high"], curves["f32"])
    assert np.all(curves["low"] != curves["f32"])
    np.testing.assert_allclose(curves["low"], curves["f32"], rtol=0.02)


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("low", LOW)
def test_zero_reduces_low_gradients_to_parts(digits, tmp_path, low, stage):
    """Half the bytes of f32, nothing gathered but parameters, and the same bits."""
    curves = []
    for zero in (0, stage):
        path = tmp_path / f"{zero}.ofp"
        lines = execute(COMPILE, digits / "digits_mlp.onnx", "--dim", f"batch={BATCH}",
                        "--train", "--precision", low, "--mesh", "dp=2", "--zero", zero,
                        "--explain", "-o", path).splitlines()
        rows = [row for row in csv.DictReader(lines, delimiter="\t")
                if row["function"] == "train" and "128x64x" in row["tensor"]]
        curves.append(losses(digits, path, tmp_path, 20))
    np.testing.assert_array_equal(curves[0], curves[1])
    moved = {row["step"]: row["bytes"] for row in rows}
    assert moved["reduce-scatter"] == str(128 * 64 * 2)
    assert "all-reduce" not in moved
    assert len([row for row in rows if row["step"] == "all-gather"]) == 1


@pytest.mark.parametrize("low", LOW)
def test_inference_is_as_close_as_the_type(digits, tmp_path, low):
    logits = {}
    for precision in ("f32", low):
        plan = compile_plan(digits / "digits_mlp.onnx", tmp_path / f"{precision}.ofp",
                            "--dim", "batch=360", "--precision", precision)
        with np.load(digits / "digits_test.npz") as test, Session(plan) as session:
            (_, _, dtype), = session.outputs["main"]
            assert dtype == np.float32
            logits[precision] = session.run("main", {"image": test["image"]})["logits"]
    error = np.abs(logits[low] - logits["f32"])
    # Three layers round operands, products and activations.
    assert 0 < error.max() < 16 * HALF_ULP[low] * np.abs(logits["f32"]).max()


SUMS = """
func.func @main() {
  %x = oneflow.input "x" : tensor<2x4096xf32>
  %y = oneflow.input "y" : tensor<4096x3xf32>
  %p = oneflow.matmul %x, %y : (tensor<2x4096xf32>, tensor<4096x3xf32>) -> tensor<2x3xf32>
  %r = oneflow.reduce <sum> %x dims [1] : (tensor<2x4096xf32>) -> tensor<2xf32>
  oneflow.output "p" %p : tensor<2x3xf32>
  oneflow.output "r" %r : tensor<2xf32>
  return
}
"""


@pytest.mark.parametrize("mesh", [["--mesh", "tp=1"],
                                  ["--mesh", "tp=2", "--sbp", "x=S(1)@tp"]])
@pytest.mark.parametrize("low", LOW)
def test_sums_of_low_values_are_f32(tmp_path, low, mesh):
    """Summed in its own type, a sum of ones would stop at 256 or 2048."""
    plan = compile_plan(SUMS, tmp_path / "p.ofp", "--precision", low, "--precision-ops",
                        "reduce=low", *mesh)
    with Session(plan) as session:
        result = session.run("main", {"x": np.ones((2, 4096)), "y": np.ones((4096, 3))})
    np.testing.assert_array_equal(result["p"], np.full((2, 3), 4096))
    np.testing.assert_array_equal(result["r"], np.full(2, 4096))


# The mean of (relu(x w1 + b1) w2)². The square follows its operands: it is low.
NETWORK = """
oneflow.variable @w1 : tensor<6x16xf32> {trainable}
oneflow.variable @b1 : tensor<16xf32> {trainable}
oneflow.variable @w2 : tensor<16x4xf32> {trainable}
func.func @main() {
  %x = oneflow.input "x" : tensor<8x6xf32>
  %w1 = oneflow.read @w1 : tensor<6x16xf32>
  %b1 = oneflow.read @b1 : tensor<16xf32>
  %w2 = oneflow.read @w2 : tensor<16x4xf32>
  %p = oneflow.matmul %x, %w1 : (tensor<8x6xf32>, tensor<6x16xf32>) -> tensor<8x16xf32>
  %a = oneflow.add %p, %b1 : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  %h = oneflow.relu %a : tensor<8x16xf32>
  %q = oneflow.matmul %h, %w2 : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %s = oneflow.mul %q, %q : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  oneflow.output "s" %s : tensor<8x4xf32>
  return
}
"""
PARAMETERS = ["w1", "b1", "w2"]


def gradients(parameters, x, scale, dtype, parts=1):
    """The loss and the unscaled gradients as NumPy computes them, x being one of `parts`.

    Every value that is low is rounded to `dtype`; f32 in between, as the kernels do.
    """
    def low(value):
        with np.errstate(over="ignore"):
            return np.asarray(value, np.float32).astype(dtype).astype(np.float32)

    with np.errstate(invalid="ignore", over="ignore"):
        x, w1, b1, w2 = map(low, (x, *(parameters[name] for name in PARAMETERS)))
        a = low(low(x @ w1) + b1)
        h = np.where(a > 0, a, np.float32(0))
        q = low(h @ w2)
        loss = np.mean(low(q * q))
        ds = low(np.full_like(q, np.float32(scale) / np.float32(q.size * parts)))
        dq = low(low(ds * q) + low(ds * q))
        dw2 = low(h.T @ dq)
        dh = low(dq @ w2.T)
        da = np.where(h > 0, dh, np.float32(0))
        dw1, db1 = low(x.T @ da), low(np.sum(da, axis=0))
        inverse = np.float32(1) / np.float32(scale)
        return loss, {"w1": dw1 * inverse, "b1": db1 * inverse, "w2": dw2 * inverse}


def draw(seed):
    random = np.random.default_rng(seed)
    shapes = {"w1": (6, 16), "b1": (16,), "w2": (16, 4)}
    return random, {name: random.standard_normal(shape).astype(np.float32)
                    for name, shape in shapes.items()}


SGD = ["--train", "--loss", "mean", "--optimizer", "sgd", "--momentum", "0",
       "--weight-decay", "0", "--learning-rate", "0.0625"]


@pytest.mark.parametrize("low, scale", [("bf16", 1), ("bf16", 4096), ("f16", 256)])
def test_steps_are_numpys(tmp_path, low, scale):
    """Value by value: a sum in another order may fall on the other side of a tie, rarely."""
    plan = compile_plan(NETWORK, tmp_path / "p.ofp", *SGD, "--precision", low,
                        *(["--loss-scale", scale] if scale != 1 else []))
    random, parameters = draw(4)
    rate = np.float32(0.0625)
    with Session(plan) as session:
        for _ in range(4):
            for name in PARAMETERS:
                session.set(name, parameters[name])
            x = random.standard_normal((8, 6)).astype(np.float32)
            loss = session.run("train", {"x": x})["loss"]
            expected_loss, expected = gradients(parameters, x, scale, LOW[low])
            _, exact = gradients(parameters, x, scale, np.float32)
            assert loss == pytest.approx(expected_loss, rel=1e-5)
            for name in PARAMETERS:
                got = session.get(name)
                wanted = parameters[name] - rate * expected[name]
                np.testing.assert_allclose(got - parameters[name], -rate * expected[name],
                                           rtol=8 * HALF_ULP[low], atol=1e-6)
                assert np.mean(got != wanted) <= 0.02, name
                used = expected[name] != 0
                assert np.mean(got[used] != (parameters[name] - rate * exact[name])[used]
                               ) > 0.5, name
                parameters[name] = got


def rule(scale, good, finite, interval):
    """The scale and the count after a step."""
    if not finite:
        return scale / 2, 0
    good += 1
    return (scale * 2, 0) if good == interval else (scale, good)


SPREAD = {
    "one": ["--mesh", "dp=1"],
    "dp2": ["--mesh", "dp=2"],
    "tp2": ["--mesh", "tp=2", "--sbp", "w1=S(1)@tp"],
    "zero": ["--mesh", "dp=2", "--zero", "3"],
    "micro-batches": ["--mesh", "dp=1", "--micro-batches", "2"],
    "stages": ["--mesh", "pp=2", "--micro-batches", "2"],
}


@pytest.mark.parametrize("mesh", SPREAD)
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_too_large_a_scale_is_halved_until_it_fits(tmp_path, mesh, optimizer):
    """From 2^30 down, and up again every third step, until it overflows again.

    Where a step overflows NumPy says; such steps leave everything as it was.
    """
    interval, parts = 3, 2 if "--micro-batches" in SPREAD[mesh] else 1
    state = {"sgd": ["velocity"], "adamw": ["first_moment", "second_moment"]}[optimizer]
    plan = compile_plan(NETWORK, tmp_path / "p.ofp", *SGD[:3], "--optimizer", optimizer,
                        "--precision", "f16", "--loss-scale-start", 2**30,
                        "--loss-scale-interval", interval, *SPREAD[mesh])
    random, parameters = draw(5)
    names = [*PARAMETERS, *(f"{name}.{suffix}" for name in PARAMETERS for suffix in state),
             "optimizer.step"]
    scale, good, skipped, steps = 2.0**30, 0, 0, 60
    with Session(plan) as session:
        assert session.get("optimizer.loss_scale") == scale
        for name, value in parameters.items():
            session.set(name, value)
        before = {name: session.get(name) for name in names}
        for _ in range(steps):
            x = random.standard_normal((8, 6)).astype(np.float32)
            # Each micro-batch's gradients are low; their sum is f32.
            finite = all(np.isfinite(value).all() for part in np.split(x, parts)
                         for value in gradients(before, part, scale, np.float16,
                                                parts)[1].values())
            session.run("train", {"x": x})
            after = {name: session.get(name) for name in names}
            changed = [name for name in names
                       if after[name].tobytes() != before[name].tobytes()]
            assert changed == ([] if not finite else names)
            scale, good = rule(scale, good, finite, interval)
            assert session.get("optimizer.loss_scale") == scale
            assert session.get("optimizer.good_steps") == good
            skipped += not finite
            before = after
        assert session.get("optimizer.step") == steps - skipped
        # Down at first, and later each time that the scale was doubled once too often.
        assert 10 < skipped < steps - 10


@pytest.mark.parametrize("precision, flag", [("f16", "--loss-scale-start"),
                                             ("bf16", "--loss-scale")],
                         ids=["dynamic", "fixed"])
def test_ranks_agree_that_one_gradient_is_not_finite(tmp_path, precision, flag):
    """Only the last rank's samples, or columns, overflow; no rank takes the step."""
    for name, mesh in {"dp": ["--mesh", "dp=4"],
                       "tp": ["--mesh", "tp=4", "--sbp", "w1=S(1)@tp"]}.items():
        plan = compile_plan(NETWORK, tmp_path / f"{name}.ofp", *SGD, "--precision",
                            precision, flag, 256, *mesh)
        random, parameters = draw(6)
        x = random.standard_normal((8, 6)).astype(np.float32)
        good_x = x.copy()
        if name == "dp":
            x[7, 0] = np.inf
        else:
            parameters["b1"][15] = np.inf
        with Session(plan) as session:
            for variable, value in parameters.items():
                session.set(variable, value)
            for _ in range(2):
                session.run("train", {"x": x})
            for variable, value in parameters.items():
                np.testing.assert_array_equal(session.get(variable), value)
            assert session.get("optimizer.step") == 0
            assert session.get("optimizer.loss_scale") == (64 if precision == "f16" else 256)
            if name == "dp":
                session.run("train", {"x": good_x})
                assert session.get("optimizer.step") == 1
                assert np.any(session.get("w1") != parameters["w1"])


def test_the_scale_is_saved_and_loaded(digits, tmp_path):
    """Training that is interrupted goes on as if it had not been, scale included."""
    plan = compile_plan(digits / "digits_mlp.onnx", tmp_path / "p.ofp", "--dim",
                        f"batch={BATCH}", "--train", "--precision", "f16",
                        "--loss-scale-start", 2**28, "--loss-scale-interval", 7)
    saved = tmp_path / "state.safetensors"
    losses(digits, plan, tmp_path, 22, "--save", saved, "--save-state")
    state = load_file(saved)
    assert state["optimizer.loss_scale"].shape == () == state["optimizer.good_steps"].shape
    with Session(plan) as session:
        for name, value in state.items():
            session.set(name, value)
        session.set("optimizer.loss_scale", 256)
        batch = {"image": np.zeros((BATCH, 1, 8, 8), np.float32),
                 "labels": np.zeros(BATCH, np.int64)}
        session.run("train", batch)
        expected = rule(256, int(state["optimizer.good_steps"]), True, 7)
        assert (session.get("optimizer.loss_scale"),
                session.get("optimizer.good_steps")) == expected
    # And a state of one's own: the largest scale stays.
    state["optimizer.loss_scale"] = np.array(2.0**126, np.float32)
    state["optimizer.good_steps"] = np.array(6)
    save_file(state, saved)
    again = tmp_path / "again.safetensors"
    losses(digits, plan, tmp_path, 1, "--weights", saved, "--save", again, "--save-state")
    assert load_file(again)["optimizer.loss_scale"] == 2.0**125


@pytest.mark.parametrize("low", LOW)
def test_a_transformer_learns_as_in_f32(tmp_path, low):
    execute(sys.executable, MODELS / "transformer.py", "--output", tmp_path, "--layers", 2,
            "--hidden", 32, "--heads", 4, "--sequence", 16, "--vocabulary", 30,
            "--samples", 64)
    model, = tmp_path.glob("*.onnx")
    data = next(path for path in tmp_path.glob("*.npz"))
    means = {}
    for name, options in {
            "f32": [], "low": ["--precision", low],
            "spread": ["--precision", low, "--mesh", "dp=2,tp=2", "--sbp",
                       "h.*.attn.c_attn.weight=S(1)@tp", "--sbp",
                       "h.*.mlp.c_fc.weight=S(1)@tp"]}.items():
        plan = compile_plan(model, tmp_path / f"{name}.ofp", "--dim", "batch=8", "--train",
                            "--learning-rate", 3e-3, *options)
        log = tmp_path / f"{name}.csv"
        run_tool("train", plan, "--data", data, "--epochs", 6, "--loss-log", log,
                 "--threads", 1)
        with open(log) as file:
            curve = [float(row["loss"]) for row in csv.DictReader(file)]
        assert curve[-1] < 0.9 * curve[0]
        means[name] = np.mean(curve)
    assert means["low"] == pytest.approx(means["f32"], rel=0.02)
    assert means["spread"] == pytest.approx(means["f32"], rel=0.02)
