# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every signature that an op's rule allows gives what one rank gives, and that is what
NumPy gives.

op-cases takes each sample of ops/*.mlir and pins each signature that is legal on the
ranks. Operands that are to be partial come in parts that differ: see samples.py and
OpCases.cpp.
"""

import os
import re

import pytest

import reference
from op_cases import agrees, collect_inputs, computes_in_single, wrong_cases
from runtime import Session, compile_plan, execute
from samples import SAMPLES


@pytest.fixture(scope="session")
def one_rank(tmp_path_factory):
    path = tmp_path_factory.mktemp("samples") / "samples.ofp"
    with Session(compile_plan(SAMPLES, path)) as session:
        yield session


def test_one_rank_computes_what_numpy_computes(one_rank, known_failures):
    wrong = []
    samples = reference.read_samples(SAMPLES.read_text())
    assert set(samples) == set(one_rank.entries)
    for name, sample in samples.items():
        values, _ = collect_inputs(one_rank.inputs[name])
        found = list(one_rank.run(name, values).values())
        expected = reference.evaluate(sample, list(values.values()))
        single = computes_in_single([*values.values(), *found])
        if not all(value.shape == right.shape and
                   agrees(value, right, single)
                   for value, right in zip(found, expected)):
            wrong.append(name)
    known_failures.check("sample ", wrong)


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_signature(one_rank, known_failures, tmp_path, ranks):
    module = execute(os.environ["OP_CASES"], SAMPLES, "forward", ranks)
    count, wrong = wrong_cases(module, one_rank, tmp_path)
    assert count > 300
    known_failures.check(f"signature {ranks} ", wrong)


def test_a_new_op_needs_a_sample(tmp_path):
    """The tool refuses samples from which the ops of one kind are gone."""
    functions = re.split(r"(?=^func\.func)", SAMPLES.read_text(), flags=re.M)
    rest = tmp_path / "samples.mlir"
    rest.write_text("".join(f for f in functions if "oneflow.pick" not in f))
    with pytest.raises(AssertionError, match="found none of oneflow.pick"):
        execute(os.environ["OP_CASES"], rest, "forward", 2)
