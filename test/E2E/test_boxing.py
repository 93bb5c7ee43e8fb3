# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every change of state that the algebra allows: executed, counted, compared.

The cases are printed by boxing-cases; see boxing_values.py for the values, which are exact
in every order and thus those of one rank bit for bit. Of each case the bytes that its
communications sent are what --explain predicted, no communication of it held more memory
than its predicted peak and its bound, or moved more than gathering everything would.

A pair is a source and a different target state of one tensor. States are S of every
dimension, on meshes of one axis also S in blocks of two, B, and P of sum, max, min, prod.

- one axis (2, 3, 4, 5 ranks; and to other ranks): every pair, for twelve tensors of zero to
  four dimensions, even, uneven, and smaller than the mesh.
- two axes (2x2, 2x3): every pair, for tensors of two dimensions, even, uneven, and smaller
  than the mesh; on 2x2 also of three.
- three axes (2x2x2): every pair whose parts are summed, for tensors of two dimensions, even,
  uneven, and smaller than the mesh; every pair in which a state is partial by another
  reducer, for the uneven one. Of all pairs of a tensor of three dimensions, 500 are drawn
  with a fixed seed.
- two axes to other meshes: 48 pairs of each tensor are drawn.
- placements: 210 pairs of placements of up to eight ranks, drawn with a fixed seed, in turn
  disjoint, overlapping, and the same ranks as another mesh; two changes of state for each.
"""

import collections
import os
import pathlib
import re
import sys

import pytest

from boxing_values import check_plan, predicted_bytes, read_explanation
from runtime import COMPILE, execute, launcher, needs_mpi

CASES = os.environ["BOXING_CASES"]


@pytest.fixture(scope="session")
def plan(tmp_path_factory):
    """(plan, explanation) of what boxing-cases prints, compiled once."""
    known = {}

    def build(*words):
        if words not in known:
            path = tmp_path_factory.mktemp("boxing") / "cases.ofp"
            source = path.with_suffix(".mlir")
            source.write_text(execute(CASES, *words))
            known[words] = path, execute(COMPILE, source, "-o", path, "--explain")
        return known[words]

    return build


@pytest.fixture
def check(plan, known_failures, tmp_path):
    """Runs what boxing-cases prints for `words`: `count` cases, or at least that many."""
    def run(*words, count=None, least=0):
        cases, wrong = check_plan(*plan(*words), tmp_path / "trace.json")
        assert cases >= least
        assert count is None or cases == count
        known_failures.check(f"boxing {' '.join(words)} ", wrong)

    return run


def test_one_axis_of_one_rank(check):
    check("1", least=500)


@pytest.mark.parametrize("mesh", ["2", "3", "4", "5"])
def test_one_axis(check, mesh):
    check(mesh, least=400)


@pytest.mark.parametrize("source, target", [
    ("1", "2"), ("2", "1"), ("2", "2"), ("2", "3"), ("3", "2"), ("5", "3")])
def test_one_axis_to_others(check, source, target):
    check(source, target, least=500)


@needs_mpi
@pytest.mark.parametrize("mesh", ["2", "3", "4", "5"])
def test_one_axis_under_mpi(plan, mesh):
    path, explanation = plan(mesh)
    script = pathlib.Path(__file__).with_name("boxing_values.py")
    moved = collections.Counter()
    said = execute(*launcher(int(mesh)), sys.executable, script, path)
    for entry, count in re.findall(r"bytes (\w+) (\d+);", said):
        moved[entry] += int(count)
    rows = read_explanation(explanation)
    assert moved == {entry: predicted_bytes(rows[entry]) for entry in moved}


# (9 states without parts, and 7 with those of each reducer) squared, less the diagonal.
@pytest.mark.parametrize("mesh, tensor, count", [
    ("2x2", "f32:4x8", 37 * 36), ("2x2", "i64:5x7", 37 * 36),
    ("2x2", "f64:3x2", 35 * 34), ("2x2", "f32:6x5x7", 52 * 51),
    ("2x3", "f64:6x12", 37 * 36), ("2x3", "f32:7x8", 37 * 36),
    ("2x3", "i64:2x5", None)])
def test_two_axes(check, mesh, tensor, count):
    check(mesh, tensor, count=count, least=500)


@pytest.mark.parametrize("source, target", [
    ("2x2", "4@0"),  # the same ranks as another mesh
    ("3", "2x2@1"),  # some ranks in common
    ("2x2", "3")])
def test_two_axes_to_others(check, source, target):
    check(source, target, "sample=48", least=400)


@pytest.mark.parametrize("tensor, count", [
    ("f32:8x16", 64 * 63), ("f64:9x11", 64 * 63), ("f32:3x5", None)])
def test_three_axes(check, tensor, count):
    check("2x2x2", tensor, "reducers=sum", count=count, least=1000)


OTHER_REDUCERS, PARTS = 26418, 6


@pytest.mark.parametrize("part", range(PARTS))
def test_other_reducers(check, part):
    count = OTHER_REDUCERS * (part + 1) // PARTS - OTHER_REDUCERS * part // PARTS
    check("2x2x2", "f32:9x11", "reducers=other", f"part={part}/{PARTS}", count=count)


def test_three_axes_of_three_dimensions(check):
    check("2x2x2", "f32:9x8x10", "sample=500", count=500)


def test_placements(check):
    check("placements=210", count=420)
