# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tool as it is installed, on the real runtime, with a plan written by hand."""

import json
import os
import subprocess

import numpy as np
import pytest

TOOL = os.environ["ONEFLOW_RUN_REAL"]
BATCH = 8


def run(folder, *words, code=0):
    result = subprocess.run([TOOL, *map(str, words)], cwd=folder, capture_output=True, text=True)
    assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
    return result


@pytest.fixture
def folder(tmp_path):
    subprocess.run([os.environ["ONEFLOW_WRITE_PLAN"], tmp_path / "p.ofp"], check=True)
    return tmp_path


def test_info(folder):
    document = json.loads(run(folder, "info", "p.ofp", "--json").stdout)
    (entry,) = document["entries"]
    assert entry["name"] == "main" and entry["tasks"] == 3
    assert entry["inputs"] == [{"name": "x", "dtype": "f32", "shape": [BATCH]}]
    assert entry["outputs"] == [{"name": "y", "dtype": "f32", "shape": [BATCH]}]


@pytest.mark.parametrize("count", [1, 8, 30])
def test_infer(folder, count):
    x = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    np.save(folder / "x.npy", x)
    run(
        folder, "infer", "p.ofp", "--input", "x.npy", "--output", "y.npy", "--threads", 2,
        "--trace", "t.json",
    )  # fmt: skip
    np.testing.assert_array_equal(np.load(folder / "y.npy"), x + np.float32(1))
    trace = json.loads((folder / "t.json").read_text())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    assert events


def test_bench(folder):
    document = json.loads(run(folder, "infer", "p.ofp", "--bench", 20, "--json").stdout)
    assert document["runs"] == 20 and document["median_seconds"] > 0


def test_damaged_plan(folder):
    contents = (folder / "p.ofp").read_bytes()
    (folder / "p.ofp").write_bytes(contents[: len(contents) // 2])
    assert "'p.ofp'" in run(folder, "info", "p.ofp", code=1).stderr
