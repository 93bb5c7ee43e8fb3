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


def draw(name, shape, dtype):
    """The same values for the same name and shape."""
    random = np.random.default_rng(zlib.crc32(f"{name} {shape}".encode()))
    base = name.split(" ")[-1]
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    if base == "labels":
        return random.integers(0, 10, shape).astype(dtype)
    if base == "step":
        return np.full(shape, 3, dtype)
    if np.issubdtype(dtype, np.integer):
        low = 1 if base.startswith("positive") else -4
        return random.integers(low, 5, shape).astype(dtype)
    if base.startswith("positive"):
        return random.uniform(0.5, 2.0, shape).astype(dtype)
    return random.uniform(-2.0, 2.0, shape).astype(dtype)
