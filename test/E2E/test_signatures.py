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

import numpy as np
import pytest

import reference
from runtime import Session, compile_plan, execute
from samples import SAMPLES, draw

REDUCERS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}
# Every other sample computes; a split may change the order of its sums.
MOVEMENT = re.compile("transpose|reshape|broadcast|constant|cast|compare|neg|relu|"
                      "max|min|reduce_max|reduce_min")


def part_values(parts, reducer):
    """What the parts along the first dimension are together, in their own type."""
    return REDUCERS[reducer].reduce(parts, axis=0, dtype=parts.dtype)


def agrees(value, expected, sample, signature, single):
    """`single`: the sample computes in f32."""
    adds = "P(sum)" in signature or "P(prod)" in signature
    if value.dtype.kind != "f" or (MOVEMENT.match(sample) and not adds):
        return np.array_equal(value, expected)
    # A few roundings of sums of up to 41 terms.
    limit = 1e-5 if single else 1e-12
    scale = max(1.0, float(np.max(np.abs(expected), initial=0)))
    return np.allclose(value, expected, rtol=limit, atol=limit * scale)


def collect_inputs(inputs):
    """({name: value} for the case, {name: value} for its sample)."""
    values, plain = {}, {}
    for name, shape, dtype in inputs:
        base, _, reducer = name.partition(" ")
        values[name] = draw(base, shape, dtype)
        plain[base] = part_values(values[name], reducer) if reducer else values[name]
    return values, plain


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
        single = any(array.dtype == np.float32 for array in [*values.values(), *found])
        if not all(value.shape == right.shape and
                   agrees(value, right, name, "P(sum)", single)
                   for value, right in zip(found, expected)):
            wrong.append(name)
    known_failures.check("sample ", wrong)


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_signature(one_rank, known_failures, tmp_path, ranks):
    module = execute(os.environ["OP_CASES"], SAMPLES, "signatures", ranks)
    signatures = dict(re.findall(r"^// (\S+): (.*)$", module, re.M))
    assert len(signatures) > 300
    wrong = []
    with Session(compile_plan(module, tmp_path / "cases.ofp")) as session:
        assert set(session.entries) == set(signatures)
        for case, signature in signatures.items():
            sample = case.split(".")[0]
            values, plain = collect_inputs(session.inputs[case])
            expected = one_rank.run(sample, plain)
            outputs = session.run(case, values)
            assert outputs.keys() == expected.keys()
            single = any(array.dtype == np.float32
                         for array in [*plain.values(), *expected.values()])
            if not all(agrees(outputs[name], expected[name], sample, signature, single)
                       for name in expected):
                wrong.append(f"{sample} {signature}")
    known_failures.check(f"signature {ranks} ", wrong)


def test_a_new_op_needs_a_sample(tmp_path):
    """The tool refuses samples from which the ops of one kind are gone."""
    functions = re.split(r"(?=^func\.func)", SAMPLES.read_text(), flags=re.M)
    rest = tmp_path / "samples.mlir"
    rest.write_text("".join(f for f in functions if "oneflow.pick" not in f))
    with pytest.raises(AssertionError, match="found none of oneflow.pick"):
        execute(os.environ["OP_CASES"], rest, "signatures", 2)
