# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every signature of every op on a mesh of two axes, and its gradient behind it.

The sampled op is pinned; how its gradient lies is inferred. Both give what one rank
gives, whose values test_signatures.py and test_gradients.py compare with NumPy and with
central differences.
"""

import os

import pytest

from op_cases import wrong_cases
from runtime import Session, compile_plan, execute
from samples import SAMPLES

# Each its own test of ctest, so that they run side by side.
PARTS = 4


@pytest.mark.parametrize("part", [pytest.param(i + 1, id=f"part{i + 1}")
                                  for i in range(PARTS)])
def test_every_signature_and_gradient(known_failures, tmp_path, part):
    def make(mesh):
        return execute(os.environ["OP_CASES"], SAMPLES, "backward", mesh,
                       f"{part}/{PARTS}")

    with Session(compile_plan(make("1"), tmp_path / "samples.ofp")) as one_rank:
        count, wrong = wrong_cases(make("2x2"), one_rank, tmp_path)
    assert count > 900
    known_failures.check(f"mesh part{part} ", wrong)
