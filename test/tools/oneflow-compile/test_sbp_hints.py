# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What hints, files of them and attributes pin, seen in the signatures."""

import os
import re
import subprocess

import pytest

import sbp_models as models

COMPILE = os.environ["ONEFLOW_COMPILE"]
OPT = os.environ["ONEFLOW_OPT"]


def spread(folder, model, *options):
    """The spread module's text."""
    path = folder / "model.onnx"
    if isinstance(model, str):
        path = folder / "model.mlir"
        path.write_text(model)
    else:
        path.write_bytes(model.SerializeToString())
    done = subprocess.run([COMPILE, str(path), *options, "--emit", "spread"],
                          capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def signature(text, op):
    """Operands and results of the first op of that name, as texts."""
    line = next(line for line in text.splitlines() if f"oneflow.{op} " in line)
    found = re.search(r" sbp \((.*?\]|)\) -> \((.*?\]|)\)", line)
    return [re.findall(r"\[.*?\]", part) for part in found.groups()]


def storage(text, name):
    return re.search(rf"variable @{name} .*?storage (\[.*?\])", text)[1]


def test_an_open_hint_leaves_other_axes_free(tmp_path):
    text = spread(tmp_path, models.two_layers(), "--mesh", "dp=2,tp=2",
                  "--sbp", "act=S(1)@tp")
    assert signature(text, "relu")[1] == ["[S(0), S(1)]"]


def test_a_closed_hint_pins_all_axes(tmp_path):
    text = spread(tmp_path, models.two_layers(), "--mesh", "dp=2,tp=2",
                  "--sbp", "act=[B, S(1)]")
    assert signature(text, "relu")[1] == ["[B, S(1)]"]


def test_a_question_mark_leaves_an_axis_free(tmp_path):
    text = spread(tmp_path, models.two_layers(), "--mesh", "dp=2,tp=2",
                  "--sbp", "act=[?, S(1, block=2)]")
    assert signature(text, "relu")[1] == ["[S(0), S(1, block = 2)]"]


def test_use_and_storage_of_a_weight_are_apart(tmp_path):
    text = spread(tmp_path, models.two_layers(), "--mesh", "dp=2",
                  "--sbp", "fc1.weight=S(0)@dp", "--sbp", "fc1:in1=B@dp")
    assert storage(text, "fc1.weight") == "[S(0)]"
    assert signature(text, "matmul")[0][1] == "[B]"
    assert "([S(0)]) -> ([B]) : tensor<12x8xf32>" in text


def test_operands_are_counted_over_the_ops_of_a_node(tmp_path):
    # fc1 is a product and a sum: its operands are x, the weight, the bias.
    text = spread(tmp_path, models.two_layers(), "--mesh", "tp=2", "--sbp", "fc1:in2=S(0)@tp")
    assert signature(text, "add")[0][1] == "[S(0)]"


def test_hints_of_a_file_and_of_the_command_line(tmp_path):
    (tmp_path / "tp.txt").write_text("# comment\n\nfc1.weight = S(0, block = 2) @ tp # columns\n")
    text = spread(tmp_path, models.two_layers(), "--mesh", "tp=2", "--sbp-file", "tp.txt",
                  "--sbp", "fc2.weight=S(1)@tp")
    assert storage(text, "fc1.weight") == "[S(0, block = 2)]"
    assert storage(text, "fc2.weight") == "[S(1)]"


@pytest.mark.parametrize("hints, expected", [
    ("hints=w=S(0)@p", "[S(0)]"), ("hints={w=S(0, block=2)@p}", "[S(0, block = 2)]"),
    ("hints=w=S(0,block=2)@p,x=B@p", "[S(0, block = 2)]"),
    ("hints={x=[B], w=[S(0, block = 4)]}", "[S(0, block = 4)]")])
def test_commas_within_brackets_do_not_separate(tmp_path, hints, expected):
    path = tmp_path / "m.mlir"
    path.write_text("""\
oneflow.variable @w : tensor<8x4xf32>
func.func @main() {
  %x = oneflow.input "x" : tensor<8x4xf32>
  %w = oneflow.read @w : tensor<8x4xf32>
  %0 = oneflow.add %x, %w : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  oneflow.output "y" %0 : tensor<8x4xf32>
  return
}
""")
    done = subprocess.run([OPT, str(path), f"--oneflow-spread-pipeline=mesh=p=2 {hints}"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert storage(done.stdout, "w") == expected


def test_attributes_pin_and_vanish(tmp_path):
    text = spread(tmp_path, """\
oneflow.variable @w : tensor<8x4xf32> {oneflow.sbp = ["S(0)@a", "S(1)@b"]}
func.func @main() {
  %x = oneflow.input "x" {oneflow.sbp = ["[S(0), ?]"]} : tensor<16x8xf32>
  %w = oneflow.read @w : tensor<8x4xf32>
  %0 = oneflow.matmul %x, %w {oneflow.sbp = ["in1=[B, B]", "out0=S(0)@b"]}
      : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %1 = oneflow.transpose %0 [0, 1] {oneflow.sbp = ["S(1)@b"]}
      : (tensor<16x4xf32>) -> tensor<16x4xf32>
  oneflow.output "y" %1 : tensor<16x4xf32>
  return
}
""", "--mesh", "a=2,b=2")
    assert storage(text, "w") == "[S(0), S(1)]"
    operands, results = signature(text, "matmul")
    assert (operands[1], results[0]) == ("[B, B]", "[S(0), S(0)]")
    assert signature(text, "transpose")[1][0].endswith(", S(1)]")
    assert "oneflow.sbp" not in text


def test_training_keeps_the_pins_of_both_entries(tmp_path):
    text = spread(tmp_path, models.two_layers(), "--train", "--loss", "mean", "--mesh",
                  "dp=2,tp=2", "--sbp", "act=[S(0), S(1)]")
    results = [re.search(r"-> \((\[.*?\])\)", line)[1] for line in text.splitlines()
               if "oneflow.relu " in line]
    assert results == ["[S(0), S(1)]"] * 2


def imported(folder, proto):
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    done = subprocess.run([COMPILE, "model.onnx", "--emit", "import"], capture_output=True,
                          text=True, timeout=120, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


def test_a_sharding_of_what_is_not_computed_is_told(tmp_path):
    proto = models.configure(models.heads(), devices=2)
    models.shard(proto, "heads", "shape", {}, [-1], {-1: [0, 1]})
    assert imported(tmp_path, proto).stderr == (
        "heads (model.onnx:1): warning: node 'heads': sharding of 'shape': has no effect, "
        "since nothing is computed with it when the model runs\n")


def test_a_recognized_gelu_keeps_the_shardings_of_its_ends(tmp_path):
    proto = models.configure(models.gelu(), devices=2)
    models.shard(proto, "half", "x", {0: 2}, [0, 1])
    models.shard(proto, "product", "y", {1: 2}, [0, 1])
    text = imported(tmp_path, proto).stdout
    line = next(line for line in text.splitlines() if "oneflow.gelu" in line)
    assert "#oneflow.sharding<out 0, groups = [[0], [1]], dims = [[1, 2]]" in line
    assert "#oneflow.sharding<in 0, groups = [[0], [1]], dims = [[0, 2]]" in line


def test_pipeline_stages_are_not_used(tmp_path):
    proto = models.configure(models.two_layers(), devices=1)
    proto.graph.node[0].device_configurations.add(configuration_id="cluster",
                                                  pipeline_stage=1)
    done = imported(tmp_path, proto)
    assert done.stderr == "" and "oneflow.sharding" not in done.stdout
