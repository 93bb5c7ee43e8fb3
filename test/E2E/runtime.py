# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C API of the runtime through ctypes, with NumPy arrays, and the tools.

Tests that compute the same thing many times load a plan once and run it here, since a
process costs more than most of them.
"""

import ctypes
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

COMPILE = os.environ["ONEFLOW_COMPILE"]
RUN = os.environ["ONEFLOW_RUN"]
MPIRUN = os.environ.get("ONEFLOW_MPIRUN", "")

LIBRARY = ctypes.CDLL(os.environ["ONEFLOW_RUNTIME"])

# In the order of of_dtype; NumPy has no bfloat16.
DTYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
          np.uint32, np.uint64, np.float16, None, np.float32, np.float64]


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p)]


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("location", ctypes.c_char_p),
                ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("trainable", ctypes.c_int32)]


class Counters(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), *(
        (name, ctypes.c_uint64) for name in (
            "actions", "kernels", "messages", "bytes_moved", "wait_input_ns",
            "wait_credit_ns"))]


class SessionOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("transport", ctypes.c_char_p),
                ("threads_per_rank", ctypes.c_int32), ("plugin_path", ctypes.c_char_p)]


def declare(name, result, *arguments):
    function = getattr(LIBRARY, name)
    function.restype = result
    function.argtypes = arguments


POINTER, INT = ctypes.c_void_p, ctypes.c_int32
declare("of_status_get_message", ctypes.c_char_p, POINTER)
declare("of_status_free", None, POINTER)
declare("of_plan_load", POINTER, ctypes.c_char_p, POINTER, ctypes.POINTER(POINTER))
declare("of_plan_free", None, POINTER)
declare("of_plan_get_entry_count", INT, POINTER)
declare("of_plan_get_entry_name", ctypes.c_char_p, POINTER, INT)
declare("of_plan_get_input_count", INT, POINTER, INT)
declare("of_plan_get_output_count", INT, POINTER, INT)
declare("of_plan_get_input", POINTER, POINTER, INT, INT, ctypes.POINTER(TensorInfo))
declare("of_plan_get_output", POINTER, POINTER, INT, INT, ctypes.POINTER(TensorInfo))
declare("of_plan_get_variable_count", INT, POINTER)
declare("of_plan_get_variable", POINTER, POINTER, INT, ctypes.POINTER(TensorInfo))
declare("of_session_create", POINTER, POINTER, ctypes.POINTER(SessionOptions),
        ctypes.POINTER(POINTER))
declare("of_session_free", None, POINTER)
declare("of_session_run", POINTER, POINTER, INT, ctypes.POINTER(Tensor), INT,
        ctypes.POINTER(Tensor), INT)
declare("of_session_get_counters", None, POINTER, ctypes.POINTER(Counters))
declare("of_session_get_variable", POINTER, POINTER, INT, ctypes.POINTER(Tensor))
declare("of_session_set_variable", POINTER, POINTER, INT, ctypes.POINTER(Tensor))
declare("of_plan_get_task_count", INT, POINTER, INT)
declare("of_session_start_trace", POINTER, POINTER, ctypes.c_size_t)
declare("of_session_write_trace", POINTER, POINTER, ctypes.c_char_p)


class RuntimeFailure(Exception):
    pass


def call(name, *arguments):
    """Calls a function that returns a status; raises RuntimeFailure with its message."""
    status = getattr(LIBRARY, name)(*arguments)
    if status:
        message = LIBRARY.of_status_get_message(status).decode()
        LIBRARY.of_status_free(status)
        raise RuntimeFailure(f"{name}: {message}")


def describe(array):
    """An of_tensor_t that borrows the array."""
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    return Tensor(DTYPES.index(array.dtype.type), array.ndim, shape, array.ctypes.data)


def read_info(getter, *arguments):
    """(name, shape, dtype) of an input, output or variable."""
    info = TensorInfo()
    call(getter, *arguments, ctypes.byref(info))
    return (info.name.decode(), tuple(info.shape[:info.rank]), DTYPES[info.dtype])


class Session:
    """A plan with all its ranks as threads of this process, or one of them ("mpi")."""

    def __init__(self, path, threads=1, transport="local"):
        self.plan, self.session = POINTER(), POINTER()
        call("of_plan_load", os.fsencode(path), None, ctypes.byref(self.plan))
        options = SessionOptions(ctypes.sizeof(SessionOptions), transport.encode(), threads,
                                 None)
        call("of_session_create", self.plan, ctypes.byref(options),
             ctypes.byref(self.session))
        self.entries, self.inputs, self.outputs = {}, {}, {}
        for index in range(LIBRARY.of_plan_get_entry_count(self.plan)):
            name = LIBRARY.of_plan_get_entry_name(self.plan, index).decode()
            self.entries[name] = index
            self.inputs[name], self.outputs[name] = (
                [read_info(f"of_plan_get_{kind}", self.plan, index, i)
                 for i in range(getattr(LIBRARY, f"of_plan_get_{kind}_count")(
                     self.plan, index))]
                for kind in ("input", "output"))
        self.variables = [read_info("of_plan_get_variable", self.plan, i)
                          for i in range(LIBRARY.of_plan_get_variable_count(self.plan))]

    def close(self):
        LIBRARY.of_session_free(self.session)
        LIBRARY.of_plan_free(self.plan)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def run(self, entry, values):
        """Runs an entry on {name: array}; returns {name: array}."""
        arrays = []
        for name, shape, dtype in self.inputs[entry]:
            arrays.append(np.ascontiguousarray(values[name], dtype).reshape(shape))
        # What nothing writes is told apart from what comes out.
        results = {name: np.full(shape, 77, dtype)
                   for name, shape, dtype in self.outputs[entry]}
        inputs = (Tensor * len(arrays))(*map(describe, arrays))
        outputs = (Tensor * len(results))(*map(describe, results.values()))
        call("of_session_run", self.session, self.entries[entry], inputs, len(arrays),
             outputs, len(results))
        return results

    def trace(self, entry, values, path):
        """Runs an entry; its outputs, and the events of this process's ranks.

        An event is a dictionary as in the Chrome trace format. The file stays at `path`.
        """
        call("of_session_start_trace", self.session,
             LIBRARY.of_plan_get_task_count(self.plan, self.entries[entry]))
        outputs = self.run(entry, values)
        call("of_session_write_trace", self.session, os.fsencode(path))
        return outputs, json.loads(pathlib.Path(path).read_text())["traceEvents"]

    def counters(self):
        """Sums since the session began."""
        counters = Counters(ctypes.sizeof(Counters))
        LIBRARY.of_session_get_counters(self.session, ctypes.byref(counters))
        return counters

    def variable_index(self, name):
        return [known for known, _, _ in self.variables].index(name)

    def set(self, name, value):
        index = self.variable_index(name)
        _, shape, dtype = self.variables[index]
        value = np.ascontiguousarray(value, dtype).reshape(shape)
        call("of_session_set_variable", self.session, index,
             ctypes.byref(describe(value)))

    def get(self, name):
        index = self.variable_index(name)
        _, shape, dtype = self.variables[index]
        value = np.empty(shape, dtype)
        call("of_session_get_variable", self.session, index,
             ctypes.byref(describe(value)))
        return value


def execute(*words, **options):
    """Runs a command; its standard output, or an AssertionError with what it said."""
    result = subprocess.run([str(word) for word in words], capture_output=True,
                            text=True, timeout=600, **options)
    assert result.returncode == 0, (
        f"{' '.join(map(str, words))}: exit status {result.returncode}\n"
        f"{result.stdout[-2000:]}\n{result.stderr[-4000:]}")
    return result.stdout


def compile_plan(source, plan, *options):
    """Compiles a model, or the text of a module, to the path `plan`."""
    if isinstance(source, str) and "\n" in source:
        path = plan.with_suffix(".mlir")
        path.write_text(source)
        source = path
    execute(COMPILE, source, "-o", plan, *options)
    return plan


def launcher(ranks):
    """What to put before a command to run it on `ranks` ranks; 0: in one process."""
    if ranks == 0:
        return []
    return [MPIRUN, "--oversubscribe", "--allow-run-as-root", "-n", ranks]


def run_tool(*words, ranks=0, **options):
    """oneflow-run, under mpirun on `ranks` ranks unless that is 0."""
    return execute(*launcher(ranks), RUN, *words, **options)


needs_mpi = pytest.mark.skipif(not MPIRUN, reason="built without MPI")
