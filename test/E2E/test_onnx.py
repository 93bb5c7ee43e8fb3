# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every case of the importer's tests computes what onnxruntime computes."""

import os
import sys

import numpy as np
import onnxruntime
import pytest

from runtime import Session, compile_plan

sys.path.append(os.environ["ONEFLOW_IMPORT_CASES"])
from cases import CASES  # noqa: E402

# Relative and absolute, per precision.
LIMITS = {
    np.dtype(np.float64): (1e-12, 1e-12),
    np.dtype(np.float32): (1e-4, 1e-5),
    np.dtype(np.float16): (1e-2, 1e-2),
}


def evaluate(case):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(case.model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, case.inputs)))


@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
def test_computes_what_onnxruntime_computes(known_failures, tmp_path, build):
    case = build()
    path = tmp_path / "model.onnx"
    path.write_bytes(case.model.SerializeToString())
    expected = evaluate(case)
    with Session(compile_plan(path, tmp_path / "model.ofp")) as session:
        found = session.run("main", case.inputs)
    assert found.keys() == expected.keys()
    wrong = []
    for name, value in expected.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape)
        relative, absolute = LIMITS.get(value.dtype, (0, 0))
        if not np.allclose(found[name], value, rtol=relative, atol=absolute,
                           equal_nan=True):
            wrong.append(name)
    known_failures.check(f"onnx {case.name} ", wrong)
