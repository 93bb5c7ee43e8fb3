# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ZeRO (Rajbhandari et al., arXiv 1910.02054) changes no bit, only where things lie.

Memory and traffic are compared with the paper's closed forms, written for f64 without
mixed precision: of 8 bytes per parameter each are the parameters, the gradients and every
state of the optimizer; stage 1 divides the state by the ranks, 2 the gradients, 3 the
parameters. A step moves twice the parameters, in stage 3 three times.
"""

import csv
import json
import os
import pathlib
import sys

import numpy as np
import pytest

from runtime import COMPILE, Session, compile_plan, execute, needs_mpi, run_tool

MODELS = pathlib.Path(os.environ["ONEFLOW_MODELS"])
STEPS = 20
STAGES = [0, 1, 2, 3]
OPTIMIZERS = {
    "adamw": ["--optimizer", "adamw"],
    "sgd": ["--optimizer", "sgd", "--momentum", "0.9", "--learning-rate", "0.05"],
}
STATES = {"adamw": 2, "sgd": 1}
COLUMNS_THEN_ROWS = ["--sbp", "fc1.*=S(0)@tp", "--sbp", "fc2.weight=S(1)@tp",
                     "--sbp", "fc3.*=S(0)@tp"]
HEADS = ["--sbp", "h.*.attn.c_attn.weight=S(1)@tp", "--sbp", "h.*.mlp.c_fc.weight=S(1)@tp"]
# Gradients of norms are partial along both axes: the order of their sums counts.
NORMS = ["--sbp", "/h.*/ln_1/*=S(1)@tp", "--sbp", "/h.*/ln_2/*=S(1)@tp"]
MESHES = {
    ("mlp", "dp2"): ["--mesh", "dp=2"],
    ("mlp", "dp3"): ["--mesh", "dp=3"],
    ("mlp", "dp2tp2"): ["--mesh", "dp=2,tp=2", *COLUMNS_THEN_ROWS],
    ("mlp", "tp2dp2"): ["--mesh", "tp=2,dp=2", *COLUMNS_THEN_ROWS],
    ("mlp", "dp2 micro"): ["--mesh", "dp=2", "--micro-batches", "4"],
    ("mlp", "pp2dp2 micro"): ["--mesh", "pp=2,dp=2", "--micro-batches", "4"],
    ("transformer", "dp2"): ["--mesh", "dp=2"],
    ("transformer", "dp3"): ["--mesh", "dp=3"],
    ("transformer", "dp2tp2"): ["--mesh", "dp=2,tp=2", *HEADS],
    ("transformer", "dp2sp2"): ["--mesh", "dp=2,tp=2", *HEADS, *NORMS],
    ("transformer", "sp2dp2"): ["--mesh", "tp=2,dp=2", *HEADS, *NORMS],
}
RANKS = {"dp2": 2, "dp3": 3, "dp2tp2": 2, "tp2dp2": 2, "dp2sp2": 2, "sp2dp2": 2}
# What the order of axes and partial sums does, one optimizer shows.
CASES = [(*key, optimizer) for key in MESHES for optimizer in OPTIMIZERS
         if "micro" not in key[1]
         and (optimizer == "adamw" or key[1] in ("dp2", "dp3", "dp2tp2"))]
ALL = pytest.mark.parametrize("model, mesh, optimizer", CASES, ids=map("-".join, CASES))


class Workplace:
    """Both models in f64, their data, and plans compiled once."""

    def __init__(self, folder):
        self.folder = folder
        execute(sys.executable, MODELS / "digits.py", "--output", folder, "--dtype", "f64")
        execute(sys.executable, MODELS / "transformer.py", "--output", folder, "--dtype",
                "f64", "--layers", 1, "--hidden", 24, "--heads", 6, "--sequence", 12,
                "--vocabulary", 30, "--samples", 64, "--dropout", "0.1")
        self.files = {"mlp": ("digits_mlp.onnx", "digits_train.npz", 64),
                      "transformer": ("transformer.onnx", "tokens.npz", 4)}
        self.plans, self.runs = {}, {}

    def options(self, model, mesh, optimizer, stage):
        name, _, batch = self.files[model]
        return [self.folder / name, "--dim", f"batch={batch}", "--train",
                *OPTIMIZERS[optimizer], *MESHES[model, mesh], "--zero", stage]

    def plan(self, *key):
        if key not in self.plans:
            source, *options = self.options(*key)
            path = self.folder / ("-".join(map(str, key)) + ".ofp")
            self.plans[key] = compile_plan(source, path, *options)
        return self.plans[key]

    def batches(self, model, steps):
        _, data, batch = self.files[model]
        with np.load(self.folder / data) as arrays:
            arrays = dict(arrays)
        count = len(arrays["labels"]) // batch
        for step in range(steps):
            rows = slice(step % count * batch, (step % count + 1) * batch)
            yield {name: value[rows] for name, value in arrays.items()}

    def train(self, *key):
        """Losses of all steps, and every variable behind them."""
        if key not in self.runs:
            with Session(self.plan(*key)) as session:
                losses = [float(session.run("train", batch)["loss"])
                          for batch in self.batches(key[0], STEPS)]
                values = {name: session.get(name) for name, _, _ in session.variables}
            self.runs[key] = losses, values
        return self.runs[key]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return Workplace(tmp_path_factory.mktemp("zero"))


@ALL
@pytest.mark.parametrize("stage", STAGES[1:])
def test_no_bit_changes(work, model, mesh, optimizer, stage):
    losses, values = work.train(model, mesh, optimizer, 0)
    assert losses[-1] < losses[0] and len(set(losses)) == STEPS
    sharded_losses, sharded = work.train(model, mesh, optimizer, stage)
    assert sharded_losses == losses
    assert sharded.keys() == values.keys()
    assert any(name.endswith(("first_moment", "velocity")) for name in values)
    for name, value in values.items():
        assert value.tobytes() == sharded[name].tobytes(), name


@pytest.mark.parametrize("mesh", ["dp2 micro", "pp2dp2 micro"])
def test_micro_batches(work, mesh):
    """Stage 1 accumulates whole gradients, as without ZeRO; from 2 on parts accumulate,
    which is another order of the same sums."""
    (losses, values), one, two, three = (work.train("mlp", mesh, "adamw", stage)
                                         for stage in STAGES)
    for (first, weights), (second, others) in (((losses, values), one), (two, three)):
        assert first == second
        assert all(weights[name].tobytes() == others[name].tobytes() for name in weights)
    np.testing.assert_allclose(two[0], losses, rtol=1e-9)
    np.testing.assert_allclose(losses, work.train("mlp", "dp2", "adamw", 0)[0], rtol=1e-9)


@needs_mpi
@pytest.mark.parametrize("stage", STAGES[1:])
def test_no_bit_changes_under_mpi(work, stage):
    curves = []
    for plan, ranks in ((work.plan("mlp", "dp2", "adamw", 0), 0),
                        (work.plan("mlp", "dp2", "adamw", stage), 2)):
        log = work.folder / "losses.csv"
        run_tool("train", plan, "--data", work.folder / "digits_train.npz", "--steps",
                 STEPS, "--loss-log", log, "--threads", 1, ranks=ranks)
        with open(log) as file:
            curves.append([row["loss"] for row in csv.DictReader(file)])
    assert len(curves[0]) == STEPS
    assert curves[0] == curves[1]


def test_a_run_goes_on_in_another_stage(work):
    """Files and the C API know whole variables, however they are stored."""
    batches = list(work.batches("transformer", 6))
    with Session(work.plan("transformer", "dp3", "adamw", 1)) as session:
        for batch in batches[:3]:
            session.run("train", batch)
        values = {name: session.get(name) for name, _, _ in session.variables}
    with Session(work.plan("transformer", "dp3", "adamw", 3)) as session:
        for name, value in values.items():
            session.set(name, value)
        losses = [float(session.run("train", batch)["loss"]) for batch in batches[3:]]
    assert losses == work.train("transformer", "dp3", "adamw", 0)[0][3:6]


def stored_bytes(plan):
    return json.loads(run_tool("info", plan, "--json"))["variable_bytes"]


def stored_share(states, stage, ranks):
    """Of parameters and state, the share that a rank of `ranks` stores."""
    parameters = 1 / ranks if stage == 3 else 1
    return (parameters + states * (1 / ranks if stage > 0 else 1)) / (1 + states)


@ALL
@pytest.mark.parametrize("stage", STAGES[1:])
def test_stored_memory_is_the_closed_form(work, model, mesh, optimizer, stage):
    whole = stored_bytes(work.plan(model, mesh, optimizer, 0))
    part = stored_bytes(work.plan(model, mesh, optimizer, stage))
    share = stored_share(STATES[optimizer], stage, RANKS[mesh])
    assert part == pytest.approx(whole * share, rel=0.05)


def parameter_count(work, model, mesh):
    with Session(work.plan(model, mesh, "adamw", 0)) as session:
        names = {name for name, _, _ in session.variables}
        return sum(int(np.prod(shape)) for name, shape, _ in session.variables
                   if name + ".first_moment" in names)


@pytest.mark.parametrize("mesh", ["dp2", "dp3"])
@pytest.mark.parametrize("model", ["mlp", "transformer"])
@pytest.mark.parametrize("stage", STAGES)
def test_stored_bytes_per_parameter(work, model, mesh, stage):
    """8Ψ of parameters and 16Ψ of moments, each divided by the ranks or not."""
    count = parameter_count(work, model, mesh)
    expected = 24 * count * stored_share(2, stage, RANKS[mesh])
    assert stored_bytes(work.plan(model, mesh, "adamw", stage)) == pytest.approx(
        expected, rel=0.05)


def boxings(work, *key):
    """[(step, elements, bytes)] of the training step, without the loss."""
    out = execute(COMPILE, *work.options(*key), "--emit", "spread", "--explain", "-o",
                  work.folder / "spread.mlir")
    rows = list(csv.DictReader(out.splitlines(), delimiter="\t"))
    return [(row["step"], row["tensor"], int(row["bytes"])) for row in rows
            if row["function"] == "train" and row["step"] != "total"
            and row["tensor"] != "tensor<f64>"]


@pytest.mark.parametrize("mesh", ["dp2", "dp3"])
def test_traffic_is_the_closed_form(work, mesh):
    """Without the weights that the backward pass does not need, stage 3 moves 3Ψ."""
    count = parameter_count(work, "mlp", mesh)
    # A bias has no part in the gradient of its input, and the input has none.
    needed_again = 64 * 128 + 10 * 64
    one_way = 8 * (RANKS[mesh] - 1)
    for stage, elements in ((0, 2 * count), (1, 2 * count), (2, 2 * count),
                            (3, 2 * count + needed_again)):
        rows = boxings(work, "mlp", mesh, "adamw", stage)
        assert sum(moved for _, _, moved in rows) == one_way * elements
        kinds = [step for step, _, _ in rows]
        # 6 parameters, of which 2 are gathered for the backward pass again.
        assert kinds.count("all-reduce") == (6 if stage == 0 else 0)
        assert kinds.count("reduce-scatter") == (6 if stage else 0)
        assert kinds.count("all-gather") == {0: 0, 1: 6, 2: 6, 3: 8}[stage]
        with Session(work.plan("mlp", mesh, "adamw", stage)) as session:
            batch, = work.batches("mlp", 1)
            session.run("train", batch)
            # What is said is what is sent, with the loss: a scalar, reduced.
            assert session.counters().bytes_moved == one_way * (elements + 2)
