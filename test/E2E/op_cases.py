# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the modules of op-cases and compares each case with its sample on one rank.

Operands that are to be partial come in parts that differ: see samples.py and
OpCases.cpp.
"""

import re

import numpy as np

from runtime import Session, compile_plan
from samples import REDUCERS, draw

# Every other sample computes; a split may change the order of its sums.
MOVEMENT = re.compile("transpose|reshape|broadcast|constant|cast|compare|neg|relu|"
                      "max|min|reduce_max|reduce_min|slice|pad|concat|select|"
                      "gather(?!_grad)")


def computes_in_single(arrays):
    return any(array.dtype == np.float32 for array in arrays)


def agrees(value, expected, single, exact=False):
    """`single`: the sample computes in f32."""
    if value.shape != expected.shape:
        return False
    if value.dtype.kind != "f" or exact:
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
        values[name] = draw(name, shape, dtype)
        plain[base] = (REDUCERS[reducer].reduce(values[name], axis=0, dtype=dtype)
                       if reducer else values[name])
    return values, plain


def wrong_cases(module, one_rank, folder):
    """(number of cases, those that differ as "sample signature").

    `one_rank` is a session with an entry of each sample's name.
    """
    signatures = dict(re.findall(r"^// (\S+): (.*)$", module, re.M))
    wrong = []
    with Session(compile_plan(module, folder / "cases.ofp")) as session:
        assert set(session.entries) == set(signatures)
        for case, signature in signatures.items():
            sample = case.split(".")[0]
            values, plain = collect_inputs(session.inputs[case])
            expected = one_rank.run(sample, plain)
            outputs = session.run(case, values)
            assert outputs.keys() == expected.keys()
            single = computes_in_single([*plain.values(), *expected.values()])
            # Sums of the values that parts and gradients have are exact.
            exact = MOVEMENT.match(sample) is not None
            if not all(agrees(outputs[name], expected[name], single, exact)
                       for name in expected):
                wrong.append(f"{sample} {signature}")
    return len(signatures), wrong
