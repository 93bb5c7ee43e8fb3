# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions of the logical dialect on one rank, without the project's own code
generator: each op's local computation, lowered by upstream's passes."""

import ctypes
import os
import pathlib
import subprocess

import numpy as np

TOOLS = pathlib.Path(os.environ.get("ONEFLOW_TOOLS", ""))
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64,
         "i32": np.int32, "i1": np.bool_}


def tensor(array):
    """The MLIR type of an array."""
    name = {np.dtype(v): k for k, v in NUMPY.items()}[array.dtype]
    return "tensor<" + "".join(f"{e}x" for e in array.shape) + name + ">"


def tool(name, *arguments, **options):
    """Runs one of the project's tools and returns its output."""
    done = subprocess.run([TOOLS / name, *map(str, arguments)], text=True,
                          capture_output=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def descriptor(rank):
    """The memref descriptor of a rank, as upstream's C interface has it."""
    fields = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
              ("offset", ctypes.c_int64)]
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type(f"Memref{rank}", (ctypes.Structure,), {"_fields_": fields})


def to_descriptor(array):
    d = descriptor(array.ndim)()
    d.allocated = d.aligned = array.ctypes.data
    d.offset = 0
    if array.ndim:
        d.sizes[:] = array.shape
        d.strides[:] = [s // array.itemsize for s in array.strides]
    return d


def from_descriptor(d, rank, dtype):
    shape = list(d.sizes) if rank else []
    strides = [s * np.dtype(dtype).itemsize for s in d.strides] if rank else []
    size = max(1, sum((e - 1) * s for e, s in zip(shape, strides))
               + np.dtype(dtype).itemsize)
    data = (ctypes.c_char * size).from_address(
        d.aligned + d.offset * np.dtype(dtype).itemsize)
    return np.ndarray(shape, dtype, bytes(data), strides=strides).copy()


class Function:
    """`function` of an .mlir text; `results` are (rank, dtype name) of its outputs.
    With `extents` "dynamic", ops do not see the extents of their tensors."""

    def __init__(self, text, results, folder, function="main", extents="static"):
        source, ir, library = (folder / f"{function}-{extents}{end}" for end in
                               (".mlir", ".ll", ".so"))
        source.write_text(text)
        tool("oneflow-lower-whole", source, ir, function, extents)
        subprocess.run([os.environ["CXX"], "-O1", "-shared", "-fPIC", "-x", "ir", ir,
                        "-Wno-override-module", "-lm", "-o", library], check=True)
        self.entry = getattr(ctypes.CDLL(str(library)), f"_mlir_ciface_{function}")
        self.results = results

    def __call__(self, *arrays):
        arrays = [np.array(a, order="C", copy=True) for a in arrays]
        inputs = [to_descriptor(a) for a in arrays]
        fields = [(f"r{i}", descriptor(rank)) for i, (rank, _) in enumerate(self.results)]
        result = type("Results", (ctypes.Structure,), {"_fields_": fields})()
        self.entry(ctypes.byref(result), *map(ctypes.byref, inputs))
        return [from_descriptor(getattr(result, f"r{i}"), rank, NUMPY[name])
                for i, (rank, name) in enumerate(self.results)]
