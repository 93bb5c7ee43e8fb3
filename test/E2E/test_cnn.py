# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A residual network with batch norm learns digits, in parallel as on one rank."""

import csv
import json
import os
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from runtime import compile_plan, execute, run_tool

MODELS = pathlib.Path(os.environ["ONEFLOW_MODELS"])
BATCH = 64
# Channels of a block made apart, and added up by the convolution behind them.
TENSOR_PARALLEL = ["--sbp", "stem.*=B@tp"] + [
    hint for layer in ("layer1", "layer2") for hint in (
        "--sbp", f"{layer}.0.conv.weight=S(0)@tp", "--sbp", f"{layer}.0.bn.*=S(0)@tp",
        "--sbp", f"{layer}.1.conv.weight=S(1)@tp")]
MESHES = {
    "one": ["--mesh", "dp=1"],
    "dp2": ["--mesh", "dp=2"],
    "dp3": ["--mesh", "dp=3"],  # 22, 21 and 21 samples of each batch
    "tp2": ["--mesh", "tp=2", *TENSOR_PARALLEL],
    "dp2tp2": ["--mesh", "dp=2,tp=2", *TENSOR_PARALLEL],
}


class Workplace:
    def __init__(self, folder):
        self.folder = folder
        for dtype in ("f64", "f32"):
            execute(sys.executable, MODELS / "digits.py", "--output", folder / dtype,
                    "--dtype", dtype, "--model", "cnn")
        self.plans, self.curves = {}, {}

    def plan(self, dtype, mesh):
        key = dtype, mesh
        if key not in self.plans:
            self.plans[key] = compile_plan(
                self.folder / dtype / "digits_cnn.onnx", self.folder / f"{dtype}-{mesh}.ofp",
                "--dim", f"batch={BATCH}", "--train", *MESHES[mesh])
        return self.plans[key]

    def losses(self, dtype, mesh, steps):
        log = self.folder / "losses.csv"
        run_tool("train", self.plan(dtype, mesh), "--data",
                 self.folder / dtype / "digits_train.npz", "--steps", steps,
                 "--loss-log", log, "--threads", 1)
        with open(log) as file:
            return np.array([float(row["loss"]) for row in csv.DictReader(file)])

    def one_rank(self, dtype, steps):
        if dtype not in self.curves:
            self.curves[dtype] = self.losses(dtype, "one", steps)
        return self.curves[dtype]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return Workplace(tmp_path_factory.mktemp("cnn"))


@pytest.mark.parametrize("mesh", [name for name in MESHES if name != "one"])
@pytest.mark.parametrize("dtype, steps, limit", [("f64", 30, 1e-9), ("f32", 10, 1e-5)])
def test_loss_curves_agree(work, dtype, steps, limit, mesh):
    expected = work.one_rank(dtype, steps)
    found = work.losses(dtype, mesh, steps)
    assert len(expected) == steps and expected[-1] < 0.9 * expected[0]
    np.testing.assert_allclose(found, expected, rtol=limit)


@pytest.mark.parametrize("mesh", ["one", "dp2", "tp2"])
def test_digits_are_learned(work, tmp_path, mesh):
    """98 % of the held-out fifth, and onnxruntime agrees with the trained model, whose
    running statistics have left what they were."""
    plan, folder = work.plan("f32", mesh), work.folder / "f32"
    report = json.loads(run_tool(
        "train", plan, "--data", folder / "digits_train.npz", "--validation",
        folder / "digits_test.npz", "--epochs", 12, "--threads", 1, "--json", "--save",
        tmp_path / "w.safetensors", "--save-onnx", tmp_path / "trained.onnx"))
    assert report["validation_accuracy"] >= 0.98
    run_tool("infer", plan, "--entry", "eval", "--weights", tmp_path / "w.safetensors",
             "--input", folder / "digits_test.npz", "--output",
             f"logits={tmp_path / 'logits.npy'}")
    logits = np.load(tmp_path / "logits.npy")
    session = onnxruntime.InferenceSession(tmp_path / "trained.onnx",
                                           providers=["CPUExecutionProvider"])
    [expected] = session.run(["logits"],
                             {"image": np.load(folder / "digits_test.npz")["image"]})
    np.testing.assert_allclose(logits, expected, atol=2e-4)
    variances = [numpy_helper.to_array(tensor)
                 for tensor in onnx.load(tmp_path / "trained.onnx").graph.initializer
                 if tensor.name.endswith("running_var")]
    assert len(variances) == 6 and all(np.all(value != 1) for value in variances)
