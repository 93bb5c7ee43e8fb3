# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is said about models that cannot be imported. Not one may crash."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from cases import make, node, rand

TENSOR = helper.make_tensor_value_info


def raw(nodes, inputs=None, weights=(), opset=17, outputs=("y",)):
    """A model that onnx itself would not let pass."""
    nodes = nodes if isinstance(nodes, list) else [nodes]
    inputs = {"x": (TensorProto.FLOAT, [2, 3])} if inputs is None else inputs
    graph = helper.make_graph(
        nodes, "bad", [TENSOR(name, *info) for name, info in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(value, name) if isinstance(value, np.ndarray) else value
         for name, value in dict(weights).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                             ir_version=8)


def changed(change, model=None):
    model = model or make(node("Add", "x w"), {"x": rand(2, 3)}, {"w": rand(3)})
    change(model)
    return model


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


FLOATS, INTS = (TensorProto.FLOAT, [2, 3]), (TensorProto.INT64, [2, 3])
RELU = lambda: node("Relu", "x")
IMAGES = {"x": (TensorProto.FLOAT, [2, 3, 4, 5])}
BRANCH = helper.make_graph([], "branch", [], [])

# What is wrong, and what the message must say, in order.
ERRORS = {
    # The file.
    "not_a_model": (b"\xff\xff\xff", ["not a serialized ONNX model"]),
    "no_graph": (b"", ["the model has no graph"]),
    "no_ir_version": (changed(lambda m: m.ClearField("ir_version")),
                      ["the model has no ir_version"]),
    "no_opset": (changed(lambda m: m.ClearField("opset_import")),
                 ["imports no opset of domain ai.onnx"]),
    "old_opset": (raw(RELU(), opset=6), ["opset 6 is not supported, expected 7 to"]),
    "new_opset": (raw(RELU(), opset=999), ["opset 999 is not supported"]),
    "negative_opset": (raw(RELU(), opset=-1), ["opset -1 is not supported"]),
    "no_outputs": (raw(RELU(), outputs=()), ["the graph has no output"]),
    "sparse_initializer": (
        changed(lambda m: m.graph.sparse_initializer.add()),
        ["sparse initializers are not supported"]),
    # Windows and batch norm.
    "conv_rank": (raw(node("Conv", "x w"), weights={"w": rand(2, 3)}),
                  ["node 'Conv_0'", "one rank of at least 3, got"]),
    "conv_channels": (raw(node("Conv", "x w"), IMAGES, {"w": rand(4, 2, 2, 2)}),
                      ["do not fall into 1 groups"]),
    "conv_groups": (raw(node("Conv", "x w", group=0), IMAGES, {"w": rand(4, 3, 2, 2)}),
                    ["do not fall into 0 groups"]),
    "conv_window": (raw(node("Conv", "x w"), IMAGES, {"w": rand(4, 3, 2, 6)}),
                    ["a window of 6 elements with dilation 1 does not fit in 5"]),
    "conv_kernel_shape": (
        raw(node("Conv", "x w", kernel_shape=[3, 3]), IMAGES, {"w": rand(4, 3, 2, 2)}),
        ["'kernel_shape' must be [2, 2], as the weight is, got [3, 3]"]),
    "conv_bias": (raw(node("Conv", "x w b"), IMAGES,
                      {"w": rand(4, 3, 2, 2), "b": rand(3)}),
                  ["B must have one element for each of 4 channels"]),
    "conv_pads": (raw(node("Conv", "x w", pads=[0, 0, -1, 0]), IMAGES,
                      {"w": rand(4, 3, 2, 2)}),
                  ["attribute 'pads' must be in [0, 2^31), got -1"]),
    "conv_strides": (raw(node("Conv", "x w", strides=[1]), IMAGES,
                         {"w": rand(4, 3, 2, 2)}),
                     ["attribute 'strides' must have 2 numbers, got 1"]),
    "conv_auto_pad": (raw(node("Conv", "x w", auto_pad="SAME"), IMAGES,
                          {"w": rand(4, 3, 2, 2)}),
                      ["'auto_pad' must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, got SAME"]),
    "conv_both_pads": (raw(node("Conv", "x w", auto_pad="VALID", pads=[1, 1, 1, 1]), IMAGES,
                           {"w": rand(4, 3, 2, 2)}),
                       ["'pads' and 'auto_pad' (VALID) must not be given together"]),
    "pool_kernel_shape": (raw(node("MaxPool", "x"), IMAGES), ["'kernel_shape' is missing"]),
    "pool_rank": (raw(node("MaxPool", "x", kernel_shape=[2])),
                  ["expected a batch, channels and spatial dimensions"]),
    "pool_empty_window": (raw(node("MaxPool", "x", kernel_shape=[2, 0]), IMAGES),
                          ["extents must be in [1, 2^31)"]),
    "pool_dilations": (raw(node("AveragePool", "x", kernel_shape=[2, 2], dilations=[1, 1]),
                           IMAGES, opset=17),
                       ["attribute 'dilations' is not one of this version"]),
    "pool_all_padding": (raw(node("AveragePool", "x", kernel_shape=[2, 2], pads=[2, 0, 0, 0]),
                             IMAGES), ["a window has no element but padding"]),
    "pool_indices_of_average": (
        raw(node("AveragePool", "x", "y i", kernel_shape=[2, 2]), IMAGES), ["output"]),
    "batch_norm_channels": (
        raw(node("BatchNormalization", "x s s s t"), IMAGES, {"s": rand(3), "t": rand(4)}),
        ["expected one element for each of 3 channels, got 't'"]),
    "batch_norm_outputs": (
        raw(node("BatchNormalization", "x s s s s", "y m"), IMAGES, {"s": rand(3)},
            outputs=("y", "m")), ["output 1 is one of training, which is off"]),
    "batch_norm_old_training": (
        raw(node("BatchNormalization", "x s s s s", "y m"), IMAGES, {"s": rand(3)}, opset=9,
            outputs=("y", "m")), ["output 1 is one of training, which is supported from"]),
    "batch_norm_spatial": (
        raw(node("BatchNormalization", "x s s s s", spatial=0), IMAGES, {"s": rand(3)},
            opset=7), ["statistics for each element (spatial = 0)"]),
    "batch_norm_epsilon": (
        raw(node("BatchNormalization", "x s s s s", epsilon=-1.0), IMAGES, {"s": rand(3)}),
        ["expected an 'epsilon' of at least 0"]),
    # Names and order.
    "undefined_input": (raw(node("Relu", "xx")),
                        ["node 'Relu_0' uses 'xx', which nothing produces; "
                         "did you mean 'x'?"]),
    "undefined_output": (raw(RELU(), outputs=("z",)),
                         ["the graph uses 'z', which nothing produces"]),
    "later_node": (raw([node("Relu", "t", "y", name="first"),
                        node("Relu", "x", "t", name="second")]),
                   ["node 'first' uses 't', which the later node 'second' produces",
                    "not topologically sorted, or form a cycle"]),
    "cycle": (raw(node("Add", "x y", "y", name="loop")),
              ["node 'loop' uses 'y', which the later node 'loop' produces"]),
    "duplicate_output": (raw([node("Relu", "x", "y", name="a"),
                              node("Tanh", "x", "y", name="b")]),
                         ["node 'b' produces 'y', which is already an output of "
                          "node 'a'"]),
    "output_named_as_input": (raw(node("Relu", "x", "x"), outputs=("x",)),
                              ["produces 'x', which is already a graph input"]),
    "duplicate_initializer": (
        changed(lambda m: m.graph.initializer.append(m.graph.initializer[0])),
        ["duplicate initializer 'w'"]),
    "duplicate_graph_input": (
        changed(lambda m: m.graph.input.append(m.graph.input[0])),
        ["duplicate graph input 'x'"]),
    "duplicate_graph_output": (
        changed(lambda m: m.graph.output.append(m.graph.output[0])),
        ["duplicate graph output 'y'"]),
    "reserved_name": (make(node("Add", "x main"), {"x": rand(3)}, {"main": rand(3)}),
                      ["initializer 'main': the name is that of the module's function"]),
    # Operators.
    "unknown_operator": (raw(node("Relo", "x", name="act")),
                         ["node 'act' (ai.onnx::Relo-17): the operator is not "
                          "supported; did you mean Relu?; supported are Add, ", "Where"]),
    "unsupported_operator": (raw(node("LSTM", "x", name="rnn")),
                             ["node 'rnn' (ai.onnx::LSTM-17)", "supported are Add"]),
    "operator_too_new": (raw(node("Gelu", "x"), opset=17),
                         ["(ai.onnx::Gelu-17)", "in opset 17, expected 20 to"]),
    "domain": (raw(helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")),
               ["(com.microsoft::Gelu-17)",
                "operators of domain 'com.microsoft' are not supported"]),
    "subgraph": (raw(helper.make_node("If", ["x"], ["y"], then_branch=BRANCH,
                                      else_branch=BRANCH)),
                 ["(ai.onnx::If-17)", "holds a subgraph"]),
    "no_op_type": (changed(lambda m: m.graph.node[0].ClearField("op_type")),
                   ["has no op_type"]),
    "too_few_inputs": (raw(node("Add", "x")), ["expected 2 to 2 inputs, got 1"]),
    "too_many_inputs": (raw(node("Relu", "x x")), ["expected 1 to 1 inputs, got 2"]),
    "empty_input": (raw(helper.make_node("Add", ["x", ""], ["y"])),
                    ["input 1 has no name"]),
    "too_many_outputs": (raw(node("Relu", "x", "y z")),
                         ["expected 1 to 1 outputs, got 2"]),
    "unknown_attribute": (raw(node("Relu", "x", alpha=1.0)),
                          ["attribute 'alpha' is not one of this version"]),
    "attribute_type": (raw(node("Flatten", "x", axis=1.0)),
                       ["attribute 'axis' must be of type INT, got FLOAT"]),
    "axes_attribute_too_late": (raw(node("ReduceSum", "x", axes=[0])),
                                ["attribute 'axes' is not one of this version"]),
    # Types and shapes.
    "element_type": (raw(RELU(), {"x": (TensorProto.UINT8, [2])}),
                     ["input 'x': element type UINT8 is not supported, expected one of "
                      "FLOAT, DOUBLE"]),
    "string_type": (raw(RELU(), {"x": (TensorProto.STRING, [2])}),
                    ["element type STRING is not supported"]),
    "unknown_type": (raw(RELU(), {"x": (1234, [2])}), ["element type number 1234"]),
    "sequence": (
        changed(lambda m: m.graph.input[0].type.sequence_type.SetInParent()),
        ["input 'x': only tensors are supported"]),
    "no_type": (changed(lambda m: m.graph.input[0].ClearField("type")),
                ["input 'x': the model declares no type"]),
    "no_shape": (
        changed(lambda m: m.graph.input[0].type.tensor_type.ClearField("shape")),
        ["input 'x': the model declares no shape"]),
    "negative_extent": (raw(RELU(), {"x": (TensorProto.FLOAT, [2, -3])}),
                        ["input 'x': dimension 1 is negative: -3"]),
    "huge_extents": (raw(RELU(), {"x": (TensorProto.FLOAT, [2 ** 40, 2 ** 40])}),
                     ["more elements than memory can hold"]),
    "huge_broadcast": (
        raw(node("Add", "x w"), {"x": (TensorProto.FLOAT, [2 ** 40, 1]),
                                 "w": (TensorProto.FLOAT, [2 ** 40])}),
        ["broadcast to more elements than memory can hold"]),
    "huge_product": (
        raw(node("MatMul", "x w"), {"x": (TensorProto.FLOAT, [2 ** 40, 1]),
                                    "w": (TensorProto.FLOAT, [1, 2 ** 40])}),
        ["its result has more elements than memory can hold"]),
    "operand_types": (raw(node("Add", "x w"), {"x": FLOATS, "w": INTS}),
                      ["must have one element type, got 'tensor<2x3xf32>' and "
                       "'tensor<2x3xi64>'"]),
    "operand_shapes": (raw(node("Add", "x w"), {"x": FLOATS,
                                                "w": (TensorProto.FLOAT, [2])}),
                       ["shapes [2, 3] and [2] do not broadcast"]),
    "not_floats": (raw(node("Exp", "x"), {"x": INTS}),
                   ["only floats are supported, got 'x' of 'tensor<2x3xi64>'"]),
    "not_numbers": (raw(node("Add", "x x"), {"x": (TensorProto.BOOL, [2])}),
                    ["expected numbers, got 'x'"]),
    "output_type": (
        changed(lambda m: m.graph.output[0].type.tensor_type.__setattr__(
            "elem_type", TensorProto.DOUBLE)),
        ["output 'y': the model declares element type DOUBLE, its nodes compute "
         "'tensor<2x3xf32>'"]),
    # Dimensions.
    "symbolic": (raw(RELU(), {"x": (TensorProto.FLOAT, ["batch", 3])}),
                 ["input 'x': dimension 0 is symbolic, 'batch'; bind it with "
                  "--dim batch=<extent>"]),
    "unknown_extent": (raw(RELU(), {"x": (TensorProto.FLOAT, [2, None])}),
                       ["input 'x': dimension 1 is unknown; bind it with "
                        "--dim x:1=<extent>"]),
    # Initializers.
    "initializer_elements": (
        changed(lambda m: m.graph.initializer[0].__setattr__("raw_data", b"12345678")),
        ["initializer 'w' of type 'tensor<3xf32>' needs 12 bytes of raw_data, got 8"]),
    "initializer_typed_elements": (
        raw(node("Add", "x w"), weights={"w": TensorProto(
            name="w", data_type=1, dims=[3], float_data=[1, 2])}),
        ["initializer 'w' of type 'tensor<3xf32>' needs 3 elements, got 2"]),
    "initializer_negative": (
        raw(node("Add", "x w"),
            weights={"w": TensorProto(name="w", data_type=1, dims=[-3])}),
        ["initializer 'w': negative extent -3"]),
    "initializer_overflow": (
        raw(node("Add", "x w"), weights={"w": TensorProto(
            name="w", data_type=1, dims=[2 ** 32, 2 ** 32])}),
        ["initializer 'w': its 2 extents make more elements than memory can hold"]),
    "initializer_rank": (
        raw(node("Add", "x w"), weights={"w": TensorProto(
            name="w", data_type=1, dims=[1] * 1000)}),
        ["initializer 'w': its 1000 extents"]),
    "initializer_type": (
        raw(node("Add", "x w"), weights={"w": TensorProto(
            name="w", data_type=TensorProto.COMPLEX64, dims=[1])}),
        ["initializer 'w': element type COMPLEX64 is not supported"]),
    "initializer_input_type": (
        changed(lambda m: m.graph.input.append(
            TENSOR("w", TensorProto.FLOAT, [4]))),
        ["input 'w' is declared as 'tensor<4xf32>', its initializer is "
         "'tensor<3xf32>'"]),
    # Single operators.
    "gemm_rank": (raw(node("Gemm", "x w"), {"x": FLOATS, "w": (TensorProto.FLOAT, [3])}),
                  ["operands must have rank 2"]),
    "gemm_extents": (raw(node("Gemm", "x x")), ["the contracted extents differ"]),
    "gemm_c": (raw(node("Gemm", "x x c", transB=1),
                   {"x": FLOATS, "c": (TensorProto.FLOAT, [3, 2, 2])}),
               ["does not broadcast to [2, 2]"]),
    "matmul_extents": (raw(node("MatMul", "x x")), ["the contracted extents differ"]),
    "matmul_scalar": (raw(node("MatMul", "x s"), weights={"s": scalar(1)}),
                      ["operands must have rank 1 or more"]),
    "matmul_batches": (
        raw(node("MatMul", "x w"), {"x": (TensorProto.FLOAT, [2, 3, 3]),
                                    "w": (TensorProto.FLOAT, [4, 3, 3])}),
        ["shapes [2] and [4] do not broadcast"]),
    "reshape_computed": (raw(node("Reshape", "x s"),
                             {"x": FLOATS, "s": (TensorProto.INT64, [2])}),
                         ["its shape, 's', must be known at import"]),
    "reshape_count": (raw(node("Reshape", "x s"), weights={"s": np.array([4])}),
                      ["cannot reshape 'tensor<2x3xf32>' to [4]: the numbers of "
                       "elements differ"]),
    "reshape_two_inferred": (raw(node("Reshape", "x s"), weights={"s": np.array([-1, -1])}),
                             ["only one extent can be -1"]),
    "reshape_indivisible": (raw(node("Reshape", "x s"), weights={"s": np.array([4, -1])}),
                            ["no extent for -1 makes 6 elements"]),
    "reshape_copies_nothing": (raw(node("Reshape", "x s"),
                                   weights={"s": np.array([2, 3, 0])}),
                               ["extent 2 is to be copied, but the input has rank 2"]),
    "reshape_overflow": (raw(node("Reshape", "x s"),
                             weights={"s": np.array([2 ** 62, 2 ** 62, -1])}),
                         ["cannot reshape"]),
    "transpose_perm": (raw(node("Transpose", "x", perm=[0, 0])),
                       ["perm [0, 0] is no permutation"]),
    "squeeze_extent": (raw(node("Squeeze", "x a"), weights={"a": np.array([0])}),
                       ["axis 0 of 'tensor<2x3xf32>' has extent 2, expected 1"]),
    "unsqueeze_rank": (raw(node("Unsqueeze", "x a"), weights={"a": np.arange(70)}),
                       ["a tensor of rank 72 is not supported"]),
    "norm_parameter": (raw(node("LayerNormalization", "x w"),
                           weights={"w": np.zeros(4, np.float32)}),
                       ["expected a parameter that broadcasts to 'tensor<2x3xf32>', got 'w' "
                        "of 'tensor<4xf32>'"]),
    "norm_parameter_type": (raw(node("LayerNormalization", "x w w"),
                                weights={"w": np.zeros(3, np.float64)}),
                            ["expected a parameter that broadcasts to"]),
    "norm_epsilon": (raw(node("LayerNormalization", "x w", epsilon=-1.0),
                         weights={"w": np.zeros(3, np.float32)}),
                     ["attribute 'epsilon' must be finite and at least 0, got -1"]),
    "norm_stash_type": (raw(node("RMSNormalization", "x w", stash_type=11),
                            weights={"w": np.zeros(3, np.float32)}, opset=23),
                        ["attribute 'stash_type' must be 1 (FLOAT), got 11"]),
    "norm_axis": (raw(node("LayerNormalization", "x w", axis=-3),
                      weights={"w": np.zeros(3, np.float32)}),
                  ["axis -3 is not one of a tensor of rank 2"]),
    "norm_integers": (raw(node("RMSNormalization", "x x"),
                          {"x": (TensorProto.INT32, [2, 3])}, opset=23),
                      ["only floats are supported"]),
    "norm_too_old": (raw(node("LayerNormalization", "x w"),
                         weights={"w": np.zeros(3, np.float32)}, opset=16),
                     ["the operator is not supported in opset 16"]),
    "axis": (raw(node("Softmax", "x", axis=2)), ["axis 2 is not one of a tensor of rank 2"]),
    "axis_twice": (raw(node("ReduceSum", "x a"), weights={"a": np.array([0, -2])}),
                   ["axis 0 is given twice"]),
    "gather_index": (raw([node("Shape", "x", "s"), node("Gather", "s i")],
                         weights={"i": scalar(2, np.int64)}),
                     ["index 2 is outside of extent 2"]),
    "range_of_inputs": (raw(node("Range", "x x x")),
                        ["supported on shapes and constants only, but 'x' is computed "
                         "when the model runs"]),
    "gather_known_index": (raw(node("Gather", "x i"), weights={"i": scalar(-3, np.int64)}),
                           ["index -3 is outside of extent 2"]),
    "gather_by_floats": (raw(node("Gather", "x x")), ["its indices must be i32 or i64"]),
    "gather_axis": (raw(node("Gather", "x i", axis=2), {"x": FLOATS, "i": INTS}),
                    ["axis 2 is not one of a tensor of rank 2"]),
    "slice_step": (raw(node("Slice", "x i i i z"),
                       weights={"i": np.array([1]), "z": np.array([0])}),
                   ["its steps must not be 0"]),
    "slice_computed": (raw(node("Slice", "x i i"), {
        "x": FLOATS, "i": (TensorProto.INT64, [1])}), ["its starts, 'i', must be known"]),
    "slice_counts": (raw(node("Slice", "x i j"),
                         weights={"i": np.array([0]), "j": np.array([1, 1])}),
                     ["must be of one number, got 1, 2, 1 and 1"]),
    "split_total": (raw(node("Split", "x s", "y z", axis=1), outputs=("y", "z"),
                        weights={"s": np.array([1, 1])}),
                    ["expected 2 extents that add up to 3 in its split, got [1, 1]"]),
    "split_negative": (raw(node("Split", "x s", "y z", axis=1), outputs=("y", "z"),
                           weights={"s": np.array([-1, 4])}),
                       ["expected 2 extents that add up to 3"]),
    "split_uneven": (raw(node("Split", "x", "y z", axis=1), outputs=("y", "z")),
                     ["cannot split extent 3 into 2 equal parts"]),
    "split_outputs": (raw(node("Split", "x", "y z", num_outputs=3), outputs=("y", "z"),
                          opset=18),
                      ["its 'num_outputs' is 3, but it has 2 outputs"]),
    "concat_shapes": (raw(node("Concat", "x i", axis=0), {
        "x": FLOATS, "i": (TensorProto.FLOAT, [2, 4])}),
        ["cannot concatenate 'tensor<2x3xf32>' and 'tensor<2x4xf32>' along axis 0"]),
    "concat_types": (raw(node("Concat", "x i", axis=0), {"x": FLOATS, "i": INTS}),
                     ["cannot concatenate"]),
    "where_condition": (raw(node("Where", "x x x")),
                        ["expected a condition of booleans"]),
    "pad_mode": (raw(node("Pad", "x p", mode="reflect"), weights={"p": np.zeros(4, int)}),
                 ["mode 'reflect' is not supported, expected 'constant'"]),
    "pad_count": (raw(node("Pad", "x p"), weights={"p": np.zeros(3, int)}),
                  ["expected 4 pads, got 3"]),
    "pad_cuts": (raw(node("Pad", "x p"), weights={"p": np.array([-2, 0, -1, 0])}),
                 ["cannot pad extent 2 by -2 and -1"]),
    "pad_far": (raw(node("Pad", "x p"),
                    weights={"p": np.array([-2 ** 63, 0, 2 ** 63 - 1, 0])}),
                ["cut off more than extent 2 has"]),
    "pad_huge": (raw(node("Pad", "x p"), weights={"p": np.array([2 ** 62, 0, 2 ** 62, 0])}),
                 ["cannot pad extent 2"]),
    "pad_value": (raw(node("Pad", "x p v"), weights={"p": np.zeros(4, int),
                                                     "v": scalar(1, np.int64)}),
                  ["its constant_value must be a scalar of 'f32', got"]),
    "trilu_rank": (raw(node("Trilu", "x"), {"x": (TensorProto.FLOAT, [3])}),
                   ["expected a tensor of rank 2 at least"]),
    "trilu_huge": (raw([node("Expand", "x s", "w"), node("Trilu", "w")],
                       {"x": (TensorProto.FLOAT, [1])},
                       weights={"s": np.array([2 ** 20, 2 ** 20])}),
                   ["a triangle of 1099511627776 elements is not supported"]),
    "logic_types": (raw(node("And", "x x")), ["expected booleans, got 'x'"]),
    "order_of_booleans": (raw(node("Less", "b b"), {"b": (TensorProto.BOOL, [2])}),
                          ["expected numbers, got 'b'"]),
    "integer_division": (raw([node("Shape", "x", "s"), node("Div", "s z")],
                             weights={"z": scalar(0, np.int64)}),
                         ["integer division by 0"]),
    "range_endless": (raw(node("Range", "a b c"),
                          weights={"a": scalar(0, np.int64), "b": scalar(9, np.int64),
                                   "c": scalar(0, np.int64)}),
                      ["cannot count from 0"]),
    "range_huge": (raw(node("Range", "a b c"),
                       weights={"a": scalar(0, np.int64), "b": scalar(2 ** 60, np.int64),
                                "c": scalar(1, np.int64)}),
                   ["elements is not supported, expected 65536 at most"]),
    "constant_of_huge_shape": (raw(node("ConstantOfShape", "s"),
                                   weights={"s": np.array([2 ** 40, 2 ** 40])}),
                               ["cannot make a tensor of shape"]),
    "constant_without_value": (raw(node("Constant", "")), ["expected one attribute"]),
    "constant_string": (raw(helper.make_node("Constant", [], ["y"], value_string="a")),
                        ["attribute 'value_string' is not supported"]),
    "constant_form_too_new": (
        raw(helper.make_node("Constant", [], ["y"], value_int=1), opset=11),
        ["attribute 'value_int' is not supported"]),
    "cast_target": (raw(node("Cast", "x", to=TensorProto.UINT32)),
                    ["element type UINT32 is not supported"]),
    "cast_no_target": (raw(node("Cast", "x")), ["attribute 'to' is missing"]),
    "dropout_mask": (raw([node("Dropout", "x", "y m")], outputs=("y", "m")),
                     ["its mask, 'm', is used, which is not supported"]),
    "dropout_ratio": (raw(node("Dropout", "x r"), weights={"r": scalar(1)}),
                      ["its ratio must be at least 0 and below 1, got 1"]),
    "dropout_nan": (raw(node("Dropout", "x r"), weights={"r": scalar(np.nan)}),
                    ["its ratio must be at least 0 and below 1"]),
    "dropout_computed_ratio": (raw(node("Dropout", "x r"), {
        "x": FLOATS, "r": (TensorProto.FLOAT, [])}), ["its ratio, 'r', must be known"]),
    "gelu_form": (raw(node("Gelu", "x", approximate="sigmoid"), opset=20),
                  ["attribute 'approximate' must be 'none' or 'tanh', got 'sigmoid'"]),
    "pow_exponent": (raw(node("Pow", "x e"), weights={"e": scalar(2.5)}),
                     ["exponent 2.5", "is not supported"]),
    "pow_tensor": (raw(node("Pow", "x x")), ["only a scalar exponent is supported"]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(importer, name):
    model, expected = ERRORS[name]
    message = importer.error(model)
    if "node '" in expected[0] or "(ai.onnx::" in expected[0]:
        assert "model.onnx" in message.split("error:")[0]
    for part in expected:
        assert part in message, message
        message = message[message.index(part) + len(part):]


def test_dim_options(importer):
    model = raw(RELU(), {"x": (TensorProto.FLOAT, ["batch", 3])})
    assert "--dim bath=2: the model has no such symbolic dimension; it has: batch" in \
        importer.error(model, "--dim", "bath=2")
    assert "--dim batch=0: expected at least 1" in \
        importer.error(model, "--dim", "batch=0")


def test_missing_file(importer):
    assert "cannot read the model: No such file" in \
        importer.error(importer.folder / "missing.onnx")


def test_truncated(importer):
    """Every prefix of a model is an error or a model, never a crash."""
    model = make(node("Gemm", "x w b"), {"x": rand(2, 3)},
                 {"w": rand(3, 4), "b": rand(4)}).SerializeToString()
    for end in range(0, len(model), max(1, len(model) // 40)):
        assert importer.run(model[:end]).returncode in (0, 1)
