# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own tests of operators that take parts of tensors, make masks, or slide windows.

They are those of the onnx package. What a model must know when it is imported (the
starts of a slice, say) is an input there, and becomes an initializer here.
"""

import collections
import contextlib
import io
import warnings

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

from runtime import Session, compile_plan

# Operators, and which of their inputs must be known.
OPERATORS = {"Slice": range(1, 5), "Split": [1], "Concat": [], "Gather": [], "Where": [],
             "Pad": [1, 2, 3], "Trilu": [1], "Expand": [1], "Equal": [], "Less": [],
             "LessOrEqual": [], "Greater": [], "GreaterOrEqual": [], "And": [], "Or": [],
             "Xor": [], "Not": [], "Conv": [], "BatchNormalization": [], "MaxPool": [],
             "AveragePool": [], "GlobalAveragePool": [], "GlobalMaxPool": []}
# They compute: their last bits are not those of NumPy.
ROUNDED = {"Conv": 1e-5, "BatchNormalization": 1e-5, "AveragePool": 1e-6,
           "GlobalAveragePool": 1e-6}
# Its expected values are written with four digits.
FOUR_DIGITS = "test_averagepool_2d_ceil_last_window_starts_on_pad"
# Why cases are left out, and how many of onnx 1.18 to 1.23 may be.
LEFT_OUT = {"unsigned integers": 21, "strings or sequences": 6, "padding by another mode": 3,
            "no elements": 6}


def reason_to_leave_out(case):
    [node] = case.model.graph.node
    [(inputs, outputs)] = case.data_sets
    values = [*inputs, *outputs]
    if any(isinstance(value, list) or np.asarray(value).dtype.kind in "OSU"
           for value in values):
        return "strings or sequences"
    if any(np.asarray(value).dtype.kind == "u" for value in values):
        return "unsigned integers"
    if any(attribute.name == "mode" and attribute.s != b"constant"
           for attribute in node.attribute):
        return "padding by another mode"
    if any(np.asarray(value).size == 0 for value in outputs) or inputs[0].size == 0:
        return "no elements"
    return None


def collect():
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERATORS and not nodes[0].domain:
            yield case, reason_to_leave_out(case)


COLLECTED = list(collect())
CASES = [case for case, reason in COLLECTED if not reason]


def test_few_are_left_out():
    reasons = collections.Counter(reason for _, reason in COLLECTED if reason)
    print(f"{len(CASES)} cases run, left out: {dict(reasons)}")
    assert all(count <= LEFT_OUT[reason] for reason, count in reasons.items())
    assert {case.model.graph.node[0].op_type for case in CASES} == set(OPERATORS)


def agrees(value, expected, limit):
    if value.dtype != expected.dtype or value.shape != expected.shape:
        return False
    if expected.dtype.kind != "f":
        return np.array_equal(value, expected)
    return np.allclose(value, expected, rtol=limit, atol=limit, equal_nan=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node(known_failures, tmp_path, case):
    [(inputs, outputs)] = case.data_sets
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    # Not is as it was in opset 1; the importer begins at 7.
    model.opset_import[0].version = max(model.opset_import[0].version, 7)
    [node] = model.graph.node
    values = dict(zip([info.name for info in model.graph.input], map(np.asarray, inputs)))
    for position in OPERATORS[node.op_type]:
        if position < len(node.input) and node.input[position] in values:
            name = node.input[position]
            model.graph.initializer.append(
                numpy_helper.from_array(values.pop(name), name))
            [info] = [info for info in model.graph.input if info.name == name]
            model.graph.input.remove(info)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    with Session(compile_plan(path, tmp_path / "model.ofp")) as session:
        found = session.run("main", values)
    limit = 5e-4 if case.name == FOUR_DIGITS else ROUNDED.get(node.op_type, 0)
    wrong = [info.name for info, value in zip(model.graph.output, map(np.asarray, outputs))
             if not agrees(found[info.name], value, limit)]
    known_failures.check(f"node {case.name} ", wrong)
