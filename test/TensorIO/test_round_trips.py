# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor files against the libraries that define their formats.

Every test writes a file with NumPy, safetensors or onnx, converts it with the
TensorConvert program (environment variable TENSOR_CONVERT), and reads the result
with such a library again.
"""

import os
import subprocess

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

CONVERT = os.environ["TENSOR_CONVERT"]
needs_onnx = pytest.mark.skipif(
    os.environ.get("ONEFLOW_WITH_ONNX") not in ("ON", "1", "TRUE"),
    reason="built without ONNX",
)

DTYPES = [
    "bool", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip
SHAPES = [(), (1,), (7,), (0, 3), (2, 3), (4, 1, 5), (2, 3, 4, 5)]


def convert(*words):
    result = subprocess.run([CONVERT, *map(str, words)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def refuse(*words):
    result = subprocess.run([CONVERT, *map(str, words)], capture_output=True, text=True)
    assert result.returncode == 1, result
    return result.stderr


def make(dtype, shape, seed=1):
    random = np.random.default_rng(seed)
    values = random.standard_normal(shape) * 50
    if dtype == "bool":
        return np.asarray(values > 0)
    if dtype.startswith("u"):
        values = np.abs(values)
    return np.asarray(values).astype(dtype)


def same(got, expected):
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_npy(tmp_path, dtype):
    for i, shape in enumerate(SHAPES):
        for order in "CF":
            array = np.asarray(make(dtype, shape, i), order=order)
            np.save(tmp_path / "in.npy", array)
            convert(tmp_path / "in.npy", tmp_path / "out.npy")
            same(np.load(tmp_path / "out.npy"), array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_versions(tmp_path, version):
    array = make("float32", (3, 4))
    with open(tmp_path / "in.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    convert(tmp_path / "in.npy", tmp_path / "out.npy")
    same(np.load(tmp_path / "out.npy"), array)


def test_npy_refusals(tmp_path):
    np.save(tmp_path / "big.npy", np.arange(3, dtype=">f4"))
    assert "not little-endian" in refuse(tmp_path / "big.npy", tmp_path / "o.npy")
    np.save(tmp_path / "complex.npy", np.zeros(3, np.complex64))
    assert "not supported" in refuse(tmp_path / "complex.npy", tmp_path / "o.npy")
    np.save(tmp_path / "record.npy", np.zeros(3, [("a", "f4"), ("b", "i4")]))
    assert "structured" in refuse(tmp_path / "record.npy", tmp_path / "o.npy")
    np.save(tmp_path / "object.npy", np.array([None]), allow_pickle=True)
    assert "not supported" in refuse(tmp_path / "object.npy", tmp_path / "o.npy")
    assert not (tmp_path / "o.npy").exists()


@pytest.mark.parametrize("writer", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("options", [[], ["--deflate"]])
def test_npz(tmp_path, writer, options):
    arrays = {
        f"{dtype}_{i}": make(dtype, shape, i)
        for dtype in DTYPES
        for i, shape in enumerate(SHAPES)
    }
    arrays["zeros"] = np.zeros((300, 100), np.float32)
    writer(tmp_path / "in.npz", **arrays)
    convert(*options, tmp_path / "in.npz", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as got:
        assert sorted(got.files) == sorted(arrays)
        for name, array in arrays.items():
            same(got[name], array)
    assert (os.path.getsize(tmp_path / "out.npz") < 120_000) == bool(options)


def test_safetensors(tmp_path):
    arrays = {
        f"layer.{dtype}.{i}": make(dtype, shape, i)
        for dtype in DTYPES
        for i, shape in enumerate(SHAPES)
    }
    arrays["bf16"] = make("float32", (3, 5)).astype(ml_dtypes.bfloat16)
    arrays["naïve \"quoted\""] = make("float32", (2,))
    safetensors.numpy.save_file(arrays, tmp_path / "in.safetensors", {"k": "v"})
    convert(tmp_path / "in.safetensors", tmp_path / "out.safetensors")
    got = safetensors.numpy.load_file(tmp_path / "out.safetensors")
    assert sorted(got) == sorted(arrays)
    for name, array in arrays.items():
        same(got[name], array)


def test_safetensors_to_npz_keeps_bf16_bits(tmp_path):
    array = make("float32", (3, 5)).astype(ml_dtypes.bfloat16)
    safetensors.numpy.save_file({"a": array}, tmp_path / "in.safetensors")
    convert(tmp_path / "in.safetensors", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as got:
        same(got["a"].view(ml_dtypes.bfloat16), array)
    convert(tmp_path / "out.npz", tmp_path / "again.safetensors")
    same(safetensors.numpy.load_file(tmp_path / "again.safetensors")["a"], array)


@needs_onnx
@pytest.mark.parametrize("dtype", DTYPES + ["bfloat16"])
@pytest.mark.parametrize("raw", [True, False])
def test_tensor_proto(tmp_path, dtype, raw):
    import onnx
    from onnx import helper, numpy_helper

    for i, shape in enumerate(SHAPES):
        if dtype == "bfloat16":
            array = make("float32", shape, i).astype(ml_dtypes.bfloat16)
        else:
            array = make(dtype, shape, i)
        if raw:
            proto = numpy_helper.from_array(array, "x")
        else:
            proto = helper.make_tensor(
                "x",
                helper.np_dtype_to_tensor_dtype(array.dtype),
                shape,
                array.flatten(),
            )
        (tmp_path / "in.pb").write_bytes(proto.SerializeToString())
        convert(tmp_path / "in.pb", tmp_path / "out.pb")
        got = onnx.TensorProto()
        got.ParseFromString((tmp_path / "out.pb").read_bytes())
        assert got.name == "x"
        same(numpy_helper.to_array(got), array)
        convert(tmp_path / "in.pb", tmp_path / "out.safetensors")
        same(safetensors.numpy.load_file(tmp_path / "out.safetensors")["x"], array)


@needs_onnx
def test_trained_model(tmp_path):
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    weight, bias = make("float32", (3, 4), 1), make("float32", (4,), 2)
    graph = helper.make_graph(
        [
            helper.make_node("Constant", [], ["b"], value=numpy_helper.from_array(bias)),
            helper.make_node("Gemm", ["x", "w", "b"], ["y"]),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(
        graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)]
    )
    # As a plan keeps it: without the values of its weights.
    stripped = onnx.ModelProto()
    stripped.CopyFrom(model)
    stripped.graph.initializer[0].ClearField("raw_data")
    (tmp_path / "m.onnx").write_bytes(stripped.SerializeToString())

    new = {"w": make("float32", (3, 4), 3), "b": make("float32", (4,), 4)}
    safetensors.numpy.save_file(new, tmp_path / "w.safetensors")
    convert("--model", tmp_path / "m.onnx", tmp_path / "w.safetensors", tmp_path / "o.onnx")
    onnx.checker.check_model(str(tmp_path / "o.onnx"), full_check=True)
    session = onnxruntime.InferenceSession(
        str(tmp_path / "o.onnx"), providers=["CPUExecutionProvider"]
    )
    x = make("float32", (5, 3), 5)
    (y,) = session.run(None, {"x": x})
    np.testing.assert_allclose(
        y, x.astype("float64") @ new["w"] + new["b"], rtol=1e-5, atol=1e-3
    )

    safetensors.numpy.save_file({"w": new["w"].T.copy()}, tmp_path / "w.safetensors")
    message = refuse("--model", tmp_path / "m.onnx", tmp_path / "w.safetensors", tmp_path / "p.onnx")
    assert "'w' is f32 [3, 4], got: f32 [4, 3]" in message
    safetensors.numpy.save_file({"b": new["b"]}, tmp_path / "w.safetensors")
    message = refuse("--model", tmp_path / "m.onnx", tmp_path / "w.safetensors", tmp_path / "p.onnx")
    assert "no value is given for the model's initializer 'w'" in message
