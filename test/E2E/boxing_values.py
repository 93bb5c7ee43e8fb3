# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the plans of boxing-cases compute: the same tensor, whatever the states.

As a program it is one rank of an MPI job: boxing_values.py PLAN. Every rank compares.
"""

import re
import sys

import numpy as np

from runtime import Session

REDUCERS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}
PARTS = 7  # as in BoxingCases.cpp


def wrong_outputs(session):
    """(number of outputs, "ENTRY: FROM -> TO" of each that is not as it must be).

    Small integers, so that sums and products are exact in every type and order.
    """
    count, wrong = 0, []
    for number, entry in enumerate(session.entries):
        random = np.random.default_rng(number)
        shape = session.outputs[entry][0][1]
        whole = random.integers(-99, 100, shape)
        parts = random.integers(1, 5, (PARTS, *shape)) * random.choice(
            [-1, 1], (PARTS, *shape))
        outputs = session.run(entry, {
            name: parts if name.startswith("parts") else whole
            for name, _, _ in session.inputs[entry]})
        for name, value in outputs.items():
            reducer = re.search(r"P\((\w+)\)", name.split(" -> ")[0])
            expected = whole
            if reducer:
                expected = REDUCERS[reducer.group(1)](parts, axis=0)
            count += 1
            if not np.array_equal(value, expected):
                wrong.append(f"{entry}: {name}")
    return count, wrong


if __name__ == "__main__":
    with Session(sys.argv[1], transport="mpi") as session:
        found = wrong_outputs(session)[1]
    for name in found:
        print(name)
    sys.exit(1 if found else 0)
