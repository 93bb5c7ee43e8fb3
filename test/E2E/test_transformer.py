# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A transformer spread by two hints a layer: its communication counted, its loss compared.

Tensor parallelism is Megatron-LM's (Shoeybi et al., arXiv 1909.08053): two all-reduces a
layer forward and two backward. Sequence parallelism is that of Korthikanti et al. (arXiv
2205.05198): a reduce-scatter and an all-gather in place of each, the same bytes.
Everything but the hinted weights and norms comes from inference.
"""

import csv
import math
import os
import pathlib
import re
import sys

import numpy as np
import onnxruntime
import pytest

from runtime import COMPILE, Session, compile_plan, execute, run_tool

MODELS = pathlib.Path(os.environ["ONEFLOW_MODELS"])
BATCH, SEQUENCE, HIDDEN, HEADS, VOCABULARY = 4, 12, 24, 6, 30
WEIGHTS = ["--sbp", "h.*.attn.c_attn.weight=S(1)@tp",
           "--sbp", "h.*.mlp.c_fc.weight=S(1)@tp"]
SEPARATE = ["--sbp", "h.*.attn.?.weight=S(1)@tp", "--sbp", "h.*.mlp.c_fc.weight=S(1)@tp"]
NORMS = ["--sbp", "/h.*/ln_1/*=S(1)@tp", "--sbp", "/h.*/ln_2/*=S(1)@tp"]
VOCABULARY_SPLIT = ["--sbp", "wte.weight=S(0)@tp", "--sbp", "lm_head.weight=S(1)@tp"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The folder of a model, written once: layers, then options of transformer.py."""
    known = {}

    def write(layers, *options):
        key = layers, options
        if key not in known:
            known[key] = tmp_path_factory.mktemp("transformer")
            execute(sys.executable, MODELS / "transformer.py", "--output", known[key],
                    "--layers", layers, "--hidden", HIDDEN, "--heads", HEADS, "--sequence",
                    SEQUENCE, "--vocabulary", VOCABULARY, "--samples", 64, *options)
        return known[key]

    return write


def communication(path, *options):
    """[(what, elements of the whole tensor)] of the training step, forward and backward.

    `elements` are those of the tensor that a rank ends with or begins with, whichever is
    larger: n of an all-reduce, and of a reduce-scatter or an all-gather of n.
    """
    text = execute(COMPILE, path, "--dim", f"batch={BATCH}", "--train", *options, "--emit",
                   "comm")
    train = text[text.index("func.func @train"):]
    end = train.find("func.func", 1)
    train = train[:end] if end > 0 else train
    passes = [], []
    loss = train.index('comm.output "loss"')
    for found in re.finditer(
            r"comm\.(all_reduce|reduce_scatter|all_gather|all_to_all|exchange)\b[^\n]*", train):
        shapes = re.findall(r"tensor<([0-9x]*)x(?:f|i)\d+>", found.group())
        elements = max(math.prod(map(int, shape.split("x"))) for shape in shapes)
        passes[found.start() > loss].append((found.group(1), elements))
    return passes


ACTIVATION = BATCH * SEQUENCE * HIDDEN


def per_layer(model, hints, options=()):
    """{what: count} of communication of whole activations that one more layer adds.

    One in the middle: at its ends a network offers ways of its own, such as reducing the
    gradients of the first norm's parameters in place of the gradient of its input.
    """
    counts = []
    for layers in (3, 4):
        folder = model(layers, *options)
        counts.append([
            {kind: sum(what == kind and elements == ACTIVATION for what, elements in passed)
             for kind in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all",
                          "exchange")}
            for passed in communication(folder / "transformer.onnx", "--mesh", "tp=2", *hints)])
    return [{kind: more[kind] - less[kind] for kind in more if more[kind] - less[kind]}
            for less, more in zip(*counts)]


PACKED = pytest.mark.parametrize("options, weights", [
    ((), WEIGHTS), (("--separate",), SEPARATE), (("--norm", "rms"), WEIGHTS),
    (("--dropout", "0.1"), WEIGHTS)], ids=["packed", "separate", "rms", "dropout"])


@PACKED
def test_tensor_parallel_counts(model, options, weights):
    forward, backward = per_layer(model, weights, options)
    assert forward == {"all_reduce": 2}
    assert backward == {"all_reduce": 2}


@PACKED
def test_sequence_parallel_counts(model, options, weights):
    forward, backward = per_layer(model, [*weights, *NORMS], options)
    assert forward == {"reduce_scatter": 2, "all_gather": 2}
    assert backward == {"reduce_scatter": 2, "all_gather": 2}


MESHES = {
    "tp2": ["--mesh", "tp=2", *WEIGHTS],
    "tp3": ["--mesh", "tp=3", *WEIGHTS],
    "tp4, heads 2 2 1 1": ["--mesh", "tp=4", *WEIGHTS],
    "sp2": ["--mesh", "tp=2", *WEIGHTS, *NORMS],
    "vocabulary": ["--mesh", "tp=2", *WEIGHTS, *VOCABULARY_SPLIT],
    "vocabulary, uneven": ["--mesh", "tp=4", *WEIGHTS, *VOCABULARY_SPLIT],
    "dp2": ["--mesh", "dp=2"],
    "dp2tp2": ["--mesh", "dp=2,tp=2", *WEIGHTS],
    "dp2sp2 vocabulary": ["--mesh", "dp=2,tp=2", *WEIGHTS, *NORMS, *VOCABULARY_SPLIT],
    "dp3, 2 1 1": ["--mesh", "dp=3"],
    "no hints": ["--mesh", "dp=2,tp=2"],
}
STEPS = 12


@pytest.fixture(scope="module")
def curve(model, tmp_path_factory):
    """The loss curve of a mesh, in f64, with dropout."""
    known = {}

    def train(label, options, *variant):
        if (label, variant) not in known:
            folder = model(2, "--dtype", "f64", "--dropout", "0.1", *variant)
            work = tmp_path_factory.mktemp("curve")
            plan = compile_plan(folder / "transformer.onnx", work / "plan.ofp", "--dim",
                                f"batch={BATCH}", "--train", *options)
            run_tool("train", plan, "--data", folder / "tokens.npz", "--steps", STEPS,
                     "--loss-log", work / "losses.csv", "--threads", 1)
            with open(work / "losses.csv") as file:
                losses = np.array([float(row["loss"]) for row in csv.DictReader(file)])
            assert len(losses) == STEPS
            known[label, variant] = losses
        return known[label, variant]

    return train


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("variant", [(), ("--tied",)], ids=["untied", "tied"])
def test_loss_curves_agree(curve, mesh, variant):
    options = MESHES[mesh]
    if "--tied" in variant:
        # The embedding is the output's weight: there is no other to split.
        options = [word.replace("lm_head.weight=S(1)", "wte.weight=S(0)")
                   for word in options]
    expected = curve("one", ("--mesh", "dp=1"), *variant)
    # The loss of a guess at the start, and it is learned from there.
    assert abs(expected[0] - math.log(VOCABULARY)) < 0.1
    np.testing.assert_allclose(curve(mesh, options, *variant), expected, rtol=1e-9)


@pytest.mark.parametrize("mesh", ["tp2", "sp2", "vocabulary", "dp2tp2"])
def test_inference_agrees_with_onnxruntime(model, tmp_path, mesh):
    folder = model(2)
    plan = compile_plan(folder / "transformer.onnx", tmp_path / "plan.ofp", "--dim",
                        f"batch={BATCH}", *MESHES[mesh])
    with np.load(folder / "tokens.npz") as data:
        tokens = data["tokens"][:BATCH]
    reference = onnxruntime.InferenceSession(folder / "transformer.onnx",
                                             providers=["CPUExecutionProvider"])
    expected, = reference.run(["logits"], {"tokens": tokens})
    with Session(plan) as session:
        logits = session.run("main", {"tokens": tokens})["logits"]
    # Sums of 96 products in f32, in another order.
    np.testing.assert_allclose(logits, expected, atol=1e-5 * np.abs(expected).max())
