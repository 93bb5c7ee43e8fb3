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


@pytest.mark.parametrize("hint, op, operand", [
    ("product=S(1)@tp", "matmul", None), ("product:out0=S(1)@tp", "matmul", None),
    ("product:in0=S(0)@tp", "matmul", 0), ("product:in1=S(1)@tp", "matmul", 1),
    ("sum=S(1)@tp", "add", None), ("sum:in0=S(0)@tp", "add", 0),
    ("sum:in1=S(1)@tp", "add", 1)])
def test_a_hint_on_a_packed_node_pins_all_its_parts(tmp_path, hint, op, operand):
    text = spread(tmp_path, models.packed(), "--mesh", "tp=2", "--sbp", hint)
    lines = [line for line in text.splitlines() if f"oneflow.{op} " in line]
    assert len(lines) == 3
    state = re.search(r"S\(\d\)", hint)[0]
    for line in lines:
        operands, results = signature(line, op)
        assert (results[0] if operand is None else operands[operand]) == f"[{state}]"
    assert "oneflow.packed" not in text


def test_a_packed_node_has_the_operands_of_the_model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(models.packed().SerializeToString())
    done = subprocess.run([COMPILE, str(path), "--mesh", "tp=2", "--sbp", "sum:in2=B@tp"],
                          capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 1
    assert "asks for in2 of a node of 2 operands (b, product) and 1 result" in done.stderr


def test_a_sharding_of_a_packed_weight_is_obeyed(tmp_path):
    # Half of the columns each: not half of each projection.
    proto = models.shard(models.configure(models.packed(), devices=2), "product", "w", {1: 2},
                         [0, 1])
    text = spread(tmp_path, proto, "--mesh", "tp=2")
    assert signature(text, "matmul")[0][1] == "[S(1)]"
    assert "(tensor<8x4xf32>, tensor<4x18xf32>)" in text


def test_a_sharding_along_another_dimension_does_not_keep_projections_together(tmp_path):
    proto = models.shard(models.configure(models.packed(), devices=2), "product", "x", {0: 2},
                         [0, 1])
    text = spread(tmp_path, proto, "--mesh", "tp=2")
    lines = [line for line in text.splitlines() if "oneflow.matmul " in line]
    assert [signature(line, "matmul")[0][0] for line in lines] == ["[S(0)]"] * 3


@pytest.mark.parametrize("hint", ["*=S(0)@tp", "*.weight=S(0)@tp", "?*=S(0)@tp"])
def test_a_wildcard_means_what_the_model_has(tmp_path, hint):
    text = spread(tmp_path, models.two_layers(), "--train", "--mesh", "tp=2", "--sbp", hint,
                  "--sbp", "fc2.bias=S(0)@tp")
    assert storage(text, "optimizer.learning_rate") == "[B]"
    assert storage(text, "fc1.weight") == "[S(0)]"
    states = re.findall(r"variable @fc1\.weight\.\w+ .*?storage (\[.*?\])", text)
    assert states and set(states) == {"[S(0)]"}


def test_optimizer_state_can_be_named(tmp_path):
    text = spread(tmp_path, models.two_layers(), "--train", "--mesh", "tp=2",
                  "--sbp", "optimizer.*=B@tp")
    assert storage(text, "optimizer.learning_rate") == "[B]"


@pytest.mark.parametrize("name", ["mesh", "mesh_0"])
def test_a_weight_may_have_the_name_of_the_placement(tmp_path, name):
    text = spread(tmp_path, models.named(name), "--mesh", "tp=2", "--sbp", f"{name}=S(0)@tp")
    assert storage(text, name) == "[S(0)]"


def test_hints_come_from_files_of_any_editor(tmp_path):
    (tmp_path / "tp.txt").write_bytes(b"\xef\xbb\xbffc1.weight=S(0)@tp\rfc2.weight=S(1)@tp\r")
    text = spread(tmp_path, models.two_layers(), "--mesh", "tp=2", "--sbp-file", "tp.txt")
    assert storage(text, "fc1.weight") == "[S(0)]"
    assert storage(text, "fc2.weight") == "[S(1)]"


def test_hints_come_from_pipes(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(models.two_layers().SerializeToString())
    done = subprocess.run([COMPILE, str(path), "--mesh", "tp=2", "--sbp-file", "/dev/stdin",
                           "--emit", "spread"], capture_output=True, text=True, timeout=120,
                          input="fc1.weight=S(0)@tp\n")
    assert storage(done.stdout, "fc1.weight") == "[S(0)]"


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


def test_a_hint_against_the_models_own_sharding_is_told(tmp_path):
    """The weight is used as the model says, stored as the hint says, and boxed between."""
    model = models.sharded_two_layers()
    text = tmp_path / "model.onnx"
    text.write_bytes(model.SerializeToString())

    def warnings(*options):
        done = subprocess.run([COMPILE, "model.onnx", "--mesh", "dp=2,tp=2", "--emit", "spread",
                               *options], capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stderr.splitlines() if "warning" in line]

    assert warnings() == []
    assert warnings("--sbp", "fc1.weight=S(0)@tp") == []
    told, = warnings("--sbp", "fc1.weight=S(1)@tp")
    assert ("along 'tp': --sbp 'fc1.weight=S(1)@tp' stores fc1.weight as S(1), but fc1 uses it as "
            "S(0) by the model's sharding as ") in told
    assert told.endswith(", so that it is boxed in every step")
    assert warnings("--device-configuration", "none", "--sbp", "fc1.weight=S(1)@tp") == []
