# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plan does not grow with the number of ranks: all run one program.

Batches are chosen so that a rank's part is the same, evenly and unevenly split.
"""

import json
import os
import pathlib
import sys

import pytest

from runtime import compile_plan, execute, run_tool

MODELS = pathlib.Path(os.environ["ONEFLOW_MODELS"])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    execute(sys.executable, MODELS / "digits.py", "--output", folder, "--only", "model")
    return folder / "digits_mlp.onnx"


def describe(model, folder, ranks, batch):
    plan = compile_plan(model, folder / f"{ranks}.ofp", "--dim", f"batch={batch}",
                        "--train", "--mesh", f"dp={ranks}")
    info = json.loads(run_tool("info", plan, "--json"))
    assert info["ranks"] == ranks
    tasks = {entry["name"]: entry["tasks"] for entry in info["entries"]}
    training, = (entry for entry in info["entries"] if entry["name"] == "train")
    return {"tasks": tasks, "kernels": info["kernels"],
            "arena of a training step": training["arena_bytes"],
            "variables": info["variable_bytes"], "file": plan.stat().st_size}


@pytest.mark.parametrize("few, many", [
    ((2, 64), (1024, 32768)),
    # 22, 21, 21, ...: the first rank holds one more.
    ((3, 64), (1023, 1023 * 21 + 1)),
], ids=["even", "uneven"])
def test_plans_do_not_grow_with_ranks(model, tmp_path, few, many):
    small, large = (describe(model, tmp_path, *size) for size in (few, many))
    assert small == large
    assert small["tasks"]["train"] > 3 and small["kernels"] > 10
