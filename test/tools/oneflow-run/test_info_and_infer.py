# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`oneflow-run info` and `infer`, and the command line itself."""

import json
import os

import numpy as np
import pytest
import safetensors.numpy


def weights(seed=5):
    random = np.random.default_rng(seed)
    return {
        "weight": random.standard_normal((64, 10)).astype(np.float32),
        "bias": random.standard_normal(10).astype(np.float32),
    }


def logits(image, values):
    flat = image.reshape(len(image), 64).astype(np.float64)
    return flat @ values["weight"].astype(np.float64) + values["bias"]


@pytest.fixture
def trained(work):
    work.weights = weights()
    safetensors.numpy.save_file(work.weights, work.path("w.safetensors"))
    return work


def check(got, image, values):
    assert got.dtype == np.float32
    assert got.shape == (len(image), 10)
    np.testing.assert_allclose(got, logits(image, values), rtol=1e-5, atol=1e-5)


def test_help_and_version(work):
    out, _ = work.run("--help")
    assert all(word in out for word in ("info", "infer", "train", "--version"))
    assert work.run("--version")[0].startswith("oneflow-run ")
    for command in ("info", "infer", "train"):
        assert f"usage: oneflow-run {command} PLAN" in work.run(command, "--help")[0]


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "expected a command"),
        (["trian"], "unknown command 'trian', did you mean 'train'?"),
        (["infer"], "expected PLAN"),
        (["infer", "plan.ofp", "--imput", "x"], "did you mean '--input'?"),
        (["infer", "plan.ofp", "--threads", "many"], "expected an integer"),
        (["infer", "plan.ofp", "--transport", "tcp"], "expected local, mpi or auto"),
        (["infer", "plan.ofp", "--bench", "0"], "at least 1"),
        (["infer", "plan.ofp", "--bench", "--output", "x.npz"], "keeps no outputs"),
        (["train", "plan.ofp"], "expected '--data FILE'"),
        (["train", "plan.ofp", "--data", "x", "--epochs", "1", "--steps", "1"], "exclude"),
        (["train", "plan.ofp", "--data", "x", "--save", "x.npz"], ".safetensors"),
        (["train", "plan.ofp", "--data", "x", "--learning-rate", "fast"], "a number"),
    ],
)
def test_wrong_usage(work, words, message):
    out, err = work.run(*words, code=2)
    assert out == ""
    assert message in err


def test_info(work):
    document = json.loads(work.run("info", "plan.ofp", "--json")[0])
    assert document["ranks"] == 1
    entries = {entry["name"]: entry for entry in document["entries"]}
    assert entries["train"]["inputs"] == [
        {"name": "image", "dtype": "f32", "shape": [8, 1, 8, 8]},
        {"name": "labels", "dtype": "i64", "shape": [8]},
    ]
    assert entries["eval"]["outputs"] == [{"name": "logits", "dtype": "f32", "shape": [8, 10]}]
    variables = {variable["name"]: variable for variable in document["variables"]}
    assert variables["weight"]["trainable"] and not variables["optimizer.steps"]["trainable"]
    assert document["metadata"]["loss_output"] == "loss"
    text, _ = work.run("info", "plan.ofp")
    for word in ("weight", "[64, 10]", "trainable", "logits", "loss_output"):
        assert word in text


def test_bad_plans(work):
    assert "cannot open 'none.ofp'" in work.run("info", "none.ofp", code=1)[1]
    assert "is not a plan" in work.run("info", "train.npz", code=1)[1]


@pytest.mark.parametrize("count", [8, 1, 7, 16, 37])
def test_infer_any_number_of_samples(trained, count):
    image = trained.test["image"][:count]
    np.save(trained.path("x.npy"), image)
    out, _ = trained.run(
        "infer", "plan.ofp", "--input", "image=x.npy", "--weights", "w.safetensors",
        "--output", "logits=y.npy", "--json",
    )  # fmt: skip
    check(np.load(trained.path("y.npy")), image, trained.weights)
    document = json.loads(out)
    assert document["runs"] == -(-count // 8)
    assert document.get("padding", 0) == document["runs"] * 8 - count


def test_input_and_output_formats(trained):
    image = trained.test["image"]
    np.savez(trained.path("x.npz"), image=image, unrelated=np.zeros(3))
    safetensors.numpy.save_file({"image": image}, trained.path("x.safetensors"))
    np.save(trained.path("x.npy"), image)
    files = ["x.npz", "image=x.npz", "x.safetensors", "x.npy", "image=x.npy"]
    outputs = ["y.npz", "logits=y.npz", "y.safetensors", "y.npy", "logits=y.npy"]
    if os.environ.get("ONEFLOW_WITH_ONNX") in ("ON", "1", "TRUE"):
        from onnx import numpy_helper

        proto = numpy_helper.from_array(image, "image")
        trained.path("x.pb").write_bytes(proto.SerializeToString())
        files.append("x.pb")
        outputs.append("y.npy")
    for given, wanted in zip(files, outputs):
        trained.run(
            "infer", "plan.ofp", "--input", given, "--output", wanted, "--weights", "w.safetensors"
        )
        name = wanted.split("=")[-1]
        if name.endswith(".safetensors"):
            got = safetensors.numpy.load_file(trained.path(name))["logits"]
        else:
            got = np.load(trained.path(name))
            got = got["logits"] if name.endswith(".npz") else got
        check(got, image, trained.weights)
        os.remove(trained.path(name))


def test_output_folder_and_trace(trained):
    trained.run(
        "infer", "plan.ofp", "--input", "test.npz", "--output-dir", "out", "--trace", "t.json",
        "--weights", "w.safetensors",
    )  # fmt: skip
    check(np.load(trained.path("out/logits.npy")), trained.test["image"], trained.weights)
    assert "traceEvents" in json.loads(trained.path("t.json").read_text())


def test_without_output_the_result_is_described(trained):
    out, _ = trained.run("infer", "plan.ofp", "--input", "test.npz")
    assert "37 samples in 5 batches of 8, 3 padded" in out
    assert "logits: f32 [37, 10] = 0 0" in out


def test_infer_refusals(trained):
    def refused(*words):
        return trained.run("infer", "plan.ofp", *words, code=1)[1]

    np.save(trained.path("f64.npy"), trained.test["image"].astype(np.float64))
    np.save(trained.path("flat.npy"), trained.test["image"].reshape(37, 64))
    np.savez(trained.path("other.npz"), picture=np.zeros(3))
    assert "no file is given for input 'image'" in refused()
    assert "expects f32 [8, 1, 8, 8], got: f64" in refused("--input", "f64.npy")
    assert "got: f32 [37, 64]" in refused("--input", "flat.npy")
    assert "for none of the inputs" in refused("--input", "other.npz")
    assert "no input 'picture'" in refused("--input", "picture=other.npz")
    assert "no output 'score'" in refused("--input", "test.npz", "--output", "score=y.npy")
    assert "the plan has no entry 'mian', it has: 'train'" in refused("--entry", "mian")
    message = refused("--entry", "sum", "--input", "test.npz")
    assert "output 'total' of shape [] does not have the batch" in message
    safetensors.numpy.save_file({"wait": np.zeros(1)}, trained.path("v.safetensors"))
    assert "'wait', which is no variable" in refused(
        "--input", "test.npz", "--weights", "v.safetensors"
    )
    safetensors.numpy.save_file({"bias": np.zeros(9, np.float32)}, trained.path("v.safetensors"))
    assert "'bias' expects f32 [10], got in 'v.safetensors': f32 [9]" in refused(
        "--input", "test.npz", "--weights", "v.safetensors"
    )


def test_one_batch_needs_no_batched_outputs(work):
    np.save(work.path("x.npy"), work.test["image"][:8])
    work.run("infer", "plan.ofp", "--entry", "sum", "--input", "x.npy", "--output", "y.npy")
    np.testing.assert_allclose(
        np.load(work.path("y.npy")), work.test["image"][:8].sum(dtype=np.float64), rtol=1e-6
    )


def test_bench(work):
    work.plan(delay_ms=3)
    for data in ([], ["--input", "test.npz"]):
        document = json.loads(work.run("infer", "plan.ofp", "--bench", "10", "--json", *data)[0])
        assert document["runs"] == 10 and document["batch"] == 8
        assert 0.003 <= document["min_seconds"] <= document["median_seconds"]
        assert document["median_seconds"] <= document["p95_seconds"]
        assert document["samples_per_second"] == pytest.approx(8 / document["median_seconds"])
    out, _ = work.run("infer", "plan.ofp", "--bench")
    assert "over 100 runs" in out and "samples/s" in out
