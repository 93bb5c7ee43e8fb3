# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models that say how they are sharded: what was asked is what ranks hold, and the
numbers are those of one rank.
"""

import os
import re
import sys

import numpy as np
import onnxruntime
import pytest

from runtime import Session, compile_plan, execute

sys.path.insert(0, os.environ["ONEFLOW_SBP_MODELS"])
import sbp_models as models  # noqa: E402


def save(folder, proto):
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def spread(folder, proto, *options):
    path = folder / "spread.mlir"
    execute(os.environ["ONEFLOW_COMPILE"], save(folder, proto), *options, "--emit", "spread",
            "-o", path)
    return path.read_text()


def states(text, op, number=0):
    """Operands and results of an op, as lists of texts."""
    line = [line for line in text.splitlines() if f"oneflow.{op} " in line][number]
    parts = re.search(r" sbp \((.*)\) -> \((\[.*?\])\)", line).groups()
    return [re.findall(r"\[.*?\]", part) for part in parts]


def test_every_rank_holds_what_the_model_says(tmp_path):
    text = spread(tmp_path, models.sharded_two_layers(), "--mesh", "a=2,b=2")
    first, second = states(text, "matmul"), states(text, "matmul", 1)
    assert first[0] == ["[S(0), B]", "[B, S(0)]"]
    assert states(text, "add")[1] == ["[S(0), S(1)]"]
    assert states(text, "relu")[1] == ["[S(0), S(1)]"]
    assert second[0][1] == "[B, S(1)]"
    assert states(text, "add", 1)[1] == ["[S(0), B]"]
    assert "oneflow.sharding" not in text


def test_the_attribute_of_the_import(tmp_path):
    path = tmp_path / "import.mlir"
    execute(os.environ["ONEFLOW_COMPILE"], save(tmp_path, models.sharded_two_layers()),
            "--emit", "import", "-o", path)
    assert ("oneflow.sharding = [#oneflow.sharding<in 1, groups = [[0, 2], [1, 3]], "
            "dims = [[1, 2]], devices = 4>]") in path.read_text()
    # It is text that goes on as the model does.
    execute(os.environ["ONEFLOW_COMPILE"], path, "--mesh", "a=2,b=2", "-o",
            tmp_path / "m.ofp")


@pytest.mark.parametrize("rows", [16, 7])
def test_four_ranks_compute_what_one_does(tmp_path, rows):
    proto = models.sharded_two_layers(rows)
    path = save(tmp_path, proto)
    plans = [compile_plan(path, tmp_path / "one.ofp", "--device-configuration", "none"),
             compile_plan(path, tmp_path / "four.ofp", "--mesh", "a=2,b=2")]
    x = np.random.default_rng(5).uniform(-1, 1, (rows, 8)).astype(np.float32)
    results = []
    for plan in plans:
        with Session(plan) as session:
            results.append(session.run("main", {"x": x})["y"])
    expected = onnxruntime.InferenceSession(
        models.two_layers(rows).SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_allclose(results[0], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(results[1], expected, rtol=1e-5, atol=1e-5)


def test_the_chosen_configuration_counts(tmp_path):
    proto = models.configure(models.configure(models.two_layers(), "rows", 2), "columns", 2)
    models.shard(proto, "act", "r", {0: 2}, [0, 1], configuration="rows")
    models.shard(proto, "act", "r", {1: 2}, [0, 1], configuration="columns")
    for name, state in ("rows", "[S(0)]"), ("columns", "[S(1)]"):
        text = spread(tmp_path, proto, "--mesh", "p=2", "--device-configuration", name)
        assert states(text, "relu")[1] == [state]


def test_a_fused_axis_is_cut_in_blocks(tmp_path):
    # 12 columns of 3 heads: two ranks get two heads and one.
    proto = models.configure(models.two_layers(), devices=2)
    models.shard(proto, "act", "r", {1: [(3, 2), (4, 1)]}, [0, 1])
    text = spread(tmp_path, proto, "--mesh", "p=2")
    assert states(text, "relu")[1] == ["[S(1, block = 4)]"]
