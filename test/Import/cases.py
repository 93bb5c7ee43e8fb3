# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small ONNX models, one for each operator and way of writing it.

CASES is a list of functions; each returns a Case: a name, a checked ModelProto with
static shapes, and the inputs by name. What the model computes on them is for
onnxruntime to say; `tolerance` is the relative and absolute difference that two
right answers may have in the model's precision.
"""

from typing import Dict, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Case(NamedTuple):
    name: str
    model: onnx.ModelProto
    inputs: Dict[str, np.ndarray]
    tolerance: float


CASES = []

DTYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.float16): TensorProto.FLOAT16,
    np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.int16): TensorProto.INT16,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.bool_): TensorProto.BOOL,
}


def rand(*shape, seed=0, low=-2.0, high=2.0, dtype=np.float32):
    values = np.random.default_rng(seed + 17).uniform(low, high, shape)
    return values.astype(dtype)


def node(op, inputs, outputs="y", **attributes):
    split = lambda names: names.split() if isinstance(names, str) else names
    return helper.make_node(op, split(inputs), split(outputs), **attributes)


def make(nodes, inputs, weights=None, opset=17, outputs="y", shape=None):
    """A model whose outputs' types are inferred by onnx.

    `shape` is that of an output where onnx cannot infer it.
    """
    nodes = nodes if isinstance(nodes, list) else [nodes]
    for index, each in enumerate(nodes):
        if not each.name:
            each.name = f"n{index}"
    weights = {name: np.asarray(value) for name, value in (weights or {}).items()}
    tensor_type = lambda name, value: helper.make_tensor_value_info(
        name, DTYPES[value.dtype], value.shape)
    # onnx infers types of what nodes produce only.
    output_info = [
        tensor_type(name, {**inputs, **weights}[name])
        if name in inputs or name in weights else onnx.ValueInfoProto(name=name)
        for name in outputs.split()]
    graph = helper.make_graph(
        nodes, "case",
        [tensor_type(name, value) for name, value in inputs.items()], output_info,
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                              ir_version=8 if opset < 21 else 10)
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    for output in model.graph.output:
        if shape is not None:
            output.CopyFrom(helper.make_tensor_value_info(
                output.name, output.type.tensor_type.elem_type, shape))
    onnx.checker.check_model(model)
    return model


def case(name, nodes, inputs, weights=None, opset=17, outputs="y", tolerance=1e-5,
         shape=None):
    def build():
        return Case(name, make(nodes, inputs, weights, opset, outputs, shape), inputs,
                    tolerance)

    build.__name__ = name
    CASES.append(build)


# --- Gemm and MatMul ---------------------------------------------------------------

A, B, C = rand(4, 3), rand(3, 5, seed=1), rand(5, seed=2)
case("gemm", node("Gemm", "a b c"), {"a": A}, {"b": B, "c": C})
case("gemm_no_c", node("Gemm", "a b"), {"a": A}, {"b": B})
case("gemm_trans_a", node("Gemm", "a b c", transA=1), {"a": A.T.copy()},
     {"b": B, "c": C})
case("gemm_trans_b", node("Gemm", "a b c", transB=1), {"a": A},
     {"b": B.T.copy(), "c": C})
case("gemm_trans_both", node("Gemm", "a b", transA=1, transB=1),
     {"a": A.T.copy(), "b": B.T.copy()})
case("gemm_alpha_beta", node("Gemm", "a b c", alpha=0.5, beta=-1.5), {"a": A},
     {"b": B, "c": C})
case("gemm_beta_zero", node("Gemm", "a b c", beta=0.0), {"a": A}, {"b": B, "c": C})
case("gemm_c_matrix", node("Gemm", "a b c"), {"a": A, "b": B, "c": rand(4, 5)})
case("gemm_c_column", node("Gemm", "a b c"), {"a": A, "b": B, "c": rand(4, 1)})
case("gemm_c_scalar", node("Gemm", "a b c"), {"a": A, "b": B},
     {"c": np.float32(0.25)})
case("gemm_opset7", node("Gemm", "a b c", transB=1), {"a": A},
     {"b": B.T.copy(), "c": C}, opset=7)
case("gemm_f64", node("Gemm", "a b c"), {"a": A.astype(np.float64)},
     {"b": B.astype(np.float64), "c": C.astype(np.float64)}, tolerance=1e-12)
case("gemm_f16", node("Gemm", "a b c"), {"a": A.astype(np.float16)},
     {"b": B.astype(np.float16), "c": C.astype(np.float16)}, tolerance=1e-2)
case("matmul", node("MatMul", "a b"), {"a": A}, {"b": B})
case("matmul_vector_matrix", node("MatMul", "a b"), {"a": rand(3), "b": B})
case("matmul_matrix_vector", node("MatMul", "a b"), {"a": A, "b": rand(3)})
case("matmul_vectors", node("MatMul", "a b"), {"a": rand(6), "b": rand(6, seed=1)})
case("matmul_batch", node("MatMul", "a b"),
     {"a": rand(2, 4, 3), "b": rand(2, 3, 5, seed=1)})
case("matmul_batch_shared", node("MatMul", "a b"), {"a": rand(2, 6, 4, 3)}, {"b": B})
case("matmul_batch_left_shared", node("MatMul", "a b"),
     {"a": A, "b": rand(2, 3, 5, seed=1)})
case("matmul_batch_broadcast", node("MatMul", "a b"),
     {"a": rand(2, 1, 4, 3), "b": rand(6, 3, 5, seed=1)})
case("matmul_batch_ones", node("MatMul", "a b"),
     {"a": rand(2, 4, 3), "b": rand(1, 3, 5, seed=1)})
case("matmul_batch_ones_higher", node("MatMul", "a b"),
     {"a": rand(2, 4, 3), "b": rand(1, 1, 3, 5, seed=1)})
case("matmul_vector_batch", node("MatMul", "a b"), {"a": rand(3), "b": rand(2, 3, 5)})
case("matmul_batch_vector", node("MatMul", "a b"), {"a": rand(2, 4, 3), "b": rand(3)})

# --- Binary arithmetic ----------------------------------------------------------------

for op in "Add Sub Mul Div".split():
    low = 0.5 if op == "Div" else -2.0
    case(f"{op.lower()}_same", node(op, "a b"),
         {"a": rand(2, 3), "b": rand(2, 3, seed=1, low=low)})
    case(f"{op.lower()}_row", node(op, "a b"), {"a": rand(2, 3)},
         {"b": rand(3, seed=1, low=low)})
    case(f"{op.lower()}_left_smaller", node(op, "a b"),
         {"a": rand(3), "b": rand(2, 3, seed=1, low=low)})
    case(f"{op.lower()}_both_ways", node(op, "a b"),
         {"a": rand(4, 1, 3), "b": rand(2, 1, seed=1, low=low)})
    case(f"{op.lower()}_scalar", node(op, "a b"), {"a": rand(2, 3)},
         {"b": np.float32(1.5)})
    case(f"{op.lower()}_scalar_left", node(op, "b a"), {"a": rand(2, 3, low=low)},
         {"b": np.float32(1.5)})
case("add_i64", node("Add", "a b"), {"a": np.arange(6).reshape(2, 3) - 3},
     {"b": np.array([10, -20, 30])})
case("mul_i32", node("Mul", "a b"),
     {"a": np.arange(-3, 3, dtype=np.int32), "b": np.arange(6, dtype=np.int32)})
case("div_i32", node("Div", "a b"),
     {"a": np.array([7, -7, 7, -7], np.int32), "b": np.array([2, 2, -2, -2], np.int32)})
case("add_f64", node("Add", "a b"), {"a": rand(3, dtype=np.float64)},
     {"b": rand(3, seed=1, dtype=np.float64)}, tolerance=1e-14)
case("add_opset7", node("Add", "a b"), {"a": rand(2, 3)}, {"b": rand(3)}, opset=7)
for op in "Max Min".split():
    case(f"{op.lower()}_one", node(op, "a"), {"a": rand(2, 3)})
    case(f"{op.lower()}_two", node(op, "a b"), {"a": rand(2, 3), "b": rand(3, seed=1)})
    case(f"{op.lower()}_three", node(op, "a b c"),
         {"a": rand(2, 3), "b": rand(3, seed=1), "c": rand(2, 1, seed=2)}, opset=8)
    case(f"{op.lower()}_i64", node(op, "a b"),
         {"a": np.array([1, -2, 3]), "b": np.array([-1, 2, 3])})
case("sum_three", node("Sum", "a b c"),
     {"a": rand(2, 3), "b": rand(3, seed=1), "c": rand(2, 1, seed=2)})
for exponent in (2.0, 3.0, 0.5, -1.0, 5.0):
    case(f"pow_{exponent}".replace(".", "_").replace("-", "minus_"),
         node("Pow", "a e"), {"a": rand(2, 3, low=0.5)}, {"e": np.float32(exponent)})
case("pow_integer_exponent", node("Pow", "a e"), {"a": rand(2, 3)},
     {"e": np.int64(2)})

# --- Functions of one operand ---------------------------------------------------------

SPREAD = np.linspace(-6, 6, 25, dtype=np.float32).reshape(5, 5)
for op in "Neg Relu Erf Tanh Sigmoid Exp".split():
    case(op.lower(), node(op, "x"), {"x": SPREAD}, tolerance=2e-5)
for op in "Log Sqrt Reciprocal".split():
    case(op.lower(), node(op, "x"), {"x": rand(4, 5, low=0.1, high=9)}, tolerance=2e-5)
case("neg_i32", node("Neg", "x"), {"x": np.arange(-3, 4, dtype=np.int32)})
case("relu_i32", node("Relu", "x"), {"x": np.arange(-3, 4, dtype=np.int32)})
case("relu_nan", node("Relu", "x"), {"x": np.array([np.nan, -1, 1], np.float32)})
case("relu_f64", node("Relu", "x"), {"x": SPREAD.astype(np.float64)})
case("relu_f16", node("Relu", "x"), {"x": SPREAD.astype(np.float16)}, tolerance=1e-3)
case("tanh_opset7", node("Tanh", "x"), {"x": SPREAD}, opset=7, tolerance=2e-5)
case("gelu", node("Gelu", "x"), {"x": SPREAD}, opset=20, tolerance=2e-5)
case("gelu_tanh", node("Gelu", "x", approximate="tanh"), {"x": SPREAD}, opset=20,
     tolerance=2e-5)

ROOT_2, ROOT_HALF = np.float32(np.sqrt(2)), np.float32(np.sqrt(0.5))
HALF, ONE, TWO = np.float32(0.5), np.float32(1), np.float32(2)


def erf_gelu(name, argument, tail, weights):
    case(f"gelu_erf_{name}", [argument, node("Erf", "u", "t")] + tail, {"x": SPREAD},
         weights, tolerance=2e-5)


DIVIDE = node("Div", "x r", "u")
INCREMENT = node("Add", "t one", "p")
# As torch.onnx writes it: (x · (erf + 1)) · 0.5.
erf_gelu("torch", DIVIDE, [INCREMENT, node("Mul", "x p", "q"), node("Mul", "q half")],
         {"r": ROOT_2, "one": ONE, "half": HALF})
# As transformers' TensorFlow models are written: (x · 0.5) · (1 + erf).
erf_gelu("half_first", DIVIDE,
         [node("Add", "one t", "p"), node("Mul", "x half", "q"), node("Mul", "q p")],
         {"r": ROOT_2, "one": ONE, "half": HALF})
erf_gelu("half_last", node("Mul", "x r", "u"),
         [INCREMENT, node("Mul", "p half", "q"), node("Mul", "x q")],
         {"r": ROOT_HALF, "one": ONE, "half": HALF})
erf_gelu("half_left", node("Mul", "r x", "u"),
         [INCREMENT, node("Mul", "half x", "q"), node("Mul", "p q")],
         {"r": ROOT_HALF, "one": ONE, "half": HALF})
erf_gelu("divided_by_two", DIVIDE,
         [INCREMENT, node("Mul", "p x", "q"), node("Div", "q two")],
         {"r": ROOT_2, "one": ONE, "two": TWO})
erf_gelu("vectors_of_one", DIVIDE,
         [INCREMENT, node("Mul", "x p", "q"), node("Mul", "q half")],
         {"r": ROOT_2.reshape(1), "one": ONE.reshape(1), "half": HALF.reshape(1)})
case("gelu_tanh_written_out",
     [node("Pow", "x three", "c"), node("Mul", "c k", "ck"), node("Add", "x ck", "s"),
      node("Mul", "s r", "u"), node("Tanh", "u", "t"), node("Add", "t one", "p"),
      node("Mul", "x half", "h"), node("Mul", "h p")],
     {"x": SPREAD},
     {"three": np.float32(3), "k": np.float32(0.044715),
      "r": np.float32(np.sqrt(2 / np.pi)), "one": ONE, "half": HALF}, tolerance=2e-5)
case("erf_not_gelu",
     [node("Erf", "x", "t"), node("Add", "t one", "p"), node("Mul", "p x")],
     {"x": SPREAD}, {"one": ONE}, tolerance=2e-5)

# --- Softmax ----------------------------------------------------------------------------

for op in "Softmax LogSoftmax".split():
    name = op.lower()
    case(f"{name}_13_default", node(op, "x"), {"x": rand(2, 3, 4)}, opset=13)
    case(f"{name}_13_axis0", node(op, "x", axis=0), {"x": rand(2, 3, 4)}, opset=13)
    case(f"{name}_13_axis_minus2", node(op, "x", axis=-2), {"x": rand(2, 3, 4)},
         opset=13)
    case(f"{name}_11_default", node(op, "x"), {"x": rand(2, 3, 4)}, opset=11)
    case(f"{name}_11_axis0", node(op, "x", axis=0), {"x": rand(2, 3, 4)}, opset=11)
    case(f"{name}_11_axis2", node(op, "x", axis=2), {"x": rand(2, 3, 4)}, opset=11)
    case(f"{name}_7_matrix", node(op, "x"), {"x": rand(2, 3)}, opset=7)
    case(f"{name}_large_values", node(op, "x"), {"x": 100 * rand(2, 3)}, opset=13)

# --- Layer norm and RMS norm -------------------------------------------------------------

NORM = rand(2, 3, 4)
for axis in (None, 0, 1, -1):
    attributes = {} if axis is None else {"axis": axis}
    shape = NORM.shape[-1 if axis is None else axis:]
    name = str(axis).lower().replace("-", "minus_")
    case(f"layer_norm_axis_{name}", node("LayerNormalization", "x s b", **attributes),
         {"x": NORM}, {"s": rand(*shape, seed=1), "b": rand(*shape, seed=2)})
    case(f"rms_norm_axis_{name}", node("RMSNormalization", "x s", **attributes),
         {"x": NORM}, {"s": rand(*shape, seed=1)}, opset=23)
SCALE, BIAS = rand(4, seed=1), rand(4, seed=2)
case("layer_norm_no_bias", node("LayerNormalization", "x s"), {"x": NORM}, {"s": SCALE})
case("layer_norm_statistics", node("LayerNormalization", "x s b", "y mean inverse", axis=1),
     {"x": NORM}, {"s": rand(3, 4, seed=1), "b": rand(3, 4, seed=2)},
     outputs="y mean inverse")
case("layer_norm_inverse", node("LayerNormalization", "x s b", ["y", "", "inverse"]),
     {"x": NORM}, {"s": SCALE, "b": BIAS}, outputs="y inverse")
case("layer_norm_unused_statistics",
     node("LayerNormalization", "x s b", "y mean inverse"), {"x": NORM},
     {"s": SCALE, "b": BIAS})
case("layer_norm_epsilon", node("LayerNormalization", "x s b", epsilon=0.5), {"x": NORM},
     {"s": SCALE, "b": BIAS})
case("layer_norm_stash_type", node("LayerNormalization", "x s b", stash_type=1),
     {"x": NORM}, {"s": SCALE, "b": BIAS})
case("layer_norm_broadcast_parameters", node("LayerNormalization", "x s b", axis=1),
     {"x": NORM}, {"s": SCALE, "b": rand(3, 1, seed=2)})
case("layer_norm_parameters_by_row", node("LayerNormalization", "x s b"),
     {"x": NORM}, {"s": rand(3, 4, seed=1), "b": rand(2, 1, 4, seed=2)})
case("layer_norm_bias_by_row", node("LayerNormalization", "x s b"), {"x": NORM},
     {"s": SCALE, "b": rand(3, 4, seed=2)})
case("layer_norm_f64", node("LayerNormalization", "x s b"),
     {"x": NORM.astype(np.float64)},
     {"s": SCALE.astype(np.float64), "b": BIAS.astype(np.float64)}, tolerance=1e-12)
case("layer_norm_f16", node("LayerNormalization", "x s b"),
     {"x": NORM.astype(np.float16)},
     {"s": SCALE.astype(np.float16), "b": BIAS.astype(np.float16)}, tolerance=1e-2)
case("rms_norm_epsilon", node("RMSNormalization", "x s", epsilon=0.5, stash_type=1),
     {"x": NORM}, {"s": SCALE}, opset=23)
case("rms_norm_broadcast_scale", node("RMSNormalization", "x s", axis=1),
     {"x": NORM}, {"s": SCALE}, opset=23)

# --- Convolution, pooling and batch norm ------------------------------------------------

IMAGE = rand(2, 4, 7, 6)
FILTER = rand(6, 4, 3, 3, seed=1, low=-0.5, high=0.5)
for name, attributes in {
        "plain": {}, "pads": {"pads": [1, 0, 2, 1]}, "strides": {"strides": [2, 3]},
        "dilations": {"dilations": [2, 1], "kernel_shape": [3, 3]},
        "same_upper": {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        "same_lower": {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
        "valid": {"auto_pad": "VALID"}}.items():
    case(f"conv_{name}", node("Conv", "x w", **attributes), {"x": IMAGE}, {"w": FILTER})
case("conv_bias", node("Conv", "x w b", pads=[1, 1, 1, 1]), {"x": IMAGE},
     {"w": FILTER, "b": rand(6, seed=2)})
case("conv_groups", node("Conv", "x w b", group=2), {"x": IMAGE},
     {"w": rand(6, 2, 3, 3, seed=1), "b": rand(6, seed=2)})
case("conv_depthwise", node("Conv", "x w", group=4, pads=[1, 1, 1, 1]), {"x": IMAGE},
     {"w": rand(4, 1, 3, 3, seed=1)})
case("conv_pointwise", node("Conv", "x w", strides=[2, 2]), {"x": IMAGE},
     {"w": rand(5, 4, 1, 1, seed=1)})
case("conv_1d", node("Conv", "x w", pads=[2, 1]), {"x": rand(2, 3, 9)},
     {"w": rand(4, 3, 3, seed=1)})
case("conv_3d", node("Conv", "x w", pads=[1, 0, 1, 0, 1, 0]), {"x": rand(2, 3, 4, 5, 4)},
     {"w": rand(4, 3, 2, 3, 2, seed=1)})
case("conv_weight_input", node("Conv", "x w"), {"x": IMAGE, "w": FILTER})
case("conv_opset7", node("Conv", "x w"), {"x": IMAGE}, {"w": FILTER}, opset=7)
case("conv_f16", node("Conv", "x w b", pads=[1, 1, 1, 1]), {"x": IMAGE.astype(np.float16)},
     {"w": FILTER.astype(np.float16), "b": rand(6, seed=2, dtype=np.float16)},
     tolerance=1e-2)
WINDOW = {"kernel_shape": [3, 2]}
for pool in ("MaxPool", "AveragePool"):
    for name, attributes in {
            "plain": {}, "strides": {"strides": [2, 3]},
            "pads": {"pads": [1, 0, 2, 1], "strides": [2, 2]},
            "ceil": {"strides": [3, 4], "ceil_mode": 1},
            "ceil_pads": {"strides": [3, 3], "ceil_mode": 1, "pads": [1, 1, 1, 0]},
            "same_upper": {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
            "same_lower": {"auto_pad": "SAME_LOWER", "strides": [3, 2]},
            "valid": {"auto_pad": "VALID", "strides": [2, 2]}}.items():
        case(f"{pool.lower()}_{name}", node(pool, "x", **WINDOW, **attributes), {"x": IMAGE})
    case(f"{pool.lower()}_1d", node(pool, "x", kernel_shape=[4], strides=[2]),
         {"x": rand(2, 3, 9)})
    case(f"{pool.lower()}_3d", node(pool, "x", kernel_shape=[2, 3, 2]),
         {"x": rand(2, 3, 4, 5, 4)})
    case(f"{pool.lower()}_opset7", node(pool, "x", **WINDOW), {"x": IMAGE}, opset=7)
    case(f"global_{pool.lower()}", node(f"Global{pool}", "x"), {"x": IMAGE})
case("maxpool_dilations", node("MaxPool", "x", **WINDOW, dilations=[2, 3]), {"x": IMAGE})
case("maxpool_f64", node("MaxPool", "x", **WINDOW), {"x": IMAGE.astype(np.float64)})
case("maxpool_f16", node("MaxPool", "x", **WINDOW), {"x": IMAGE.astype(np.float16)})
case("maxpool_i8", node("MaxPool", "x", **WINDOW),
     {"x": rand(2, 4, 7, 6, low=-100, high=100).astype(np.int8)})
case("maxpool_indices", node("MaxPool", "x", "y i", **WINDOW, pads=[1, 1, 1, 0]),
     {"x": IMAGE}, outputs="y i")
case("maxpool_indices_of_ties", node("MaxPool", "x", "y i", **WINDOW, strides=[2, 2]),
     {"x": np.round(IMAGE)}, outputs="y i")
case("maxpool_indices_column_major",
     node("MaxPool", "x", "y i", **WINDOW, storage_order=1), {"x": IMAGE}, outputs="y i")
for name, attributes in {"pads": {"pads": [1, 0, 2, 1]},
                         "ceil_pads": {"pads": [1, 1, 1, 0], "strides": [3, 3],
                                       "ceil_mode": 1}}.items():
    case(f"averagepool_count_{name}",
         node("AveragePool", "x", **WINDOW, count_include_pad=1, **attributes), {"x": IMAGE},
         opset=19)
case("averagepool_dilations", node("AveragePool", "x", **WINDOW, dilations=[2, 3]),
     {"x": IMAGE}, opset=19)
case("averagepool_f16", node("AveragePool", "x", **WINDOW), {"x": IMAGE.astype(np.float16)},
     tolerance=1e-2)
STATISTICS = {"s": rand(4, seed=1), "b": rand(4, seed=2), "m": rand(4, seed=3),
              "v": rand(4, seed=4, low=0.1)}
for opset in (7, 9, 14, 15):
    case(f"batch_norm_opset{opset}", node("BatchNormalization", "x s b m v"), {"x": IMAGE},
         STATISTICS, opset=opset)
case("batch_norm_epsilon", node("BatchNormalization", "x s b m v", epsilon=0.5),
     {"x": IMAGE}, STATISTICS)
case("batch_norm_inputs", node("BatchNormalization", "x s b m v"),
     {"x": IMAGE, **STATISTICS})
case("batch_norm_2d", node("BatchNormalization", "x s b m v"), {"x": rand(5, 4)},
     STATISTICS)
case("batch_norm_f64", node("BatchNormalization", "x s b m v"),
     {"x": IMAGE.astype(np.float64)},
     {name: value.astype(np.float64) for name, value in STATISTICS.items()})
case("batch_norm_training",
     node("BatchNormalization", "x s b m v", "y rm rv", training_mode=1, momentum=0.7),
     {"x": IMAGE}, STATISTICS, outputs="y rm rv")

# --- Shapes -----------------------------------------------------------------------------

for axis in (None, 0, 2, 3, -1):
    attributes = {} if axis is None else {"axis": axis}
    case(f"flatten_{axis}".replace("-", "minus_"), node("Flatten", "x", **attributes),
         {"x": rand(2, 3, 4)})
for name, shape in {"plain": [4, 6], "copied": [0, 12], "inferred": [2, -1],
                    "copied_inferred": [0, 0, -1], "to_vector": [-1]}.items():
    case(f"reshape_{name}", node("Reshape", "x s"), {"x": rand(2, 3, 4)},
         {"s": np.array(shape)})
case("reshape_allowzero", node("Reshape", "x s", allowzero=1), {"x": rand(2, 3)},
     {"s": np.array([3, 2])})
case("reshape_to_scalar", node("Reshape", "x s"), {"x": rand(1, 1)},
     {"s": np.array([], np.int64)})
case("reshape_constant_node",
     [helper.make_node("Constant", [], ["s"], value_ints=[6, -1]),
      node("Reshape", "x s")], {"x": rand(2, 3, 4)})
case("reshape_i64", node("Reshape", "x s"), {"x": np.arange(6)}, {"s": np.array([2, 3])})
# As torch.onnx writes x.view(x.size(0), -1).
case("reshape_chain",
     [node("Shape", "x", "sh"), node("Gather", "sh zero", "b", axis=0),
      node("Unsqueeze", "b axes", "bu"), node("Concat", "bu minus", "s", axis=0),
      node("Reshape", "x s")],
     {"x": rand(2, 3, 4)},
     {"zero": np.int64(0), "axes": np.array([0]), "minus": np.array([-1])})
case("reshape_chain_opset11",
     [node("Shape", "x", "sh"),
      helper.make_node("Constant", [], ["i"],
                       value=numpy_helper.from_array(np.array(1))),
      node("Gather", "sh i", "b", axis=0), node("Unsqueeze", "b", "bu", axes=[0]),
      node("Slice", "sh first one", "tail"), node("Mul", "tail two", "m"),
      node("Div", "m two", "d"), node("Squeeze", "bu", "bs", axes=[0]),
      node("Cast", "bs", "bc", to=TensorProto.FLOAT),
      node("Cast", "bc", "bi", to=TensorProto.INT64),
      node("Unsqueeze", "bi", "bq", axes=[0]), node("Sub", "bq bq", "z"),
      node("Add", "z bq", "bb"), node("Concat", "bb d minus", "s", axis=0),
      node("Reshape", "x s")],
     {"x": rand(2, 3, 4)},
     {"first": np.array([0]), "one": np.array([1]), "two": np.array([2]),
      "minus": np.array([-1])}, opset=11, shape=(3, 2, 4))
case("reshape_range",
     [node("Range", "two five one", "r"), node("Slice", "r z n", "s"),
      node("Reshape", "x s")],
     {"x": rand(24)},
     {"two": np.int64(2), "five": np.int64(5), "one": np.int64(1),
      "z": np.array([0]), "n": np.array([5])}, shape=(2, 3, 4))
case("expand", node("Expand", "x s"), {"x": rand(3, 1)}, {"s": np.array([2, 1, 4])})
# As torch.onnx writes x.expand(2, -1, 4).
case("expand_torch",
     [node("ConstantOfShape", "three", "ones",
           value=helper.make_tensor("v", TensorProto.INT64, [1], [1])),
      node("Mul", "ones m", "minus"), node("Equal", "asked minus", "e"),
      node("Where", "e ones asked", "s"), node("Expand", "x s")],
     {"x": rand(3, 1)},
     {"three": np.array([3]), "m": np.int64(-1), "asked": np.array([2, -1, 4])},
     shape=(2, 3, 4))
case("transpose_default", node("Transpose", "x"), {"x": rand(2, 3, 4)})
case("transpose_perm", node("Transpose", "x", perm=[1, 2, 0]), {"x": rand(2, 3, 4)})
case("transpose_identity", node("Transpose", "x", perm=[0, 1, 2]), {"x": rand(2, 3, 4)})
case("squeeze_all", node("Squeeze", "x"), {"x": rand(1, 3, 1)})
case("squeeze_axes_input", node("Squeeze", "x a"), {"x": rand(1, 3, 1)},
     {"a": np.array([-1])})
case("squeeze_axes_attribute", node("Squeeze", "x", axes=[0]), {"x": rand(1, 3, 1)},
     opset=11)
case("unsqueeze_input", node("Unsqueeze", "x a"), {"x": rand(2, 3)},
     {"a": np.array([0, -1])})
case("unsqueeze_attribute", node("Unsqueeze", "x", axes=[1, 3]), {"x": rand(2, 3)},
     opset=11)
case("identity", node("Identity", "x"), {"x": rand(2, 3)})
case("constant_of_shape",
     [node("Shape", "x", "s"),
      node("ConstantOfShape", "s", "c",
           value=helper.make_tensor("v", TensorProto.FLOAT, [1], [2.5])),
      node("Mul", "x c")], {"x": rand(2, 3)})
case("constant_of_shape_default",
     [node("Shape", "x", "s"), node("ConstantOfShape", "s", "c"), node("Add", "x c")],
     {"x": rand(2, 3)})
case("shape_output", node("Shape", "x", "y", start=1), {"x": rand(2, 3, 4)})
case("size_output", node("Size", "x"), {"x": rand(2, 3, 4)})

# --- Constants, casts, dropout ------------------------------------------------------------

FORMS = {
    "value": numpy_helper.from_array(np.array([1, 2, 3], np.float32)),
    "value_float": 1.5,
    "value_floats": [1.5, 2.5, 3.5],
}
for form, value in FORMS.items():
    case(f"constant_{form}",
         [helper.make_node("Constant", [], ["c"], **{form: value}), node("Add", "x c")],
         {"x": rand(2, 3)})
for form, value in {"value_int": 7, "value_ints": [7, 8, 9]}.items():
    case(f"constant_{form}",
         [helper.make_node("Constant", [], ["c"], **{form: value}), node("Add", "x c")],
         {"x": np.arange(3)})
case("constant_large",
     [helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(rand(400))),
      node("Add", "x c")], {"x": rand(2, 400)})
FRACTIONS = np.array([-2.7, -0.5, 0.0, 0.5, 2.7, 100.2], np.float32)
for to in "FLOAT16 DOUBLE INT8 INT16 INT32 INT64 BOOL FLOAT".split():
    case(f"cast_f32_to_{to.lower()}",
         node("Cast", "x", to=getattr(TensorProto, to)), {"x": FRACTIONS})
case("cast_i64_to_f32", node("Cast", "x", to=TensorProto.FLOAT),
     {"x": np.array([-5, 0, 16777217])})
case("cast_bool_to_f32", node("Cast", "x", to=TensorProto.FLOAT),
     {"x": np.array([True, False])})
case("cast_i32_to_bool", node("Cast", "x", to=TensorProto.BOOL),
     {"x": np.array([-1, 0, 2], np.int32)})
case("cast_through_bf16",
     [node("Cast", "x", "b", to=TensorProto.BFLOAT16),
      node("Cast", "b", "y", to=TensorProto.FLOAT)],
     {"x": np.array([1.0, 1.00390625, 1.01171875, -3.14159], np.float32)})
case("dropout_opset7", node("Dropout", "x", ratio=0.25), {"x": rand(2, 3)}, opset=7)
case("dropout_opset10", node("Dropout", "x", "y mask"), {"x": rand(2, 3)}, opset=10)
case("dropout_opset13", node("Dropout", "x r", seed=3), {"x": rand(2, 3)},
     {"r": np.float32(0.1)}, opset=13)
case("dropout_not_training", node("Dropout", "x r t"), {"x": rand(2, 3)},
     {"r": np.float32(0.1), "t": np.array(False)})

# --- Reductions -----------------------------------------------------------------------------

for op in "Sum Mean Max Min Prod SumSquare L2".split():
    name, since = f"reduce_{op.lower()}", 13 if op == "Sum" else 18
    case(f"{name}_all", node(f"Reduce{op}", "x"), {"x": rand(2, 3, 4)})
    case(f"{name}_attribute",
         node(f"Reduce{op}", "x", axes=[1, -1], keepdims=0), {"x": rand(2, 3, 4)},
         opset=11)
    case(f"{name}_input", node(f"Reduce{op}", "x a", keepdims=1), {"x": rand(2, 3, 4)},
         {"a": np.array([-2])}, opset=since)
    case(f"{name}_input_no_keepdims", node(f"Reduce{op}", "x a", keepdims=0),
         {"x": rand(2, 3, 4)}, {"a": np.array([0, 2])}, opset=since)
    case(f"{name}_noop", node(f"Reduce{op}", "x", noop_with_empty_axes=1),
         {"x": rand(2, 3)}, opset=since)
case("reduce_sum_i64", node("ReduceSum", "x"), {"x": np.arange(6).reshape(2, 3)})
case("reduce_mean_f16",
     node("ReduceMean", "x", axes=[0], keepdims=0),
     {"x": np.full((100, 2), 1000, np.float16)}, tolerance=1e-3)

# --- Whole models ---------------------------------------------------------------------------

case("mlp",
     [node("Gemm", "x w1 b1", "h", transB=1), node("Relu", "h", "r"),
      node("Dropout", "r ratio", "d"), node("Gemm", "d w2 b2", "logits", transB=1),
      node("Softmax", "logits", "y", axis=1)],
     {"x": rand(8, 16)},
     {"w1": rand(32, 16, seed=1), "b1": rand(32, seed=2), "w2": rand(10, 32, seed=3),
      "b2": rand(10, seed=4), "ratio": np.float32(0.2)}, outputs="logits y")
case("weight_used_twice",
     [node("MatMul", "x w", "h"), node("Transpose", "w", "wt"), node("MatMul", "h wt")],
     {"x": rand(2, 3)}, {"w": rand(3, 4, seed=1)})
case("input_is_output", node("Relu", "x"), {"x": rand(2, 3)}, outputs="y x")
case("weight_is_output", node("Add", "x w"), {"x": rand(2, 3)}, {"w": rand(3)},
     outputs="y w")
case("attention",
     [node("MatMul", "x wq", "q"), node("MatMul", "x wk", "k"),
      node("MatMul", "x wv", "v"), node("Shape", "x", "sh"),
      node("Gather", "sh last", "d"), node("Cast", "d", "df", to=TensorProto.FLOAT),
      node("Sqrt", "df", "root"), node("Transpose", "k", "kt", perm=[0, 2, 1]),
      node("MatMul", "q kt", "s"), node("Div", "s root", "scaled"),
      node("Softmax", "scaled", "p", axis=-1), node("MatMul", "p v")],
     {"x": rand(2, 5, 4)},
     {"wq": rand(4, 4, seed=1), "wk": rand(4, 4, seed=2), "wv": rand(4, 4, seed=3),
      "last": np.int64(-1)})
case("layer_norm_written_out",
     [node("ReduceMean", "x", "m", axes=[-1]), node("Sub", "x m", "c"),
      node("Pow", "c two", "sq"), node("ReduceMean", "sq", "var", axes=[-1]),
      node("Add", "var eps", "v"), node("Sqrt", "v", "sd"), node("Div", "c sd", "n"),
      node("Mul", "n g", "ng"), node("Add", "ng b")],
     {"x": rand(2, 5, 8)},
     {"two": TWO, "eps": np.float32(1e-5), "g": rand(8, seed=1), "b": rand(8, seed=2)})

# --- Parts of tensors -------------------------------------------------------------------

ints = lambda *values: np.array(values, np.int64)
X = rand(4, 6, 5)
case("slice_opset9", node("Slice", "x", axes=[0, 2], starts=[1, -4], ends=[3, 100]),
     {"x": X}, opset=9)
for name, (starts, ends, axes, steps) in {
        "box": ([1, 2], [3, 5], [0, 1], [1, 1]),
        "steps": ([0, 1], [6, 5], [1, 2], [2, 3]),
        "negative_axis": ([-3], [-1], [-1], [1]),
        "far_ends": ([-100], [2 ** 63 - 1], [1], [1]),
        "backward": ([-1], [-2 ** 63], [1], [-1]),
        "backward_steps": ([4, 1], [0, 4], [2, 0], [-2, 2])}.items():
    case(f"slice_{name}", node("Slice", "x s e a t"), {"x": X},
         {"s": ints(*starts), "e": ints(*ends), "a": ints(*axes), "t": ints(*steps)})
case("slice_no_axes", node("Slice", "x s e"), {"x": X},
     {"s": ints(1, 0, 2), "e": ints(3, 6, 3)})
case("slice_of_weight", [node("Slice", "w s e", "v"), node("Add", "x v")],
     {"x": rand(2, 5)}, {"w": rand(8, 5), "s": ints(3), "e": ints(5)})
case("split_opset11", node("Split", "x", "y z", axis=1, split=[2, 4]), {"x": X},
     opset=11, outputs="y z")
case("split_opset11_equal", node("Split", "x", "y z u", axis=-2), {"x": X}, opset=11,
     outputs="y z u")
case("split_input", node("Split", "x s", "y z u", axis=2), {"x": X},
     {"s": ints(1, 1, 3)}, outputs="y z u")
case("split_equal", node("Split", "x", "y z"), {"x": X}, outputs="y z")
case("split_num_outputs", node("Split", "x", "y z u", axis=2, num_outputs=3), {"x": X},
     opset=18, outputs="y z u")
case("split_shape",
     [node("Shape", "x", "sh"), node("Split", "sh n", "a b", axis=0),
      node("Concat", "b a", "s", axis=0), node("Reshape", "x s")],
     {"x": rand(2, 3, 4)}, {"n": ints(1, 2)}, shape=(3, 4, 2))
case("concat", node("Concat", "a b", axis=1), {"a": rand(2, 3), "b": rand(2, 4)})
case("concat_first", node("Concat", "a b c", axis=-3),
     {"a": rand(1, 3, 2), "b": rand(2, 3, 2), "c": rand(1, 3, 2, seed=1)})
case("concat_weight", node("Concat", "a w", axis=0), {"a": rand(2, 3)}, {"w": rand(4, 3)})
case("concat_i64", node("Concat", "a b", axis=0), {"a": np.arange(3), "b": np.arange(4)})
case("concat_one", node("Concat", "a", axis=0), {"a": rand(2, 3)})
case("gather_embedding", node("Gather", "w i"), {"i": np.array([[1, 5, 0], [5, -1, -6]])},
     {"w": rand(6, 4)})
case("gather_i32", node("Gather", "w i"), {"i": np.array([3, 0], np.int32)},
     {"w": rand(6, 4)})
case("gather_axis", node("Gather", "x i", axis=1), {"x": X, "i": np.array([[0, 5]])})
case("gather_first_token", node("Gather", "x i", axis=1), {"x": X}, {"i": np.int64(0)})
case("gather_positions", [node("Gather", "w i", "p"), node("Add", "x p")],
     {"x": rand(2, 3, 4)}, {"w": rand(8, 4), "i": np.array([[0, 1, 2]])})
case("gather_known", node("Gather", "x i", axis=-1), {"x": X}, {"i": np.array([3, 1, 1])})
case("gather_table_i64", node("Gather", "t i"), {"t": np.arange(6) * 7, "i": ints(5, 0)})
case("where_computed",
     [node("Greater", "a b", "c"), node("Where", "c a b")],
     {"a": rand(3, 4), "b": rand(4, seed=1)})
case("where_mask", node("Where", "m x low"), {"x": rand(2, 4, 4)},
     {"m": np.tri(4, dtype=bool), "low": np.float32(-1e9)})
case("where_i64", [node("Equal", "a b", "c"), node("Where", "c a z")],
     {"a": np.arange(4), "b": ints(0, 2, 2, 3)}, {"z": ints(-1)})
NAN = np.array([1, np.nan, 2, -0.0], np.float32)
for op, opset in {"Equal": 11, "Less": 9, "Greater": 9, "LessOrEqual": 12,
                  "GreaterOrEqual": 16}.items():
    case(f"compare_{op}", node(op, "a b"), {"a": NAN, "b": NAN[:, None].copy()},
         opset=opset)
    case(f"compare_{op}_i64", node(op, "a b"), {"a": np.arange(3), "b": ints(1, 1, 1)},
         opset=max(opset, 12))
BOOLS = np.array([False, True, False, True])
for op in "And Or Xor".split():
    case(f"logic_{op}", node(op, "a b"), {"a": BOOLS, "b": BOOLS[:, None].copy()})
case("logic_Not", node("Not", "a"), {"a": BOOLS})
case("pad_opset10", node("Pad", "x", pads=[1, 0, 0, 2], value=0.5), {"x": rand(2, 3)},
     opset=10)
case("pad_input", node("Pad", "x p"), {"x": rand(2, 3)}, {"p": ints(0, 1, 2, 3)})
case("pad_value", node("Pad", "x p v"), {"x": rand(2, 3)},
     {"p": ints(0, 1, 2, 3), "v": np.float32(-1.5)})
case("pad_cuts", node("Pad", "x p"), {"x": rand(4, 5)}, {"p": ints(-1, 2, 1, -2)})
case("pad_i64", node("Pad", "x p v"), {"x": np.arange(6).reshape(2, 3)},
     {"p": ints(0, 1, 0, 0), "v": np.int64(2 ** 60 + 1)})
case("pad_axes", node("Pad", "x p v a"), {"x": rand(2, 3)},
     {"p": ints(1, 2), "v": np.float32(0), "a": ints(-1)}, opset=18)
for upper in (0, 1):
    for k in (None, -1, 2):
        case(f"trilu_{upper}_{k}".replace("-", "minus_"),
             node("Trilu", "x" if k is None else "x k", upper=upper),
             {"x": rand(2, 3, 4)}, {} if k is None else {"k": np.int64(k)})

# Masks of a sequence's extent, as exporters write them: all are constants here.
ONE, LOW = ints(1), np.float32(-3e38)
SEQUENCE = [node("Shape", "x", "sh"), node("Slice", "sh two three", "t"),
            node("Squeeze", "t", "ts")]
EXTENTS = {"two": ints(2), "three": ints(3)}
case("mask_trilu",
     SEQUENCE + [
         node("Concat", "t t", "tt", axis=0),
         node("ConstantOfShape", "tt", "ones",
              value=helper.make_tensor("v", TensorProto.FLOAT, [1], [1.0])),
         node("Trilu", "ones", "tri", upper=0), node("Equal", "tri zero", "masked"),
         node("Where", "masked low zero", "mask"), node("Add", "x mask")],
     {"x": rand(2, 2, 5, 5)}, {**EXTENTS, "low": LOW, "zero": np.float32(0)},
     shape=(2, 2, 5, 5))
case("mask_ranges",
     SEQUENCE + [
         node("Range", "from ts step", "r"), node("Unsqueeze", "r axis", "column"),
         node("LessOrEqual", "r column", "seen"), node("Not", "seen", "hidden"),
         node("Concat", "one t t", "shape", axis=0),
         node("Expand", "hidden shape", "wide"), node("And", "wide wide", "both"),
         node("Where", "both low x")],
     {"x": rand(2, 2, 5, 5)},
     {**EXTENTS, "low": LOW, "from": np.int64(0), "step": np.int64(1), "axis": ONE,
      "one": ONE}, shape=(2, 2, 5, 5))
# As GPT-2 has it: a buffer of the longest sequence, of which a model takes a part.
case("mask_buffer",
     SEQUENCE + [node("Slice", "buffer zero t two", "rows"),
                 node("Slice", "rows zero t three", "mask"), node("Where", "mask x low")],
     {"x": rand(2, 2, 5, 5)},
     {**EXTENTS, "zero": ints(0), "low": LOW,
      "buffer": np.tri(300, dtype=bool)[None, None]}, shape=(2, 2, 5, 5))
case("packed_projection",
     [node("MatMul", "x w", "qkv"), node("Split", "qkv", "q k v", axis=-1),
      node("Transpose", "k", "kt", perm=[0, 2, 1]), node("MatMul", "q kt", "s"),
      node("Where", "m s low", "masked"), node("Softmax", "masked", "p", axis=-1),
      node("MatMul", "p v")],
     {"x": rand(2, 5, 4)},
     {"w": rand(4, 12, seed=1), "m": np.tri(5, dtype=bool), "low": LOW})
