# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""oneflow-compile as a user meets it: every level as text, explanations, mistakes."""

import os
import subprocess
import sys

import pytest

COMPILE = os.environ["ONEFLOW_COMPILE"]
OPT = os.environ["ONEFLOW_OPT"]
RUN = os.environ["ONEFLOW_RUN"]
TENSOR_PARALLEL = ["--mesh", "tp=2", "--sbp", "fc1.*=S(0)@tp",
                   "--sbp", "fc2.weight=S(1)@tp", "--sbp", "fc3.*=S(0)@tp"]


def run(*command, check=True):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if check:
        assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("digits")
    run(sys.executable, os.path.join(os.environ["ONEFLOW_MODELS"], "digits.py"),
        "--output", str(path))
    return path


def compile_digits(folder, *options, check=True):
    return run(COMPILE, str(folder / "digits_mlp.onnx"), "--dim", "batch=64", *options,
               check=check)


@pytest.mark.parametrize("level", ["import", "logical", "spread", "comm", "actor"])
def test_every_level_is_text_that_reads_back(folder, tmp_path, level):
    first, second = tmp_path / "first.mlir", tmp_path / "second.mlir"
    compile_digits(folder, "--train", *TENSOR_PARALLEL, "--emit", level, "-o", str(first))
    run(OPT, str(first), "-o", str(second))
    again = run(OPT, str(second)).stdout
    assert again == second.read_text()
    assert {"import": "oneflow.matmul", "logical": "oneflow.adamw_update",
            "spread": "oneflow.boxing", "comm": "comm.kernel",
            "actor": "actor.launch"}[level] in again


@pytest.mark.parametrize("level", ["import", "logical", "spread"])
def test_compiling_goes_on_from_a_written_level(folder, tmp_path, level):
    text = tmp_path / "model.mlir"
    compile_digits(folder, "--mesh", "dp=2", "--emit", level, "-o", str(text))
    plans = [tmp_path / "direct.ofp", tmp_path / "from_text.ofp"]
    compile_digits(folder, "--mesh", "dp=2", "-o", str(plans[0]))
    # A spread module has its mesh already.
    mesh = [] if level == "spread" else ["--mesh", "dp=2"]
    run(COMPILE, str(text), *mesh, "-o", str(plans[1]))
    outputs = []
    for plan in plans:
        output = str(plan) + ".npz"
        run(RUN, "infer", str(plan), "--input", str(folder / "digits_test.npz"),
            "--output", output)
        outputs.append(open(output, "rb").read())
    assert outputs[0] == outputs[1]


def explained(folder, tmp_path, *options):
    lines = compile_digits(folder, "--explain", "-o", str(tmp_path / "p.ofp"),
                           *options).stdout.splitlines()
    keys = lines[0].split("\t")
    return [dict(zip(keys, line.split("\t"))) for line in lines[1:]]


def test_data_parallel_reduces_each_gradient_once(folder, tmp_path):
    rows = [row for row in explained(folder, tmp_path, "--train", "--mesh", "dp=2")
            if row["function"] == "train"]
    assert {row["step"] for row in rows} == {"all-reduce"}
    # Six parameters and the loss; 2 (p - 1) |T| bytes each.
    assert len(rows) == 7
    weight = [row for row in rows if row["tensor"] == "tensor<128x64xf32>"]
    assert [row["bytes"] for row in weight] == [str(2 * 128 * 64 * 4)]
    assert "/fc1/Gemm" in weight[0]["source"]


def test_class_split_logits_are_not_gathered(folder, tmp_path):
    rows = [row for row in explained(folder, tmp_path, "--train", *TENSOR_PARALLEL)
            if row["function"] == "train"]
    assert not any("gather" in row["step"] for row in rows)
    assert {row["from"] for row in rows} == {"[P(sum)]", "[P(max)]"}


def test_signatures_are_explained_by_what_they_follow(folder, tmp_path):
    result = compile_digits(folder, "--explain-signatures", "-o", str(tmp_path / "p.ofp"),
                            "--mesh", "tp=2", "--sbp", "fc1.weight=S(0)@tp")
    remarks = result.stderr.splitlines()
    assert all(": remark: sbp " in line for line in remarks)
    pin = "pinned by --sbp 'fc1.weight=S(0)@tp'"
    weight, = (line for line in remarks if line.startswith("fc1.weight "))
    assert f"remark: sbp [S(0)]; tp: {pin}" in weight
    products = [line for line in remarks if line.startswith("/fc1/Gemm ")]
    assert any("([B], [S(0)]) -> ([S(1)]); tp: follows operand 1, " in line and
               line.endswith(f"(from @fc1.weight: {pin})") for line in products)


def test_one_rank_moves_nothing(folder, tmp_path):
    assert explained(folder, tmp_path, "--train") == []


MISTAKES = {
    # name: (options, exit status, what the message holds)
    "no such axis size": (["--mesh", "dp=0"], 2, "--mesh: expected a positive size"),
    "mesh is no list": (["--mesh", "dp"], 2, "--mesh: expected AXIS=SIZE"),
    "unknown dimension": (["--dim", "bat=3"], 1, "it has: batch"),
    "extent is no number": (["--dim", "batch=x"], 2, "--dim name=extent"),
    "hint matches nothing": (["--sbp", "fc9.weight=S(0)@dp"], 1, "nearest name"),
    "hint with unknown axis": (["--sbp", "fc1.weight=S(0)@tp"], 2, "--mesh dp=1: no axis 'tp'"),
    "hint is no SBP": (["--sbp", "fc1.weight=Q@dp"], 2, "--sbp: expected"),
    "split of a missing dimension": (["--mesh", "tp=2", "--sbp", "fc1.weight=S(7)@tp"], 1,
                                     "nearest"),
    "split finer than the dimension": (
        ["--mesh", "tp=16", "--sbp", "fc3.weight=S(0)@tp"], 1, "fc3.weight"),
    "unknown loss": (["--train", "--loss", "hinge"], 2, "cross-entropy or mean"),
    "unknown optimizer": (["--train", "--optimizer", "lion"], 2, "adamw or sgd or none"),
    "negative learning rate": (["--train", "--learning-rate", "-1"], 2, "at least 0"),
    "optimizer without training": (["--optimizer", "sgd"], 2, "goes with --train"),
    "unknown output": (["--train", "--loss-output", "nope"], 1, "nope"),
    "no such device": (["--device", "tpu"], 2, "--device cpu"),
    "no gpu yet": (["--device", "cuda"], 2, "cpu only"),
    "folder does not exist": (["-o", "/nonexistent/p.ofp"], 1, "/nonexistent/p.ofp"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_and_leave_nothing(folder, tmp_path, name):
    options, status, message = MISTAKES[name]
    if "-o" not in options:
        options = options + ["-o", str(tmp_path / "p.ofp")]
    done = compile_digits(folder, *options, check=False)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert "error: " in done.stderr
    assert "Stack dump" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content, name, message", [
    (b"", "empty.onnx", "empty"), (b"\xff" * 100, "garbage.onnx", "garbage"),
    (b"func.func @main( {", "broken.mlir", "broken.mlir"), (b"x", "model.txt", ".onnx or .mlir")])
def test_files_that_are_no_models(tmp_path, content, name, message):
    path = tmp_path / name
    path.write_bytes(content)
    done = run(COMPILE, str(path), check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == [name]
