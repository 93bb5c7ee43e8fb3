# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`oneflow-run train` against a training in NumPy."""

import csv
import json
import os
import signal
import time

import numpy as np
import pytest
import safetensors.numpy

MASK = (1 << 64) - 1


def mix(value):
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def epoch_order(count, seed, epoch):
    """Fisher-Yates on splitmix64, with rejection."""
    state = mix((mix(seed + 1) + epoch) & MASK)
    order = list(range(count))
    for i in range(count, 1, -1):
        while True:
            state = (state + 0x9E3779B97F4A7C15) & MASK
            value = mix(state)
            if value >= (1 << 64) % i:
                break
        order[i - 1], order[value % i] = order[value % i], order[i - 1]
    return np.array(order)


class Softmax:
    """The model of the fake plan: softmax regression by gradient descent."""

    def __init__(self):
        self.weight = np.zeros((64, 10))
        self.bias = np.zeros(10)

    def logits(self, image):
        return image.reshape(len(image), 64) @ self.weight + self.bias

    def step(self, image, labels, rate):
        logits = self.logits(image)
        sums = np.exp(logits).sum(axis=1)
        rows = np.arange(len(labels))
        loss = np.mean(np.log(sums) - logits[rows, labels])
        grad = np.exp(logits) / sums[:, None]
        grad[rows, labels] -= 1
        grad /= len(labels)
        self.weight -= rate * image.reshape(len(image), 64).T @ grad
        self.bias -= rate * grad.sum(axis=0)
        return loss


def train_in_numpy(data, batch, epochs, seed, rate=0.5, steps=None):
    model, losses, epoch = Softmax(), [], 0
    while (epoch < epochs) if steps is None else (len(losses) < steps):
        epoch += 1
        order = epoch_order(len(data["labels"]), seed, epoch)
        for begin in range(0, len(order) - batch + 1, batch):
            if steps is not None and len(losses) == steps:
                break
            rows = order[begin : begin + batch]
            image = data["image"][rows].astype(np.float64)
            losses.append((epoch, model.step(image, data["labels"][rows], rate)))
    return model, losses


def read_log(path):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(range(1, len(rows) + 1))
    return [(int(row["epoch"]), float(row["loss"])) for row in rows]


def close(log, expected):
    assert [epoch for epoch, _ in log] == [epoch for epoch, _ in expected]
    np.testing.assert_allclose([loss for _, loss in log], [loss for _, loss in expected], rtol=1e-4)


@pytest.mark.parametrize("seed", [0, 12])
def test_epochs(work, seed):
    out, err = work.run(
        "train", "plan.ofp", "--data", "train.npz", "--validation", "test.npz", "--epochs", 4,
        "--seed", seed, "--save", "w.safetensors", "--loss-log", "l.csv", "--json",
    )  # fmt: skip
    model, losses = train_in_numpy(work.train, 8, 4, seed)
    assert len(losses) == 4 * 12
    close(read_log(work.path("l.csv")), losses)
    document = json.loads(out)
    assert document["steps"] == 48 and len(document["epochs"]) == 4
    for i, epoch in enumerate(document["epochs"]):
        mean = np.mean([loss for number, loss in losses if number == i + 1])
        assert epoch["mean_loss"] == pytest.approx(mean, rel=1e-4)
    guesses = np.argmax(model.logits(work.test["image"].astype(np.float64)), axis=1)
    assert document["validation_accuracy"] == pytest.approx(
        np.mean(guesses == work.test["labels"])
    )
    saved = safetensors.numpy.load_file(work.path("w.safetensors"))
    assert sorted(saved) == ["bias", "weight"]
    np.testing.assert_allclose(saved["weight"], model.weight, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(saved["bias"], model.bias, rtol=1e-3, atol=1e-5)
    assert "epoch 4: loss" in err and "validation accuracy" in err


def test_validation_of_sequences(work):
    """A label for every position, as language models have them."""
    halves = np.random.default_rng(5).integers(0, 5, (37, 2))
    save(work, "halves", image=work.test["image"], halves=halves)
    words = ["train", "plan.ofp", "--data", "train.npz", "--eval-entry", "halves"]
    out, _ = work.run(
        *words, "--validation", "halves.npz", "--labels", "halves", "--epochs", 2, "--json"
    )
    model, _ = train_in_numpy(work.train, 8, 2, 0)
    scores = model.logits(work.test["image"].astype(np.float64)).reshape(37, 2, 5)
    expected = np.mean(np.argmax(scores, axis=-1) == halves)
    assert json.loads(out)["validation_accuracy"] == pytest.approx(expected)
    out, _ = work.run(*words, "--validation", "halves.npz", "--labels", "halves")
    assert " of 74)" in out
    save(work, "flat", image=work.test["image"], halves=halves[:, 0])
    _, err = work.run(*words, "--validation", "flat.npz", "--labels", "halves", code=1)
    assert "are i64 [37], expected integers of shape [37, 2]" in err
    _, err = work.run("train", "plan.ofp", "--data", "train.npz", "--validation", "test.npz",
                      "--eval-entry", "sum", code=1)  # fmt: skip
    assert "[8, positions, classes] with a label for every position" in err


def test_what_is_no_training_plan(work):
    work.plan(inference="")
    _, err = work.run("train", "plan.ofp", "--data", "train.npz", code=1)
    assert "is for inference: its entries are 'main'; compile the model with --train" in err
    work.path("model.onnx").write_bytes(b"\x08\x0a")
    for words in (["train", "model.onnx", "--data", "train.npz"], ["info", "model.onnx"]):
        _, err = work.run(*words, code=1)
        assert "'model.onnx' is a model, not a plan" in err
        assert "oneflow-compile model.onnx -o model.ofp" in err


def test_options_by_other_names(work):
    def refused(*words):
        return work.run("train", "plan.ofp", "--data", "train.npz", *words, code=2)[1]

    assert "unknown option '--lr', did you mean '--learning-rate'?" in refused("--lr", "1")
    assert "unknown option '--val', did you mean '--validation'?" in refused("--val", "x")
    assert "unknown option '--batch-size', the plan has that fixed" in refused("--batch-size", "4")
    # No option of this command, so nothing to offer.
    assert "unknown option '--profiles'\n" in refused("--profiles")


def test_lines_for_people(work):
    out, err = work.run("train", "plan.ofp", "--data", "train.npz", "--epochs", 2)
    lines = out.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["epoch 1", "epoch 2"]
    assert lines[2].startswith("trained 24 steps in ")
    assert err == ""


def test_steps_and_learning_rate(work):
    work.run(
        "train", "plan.ofp", "--data", "train.npz", "--steps", 17, "--learning-rate", "0.125",
        "--loss-log", "l.csv",
    )  # fmt: skip
    _, losses = train_in_numpy(work.train, 8, None, 0, 0.125, steps=17)
    close(read_log(work.path("l.csv")), losses)


def test_state_resumes(work):
    work.run(
        "train", "plan.ofp", "--data", "train.npz", "--learning-rate", "0.25",
        "--save", "w.safetensors", "--save-state",
    )  # fmt: skip
    saved = safetensors.numpy.load_file(work.path("w.safetensors"))
    assert sorted(saved) == ["bias", "optimizer.learning_rate", "optimizer.steps", "weight"]
    assert saved["optimizer.steps"] == 12 and saved["optimizer.learning_rate"] == 0.25
    work.run(
        "train", "plan.ofp", "--data", "train.npz", "--weights", "w.safetensors",
        "--save", "v.safetensors", "--save-state",
    )  # fmt: skip
    saved = safetensors.numpy.load_file(work.path("v.safetensors"))
    assert saved["optimizer.steps"] == 24 and saved["optimizer.learning_rate"] == 0.25


@pytest.mark.skipif(
    os.environ.get("ONEFLOW_WITH_ONNX") not in ("ON", "1", "TRUE"), reason="built without ONNX"
)
def test_save_onnx(work):
    import onnxruntime
    from onnx import TensorProto, helper

    def source(*names):
        # Weights without values, as plans keep their source.
        shapes = {"weight": (64, 10), "bias": (10,)}
        tensors = [
            TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shapes[name])
            for name in names
        ]
        graph = helper.make_graph(
            [
                helper.make_node("Flatten", ["image"], ["x"]),
                helper.make_node("Gemm", ["x", *names], ["logits"]),
            ],
            "g",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 8, 8])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 10])],
            tensors,
        )
        model = helper.make_model(
            graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)]
        )
        work.path("m.onnx").write_bytes(model.SerializeToString())

    words = ["train", "plan.ofp", "--data", "train.npz", "--save-onnx", "out.onnx"]
    assert "holds no source model" in work.run(*words, code=1)[1]
    source("weight")
    work.plan(source_model=work.path("m.onnx"))
    assert "no tensor for variable 'bias'" in work.run(*words, code=1)[1]
    source("weight", "bias")
    work.run(*words)
    session = onnxruntime.InferenceSession(
        str(work.path("out.onnx")), providers=["CPUExecutionProvider"]
    )
    (got,) = session.run(None, {"image": work.test["image"]})
    model, _ = train_in_numpy(work.train, 8, 1, 0)
    np.testing.assert_allclose(got, model.logits(work.test["image"]), rtol=1e-3, atol=1e-4)


def test_refusals(work):
    def refused(*words):
        return work.run("train", "plan.ofp", *words, code=1)[1]

    assert "has no tensor 'labels'" in refused("--entry", "train", "--data", save(work, "x", image=work.train["image"]))
    assert "has 99 samples, expected 100" in refused(
        "--data", save(work, "x", image=work.train["image"], labels=work.train["labels"][:99])
    )
    assert "expected i64 [8] with any number" in refused(
        "--data", save(work, "x", image=work.train["image"], labels=work.train["labels"].astype("i4"))
    )
    assert "fewer than the plan's batch of 8" in refused(
        "--data", save(work, "x", image=work.train["image"][:7], labels=work.train["labels"][:7])
    )
    assert "has no entry 'evil'" in refused(
        "--data", "train.npz", "--validation", "test.npz", "--eval-entry", "evil"
    )
    assert "has no labels 'y'" in refused(
        "--data", "train.npz", "--validation", "test.npz", "--labels", "y"
    )
    assert "cannot write 'none/w.safetensors'" in refused(
        "--data", "train.npz", "--save", "none/w.safetensors"
    )
    work.plan(learning_rate_variable="rate")
    assert "no variable 'rate'" in refused("--data", "train.npz", "--learning-rate", "1")
    work.plan(loss_output="cost")
    assert "no output 'cost' to take the loss from" in refused("--data", "train.npz")
    work.plan(loss_output="correct")
    assert "expected one float as the loss" in refused("--data", "train.npz")


def save(work, name, **arrays):
    np.savez(work.path(name + ".npz"), **arrays)
    return name + ".npz"


def test_failing_step_keeps_the_log(work):
    labels = work.train["labels"].copy()
    labels[epoch_order(100, 0, 1)[5 * 8]] = 10
    data = save(work, "x", image=work.train["image"], labels=labels)
    _, err = work.run(
        "train", "plan.ofp", "--data", data, "--loss-log", "l.csv", "--save", "w.safetensors", code=1
    )
    assert "model.onnx:loss: label 10 is out of range" in err
    assert len(read_log(work.path("l.csv"))) == 5
    assert not work.path("w.safetensors").exists()


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt(work, number, code):
    work.plan(delay_ms=100)
    process = work.start(
        "train", "plan.ofp", "--data", "train.npz", "--epochs", 1000, "--loss-log", "l.csv"
    )
    time.sleep(1.5)
    start = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert time.monotonic() - start < 5
    assert "interrupted" in err
    assert len(read_log(work.path("l.csv"))) >= 1


def test_interrupt_cancels_a_long_run(work):
    work.plan(delay_ms=60_000)
    process = work.start("infer", "plan.ofp", "--input", "test.npz")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130
