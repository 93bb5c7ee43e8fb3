# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What models become, by FileCheck."""

import re

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from cases import CASES, make, node, rand

MLP = lambda: make(
    [node("Gemm", "x fc.weight fc.bias", "h", name="/fc/Gemm", transB=1),
     helper.make_node("Relu", ["h"], ["r"]), node("Dropout", "r ratio", "y")],
    {"x": rand(2, 40)},
    {"fc.weight": rand(30, 40), "fc.bias": rand(30), "ratio": np.float32(0.25)})


def test_variables_inputs_outputs(importer):
    importer.check(MLP(), """
CHECK:      oneflow.variable @fc.weight : tensor<30x40xf32> =
CHECK-SAME:   dense_resource<fc.weight> : tensor<30x40xf32> {trainable}
CHECK-NEXT: oneflow.variable @fc.bias : tensor<30xf32> = dense<
CHECK-SAME:   {trainable}
CHECK-NEXT: func.func @main() {
CHECK-NEXT: %[[X:.*]] = oneflow.input "x" : tensor<2x40xf32>
CHECK-NEXT: %[[W:.*]] = oneflow.read @fc.weight : tensor<30x40xf32>
CHECK-NEXT: %[[B:.*]] = oneflow.read @fc.bias : tensor<30xf32>
CHECK-NEXT: %[[M:.*]] = oneflow.matmul %[[X]], %[[W]] {transpose_rhs}
CHECK-NEXT: %[[A:.*]] = oneflow.add %[[M]], %[[B]]
CHECK-NEXT: %[[R:.*]] = oneflow.relu %[[A]] : tensor<2x30xf32>
CHECK-NEXT: %[[D:.*]] = oneflow.dropout %[[R]] {id = 2 : i64, ratio = 2.500000e-01 : f64, seed = 2 : i64}
CHECK-NEXT: oneflow.output "y" %[[D]] : tensor<2x30xf32>
CHECK-NEXT: return
""")


def test_locations(importer):
    model = MLP()
    model.graph.node[1].ClearField("name")
    importer.check(model, """
CHECK-DAG: loc("/fc/Gemm"(#[[GEMM:.*]]))
CHECK-DAG: #[[GEMM]] = loc("model.onnx":0:0)
CHECK-DAG: loc("Relu_1"(#[[RELU:.*]]))
CHECK-DAG: #[[RELU]] = loc("model.onnx":1:0)
CHECK-DAG: loc("fc.weight"(
CHECK-DAG: loc("x"(
""", "--locations")


def test_weight_read_once_and_unused_left_out(importer):
    model = make([node("Add", "x w", "a"), node("Mul", "a w")], {"x": rand(3)},
                 {"w": rand(3), "unused": rand(3)})
    importer.check(model, """
CHECK-NOT:   @unused
CHECK-COUNT-1: oneflow.read @w
CHECK-NOT:   oneflow.read
""")


def test_input_with_initializer_is_a_variable(importer):
    model = make(node("Add", "x w"), {"x": rand(3)}, {"w": rand(3)})
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]))
    importer.check(model, """
CHECK:     oneflow.variable @w : tensor<3xf32>
CHECK-NOT: oneflow.input "w"
""")


def test_integer_initializer_is_not_trainable(importer):
    model = make(node("Add", "x w"), {"x": np.arange(3)}, {"w": np.arange(3)})
    importer.check(model, """
CHECK: oneflow.variable @w : tensor<3xi64> = dense<[0, 1, 2]> : tensor<3xi64>{{$}}
""")


def test_scalar_initializer_is_a_constant(importer):
    model = make(node("Mul", "x s"), {"x": rand(3)}, {"s": np.float32(0.5)})
    importer.check(model, """
CHECK-NOT: oneflow.variable
CHECK:     oneflow.constant dense<5.000000e-01> : tensor<f32>
""")


def test_constant_node_is_a_constant(importer):
    value = numpy_helper.from_array(rand(400))
    model = make([helper.make_node("Constant", [], ["c"], value=value),
                  node("Add", "x c")], {"x": rand(400)})
    importer.check(model, """
CHECK-NOT: oneflow.variable
CHECK:     oneflow.constant dense<"0x{{[0-9A-F]*}}"> : tensor<400xf32>
""")


def test_values_of_initializers(importer):
    """Each way of storing elements, against MLIR's way of printing them."""
    def tensor(name, kind, **fields):
        result = TensorProto(name=name, data_type=kind, dims=[2])
        for field, value in fields.items():
            if isinstance(value, bytes):
                setattr(result, field, value)
            else:
                getattr(result, field).extend(value)
        return result

    model = make([node("Cast", name, f"{name}y", to=TensorProto.DOUBLE)
                  for name in "abcdefgh"], {"x": rand(2)},
                 {name: rand(2) for name in "abcdefgh"},
                 outputs=" ".join(f"{name}y" for name in "abcdefgh"))
    del model.graph.initializer[:]
    model.graph.initializer.extend([
        tensor("a", TensorProto.FLOAT, float_data=[1.5, -2]),
        tensor("b", TensorProto.FLOAT, raw_data=np.array([1.5, -2], "<f4").tobytes()),
        tensor("c", TensorProto.FLOAT16, int32_data=[0x3E00, 0xC000]),
        tensor("d", TensorProto.BFLOAT16, int32_data=[0x3FC0, 0xC000]),
        tensor("e", TensorProto.DOUBLE, double_data=[1.5, -2]),
        tensor("f", TensorProto.INT8, int32_data=[1, -2]),
        tensor("g", TensorProto.INT64, int64_data=[1, -2]),
        tensor("h", TensorProto.BOOL, int32_data=[1, 0])])
    importer.check(model, """
CHECK-DAG: @a : tensor<2xf32> = dense<[1.500000e+00, -2.000000e+00]>
CHECK-DAG: @b : tensor<2xf32> = dense<[1.500000e+00, -2.000000e+00]>
CHECK-DAG: @c : tensor<2xf16> = dense<[1.500000e+00, -2.000000e+00]>
CHECK-DAG: @d : tensor<2xbf16> = dense<[1.500000e+00, -2.000000e+00]>
CHECK-DAG: @e : tensor<2xf64> = dense<[1.500000e+00, -2.000000e+00]>
CHECK-DAG: oneflow.constant dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf64>
CHECK-DAG: oneflow.constant dense<[1.000000e+00, 0.000000e+00]> : tensor<2xf64>
""")


def test_dimensions_are_bound(importer):
    model = make(node("Relu", "x"), {"x": rand(2, 3)})
    dims = model.graph.input[0].type.tensor_type.shape.dim
    dims[0].dim_param = "batch"
    dims[1].ClearField("dim_value")
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    importer.check(model, """
CHECK: oneflow.input "x" : tensor<32x5xf32>
CHECK: oneflow.output "y" %{{.*}} : tensor<32x5xf32>
""", "--dim", "batch=32", "--dim", "x:1=5")


def test_matmul_forms(importer):
    model = make([node("MatMul", "a b", "p"), node("MatMul", "v b", "q")],
                 {"a": rand(2, 1, 4, 3), "b": rand(6, 3, 5), "v": rand(3)},
                 outputs="p q")
    importer.check(model, """
CHECK-DAG: %[[A:.*]] = oneflow.broadcast %{{.*}} : (tensor<2x1x4x3xf32>) -> tensor<2x6x4x3xf32>
CHECK-DAG: %[[B:.*]] = oneflow.broadcast %{{.*}} : (tensor<6x3x5xf32>) -> tensor<2x6x3x5xf32>
CHECK:     oneflow.matmul %[[A]], %[[B]]
CHECK:     %[[V:.*]] = oneflow.reshape %{{.*}} : (tensor<3xf32>) -> tensor<1x3xf32>
CHECK:     %[[W:.*]] = oneflow.broadcast %[[V]] : (tensor<1x3xf32>) -> tensor<6x1x3xf32>
CHECK:     %[[Q:.*]] = oneflow.matmul %[[W]]
CHECK:     oneflow.reshape %[[Q]] : (tensor<6x1x5xf32>) -> tensor<6x5xf32>
""")


def test_softmax_before_opset_13_flattens(importer):
    model = make(node("Softmax", "x"), {"x": rand(2, 3, 4)}, opset=11)
    importer.check(model, """
CHECK: %[[F:.*]] = oneflow.reshape %{{.*}} -> tensor<2x12xf32>
CHECK: %[[S:.*]] = oneflow.softmax %[[F]] dim 1 : tensor<2x12xf32>
CHECK: oneflow.reshape %[[S]] : (tensor<2x12xf32>) -> tensor<2x3x4xf32>
""")


def test_norm_parameters(importer):
    """What differs from row to row is no parameter of the op."""
    model = make([node("LayerNormalization", "x s b", "h", epsilon=0.5),
                  node("LayerNormalization", "h one rows", "y", axis=1)],
                 {"x": rand(2, 3, 4)},
                 {"s": rand(4), "b": rand(3, 4), "one": rand(1), "rows": rand(2, 1, 1)})
    importer.check(model, """
CHECK: %[[N:.*]], %{{.*}}, %{{.*}} = oneflow.layer_norm %{{.*}} scale %{{.*}} dims_from 2 {epsilon = 5.000000e-01 : f64}
CHECK: %[[H:.*]] = oneflow.add %[[N]]
CHECK: %[[ONE:.*]] = oneflow.broadcast %{{.*}} : (tensor<1xf32>) -> tensor<3x4xf32>
CHECK: %[[M:.*]], %{{.*}}, %{{.*}} = oneflow.layer_norm %[[H]] scale %[[ONE]] dims_from 1
CHECK: oneflow.add %[[M]]
""")


def test_mean_of_halves_is_summed_in_f32(importer):
    model = make(node("ReduceMean", "x", axes=[0]), {"x": rand(8, 2, dtype=np.float16)})
    importer.check(model, """
CHECK: %[[C:.*]] = oneflow.cast %{{.*}} -> tensor<8x2xf32>
CHECK: %[[S:.*]] = oneflow.reduce <sum> %[[C]] dims [0] {keep_dims}
CHECK: %[[N:.*]] = oneflow.constant dense<8.000000e+00> : tensor<f32>
CHECK: %[[D:.*]] = oneflow.div %[[S]], %[[N]]
CHECK: oneflow.cast %[[D]] : (tensor<1x2xf32>) -> tensor<1x2xf16>
""")


def test_gelu_of_other_constants_stays(importer):
    model = make([node("Div", "x r", "u"), node("Erf", "u", "t"),
                  node("Add", "t one", "p"), node("Mul", "x p", "q"),
                  node("Mul", "q half")], {"x": rand(4)},
                 {"r": np.float32(1.5), "one": np.float32(1), "half": np.float32(0.5)})
    importer.check(model, """
CHECK-NOT: oneflow.gelu
CHECK:     oneflow.erf
""")


def test_gelu_keeps_what_others_use(importer):
    """The erf is an output, too."""
    model = make([node("Div", "x r", "u"), node("Erf", "u", "t"),
                  node("Add", "t one", "p"), node("Mul", "x p", "q"),
                  node("Mul", "q half")], {"x": rand(4)},
                 {"r": np.float32(np.sqrt(2)), "one": np.float32(1),
                  "half": np.float32(0.5)}, outputs="y t")
    importer.check(model, """
CHECK: %[[T:.*]] = oneflow.erf
CHECK: %[[G:.*]] = oneflow.gelu <erf> %0
CHECK: oneflow.output "y" %[[G]]
CHECK: oneflow.output "t" %[[T]]
""")


@pytest.mark.parametrize("name", ["mask_trilu", "mask_ranges", "mask_buffer"])
def test_masks_of_constants_are_folded(importer, name):
    [build] = [build for build in CASES if build.__name__ == name]
    result = importer.run(build().model)
    ops = set(re.findall(r"oneflow\.(\w+)", result.stdout))
    if name == "mask_buffer":  # larger than what is folded: a variable, sliced
        assert ops == {"variable", "read", "input", "constant", "slice", "select", "output"}
    else:
        assert ops <= {"input", "constant", "add", "select", "output"}, result.stdout


def test_known_indices_are_slices(importer):
    model = make([node("Gather", "x zero", "first", axis=1), node("Gather", "w range", "p"),
                  node("Add", "first p")],
                 {"x": rand(3, 5, 4)},
                 {"w": rand(8, 4), "zero": np.int64(0), "range": np.array([1, 3, 5])})
    importer.check(model, """
CHECK: oneflow.slice %{{.*}} offsets [0, 0, 0] sizes [3, 1, 4] strides [1, 1, 1]
CHECK: oneflow.reshape %{{.*}} : (tensor<3x1x4xf32>) -> tensor<3x4xf32>
CHECK: oneflow.slice %{{.*}} offsets [1, 0] sizes [3, 4] strides [2, 1]
CHECK-NOT: oneflow.gather
""")
