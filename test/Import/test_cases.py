# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every case imports, and to the types that onnxruntime computes."""

import re

import numpy as np
import onnxruntime
import pytest

from cases import CASES

NAMES = {
    np.dtype(np.float32): "f32", np.dtype(np.float64): "f64",
    np.dtype(np.float16): "f16", np.dtype(np.int8): "i8", np.dtype(np.int16): "i16",
    np.dtype(np.int32): "i32", np.dtype(np.int64): "i64", np.dtype(np.bool_): "i1",
}


def type_name(value):
    return f"tensor<{'x'.join([*map(str, value.shape), NAMES[value.dtype]])}>"


def evaluate(case):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(case.model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, case.inputs)))


@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
def test_imports_to_the_computed_types(importer, build):
    case = build()
    result = importer.run(case.model)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    for kind, values in ("output", evaluate(case)), ("input", case.inputs):
        found = re.findall(rf'oneflow\.{kind} "(\w+)".* : (tensor<.*>)', result.stdout)
        assert dict(found) == {name: type_name(value) for name, value in values.items()}


@pytest.mark.parametrize(
    "build", [build for build in CASES if build.__name__.startswith("gelu")],
    ids=lambda build: build.__name__)
def test_gelu_is_one_op(importer, build):
    result = importer.run(build().model)
    kind = "tanh" if "tanh" in build.__name__ else "erf"
    ops = re.findall(r"oneflow\.(\w+)", result.stdout)
    assert ops == ["input", "gelu", "output"]
    assert f"oneflow.gelu <{kind}>" in result.stdout
