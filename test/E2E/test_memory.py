# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arenas are hardly larger than what is alive in them at once, which no plan can beat.

Plans of whole models are planned again with a report; the two numbers of each entry and
group of ranks are compared.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from runtime import COMPILE, execute

MODELS = pathlib.Path(os.environ["ONEFLOW_MODELS"])
OPT = os.environ["ONEFLOW_OPT"]

REMARK = re.compile(r"remark: @(\w+) on (.*): arena of (\d+) bytes, at most (\d+) live")
SHARDS = ["--sbp", "h.*.attn.c_attn.weight=S(1)@tp", "--sbp", "h.*.mlp.c_fc.weight=S(1)@tp"]

CASES = {
    "mlp": ("digits_mlp", []),
    "mlp, adamw": ("digits_mlp", ["--optimizer", "adamw"]),
    "mlp, dp": ("digits_mlp", ["--mesh", "dp=2"]),
    "mlp, uneven dp": ("digits_mlp", ["--mesh", "dp=3"]),
    "transformer": ("transformer", []),
    "transformer, adamw": ("transformer", ["--optimizer", "adamw"]),
    "transformer, dp": ("transformer", ["--mesh", "dp=2"]),
    "transformer, tp": ("transformer", ["--mesh", "tp=2", *SHARDS]),
    "transformer, dp and tp": ("transformer", ["--mesh", "dp=2,tp=2", *SHARDS]),
    "deep transformer": ("deep", []),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    execute(sys.executable, MODELS / "digits.py", "--output", folder, "--only", "model")
    execute(sys.executable, MODELS / "transformer.py", "--output", folder)
    deep = folder / "deep"
    deep.mkdir()
    execute(sys.executable, MODELS / "transformer.py", "--output", deep, "--layers", "8",
            "--norm", "rms", "--dropout", "0.1")
    (deep / "transformer.onnx").rename(folder / "deep.onnx")
    return folder


def report(model, folder, *options):
    """[(entry, ranks, arena bytes, live bytes)]"""
    graph = folder / "graph.mlir"
    execute(COMPILE, model, "--dim", "batch=64", "--train", "--emit", "actor",
            "-o", graph, *options)
    done = subprocess.run([OPT, graph, "--actor-plan-memory=report",
                           "--actor-prove-schedule", "-o", os.devnull],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [(entry, ranks, int(arena), int(live))
            for entry, ranks, arena, live in REMARK.findall(done.stderr)]


@pytest.mark.parametrize("name", CASES)
def test_arena_is_what_is_live(models, tmp_path, name):
    model, options = CASES[name]
    found = report(models / f"{model}.onnx", tmp_path, *options)
    assert {entry for entry, *_ in found} >= {"train"}
    for entry, ranks, arena, live in found:
        assert 0 < live <= arena <= 1.05 * live, f"{entry} on {ranks}: {arena} for {live}"
