// RUN: oneflow-opt %s -oneflow-mixed-precision=type=f16 -oneflow-differentiate -canonicalize | FileCheck %s

// Products of the backward pass are low, too; the gradient of a parameter comes out in
// the parameter's type.
oneflow.variable @w : tensor<4x3xf32> {trainable}
// CHECK-LABEL: func @train
// CHECK: %[[X:.*]] = oneflow.cast %{{.*}} : (tensor<8x4xf32>) -> tensor<8x4xf16>
// CHECK: oneflow.matmul
// CHECK: %[[D:.*]] = oneflow.cast %{{.*}} : (tensor<8x3xf32>) -> tensor<8x3xf16>
// CHECK: %[[G:.*]] = oneflow.matmul %[[X]], %[[D]] {transpose_lhs} {{.*}} -> tensor<4x3xf16>
// CHECK: %[[GH:.*]] = oneflow.cast %[[G]] : (tensor<4x3xf16>) -> tensor<4x3xf32>
// CHECK: oneflow.gradient @w, %[[GH]] : tensor<4x3xf32>
func.func @train() {
  %x = oneflow.input "x" : tensor<8x4xf32>
  %w = oneflow.read @w : tensor<4x3xf32>
  %p = oneflow.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %e = oneflow.exp %p : tensor<8x3xf32>
  %s = oneflow.reduce <sum> %e dims [0, 1] : (tensor<8x3xf32>) -> tensor<f32>
  oneflow.output "loss" %s : tensor<f32>
  return
}
