# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dropout draws the same numbers under every SBP, mesh and micro-batching.

What it keeps is held, bit for bit, to NumPy's Philox and the counter that the op's
documentation states (reference.py), and to what one rank keeps.
"""

import itertools
import math

import numpy as np
import pytest

from reference import dropout_keeps, philox
from runtime import Session, compile_plan

SHAPE = (7, 12, 5)
# Halves and few bits: sums of parts and the scaling by 1 / 0.5 are exact.
ATTRIBUTES = dict(ratio=0.5, seed=2**35 + 3, op_id=7)
STATES = ["B", "S(0)", "S(1)", "S(2)", "S(1, block = 2)", "P(sum)"]


def function(name, shape=SHAPE, state=(), sizes=(), ratio=0.5, seed=3, op_id=7,
             offset=False):
    """A dropout of "x" at "step", and at "offset" if asked, pinned to the state.

    Of a partial state the parts are the rows of "x", as many as ranks along those axes.
    """
    kind = "x".join(map(str, shape)) + "xf64"
    operands, types = "%x at %step : tensor<i64>", f"tensor<{kind}>"
    lines = ['%step = oneflow.input "step" : tensor<i64>']
    if offset:
        lines.append('%offset = oneflow.input "offset" : tensor<i64>')
        operands += " offset %offset : tensor<i64>"
    spread = ""
    if state:
        whole = f"[{', '.join('B' for _ in state)}]"
        text = f"[{', '.join(state)}]"
        scalars = f", {whole}" * (1 + offset)
        spread = f" on @mesh sbp ({text}{scalars}) -> ({text})"
    if "P(sum)" in state:
        count = math.prod(size for axis, size in zip(state, sizes) if axis == "P(sum)")
        # The parts lie where they are reduced; other splits are one dimension on.
        parts = "[" + ", ".join(
            "S(0)" if axis == "P(sum)" else
            f"S({int(axis[2]) + 1}{axis[3:]}" if axis[0] == "S" else axis
            for axis in state) + "]"
        lines += [
            f'%parts = oneflow.input "x" on @mesh sbp () -> ({parts}) '
            f": tensor<{count}x{kind}>",
            f"%x = oneflow.reduce <sum> %parts dims [0] on @mesh sbp ({parts}) -> ({text})"
            f" : (tensor<{count}x{kind}>) -> {types}"]
    else:
        lines.append(f'%x = oneflow.input "x" : {types}')
    lines += [
        f"%r = oneflow.dropout {operands}{spread} {{ratio = {ratio} : f64, "
        f"seed = {seed} : i64, id = {op_id} : i64}} : {types}",
        f'oneflow.output "r" %r : {types}', "return"]
    return f"func.func @{name}() {{\n  " + "\n  ".join(lines) + "\n}\n"


def placement(sizes):
    axes = ", ".join(f"{name} = {size}" for name, size in zip("abc", sizes))
    return f"oneflow.placement @mesh cpu [{axes}]\n"


def is_legal(state, sizes, shape):
    """Whether every rank gets at least one block of every split."""
    extents = [{extent} for extent in shape]
    for axis, size in zip(state, sizes):
        if axis[0] != "S":
            continue
        block = 2 if "block" in axis else 1
        left = extents[int(axis[2])]
        if any(extent % block or extent // block < size for extent in left):
            return False
        extents[int(axis[2])] = {block * (extent // block // size + more)
                                 for extent in left
                                 for more in ([0, 1] if extent // block % size else [0])}
    return True


def values(shape, seed=0):
    """Positive multiples of 1/256: what is zero was dropped."""
    return np.random.default_rng(seed).integers(1, 512, shape) / 256


def run(session, entry, x, step, offset=0):
    return session.run(entry, {"x": x, "step": step, "offset": offset})["r"]


def test_the_reference_is_philox():
    """Known answers of the authors' library, Random123 (kat_vectors)."""
    def words(counter, key):
        arrays = tuple(np.array([word], np.uint64) for word in counter)
        return [int(word[0]) for word in philox(arrays, key)]

    assert words([0] * 4, (0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = 2**32 - 1
    assert words([ones] * 4, (ones, ones)) == [
        0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    assert words([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
                 (0xA4093822, 0x299F31D0)) == [
        0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory):
    path = tmp_path_factory.mktemp("dropout") / "one.ofp"
    with Session(compile_plan(function("whole", **ATTRIBUTES), path)) as session:
        yield session


@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 2), (2, 3), (2, 2, 2)],
                         ids=lambda sizes: "x".join(map(str, sizes)))
def test_every_state_of_every_mesh(one_rank, tmp_path, sizes):
    states = {f"s{i}": state
              for i, state in enumerate(itertools.product(STATES, repeat=len(sizes)))
              if is_legal(state, sizes, SHAPE)}
    assert len(states) >= 6 if len(sizes) == 1 else len(states) > 25
    text = placement(sizes) + "".join(
        function(name, state=state, sizes=sizes, **ATTRIBUTES)
        for name, state in states.items())
    step = 5
    keeps = dropout_keeps(SHAPE, step, **ATTRIBUTES)
    wrong = []
    with Session(compile_plan(text, tmp_path / "states.ofp")) as session:
        for name, state in states.items():
            [shape] = [shape for known, shape, _ in session.inputs[name] if known == "x"]
            x = values(shape)
            whole = x.sum(axis=0) if "P(sum)" in state else x
            expected = run(one_rank, "whole", whole, step)
            np.testing.assert_array_equal(expected, np.where(keeps, whole * 2, 0))
            if not np.array_equal(run(session, name, x, step), expected):
                wrong.append(state)
    assert not wrong


@pytest.mark.parametrize("state", [(), ("S(0)", "S(1)"), ("S(1)", "S(1)"), ("B", "S(0)")],
                         ids=lambda state: ",".join(state) or "one_rank")
def test_micro_batches_draw_what_the_batch_draws(one_rank, tmp_path, state):
    sizes = (2, 2) if state else ()
    rows = {2: [4, 3], 3: [3, 2, 2]}
    text = (placement(sizes) if state else "") + "".join(
        function(f"rows{count}", (count, *SHAPE[1:]), state, sizes, offset=True,
                 **ATTRIBUTES) for count in (2, 3, 4))
    x = values(SHAPE)
    expected = run(one_rank, "whole", x, 9)
    with Session(compile_plan(text, tmp_path / "rows.ofp")) as session:
        for counts in rows.values():
            starts = np.cumsum([0, *counts])
            parts = [run(session, f"rows{count}", x[start:start + count], 9, start)
                     for count, start in zip(counts, starts)]
            np.testing.assert_array_equal(np.concatenate(parts), expected)


@pytest.mark.parametrize("state", [(), ("S(0)", "S(1)")],
                         ids=lambda state: ",".join(state) or "one_rank")
def test_indices_beyond_32_bits(tmp_path, state):
    sizes = (2, 2) if state else ()
    row = math.prod(SHAPE[1:])
    text = (placement(sizes) if state else "") + function(
        "main", state=state, sizes=sizes, offset=True, **ATTRIBUTES)
    x = values(SHAPE)
    masks = []
    with Session(compile_plan(text, tmp_path / "large.ofp")) as session:
        # Across 2^32, where the offset alone is below it; above it; near the last.
        for offset in (2**32 // row - 3, 2**32, 2**40 + 3, 2**63 // row - 8):
            expected = dropout_keeps(SHAPE, 1, offset=offset, **ATTRIBUTES)
            found = run(session, "main", x, 1, offset)
            np.testing.assert_array_equal(found, np.where(expected, x * 2, 0))
            masks.append(expected.tobytes())
    # An index cut to 32 bits would repeat the draws of the batch's beginning.
    masks.append(dropout_keeps(SHAPE, 1, **ATTRIBUTES).tobytes())
    assert len(set(masks)) == len(masks)


def test_seeds_ids_and_steps_differ(tmp_path):
    keys = list(itertools.product([0, 1, 2**32], [0, 1]))
    text = "".join(function(f"f{i}", seed=seed, op_id=op_id)
                   for i, (seed, op_id) in enumerate(keys))
    x = values(SHAPE)
    masks = set()
    with Session(compile_plan(text, tmp_path / "keys.ofp")) as session:
        for i, (seed, op_id) in enumerate(keys):
            for step in (0, 1, 2**31):
                found = run(session, f"f{i}", x, step) != 0
                np.testing.assert_array_equal(
                    found, dropout_keeps(SHAPE, step, 0.5, seed, op_id))
                masks.add(found.tobytes())
    assert len(masks) == 3 * len(keys)


@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.75])
def test_keeps_as_many_as_it_should(tmp_path, ratio):
    shape = (200, 150)
    with Session(compile_plan(function("main", shape, ratio=ratio),
                              tmp_path / "rate.ofp")) as session:
        kept = np.count_nonzero(run(session, "main", values(shape), 1))
    count = math.prod(shape)
    # Five standard deviations of the binomial distribution.
    assert abs(kept - count * (1 - ratio)) < 5 * math.sqrt(count * ratio * (1 - ratio))


TRAINING = """
oneflow.placement @mesh cpu [MESH]
oneflow.variable @x on @mesh storage STORAGE : tensor<5x8xf64> {trainable}
func.func @main() {
  %x = oneflow.read @x : tensor<5x8xf64>
  %weight = oneflow.input "weight" : tensor<5x8xf64>
  %0 = oneflow.dropout %x {ratio = 0.5 : f64, seed = 11 : i64, id = 2 : i64} : tensor<5x8xf64>
  %1 = oneflow.mul %0, %weight : (tensor<5x8xf64>, tensor<5x8xf64>) -> tensor<5x8xf64>
  %2 = oneflow.reduce <sum> %1 dims [0, 1] : (tensor<5x8xf64>) -> tensor<f64>
  oneflow.output "total" %2 : tensor<f64>
  return
}
"""


@pytest.mark.parametrize("mesh, storage", [
    ("dp = 1", "[B]"), ("dp = 2", "[S(0)]"), ("dp = 2", "[S(1)]"),
    ("dp = 2, tp = 2", "[S(0), S(1)]")])
def test_forward_and_backward_use_one_mask(tmp_path, mesh, storage):
    """With x = 1 and weights 2^i the loss has one bit per element that was kept."""
    shape = (5, 8)
    text = TRAINING.replace("MESH", mesh).replace("STORAGE", storage)
    plan = compile_plan(text, tmp_path / "train.ofp", "--train", "--loss", "mean",
                        "--loss-output", "total", "--optimizer", "none")
    weight = 2.0 ** np.arange(40).reshape(shape)
    with Session(plan) as session:
        session.set("x", np.ones(shape))
        for step in (1, 2, 3):
            outputs = session.run("train", {"weight": weight})
            [loss] = [value for name, value in outputs.items()
                      if not name.endswith(".gradient")]
            bits = int(loss) // 2
            forward = np.array([bits >> i & 1 for i in range(40)], bool).reshape(shape)
            gradient = outputs["x.gradient"]
            np.testing.assert_array_equal(gradient, np.where(forward, 2 * weight, 0))
            np.testing.assert_array_equal(forward, dropout_keeps(shape, step, 0.5, 11, 2))
