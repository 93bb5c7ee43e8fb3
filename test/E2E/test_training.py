# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training in parallel is training on one rank, and both are what the formulas say."""

import csv
import json
import os
import pathlib
import sys

import numpy as np
import onnxruntime
import pytest

from runtime import Session, compile_plan, execute, needs_mpi, run_tool

MODELS = pathlib.Path(os.environ["ONEFLOW_MODELS"])
BATCH = 64
# A column-parallel layer, a row-parallel one, and logits split by class.
TENSOR_PARALLEL = ["--sbp", "fc1.*=S(0)@tp", "--sbp", "fc2.weight=S(1)@tp",
                   "--sbp", "fc3.*=S(0)@tp"]
MESHES = {
    "one": ["--mesh", "dp=1"],
    "dp2": ["--mesh", "dp=2"],
    "dp3": ["--mesh", "dp=3"],  # 22, 21 and 21 samples of each batch
    "tp2": ["--mesh", "tp=2", *TENSOR_PARALLEL],
    "dp2tp2": ["--mesh", "dp=2,tp=2", *TENSOR_PARALLEL],
}
OPTIMIZERS = {
    "adamw": ["--optimizer", "adamw"],
    "sgd": ["--optimizer", "sgd", "--momentum", "0.9", "--learning-rate", "0.05"],
}
PARALLEL = [name for name in MESHES if name != "one"]


class Workplace:
    """Digits in both precisions, plans compiled once, loss curves of one rank."""

    def __init__(self, folder):
        self.folder = folder
        for dtype in ("f64", "f32"):
            execute(sys.executable, MODELS / "digits.py", "--output", folder / dtype,
                    "--dtype", dtype)
        self.plans, self.curves = {}, {}

    def plan(self, dtype, optimizer, mesh):
        key = dtype, optimizer, mesh
        if key not in self.plans:
            self.plans[key] = compile_plan(
                self.folder / dtype / "digits_mlp.onnx",
                self.folder / f"{dtype}-{optimizer}-{mesh}.ofp", "--dim",
                f"batch={BATCH}", "--train", *OPTIMIZERS[optimizer], *MESHES[mesh])
        return self.plans[key]

    def losses(self, dtype, optimizer, mesh, steps, ranks=0):
        log = self.folder / "losses.csv"
        run_tool("train", self.plan(dtype, optimizer, mesh), "--data",
                 self.folder / dtype / "digits_train.npz", "--steps", steps,
                 "--loss-log", log, "--threads", 1, ranks=ranks)
        with open(log) as file:
            curve = [float(row["loss"]) for row in csv.DictReader(file)]
        assert len(curve) == steps
        return np.array(curve)

    def one_rank(self, dtype, optimizer, steps):
        key = dtype, optimizer
        if key not in self.curves:
            self.curves[key] = self.losses(dtype, optimizer, "one", steps)
        return self.curves[key]

    def check(self, dtype, optimizer, mesh, ranks=0):
        steps, limit = (50, 1e-9) if dtype == "f64" else (20, 1e-3)
        expected = self.one_rank(dtype, optimizer, steps)
        assert expected[-1] < 0.7 * expected[0]
        np.testing.assert_allclose(self.losses(dtype, optimizer, mesh, steps, ranks),
                                   expected, rtol=limit)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return Workplace(tmp_path_factory.mktemp("training"))


@pytest.mark.parametrize("mesh", PARALLEL)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_loss_curves_agree(work, dtype, optimizer, mesh):
    work.check(dtype, optimizer, mesh)


@needs_mpi
@pytest.mark.parametrize("mesh, ranks", [("dp2", 2), ("tp2", 2), ("dp2tp2", 4)])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_loss_curves_agree_under_mpi(work, optimizer, mesh, ranks):
    work.check("f64", optimizer, mesh, ranks)


@pytest.mark.parametrize("mesh", ["one", "dp2", "tp2"])
def test_digits_are_learned(work, tmp_path, mesh):
    """97 % of the held-out fifth, and onnxruntime agrees with the trained model."""
    plan, folder = work.plan("f32", "adamw", mesh), work.folder / "f32"
    report = json.loads(run_tool(
        "train", plan, "--data", folder / "digits_train.npz", "--validation",
        folder / "digits_test.npz", "--epochs", 30, "--threads", 1, "--json", "--save",
        tmp_path / "w.safetensors", "--save-onnx", tmp_path / "trained.onnx"))
    assert report["validation_accuracy"] >= 0.97
    run_tool("infer", plan, "--entry", "eval", "--weights", tmp_path / "w.safetensors",
             "--input", folder / "digits_test.npz", "--output",
             f"logits={tmp_path / 'logits.npy'}")
    logits = np.load(tmp_path / "logits.npy")
    with np.load(folder / "digits_test.npz") as test:
        model = onnxruntime.InferenceSession(tmp_path / "trained.onnx",
                                             providers=["CPUExecutionProvider"])
        expected, = model.run(["logits"], {"image": test["image"]})
        accuracy = np.mean(np.argmax(logits, axis=1) == test["labels"])
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(np.argmax(logits, axis=1), np.argmax(expected, axis=1))
    assert accuracy == report["validation_accuracy"]


# The gradient of the mean of w·x over n elements is x/n.
LINEAR = """
oneflow.variable @w : tensor<13xf64> {trainable}
func.func @main() {
  %w = oneflow.read @w : tensor<13xf64>
  %x = oneflow.input "x" : tensor<13xf64>
  %y = oneflow.mul %w, %x : (tensor<13xf64>, tensor<13xf64>) -> tensor<13xf64>
  oneflow.output "y" %y : tensor<13xf64>
  return
}
"""


def run_optimizer(plan, names, steps=5):
    """[({name: value} after the step, gradient)] and the first weights."""
    random = np.random.default_rng(2)
    start = random.standard_normal(13)
    history = []
    with Session(plan) as session:
        session.set("w", start)
        for _ in range(steps):
            x = random.standard_normal(13)
            loss = session.run("train", {"x": x})["loss"]
            history.append(({name: session.get(name) for name in names}, x / 13))
            assert np.isfinite(loss)
    return start, history


@pytest.mark.parametrize("mesh", ["dp=1", "dp=2"])
def test_sgd_is_its_formula(tmp_path, mesh):
    plan = compile_plan(LINEAR, tmp_path / "p.ofp", "--train", "--loss", "mean",
                        "--optimizer", "sgd", "--momentum", "0.8", "--weight-decay",
                        "0.03", "--learning-rate", "0.1", "--mesh", mesh)
    w, history = run_optimizer(plan, ["w", "w.velocity"])
    v = np.zeros_like(w)
    for values, gradient in history:
        v = 0.8 * v + (gradient + 0.03 * w)
        w = w - 0.1 * v
        np.testing.assert_allclose(values["w"], w, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(values["w.velocity"], v, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("mesh", ["dp=1", "dp=2"])
def test_adamw_is_its_formula(tmp_path, mesh):
    plan = compile_plan(LINEAR, tmp_path / "p.ofp", "--train", "--loss", "mean",
                        "--optimizer", "adamw", "--weight-decay", "0.04",
                        "--learning-rate", "0.02", "--mesh", mesh)
    names = ["w", "w.first_moment", "w.second_moment"]
    w, history = run_optimizer(plan, names)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for step, (values, gradient) in enumerate(history, start=1):
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        w = (w - 0.02 * 0.04 * w
             - 0.02 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8))
        for name, expected in zip(names, (w, m, v)):
            np.testing.assert_allclose(values[name], expected, rtol=1e-12, atol=1e-15)
