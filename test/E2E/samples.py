# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The op samples of ops/*.mlir, and values for their inputs by names and types."""

import pathlib
import tempfile
import zlib

import numpy as np


def write_samples():
    """All samples in one module, in a file that lives as long as the process."""
    parts = sorted(pathlib.Path(__file__).with_name("ops").glob("*.mlir"))
    file = tempfile.NamedTemporaryFile("w", suffix=".mlir")
    file.write("\n".join(part.read_text() for part in parts))
    file.flush()
    return file


FILE = write_samples()
SAMPLES = pathlib.Path(FILE.name)


REDUCERS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}


def draw(name, shape, dtype):
    """The same values for the same name and shape.

    Parts of a partial value (whose names end in a reducer) and gradients of results
    (`dresult`) have few bits, so that sums and products of them are exact.
    """
    random = np.random.default_rng(zlib.crc32(f"{name} {shape}".encode()))
    words = name.split(" ")
    reducer = words.pop() if words[-1] in REDUCERS else ""
    base = words[-1]
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    if base == "labels":
        return random.integers(0, 10, shape).astype(dtype)
    if base == "indices":
        return random.integers(-10, 10, shape).astype(dtype)
    if base == "element":  # Of small images, and of none.
        return random.integers(-1, 12, shape).astype(dtype)
    if base == "step":
        return np.full(shape, 3, dtype)
    if base == "offset":
        return np.full(shape, 2**33 + 5, dtype)
    if reducer:
        return draw_parts(random, base, shape, dtype, reducer)
    positive = base.startswith("positive")
    if np.issubdtype(dtype, np.integer):
        return random.integers(1 if positive else -4, 5, shape).astype(dtype)
    values = random.uniform(0.5 if positive else -2.0, 2.0, shape)
    if base.startswith("dresult"):
        values = np.round(values * 256) / 256
    return values.astype(dtype)


def draw_parts(random, base, shape, dtype, reducer):
    """Parts along the first dimension of a value that is partial by `reducer`.

    Some of all but the first are the neutral element, as boxing leaves them.
    """
    positive = base.startswith("positive")
    neutral = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf}[reducer]
    if np.issubdtype(dtype, np.integer):
        values = random.integers(1 if positive else -4, 5, shape)
        limits = np.iinfo(dtype)
        neutral = {"max": limits.min, "min": limits.max}.get(reducer, neutral)
    elif reducer == "prod":
        values = random.integers(2 if positive else -8, 9, shape) / 4
    else:
        values = random.integers(128 if positive else -512, 513, shape) / 256
    absent = random.random(shape) < 0.25
    absent[0] = False
    values[absent] = neutral
    return values.astype(dtype)
