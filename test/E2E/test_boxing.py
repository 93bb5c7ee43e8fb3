# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every row of the boxing table for one mesh axis, and more, locally and under MPI.

Each case must give the tensor that went in, which is also what one rank gives: the
expected values are NumPy's, and the plan for one rank is held to them as well.
"""

import os
import pathlib
import sys

import pytest

from boxing_values import wrong_outputs
from runtime import Session, compile_plan, execute, launcher, needs_mpi

CASES = os.environ["BOXING_CASES"]


@pytest.fixture(scope="session")
def plan(tmp_path_factory):
    """The plan of boxing-cases for (mesh) or (mesh, target), compiled once."""
    known = {}

    def build(*meshes):
        if meshes not in known:
            path = tmp_path_factory.mktemp("boxing") / "cases.ofp"
            known[meshes] = compile_plan(execute(CASES, *meshes), path)
        return known[meshes]

    return build


def check(path, known_failures, label, least):
    with Session(path) as session:
        count, wrong = wrong_outputs(session)
    assert count >= least
    known_failures.check(f"boxing {label} ", wrong)


def test_one_rank(plan, known_failures):
    check(plan("1"), known_failures, "1", 500)


@pytest.mark.parametrize("mesh", ["2", "3", "4", "5"])
def test_same_placement(plan, known_failures, mesh):
    check(plan(mesh), known_failures, mesh, 400)


@pytest.mark.parametrize("source, target", [
    ("1", "2"), ("2", "1"), ("2", "2"), ("2", "3"), ("3", "2"), ("5", "4")])
def test_disjoint_placements(plan, known_failures, source, target):
    check(plan(source, target), known_failures, f"{source} to {target}", 500)


@pytest.mark.parametrize("mesh", ["2x2", "2x3"])
def test_two_axes(plan, known_failures, mesh):
    check(plan(mesh), known_failures, mesh, 300)


@pytest.mark.parametrize("source, target", [
    ("2x2", "4@0"),  # the same ranks under another hierarchy
    ("3", "2x2@1"),  # some ranks in common
    ("2x2", "3"),
])
def test_other_meshes(plan, known_failures, source, target):
    check(plan(source, target), known_failures, f"{source} to {target}", 300)


@needs_mpi
@pytest.mark.parametrize("mesh", ["2", "3", "4", "5"])
def test_same_placement_under_mpi(plan, mesh):
    script = pathlib.Path(__file__).with_name("boxing_values.py")
    execute(*launcher(int(mesh)), sys.executable, script, plan(mesh))
