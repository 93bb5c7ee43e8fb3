# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model that a plan keeps, and trained weights put back into it."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from cases import make, node, rand

MODEL = lambda: make(
    [node("Reshape", "x shape", "r"), node("Gemm", "r w b", "h"),
     node("Dropout", "h ratio")], {"x": rand(2, 3)},
    {"w": rand(6, 4), "b": rand(4), "ratio": np.float32(0.25),
     "shape": np.array([1, 6]), "unused": rand(2)})


def strip(importer, path):
    out = importer.folder / "stripped.onnx"
    result = importer.run(path, "--strip", out)
    assert result.returncode == 0, result.stderr
    return onnx.load(out, load_external_data=False)


@pytest.mark.parametrize("external", [False, True])
def test_only_variables_are_stripped(importer, external):
    original = MODEL()
    path = importer.folder / "model.onnx"
    onnx.save(MODEL(), path, save_as_external_data=external, size_threshold=0)
    stripped = strip(importer, path)
    for before, after in zip(original.graph.initializer, stripped.graph.initializer):
        assert (after.name, after.dims, after.data_type) == \
            (before.name, before.dims, before.data_type)
        assert not after.external_data
        if after.name in ("w", "b"):
            assert not after.HasField("raw_data") and not after.float_data
        else:
            np.testing.assert_array_equal(numpy_helper.to_array(after),
                                          numpy_helper.to_array(before))
    del original.graph.initializer[:], stripped.graph.initializer[:]
    assert stripped == original


def test_weights_are_written_back(importer):
    out, stripped = importer.folder / "new.onnx", importer.folder / "stripped.onnx"
    result = importer.run(MODEL(), "--strip", stripped, "--retrain", out)
    if "built without TensorIO" in result.stderr:
        pytest.skip("built without TensorIO")
    assert result.returncode == 0, result.stderr
    model = onnx.load(out)
    onnx.checker.check_model(model)
    values = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    np.testing.assert_array_equal(values["w"], np.zeros((6, 4), np.float32))
    np.testing.assert_array_equal(values["b"], np.zeros(4, np.float32))
    np.testing.assert_array_equal(values["unused"], rand(2))
    np.testing.assert_array_equal(values["shape"], [1, 6])
