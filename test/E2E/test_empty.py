# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors without elements, through every op.

Each sample of ops/*.mlir is taken with one of its extents set to zero: on one rank and on
two, it compiles, or the op says why it cannot be. Results without elements come out, and
others are what NumPy makes of nothing.
"""

import re
import subprocess

import numpy as np
import pytest

from runtime import COMPILE, RuntimeFailure, Session, compile_plan
from samples import SAMPLES

FUNCTION = re.compile(r"^func\.func @(\w+)\(\).*?^}\n", re.M | re.S)
DIMS = re.compile(r"(?<=tensor<)(?:\d+x)+")
# Of verifiers and type inference: such types cannot be.
REFUSAL = re.compile(r"error: .*(expected|incompatible|does not match)")


def emptied():
    """{name: text of a function} for each sample and extent above one."""
    functions = {}
    for match in FUNCTION.finditer(SAMPLES.read_text()):
        extents = {size for dims in DIMS.findall(match[0]) for size in dims.split("x") if size}
        for extent in sorted(extents - {"0", "1"}):
            text = DIMS.sub(lambda dims: re.sub(rf"\b{extent}(?=x)|(?<=x){extent}(?=x)", "0",
                                                dims[0]), match[0])
            name = f"{match[1]}_{extent}"
            functions[name] = text.replace(f"@{match[1]}(", f"@{name}(")
    return functions


FUNCTIONS = emptied()


def refused(path):
    """What is said of a function that cannot be; None where there is nothing wrong."""
    done = subprocess.run([COMPILE, path, "--emit", "logical"], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode in (0, 1), done.stderr
    return done.stderr if done.returncode else None


@pytest.fixture(scope="module")
def possible(tmp_path_factory):
    """The functions whose types can be."""
    path, known = tmp_path_factory.mktemp("empty") / "one.mlir", {}
    for name, text in FUNCTIONS.items():
        path.write_text(text)
        why = refused(path)
        if why is None:
            known[name] = text
        else:
            assert REFUSAL.search(why), f"{name}: {why}"
    assert len(known) > 300
    return known


@pytest.mark.parametrize("mesh", ["p=1", "p=2"])
def test_every_op(possible, mesh, tmp_path):
    plan = compile_plan("\n".join(possible.values()), tmp_path / "empty.ofp", "--mesh", mesh)
    session = Session(plan)
    assert set(session.entries) == set(possible)
    for entry in list(session.entries):
        inputs = {name: np.ones(shape, dtype) for name, shape, dtype in session.inputs[entry]}
        asked = set(re.findall(r'oneflow.input "(\w+)"', possible[entry]))
        assert inputs.keys() == asked, entry
        try:
            outputs = session.run(entry, inputs)
        except RuntimeFailure as failure:
            # There is no row to take, which ends the session.
            assert "lies outside of its table" in str(failure), entry
            session.close()
            session = Session(plan)
            continue
        for value in outputs.values():
            if entry.startswith("matmul") and value.size and not all(
                    array.size for array in inputs.values()):
                assert not value.any(), entry
    session.close()


def sum_of_nothing(kind, element):
    return f"""\
func.func @{kind}_{element}() {{
  %x = oneflow.input "x" : tensor<4x0x{element}>
  %r = oneflow.reduce <{kind}> %x dims [1] : (tensor<4x0x{element}>) -> tensor<4x{element}>
  oneflow.output "r" %r : tensor<4x{element}>
  return
}}
"""


@pytest.mark.parametrize("mesh, hints", [
    ("p=1", []), ("p=2", []), ("p=2", ["x=S(0)@p"])])
def test_products_and_reductions_of_nothing(mesh, hints, tmp_path):
    text = "".join(sum_of_nothing(kind, element) for kind in ("sum", "prod", "max", "min")
                   for element in ("f32", "i64", "i1"))
    text += """\
oneflow.variable @w : tensor<0x3xf32>
func.func @matmul() {
  %x = oneflow.input "x" : tensor<4x0xf32>
  %w = oneflow.read @w : tensor<0x3xf32>
  %0 = oneflow.matmul %x, %w : (tensor<4x0xf32>, tensor<0x3xf32>) -> tensor<4x3xf32>
  oneflow.output "r" %0 : tensor<4x3xf32>
  return
}
"""
    plan = compile_plan(text, tmp_path / "empty.ofp", "--mesh", mesh,
                        *(word for hint in hints for word in ("--sbp", hint)))
    integers = np.iinfo(np.int64)
    expected = {"f32": {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf},
                "i64": {"sum": 0, "prod": 1, "max": integers.min, "min": integers.max},
                "i1": {"sum": False, "prod": True, "max": False, "min": True}}
    with Session(plan) as session:
        for entry in session.entries:
            [(_, shape, dtype)] = session.inputs[entry]
            found = session.run(entry, {"x": np.empty(shape, dtype)})["r"]
            kind, _, element = entry.partition("_")
            assert (found == (expected[element][kind] if element else 0)).all(), entry


PARTIAL = """\
oneflow.variable @w : tensor<{depth}x{columns}xf32>
func.func @main() {{
  %x = oneflow.input "x" : tensor<{rows}x{depth}xf32>
  %w = oneflow.read @w : tensor<{depth}x{columns}xf32>
  %0 = oneflow.matmul %x, %w : (tensor<{rows}x{depth}xf32>, tensor<{depth}x{columns}xf32>) -> tensor<{rows}x{columns}xf32> loc("n")
  %1 = oneflow.relu %0 : tensor<{rows}x{columns}xf32>
  oneflow.output "y" %1 : tensor<{rows}x{columns}xf32>
  return
}}
"""


@pytest.mark.parametrize("shape, hint", [
    ((0, 8, 4), None), ((0, 8, 4), "n=P(sum)@p"), ((0, 8, 4), "n=S(1)@p"),
    ((16, 0, 4), "n=P(sum)@p"), ((16, 0, 4), "n=S(1)@p"), ((16, 0, 4), "n=S(0)@p"),
    ((16, 8, 0), "n=P(sum)@p"), ((16, 8, 0), "n=S(0)@p")])
def test_signatures(shape, hint, tmp_path):
    rows, depth, columns = shape
    plan = compile_plan(PARTIAL.format(rows=rows, depth=depth, columns=columns),
                        tmp_path / "empty.ofp", "--mesh", "p=2",
                        *(["--sbp", hint] if hint else []))
    with Session(plan) as session:
        found = session.run("main", {"x": np.ones((rows, depth), np.float32)})["y"]
        assert found.shape == (rows, columns) and not found.any()
