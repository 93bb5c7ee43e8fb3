# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Booleans are unsigned, and their sum is "or": NumPy's, on one rank and as parts."""

import itertools

import numpy as np
import pytest

from runtime import Session, compile_plan

BINARY = {"add": np.logical_or, "mul": np.logical_and, "max": np.logical_or,
          "min": np.logical_and, "compare <eq>": np.equal, "compare <lt>": np.less,
          "compare <gt>": np.greater}
REDUCERS = {"sum": np.any, "max": np.any, "min": np.all, "prod": np.all}
TYPE = "tensor<4x6xi1>"
VALUES = np.array(list(itertools.product([False, True], repeat=4)))[:, [0, 1, 2, 3, 0, 2]][::4]


def function(name, inputs, body):
    reads = "".join(f'  %{x} = oneflow.input "{x}" : {TYPE}\n' for x in inputs)
    return f"func.func @{name}() {{\n{reads}{body}  return\n}}\n"


def module():
    text = ""
    for op in BINARY:
        name = op.replace(" <", "_").rstrip(">")
        text += function(name, "xz", f"  %r = oneflow.{op} %x, %z : ({TYPE}, {TYPE}) -> {TYPE}\n"
                                     f'  oneflow.output "r" %r : {TYPE}\n')
    for kind in REDUCERS:
        text += function(f"reduce_{kind}", "x",
                         f"  %r = oneflow.reduce <{kind}> %x dims [0] : ({TYPE}) -> "
                         'tensor<6xi1> loc("reduce")\n'
                         '  oneflow.output "r" %r : tensor<6xi1>\n')
    return text


@pytest.mark.parametrize("options", [
    ["--mesh", "p=1"], ["--mesh", "p=2", "--sbp", "x=S(0)@p"],
    ["--mesh", "p=2", "--sbp", "x=S(1)@p"], ["--mesh", "p=3", "--sbp", "reduce:in0=S(0)@p"]])
def test_ops(options, tmp_path):
    x, z = VALUES, VALUES[::-1, ::-1]
    with Session(compile_plan(module(), tmp_path / "b.ofp", *options)) as session:
        for op, function in BINARY.items():
            name = op.replace(" <", "_").rstrip(">")
            assert (session.run(name, {"x": x, "z": z})["r"] == function(x, z)).all(), name
        for kind, function in REDUCERS.items():
            for values in (x, z, ~x):
                found = session.run(f"reduce_{kind}", {"x": values})["r"]
                assert (found == function(values, axis=0)).all(), kind


@pytest.mark.parametrize("state", ["B", "S(0)", "S(1)", "P(sum)", "P(max)", "P(min)", "P(prod)"])
@pytest.mark.parametrize("source", ["B", "S(0)", "S(1)"])
def test_moved_as(source, state, tmp_path):
    text = function("main", "x", f"  %t = oneflow.transpose %x [1, 0] : ({TYPE}) -> "
                                 "tensor<6x4xi1> loc(\"n\")\n"
                                 '  oneflow.output "r" %t : tensor<6x4xi1>\n')
    plan = compile_plan(text, tmp_path / "b.ofp", "--mesh", "p=3", "--sbp", f"n={state}@p",
                        "--sbp", f"x={source}@p")
    with Session(plan) as session:
        assert (session.run("main", {"x": VALUES})["r"] == VALUES.T).all()
