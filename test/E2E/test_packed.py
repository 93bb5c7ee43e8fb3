# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention whose query, key and value are one variable, split by heads.

The compiler cuts the variable into parts; nobody else may notice: results, training,
files and names are those of one rank, where it stays whole.
"""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from runtime import COMPILE, Session, compile_plan, execute, needs_mpi, run_tool

BATCH, SEQUENCE, HEADS, WIDTH, CLASSES = 4, 5, 4, 3, 7
H = HEADS * WIDTH
KV_HEADS = 2  # of grouped queries
STEPS = 3


class Graph:
    """Nodes and initializers in the making."""

    def __init__(self):
        self.nodes, self.initializers = [], []
        self.random = np.random.default_rng(5)

    def weight(self, name, *shape):
        values = self.random.standard_normal(shape) * 0.4
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def integers(self, values):
        name = f"c{len(self.initializers)}"
        self.initializers.append(
            numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind.lower()}{len(self.nodes)}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=names[0],
                                           **attributes))
        return names[0] if outputs == 1 else names

    def reshape(self, x, *shape):
        return self.op("Reshape", x, self.integers(shape))

    def transpose(self, x, *permutation):
        return self.op("Transpose", x, perm=permutation)

    def project(self, columns):
        """x W + b; the weight is [in, out]."""
        product = self.op("MatMul", "x", self.weight("W", H, columns))
        return self.op("Add", self.weight("b", columns), product)


def by_split(graph):
    """As nanoGPT: split, then reshape by heads."""
    parts = graph.op("Split", graph.project(3 * H), outputs=3, axis=2, num_outputs=3)
    return [graph.transpose(graph.reshape(part, BATCH, SEQUENCE, HEADS, WIDTH), 0, 2, 1, 3)
            for part in parts]


def by_factor(graph):
    """As timm and others: nn.Linear on merged rows, reshape, transpose, index."""
    rows = graph.reshape("x", BATCH * SEQUENCE, H)
    product = graph.op("Gemm", rows, graph.weight("W", 3 * H, H), graph.weight("b", 3 * H),
                       transB=1)
    packed = graph.reshape(product, BATCH, SEQUENCE, 3, HEADS, WIDTH)
    packed = graph.transpose(packed, 2, 0, 3, 1, 4)
    return [graph.op("Gather", packed, graph.integers(i), axis=0) for i in (0, 1, -1)]


def grouped(graph):
    """Two query heads share a key and a value head: parts of unequal width."""
    inner = KV_HEADS * WIDTH
    packed = graph.project(H + 2 * inner)
    sizes = graph.integers([H, inner, inner])
    q, k, v = graph.op("Split", packed, sizes, outputs=3, axis=-1)
    group = HEADS // KV_HEADS
    q = graph.reshape(q, BATCH, SEQUENCE, KV_HEADS, group, WIDTH)
    q = graph.reshape(graph.transpose(q, 0, 2, 3, 1, 4), BATCH, KV_HEADS,
                      group * SEQUENCE, WIDTH)
    k, v = (graph.transpose(graph.reshape(part, BATCH, SEQUENCE, KV_HEADS, WIDTH),
                            0, 2, 1, 3) for part in (k, v))
    return q, k, v


PACKINGS = {"split": by_split, "factor": by_factor, "grouped": grouped}


def build_model(packing):
    graph = Graph()
    q, k, v = PACKINGS[packing](graph)
    scores = graph.op("MatMul", q, graph.transpose(k, 0, 1, 3, 2))
    y = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), v)
    if packing == "grouped":
        y = graph.reshape(y, BATCH, KV_HEADS, HEADS // KV_HEADS, SEQUENCE, WIDTH)
        y = graph.transpose(y, 0, 3, 1, 2, 4)
    else:
        y = graph.transpose(y, 0, 2, 1, 3)
    y = graph.op("MatMul", graph.reshape(y, BATCH, SEQUENCE, H), graph.weight("Wo", H, H))
    y = graph.reshape(graph.op("Tanh", y), BATCH, SEQUENCE * H)
    y = graph.op("Gemm", y, graph.weight("head", SEQUENCE * H, CLASSES))
    graph.nodes.append(helper.make_node("Identity", [y], ["logits"], name="logits"))
    double = TensorProto.DOUBLE
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, packing,
            [helper.make_tensor_value_info("x", double, [BATCH, SEQUENCE, H])],
            [helper.make_tensor_value_info("logits", double, [BATCH, CLASSES])],
            graph.initializers),
        opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def options(packing, mesh, block=1):
    """Column-parallel projections by heads, then the row-parallel one."""
    if "tp" not in mesh:
        return ["--mesh", mesh]
    dim = 0 if packing == "factor" else 1
    return ["--mesh", mesh, "--sbp", f"W=S({dim}, block={block})@tp",
            "--sbp", f"b=S(0, block={block})@tp", "--sbp", f"Wo=S(0, block={block})@tp"]


class Workplace:
    def __init__(self, folder):
        self.folder, self.plans, self.references = folder, {}, {}
        random = np.random.default_rng(11)
        self.inputs = {"x": random.standard_normal((BATCH, SEQUENCE, H)),
                       "labels": random.integers(0, CLASSES, BATCH)}

    def model(self, packing):
        path = self.folder / f"{packing}.onnx"
        if not path.exists():
            onnx.save(build_model(packing), path)
        return path

    def plan(self, packing, mesh, *more):
        key = packing, mesh, more
        if key not in self.plans:
            self.plans[key] = compile_plan(
                self.model(packing), self.folder / f"{len(self.plans)}.ofp", "--train",
                *options(packing, mesh), *more)
        return self.plans[key]

    def train(self, plan):
        """Logits before, losses, and all variables after."""
        with Session(plan) as session:
            logits = session.run("eval", self.inputs)["logits"]
            losses = [session.run("train", self.inputs)["loss"] for _ in range(STEPS)]
            variables = {name: session.get(name) for name, _, _ in session.variables}
        return logits, np.array(losses), variables

    def one_rank(self, packing):
        if packing not in self.references:
            self.references[packing] = self.train(self.plan(packing, "dp=1"))
        return self.references[packing]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return Workplace(tmp_path_factory.mktemp("packed"))


def emit(work, packing, level, mesh, output="-"):
    return execute(COMPILE, work.model(packing), "--train", *options(packing, mesh),
                   "--emit", level, "-o", output)


@pytest.mark.parametrize("packing", PACKINGS)
def test_variables_are_cut_where_ranks_are_many(work, packing):
    for mesh, parts in (("dp=1", 0), ("tp=2", 3), ("dp=2", 3)):
        text = emit(work, packing, "logical", mesh)
        for name in ("W", "b"):
            assert text.count(f'part of "{name}" ') == parts, mesh
            assert text.count(f'part of "{name}.first_moment" ') == parts, mesh


def check_close(found, expected):
    logits, losses, variables = found
    np.testing.assert_allclose(logits, expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(losses, expected[1], rtol=1e-9)
    assert variables.keys() == expected[2].keys()
    for name, value in expected[2].items():
        np.testing.assert_allclose(variables[name], value, rtol=1e-9, atol=1e-11,
                                   err_msg=name)


@pytest.mark.parametrize("packing", PACKINGS)
def test_one_rank_computes_what_onnxruntime_computes(work, packing):
    session = onnxruntime.InferenceSession(work.model(packing),
                                           providers=["CPUExecutionProvider"])
    expected, = session.run(["logits"], {"x": work.inputs["x"]})
    logits, losses, _ = work.one_rank(packing)
    np.testing.assert_allclose(logits, expected, rtol=1e-9, atol=1e-12)
    assert losses[-1] < losses[0]


# Three ranks do not divide the heads: they exchange what they lack.
@pytest.mark.parametrize("mesh", ["tp=2", "tp=3", "dp=2", "dp=2,tp=2"])
@pytest.mark.parametrize("packing", PACKINGS)
def test_ranks_agree_with_one(work, packing, mesh):
    check_close(work.train(work.plan(packing, mesh)), work.one_rank(packing))


@pytest.mark.parametrize("packing", ["split", "factor"])
def test_heads_split_unevenly(work, tmp_path, packing):
    """By blocks of a head: two, one and one on three ranks."""
    plan = compile_plan(work.model(packing), tmp_path / "p.ofp",
                        *options(packing, "tp=3", block=WIDTH))
    with Session(plan) as session:
        logits = session.run("main", work.inputs)["logits"]
    np.testing.assert_allclose(logits, work.one_rank(packing)[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("packing", PACKINGS)
def test_parts_on_one_rank_are_the_whole(work, packing):
    text = work.folder / f"{packing}.mlir"
    emit(work, packing, "logical", "tp=2", text)
    assert "part of" in text.read_text()
    plan = compile_plan(text, work.folder / f"{packing}-parts.ofp", "--mesh", "dp=1")
    check_close(work.train(plan), work.one_rank(packing))


@pytest.mark.parametrize("packing", PACKINGS)
def test_gradients_come_out_whole(work, packing):
    found = []
    for mesh in ("dp=1", "tp=2"):
        with Session(work.plan(packing, mesh, "--optimizer", "none")) as session:
            found.append(session.run("train", work.inputs))
    assert {"W.gradient", "b.gradient"} < found[0].keys()
    assert found[1].keys() == found[0].keys()
    for name, expected in found[0].items():
        np.testing.assert_allclose(found[1][name], expected, rtol=1e-9, atol=1e-12,
                                   err_msg=name)


@pytest.mark.parametrize("packing", PACKINGS)
def test_files_hold_the_whole(work, tmp_path, packing):
    """Two steps of training, written to safetensors and back into the model."""
    np.savez(tmp_path / "data.npz", **work.inputs)
    saved, logits = {}, {}
    for mesh in ("dp=1", "tp=2"):
        plan = work.plan(packing, mesh)
        info = json.loads(run_tool("info", plan, "--json"))
        listed = {row["name"]: row["shape"] for row in info["variables"]}
        shape = [3 * H, H] if packing == "factor" else [H, 2 * H if packing == "grouped"
                                                         else 3 * H]
        assert listed["W"] == listed["W.first_moment"] == shape
        assert not any(name.startswith("W.0") for name in listed)
        weights, trained = tmp_path / f"{mesh}.safetensors", tmp_path / f"{mesh}.onnx"
        run_tool("train", plan, "--data", tmp_path / "data.npz", "--steps", 2,
                 "--threads", 1, "--save", weights, "--save-onnx", trained)
        saved[mesh] = load_file(weights)
        session = onnxruntime.InferenceSession(trained, providers=["CPUExecutionProvider"])
        logits[mesh], = session.run(["logits"], {"x": work.inputs["x"]})
        # What was saved goes back in, too.
        run_tool("infer", plan, "--entry", "eval", "--weights", weights, "--input",
                 tmp_path / "data.npz", "--output", f"logits={tmp_path / 'l.npy'}")
        np.testing.assert_allclose(np.load(tmp_path / "l.npy"), logits[mesh], rtol=1e-9,
                                   atol=1e-12)
    assert saved["tp=2"].keys() == saved["dp=1"].keys()
    for name, value in saved["dp=1"].items():
        np.testing.assert_allclose(saved["tp=2"][name], value, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(logits["tp=2"], logits["dp=1"], rtol=1e-9, atol=1e-12)


@needs_mpi
def test_processes_save_the_whole(work, tmp_path):
    np.savez(tmp_path / "data.npz", **work.inputs)
    saved = []
    for ranks in (0, 2):
        path = tmp_path / f"{ranks}.safetensors"
        run_tool("train", work.plan("split", "tp=2"), "--data", tmp_path / "data.npz",
                 "--steps", 2, "--threads", 1, "--save", path, "--save-state", ranks=ranks)
        saved.append(load_file(path))
    assert saved[0].keys() == saved[1].keys()
    for name, value in saved[0].items():
        np.testing.assert_array_equal(saved[1][name], value)
