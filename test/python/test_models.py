# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripts in python/models: the digits data, its classifier, the judge."""

import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from scipy.special import erf

MODELS = os.environ["ONEFLOW_MODELS"]


def start(script, *words, python=()):
    return subprocess.run(
        [sys.executable, *python, os.path.join(MODELS, script), *map(str, words)],
        capture_output=True,
        text=True,
    )


def run(script, *words, code=0):
    result = start(script, *words)
    assert result.returncode == code, result.stderr
    return result.stdout


def refused(script, *words, python=()):
    """What is said, in one line, of something that cannot be done."""
    result = start(script, *words, python=python)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    run("digits.py", "--output", folder)
    return folder


def forward(model, image, activations):
    """The classifier in NumPy, from the model's weights."""
    weights = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in model.graph.initializer}
    x = image.reshape(len(image), 64).astype(np.float64)
    for i in range(1, len(weights) // 2 + 1):
        x = x @ weights[f"fc{i}.weight"].T + weights[f"fc{i}.bias"]
        if i < len(weights) // 2:
            x = activations[(i - 1) % len(activations)](x)
    return x


def relu(x):
    return np.maximum(x, 0)


def gelu(x):
    return x * 0.5 * (1 + erf(x / np.sqrt(2)))


def test_data(digits):
    train = dict(np.load(digits / "digits_train.npz"))
    test = dict(np.load(digits / "digits_test.npz"))
    assert len(train["labels"]) + len(test["labels"]) == 1797
    for split in (train, test):
        assert split["image"].dtype == np.float32 and split["labels"].dtype == np.int64
        assert split["image"].shape == (len(split["labels"]), 1, 8, 8)
        assert split["image"].min() == 0 and split["image"].max() == 1
    # A fifth of every class, and no sample in both.
    for digit in range(10):
        held = np.sum(test["labels"] == digit)
        every = held + np.sum(train["labels"] == digit)
        assert abs(held - every / 5) <= 1
    # The data has duplicates of its own; what must not be is more of them.
    from sklearn.datasets import load_digits

    everything = np.concatenate([train["image"], test["image"]]).reshape(1797, 64)
    original = load_digits().data / 16
    order = lambda rows: rows[np.lexsort(rows.T)]
    np.testing.assert_allclose(order(everything), order(original), atol=1e-7)


def test_model(digits):
    model = onnx.load(digits / "digits_mlp.onnx")
    assert [d.dim_param or d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim] == [
        "batch", 1, 8, 8,
    ]  # fmt: skip
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("Gemm") == 3 and "Erf" in kinds and "Gelu" not in kinds
    names = [node.name for node in model.graph.node]
    assert len(set(names)) == len(names)

    image = np.load(digits / "digits_test.npz")["image"]
    run("evaluate.py", digits / "digits_mlp.onnx", digits / "digits_test.npz", "--save", digits / "o.npz")
    got = np.load(digits / "o.npz")
    expected = forward(model, image, [relu, gelu])
    np.testing.assert_allclose(got["logits"], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(got["predictions"], np.argmax(got["logits"], axis=1))


def test_options(tmp_path):
    words = ["--hidden", 20, 30, 40, "--activation", "tanh", "--dtype", "f64", "--seed", 3]
    run("digits.py", "--output", tmp_path, *words)
    model = onnx.load(tmp_path / "digits_mlp.onnx")
    run("evaluate.py", tmp_path / "digits_mlp.onnx", tmp_path / "digits_test.npz", "--save", tmp_path / "o.npz")
    got = np.load(tmp_path / "o.npz")["logits"]
    assert got.dtype == np.float64
    image = np.load(tmp_path / "digits_test.npz")["image"]
    np.testing.assert_allclose(got, forward(model, image, [np.tanh]), rtol=1e-12, atol=1e-13)


def test_same_seed_same_files(digits, tmp_path):
    run("digits.py", "--output", tmp_path)
    name = "digits_mlp.onnx"
    assert (tmp_path / name).read_bytes() == (digits / name).read_bytes()
    for name in ("digits_train.npz", "digits_test.npz"):
        with np.load(tmp_path / name) as a, np.load(digits / name) as b:
            for key in ("image", "labels"):
                np.testing.assert_array_equal(a[key], b[key])
    run("digits.py", "--output", tmp_path, "--seed", 1, "--only", "model")
    assert (tmp_path / "digits_mlp.onnx").read_bytes() != (digits / "digits_mlp.onnx").read_bytes()


def test_evaluate_compares(digits):
    model, data = digits / "digits_mlp.onnx", digits / "digits_test.npz"
    run("evaluate.py", model, data, "--save", digits / "o.npz")
    logits = np.load(digits / "o.npz")["logits"]
    report = json.loads(run("evaluate.py", model, data, "--batch", 32, "--compare", digits / "o.npz", "--max-abs", 1e-5))
    labels = np.load(data)["labels"]
    assert report["accuracy"] == np.mean(np.argmax(logits, axis=1) == labels)
    assert report["prediction_agreement"] == 1
    other = logits.copy()
    other[3, 4] += 0.5
    np.savez(digits / "other.npz", scores=other)
    words = [model, data, "--compare", digits / "other.npz"]
    report = json.loads(run("evaluate.py", *words))
    assert report["max_abs_diff"] == pytest.approx(0.5, rel=1e-5)
    run("evaluate.py", *words, "--max-abs", 0.6)
    run("evaluate.py", *words, "--max-abs", 0.4, code=1)
    other[3, 4] = np.nan
    np.savez(digits / "other.npz", scores=other)
    run("evaluate.py", *words, "--max-abs", 0.6, code=1)


def test_evaluate_judges_sequences(tmp_path):
    run("transformer.py", "--output", tmp_path, "--samples", 24, "--sequence", 12, "--layers", 1)
    model, data = tmp_path / "transformer.onnx", tmp_path / "tokens.npz"
    report = json.loads(run("evaluate.py", model, data, "--batch", 8, "--save", tmp_path / "o.npz"))
    logits = np.load(tmp_path / "o.npz")["logits"].astype(np.float64)
    labels = np.load(data)["labels"]
    assert logits.shape[:2] == labels.shape == (24, 12)
    assert report["accuracy"] == np.mean(np.argmax(logits, axis=2) == labels)
    likelihood = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    losses = -np.log(np.take_along_axis(likelihood, labels[..., None], axis=2))
    assert report["loss"] == pytest.approx(losses.mean())
    assert report["perplexity"] == pytest.approx(np.exp(losses.mean()))
    assert np.load(tmp_path / "o.npz")["predictions"].shape == (24, 12)
    report = json.loads(run("evaluate.py", model, data, "--compare", tmp_path / "o.npz", "--max-abs", 1e-4))
    assert report["prediction_agreement"] == 1

    tokens = np.load(data)["tokens"]
    bad = tmp_path / "bad.npz"
    np.savez(bad, tokens=tokens, labels=labels[:, :5])
    assert "integer labels of shape [24, 12]" in refused("evaluate.py", model, bad)
    np.savez(bad, tokens=tokens.astype(np.float32), labels=labels)
    assert "cannot run on this data" in refused("evaluate.py", model, bad)
    np.savez(bad, labels=labels)
    assert "no 'tokens'" in refused("evaluate.py", model, bad)
    bad.write_text("none")
    assert "no .npz that can be read" in refused("evaluate.py", model, bad)
    assert "cannot load the model" in refused("evaluate.py", bad, data)


@pytest.mark.parametrize("script", ["digits.py", "transformer.py", "evaluate.py"])
def test_missing_packages_are_named(script):
    # -S leaves the installed packages out.
    assert "'numpy' is not installed" in refused(script, "--help", python=["-S"])
