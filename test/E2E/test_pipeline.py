# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Micro-batches and pipelines: every schedule trains as one rank does, in its own order.

Loss curves are in f64, over 50 steps; what differs between the runs is the order of sums
only. The orders that the traces must show are written down here from the papers that
include/oneflow/Schedule/Pipeline.h names, not taken from the compiler.
"""

import csv
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from runtime import COMPILE, compile_plan, execute, run_tool

MODELS = pathlib.Path(os.environ["ONEFLOW_MODELS"])
TENSOR_PARALLEL = ["--sbp", "h.*.attn.c_attn.weight=S(1)@tp",
                   "--sbp", "h.*.mlp.c_fc.weight=S(1)@tp"]
STEPS = 50
TOLERANCE = 1e-9


class Case:
    """A model with data, written once, and the loss curves of its plans."""

    def __init__(self, folder, model, data, batch, hints):
        self.folder, self.model, self.data = folder, model, data
        self.batch, self.hints = batch, hints
        self.known = {}

    def compile(self, *options):
        options = tuple(map(str, options))
        plan = self.folder / f"{abs(hash(options))}.ofp"
        hints = self.hints if any("tp=" in option for option in options) else []
        return compile_plan(self.model, plan, "--dim", f"batch={self.batch}", "--train",
                            *options, *hints)

    def curve(self, *options, steps=STEPS):
        key = options, steps
        if key not in self.known:
            log = self.folder / "losses.csv"
            run_tool("train", self.compile(*options), "--data", self.data, "--steps", steps,
                     "--loss-log", log, "--threads", 1)
            with open(log) as file:
                self.known[key] = np.array([float(row["loss"]) for row in csv.DictReader(file)])
            assert len(self.known[key]) == steps
        return self.known[key]


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    known = {}

    def make(name):
        if name in known:
            return known[name]
        folder = tmp_path_factory.mktemp(name)
        if name == "mlp":
            execute(sys.executable, MODELS / "digits.py", "--output", folder, "--dtype", "f64")
            known[name] = Case(folder, folder / "digits_mlp.onnx", folder / "digits_train.npz",
                               16, [])
        else:
            options = {"gpt": ["--dropout", "0.1"], "tied": ["--tied"]}[name]
            execute(sys.executable, MODELS / "transformer.py", "--output", folder, "--layers", 4,
                    "--hidden", 16, "--heads", 2, "--sequence", 8, "--vocabulary", 24,
                    "--samples", 64, "--dtype", "f64", *options)
            known[name] = Case(folder, folder / "transformer.onnx", folder / "tokens.npz", 8,
                               TENSOR_PARALLEL)
        return known[name]

    return make


SCHEDULES = ["gpipe", "1f1b", "interleaved", "zero-bubble"]
MESHES = ["pp=2", "pp=4", "pp=2,dp=2,tp=2"]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", ["mlp", "gpt"])
def test_trains_as_one_rank(case, name, mesh, schedule):
    model = case(name)
    expected = model.curve("--micro-batches", "4")
    assert expected[-1] < expected[0]
    curve = model.curve("--mesh", mesh, "--micro-batches", "4", "--schedule", schedule)
    np.testing.assert_allclose(curve, expected, rtol=TOLERANCE)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_tied_weights_on_two_stages(case, schedule):
    """The embedding is read on the first stage and on the last."""
    model = case("tied")
    expected = model.curve(steps=10)
    curve = model.curve("--mesh", "pp=2", "--micro-batches", "4", "--schedule", schedule,
                        steps=10)
    np.testing.assert_allclose(curve, expected, rtol=TOLERANCE)


@pytest.mark.parametrize("name, micro_batches", [
    ("mlp", 2), ("mlp", 3), ("mlp", 7), ("mlp", 16), ("gpt", 3), ("gpt", 8)])
def test_micro_batches_are_the_whole_batch(case, name, micro_batches):
    """The loss divides by the whole batch's count, and dropout draws as it would: the cut
    shows in the order of sums only, even or not (16 samples in 3 are 6, 5 and 5)."""
    model = case(name)
    np.testing.assert_allclose(model.curve("--micro-batches", micro_batches, steps=10),
                               model.curve(steps=10), rtol=TOLERANCE)


@pytest.mark.parametrize("options", [
    ("--mesh", "dp=2", "--micro-batches", "3"),
    ("--mesh", "pp=2,dp=2", "--micro-batches", "3"),
    ("--mesh", "pp=3", "--micro-batches", "3", "--schedule", "zero-bubble"),
    ("--mesh", "pp=2", "--micro-batches", "1"),
    ("--mesh", "pp=2", "--micro-batches", "4", "--optimizer", "sgd"),
    ("--mesh", "pp=2", "--micro-batches", "4", "--stage", "/fc1/Gemm=0", "--stage",
     "/act1/Relu=1"),
], ids=" ".join)
def test_other_cuts(case, options):
    model = case("mlp")
    expected = model.curve(*(["--optimizer", "sgd"] if "sgd" in options else []), steps=10)
    np.testing.assert_allclose(model.curve(*options, steps=10), expected, rtol=TOLERANCE)


def test_evaluation_runs_through_the_pipeline(case, tmp_path):
    """Scores of held-out samples, in order, from a plan of stages and from one rank."""
    model = case("mlp")
    scores = []
    for name, options in [("one", []), ("two", ["--mesh", "pp=2", "--micro-batches", "3"])]:
        output = tmp_path / f"{name}.npz"
        run_tool("infer", model.compile(*options), "--entry", "eval", "--input",
                 model.folder / "digits_test.npz", "--output", output)
        with np.load(output) as arrays:
            scores.append(arrays["logits"])
    np.testing.assert_allclose(scores[1], scores[0], rtol=TOLERANCE)


#===-------------------------------------------------------------------------------------===
# The order of the schedules
#===-------------------------------------------------------------------------------------===


def one_forward_one_backward(stage, stages, count, lag=None):
    ahead = min(stages - stage - 1, count)
    steps = [("forward", stage, k) for k in range(ahead)]
    for k in range(count):
        if ahead + k < count:
            steps.append(("forward", stage, ahead + k))
        steps.append(("backward", stage, k))
        if lag is not None and k >= lag:
            steps.append(("weights", stage, k - lag))
    if lag is not None:
        steps += [("weights", stage, k) for k in range(max(count - lag, 0), count)]
    return steps


def order_of(schedule, stage, stages, count):
    if schedule == "gpipe":
        return ([("forward", stage, k) for k in range(count)]
                + [("backward", stage, k) for k in range(count)])
    if schedule == "1f1b":
        return one_forward_one_backward(stage, stages, count)
    if schedule == "zero-bubble":
        return one_forward_one_backward(stage, stages, count, lag=stage)
    # Two stages of two chunks, four micro-batches, as in figure 4 of arXiv 2104.04473.
    first, second = ("forward", stage), ("forward", stage + 2)
    last, before = ("backward", stage + 2), ("backward", stage)
    forward = [(*first, 0), (*first, 1), (*second, 0), (*second, 1),
               (*first, 2), (*first, 3), (*second, 2), (*second, 3)]
    backward = [(*last, 0), (*last, 1), (*before, 0), (*before, 1),
                (*last, 2), (*last, 3), (*before, 2), (*before, 3)]
    ahead = {0: 4, 1: 2}[stage]
    steps = forward[:ahead]
    for k in range(8):
        steps += forward[ahead + k:ahead + k + 1] + [backward[k]]
    return steps


@pytest.mark.parametrize("schedule, stages", [
    ("gpipe", 2), ("1f1b", 2), ("zero-bubble", 2), ("interleaved", 2),
    ("gpipe", 4), ("1f1b", 4), ("zero-bubble", 4)])
def test_trace_shows_the_order(case, tmp_path, schedule, stages):
    model = case("gpt")
    plan = model.compile("--mesh", f"pp={stages}", "--micro-batches", "4", "--schedule",
                         schedule)
    trace = tmp_path / "trace.json"
    run_tool("train", plan, "--data", model.data, "--steps", 1, "--threads", 1, "--trace", trace)
    slices = [event for event in json.loads(trace.read_text())["traceEvents"]
              if event.get("ph") == "X" and event.get("name", "").startswith("chain")
              and "micro_batch" in event.get("args", {})]
    for stage in range(stages):
        own = sorted((event for event in slices if event["pid"] == stage),
                     key=lambda event: event["ts"])
        seen = []
        for event in own:
            kind, _, chunk = event["args"]["phase"].partition(" of @stage")
            step = kind, int(chunk), event["args"]["micro_batch"]
            if not seen or seen[-1] != step:
                seen.append(step)
        assert seen == order_of(schedule, stage, stages, 4), f"stage {stage}"


#===-------------------------------------------------------------------------------------===
# Errors
#===-------------------------------------------------------------------------------------===


@pytest.mark.parametrize("options, message", [
    (["--schedule", "1f1b"], "--schedule goes with pipeline stages: an axis pp in --mesh"),
    (["--micro-batches", "0"], "expected --micro-batches of at least 1, got: 0"),
    (["--micro-batches", "17"], "expected at least as many samples as micro-batches, got: 16 "
                                "samples in 17 micro-batches"),
    (["--mesh", "pp=2", "--chunks", "2"], "--chunks goes with --schedule interleaved"),
    (["--mesh", "pp=2", "--micro-batches", "3", "--schedule", "interleaved"],
     "expected a multiple of the stages (2) as micro-batches, got: 3"),
    (["--mesh", "pp=100"], "expected at least as many ops as pipeline stages"),
    (["--mesh", "pp=2", "--stage", "nope=0"], "'nope=0' matches no node"),
    (["--mesh", "pp=2", "--stage", "/fc1/Gemm=2"], "a stage from 0 to 1"),
    (["--mesh", "pp=2", "--stage", "/fc1/Gemm=1", "--stage", "/fc3/Gemm=0"], "pinned to part 0"),
    (["--mesh", "time=2"], "'time', which is the axis of micro-batches"),
])
def test_errors(case, tmp_path, options, message):
    model = case("mlp")
    output = tmp_path / "plan.ofp"
    result = subprocess.run(
        [COMPILE, model.model, "--dim", f"batch={model.batch}", "--train", *options, "-o", output],
        capture_output=True, text=True, timeout=60)
    assert result.returncode in (1, 2)
    assert message in result.stderr
    assert not output.exists()
