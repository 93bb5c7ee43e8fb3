# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""oneflow-compile as a user meets it: every level as text, explanations, mistakes."""

import os
import re
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


@pytest.mark.parametrize("level", ["comm", "actor"])
def test_lower_levels_are_not_compiled(folder, tmp_path, level):
    text = tmp_path / "model.mlir"
    compile_digits(folder, "--mesh", "dp=2", "--emit", level, "-o", str(text))
    done = run(COMPILE, str(text), check=False)
    assert done.returncode == 1
    assert ("as --emit import, logical or spread writes it, got one of the level "
            f"{level}: ") in done.stderr


def explained(folder, tmp_path, *options):
    lines = compile_digits(folder, "--explain", "-o", str(tmp_path / "p.ofp"),
                           *options).stdout.splitlines()
    keys = lines[0].split("\t")
    rows = [dict(zip(keys, line.split("\t"), strict=True)) for line in lines[1:]]
    steps = [row for row in rows if row["step"] != "total"]
    totals = [row for row in rows if row["step"] == "total"]
    assert len({row["function"] for row in totals}) == len(totals) > 0
    for total in totals:
        assert total == [row for row in rows if row["function"] == total["function"]][-1]
        own = [row for row in steps if row["function"] == total["function"]]
        assert int(total["bytes"]) == sum(int(row["bytes"]) for row in own)
        assert int(total["peak_bytes"]) == max((int(row["peak_bytes"]) for row in own), default=0)
        assert float(total["microseconds"]) == pytest.approx(
            sum(float(row["microseconds"]) for row in own), abs=0.01 * len(own))
        assert total["source"] .split()[0] == str(len(own))
    return steps


def test_passes_are_told(folder, tmp_path):
    """What data and tensor parallelism move when, and a sharded optimizer at its end."""
    def passes(*options):
        return {(row["pass"], row["step"]) for row in explained(folder, tmp_path, "--train",
                *options) if row["function"] == "train"}

    # The mean loss is forward, gradients are backward.
    assert passes("--mesh", "dp=2") == {("forward", "all-reduce"), ("backward", "all-reduce")}
    for row in explained(folder, tmp_path, "--train", "--mesh", "dp=2"):
        if row["function"] == "train":
            assert (row["pass"] == "forward") == ("loss" in row["source"]), row
        else:
            assert row["pass"] == "forward"
    # Parameters held in parts are gathered for the step, not behind it.
    sharded = passes("--mesh", "dp=2", "--sbp", "fc?.weight=S(0)@dp")
    assert ("forward", "all-gather") in sharded and ("backward", "reduce-scatter") in sharded
    assert {what for what, _ in passes("--mesh", "dp=2", "--optimizer", "none")} == {
        "forward", "backward"}


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


def test_names_survive_the_text(folder, tmp_path):
    """Hints by node on a module that was written and read; and what is said without names."""
    named, bare = tmp_path / "named.mlir", tmp_path / "bare.mlir"
    compile_digits(folder, "--emit", "import", "--emit-locations", "-o", str(named))
    compile_digits(folder, "--emit", "import", "-o", str(bare))
    hint = ["--mesh", "tp=2", "--sbp", "/fc1/Gemm=S(1)@tp", "--emit", "spread"]
    spread = compile_digits(folder, *hint).stdout
    assert run(COMPILE, str(named), *hint).stdout == spread
    assert "-> ([S(1)])" in spread
    done = run(COMPILE, str(bare), *hint, check=False)
    assert done.returncode == 1
    assert "the module names no nodes" in done.stderr and "--emit-locations" in done.stderr
    done = compile_digits(folder, "--emit-locations", check=False)
    assert done.returncode == 2 and "--emit-locations goes with --emit" in done.stderr


def test_signatures_are_explained_by_what_they_follow(folder, tmp_path):
    result = compile_digits(folder, "--explain-signatures", "-o", str(tmp_path / "p.ofp"),
                            "--mesh", "tp=2", "--sbp", "fc1.weight=S(0)@tp")
    remarks = result.stderr.splitlines()
    assert all(re.search(r": remark: (@[\w.]+|main: \w+(, out\d+)*) sbp ", line)
               for line in remarks)
    pin = "pinned by --sbp 'fc1.weight=S(0)@tp'"
    weight, = (line for line in remarks if line.startswith("fc1.weight "))
    assert f"remark: @fc1.weight sbp [S(0)]; tp: {pin}" in weight
    products = [line for line in remarks if line.startswith("/fc1/Gemm ")]
    assert any("([B], [S(0)]) -> ([S(1)]); tp: follows operand 1, " in line and
               line.endswith(f"(from @fc1.weight: {pin})") for line in products)


def test_reasons_end(folder, tmp_path):
    """No reason goes in a circle, and every line says whose it is."""
    text = compile_digits(folder, "--train", "--explain-signatures", "-o", str(tmp_path / "p.ofp"),
                          *TENSOR_PARALLEL).stderr
    remarks = [line.split(": remark: ", 1)[1] for line in text.splitlines()]
    names = [line.split(" sbp ")[0] for line in remarks]
    variables = [name for name in names if name.startswith("@")]
    assert len(variables) == len(set(variables))
    assert {"@fc1.weight", "@fc1.weight.first_moment"} <= set(variables), variables
    assert {name.split(": ")[0] for name in names if ":" in name} == {"train", "eval"}
    goes_along = re.compile(r"; tp: (follows |fits |lies as )")
    for line in remarks:
        assert bool(goes_along.search(line)) == (" (from " in line), line
        origin = line.rsplit(" (from ", 1)[-1] if " (from " in line else ""
        assert not re.search(r": (follows |fits its |lies as )", origin), line
        assert not re.search(r"by 0 us|by \d\.\d*e-", line), line
        assert "fits its use," not in line
    moment, = (line for line in remarks if line.startswith("@fc2.weight.first_moment "))
    assert "pinned by being like @fc2.weight" in moment


def test_one_rank_moves_nothing(folder, tmp_path):
    assert explained(folder, tmp_path, "--train") == []


MISTAKES = {
    # name: (options, exit status, what the message holds)
    "no such axis size": (["--mesh", "dp=0"], 2, "--mesh: expected a positive size"),
    "mesh is no list": (["--mesh", "dp"], 2, "--mesh: expected AXIS=SIZE"),
    "unknown dimension": (["--dim", "bat=3"], 1, "it has: batch"),
    "extent is no number": (["--dim", "batch=x"], 2, "--dim name=extent"),
    "hint matches nothing": (["--sbp", "fc9.weight=S(0)@dp"], 1, "nearest name"),
    "hint without a mesh": (["--sbp", "fc1.weight=S(0)@tp"], 2, "--sbp 'fc1.weight=S(0)@tp': no "
                            "--mesh was given, and the default, dp=1, has no axis 'tp': say --mesh "
                            "tp=N"),
    "hint of two axes without a mesh": (["--sbp", "fc1.weight=[B, S(0)]"], 2, "no --mesh was "
                                        "given, and the default, dp=1, has one axis, expected 2"),
    "hint with unknown axis": (["--mesh", "dp=1", "--sbp", "fc1.weight=S(0)@tp"], 2,
                               "--mesh dp=1: no axis 'tp'"),
    "flag of another tool": (["--lr", "1e-3"], 2, "oneflow-compile: error: unknown flag --lr, did "
                             "you mean --learning-rate?; see oneflow-compile --help\n"),
    "misspelled flag": (["--explan-signatures"], 2, "flag --explan-signatures, did you mean "
                        "--explain-signatures?"),
    "flag cut short": (["--learning=1"], 2, "unknown flag --learning, did you mean "
                       "--learning-rate?"),
    "flag of running": (["--epochs", "3"], 2, "unknown flag --epochs, which is told to oneflow-run"),
    "flag of an extent": (["--batch-size", "3"], 2, "did you mean --dim batch=N?"),
    "flag like none": (["--quux"], 2, "unknown flag --quux; see"),
    "flag of LLVM": (["--vectorize-looops"], 2, "unknown flag --vectorize-looops; see"),
    "hint is no SBP": (["--sbp", "fc1.weight=Q@dp"], 2, "--sbp: expected"),
    "split of a missing dimension": (["--mesh", "tp=2", "--sbp", "fc1.weight=S(7)@tp"], 1,
                                     "nearest"),
    "split finer than the dimension": (
        ["--mesh", "tp=16", "--sbp", "fc3.weight=S(0)@tp"], 1, "fc3.weight"),
    "unknown loss": (["--train", "--loss", "hinge"], 2, "cross-entropy or mean"),
    "unknown optimizer": (["--train", "--optimizer", "lion"], 2, "adamw or sgd or none"),
    "negative learning rate": (["--train", "--learning-rate", "-1"], 2, "at least 0"),
    "optimizer without training": (["--optimizer", "sgd"], 2, "goes with --train"),
    "unknown output": (["--train", "--loss-output", "nope"], 1,
                       "error: expected an output 'nope', got: logits"),
    "unknown precision": (["--precision", "fp8"], 2, "--precision f32, bf16 or f16, got: fp8"),
    "precision of an unknown op": (
        ["--precision", "bf16", "--precision-ops", "gemm=low"], 2,
        "--precision-ops: no op 'gemm' computes in a type of its choice; expected one of add"),
    "precision that is none": (["--precision", "bf16", "--precision-ops", "matmul=mid"], 2,
                               "op=low, op=high or op=follow, got: 'matmul=mid'"),
    "list without precision": (["--precision-ops", "matmul=high"], 2,
                               "goes with --precision"),
    "scale without training": (["--precision", "f16", "--loss-scale", "dynamic"], 2,
                               "--loss-scale goes with --train"),
    "scale without an optimizer": (
        ["--train", "--optimizer", "none", "--loss-scale", "8"], 2,
        "--loss-scale goes with --optimizer adamw or sgd"),
    "scale that is none": (["--train", "--loss-scale", "big"], 2,
                           "--loss-scale dynamic, none or a positive number, got: big"),
    "negative scale": (["--train", "--loss-scale", "-8"], 2, "positive number, got: -8"),
    "scale beyond f32": (["--train", "--loss-scale", "1e60"], 2, "got: 1e60"),
    "start of a fixed scale": (["--train", "--loss-scale", "8", "--loss-scale-start", "8"],
                               2, "--loss-scale-start goes with --loss-scale dynamic"),
    "interval without scale": (
        ["--train", "--precision", "bf16", "--loss-scale-interval", "8"], 2,
        "--loss-scale-interval goes with --loss-scale dynamic"),
    "empty interval": (["--train", "--loss-scale", "dynamic", "--loss-scale-interval", "0"],
                       2, "at least 1, got: 0"),
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
    assert done.stderr.count("error: ") == 1
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
