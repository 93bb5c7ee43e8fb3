// RUN: oneflow-opt %s -split-input-file -oneflow-differentiate -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s

// y = relu(x w + b), loss = sum(y): dw = x' dz, db = column sums of dz with
// dz = dloss where y > 0. No gradient is computed for x.
oneflow.variable @w : tensor<4x3xf32> {trainable}
oneflow.variable @b : tensor<3xf32> {trainable}
// CHECK-LABEL: func @train
// CHECK: %[[X:.*]] = oneflow.input
// CHECK: %[[Y:.*]] = oneflow.relu
// CHECK: oneflow.output "loss"
// CHECK-NEXT: %[[ONE:.*]] = oneflow.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[DY:.*]] = oneflow.broadcast %[[ONE]] : (tensor<f32>) -> tensor<8x3xf32>
// CHECK-NEXT: %[[DZ:.*]] = oneflow.relu_grad %[[DY]], %[[Y]] : tensor<8x3xf32> loc(fused<"grad">["act"])
// CHECK-NEXT: %[[DB:.*]] = oneflow.reduce <sum> %[[DZ]] dims [0]
// CHECK-NEXT: %[[DW:.*]] = oneflow.matmul %[[X]], %[[DZ]] {transpose_lhs} {{.*}} loc(fused<"grad">["fc"])
// CHECK-NEXT: oneflow.gradient @w, %[[DW]] : tensor<4x3xf32>
// CHECK-NEXT: oneflow.gradient @b, %[[DB]] : tensor<3xf32>
// CHECK-NEXT: return
func.func @train() {
  %x = oneflow.input "x" : tensor<8x4xf32>
  %w = oneflow.read @w : tensor<4x3xf32>
  %b = oneflow.read @b : tensor<3xf32>
  %0 = oneflow.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32> loc("fc")
  %1 = oneflow.add %0, %b : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %2 = oneflow.relu %1 : tensor<8x3xf32> loc("act")
  %3 = oneflow.reduce <sum> %2 dims [0, 1] : (tensor<8x3xf32>) -> tensor<f32>
  oneflow.output "loss" %3 : tensor<f32>
  return
}

// -----

// loss = w · w through two reads: each contributes dloss · w.
oneflow.variable @w : tensor<f32> {trainable}
// CHECK-LABEL: func @train
// CHECK: %[[W0:.*]] = oneflow.read @w
// CHECK: %[[W1:.*]] = oneflow.read @w
// CHECK: %[[ONE:.*]] = oneflow.constant dense<1.0
// CHECK: %[[D0:.*]] = oneflow.mul %[[ONE]], %[[W1]]
// CHECK: %[[D1:.*]] = oneflow.mul %[[ONE]], %[[W0]]
// CHECK: %[[D:.*]] = oneflow.add %[[D0]], %[[D1]]
// CHECK: oneflow.gradient @w, %[[D]]
func.func @train() {
  %0 = oneflow.read @w : tensor<f32>
  %1 = oneflow.read @w : tensor<f32>
  %2 = oneflow.mul %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  oneflow.output "loss" %2 : tensor<f32>
  return
}

// -----

// The gradient of a value with several uses is their sum; frozen variables have none.
oneflow.variable @w : tensor<f32> {trainable}
oneflow.variable @frozen : tensor<f32>
// CHECK-LABEL: func @train
// CHECK: %[[F:.*]] = oneflow.read @frozen
// CHECK: %[[E:.*]] = oneflow.exp
// CHECK: %[[ONE:.*]] = oneflow.constant dense<1.0
// CHECK: %[[A:.*]] = oneflow.mul %[[ONE]], %[[F]]
// CHECK: %[[S:.*]] = oneflow.add %[[ONE]], %[[A]]
// CHECK: %[[D:.*]] = oneflow.mul %[[S]], %[[E]]
// CHECK-NEXT: oneflow.gradient @w, %[[D]]
// CHECK-NOT: oneflow.gradient
func.func @train() {
  %w = oneflow.read @w : tensor<f32>
  %f = oneflow.read @frozen : tensor<f32>
  %0 = oneflow.exp %w : tensor<f32>
  %1 = oneflow.mul %0, %f : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %2 = oneflow.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  oneflow.output "loss" %2 : tensor<f32>
  return
}

// -----

// A matrix shared by all batches: one contraction over the flattened batches.
oneflow.variable @w : tensor<5x4xf32> {trainable}
// CHECK-LABEL: func @train
// CHECK: %[[DY:.*]] = oneflow.broadcast %{{.*}} -> tensor<2x3x5xf32>
// CHECK: %[[X:.*]] = oneflow.reshape %{{.*}} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK: %[[D:.*]] = oneflow.reshape %[[DY]] : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
// CHECK: %[[G:.*]] = oneflow.matmul %[[D]], %[[X]] {transpose_lhs} : (tensor<6x5xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
// CHECK: oneflow.gradient @w, %[[G]]
func.func @train() {
  %x = oneflow.input "x" : tensor<2x3x4xf32>
  %w = oneflow.read @w : tensor<5x4xf32>
  %0 = oneflow.matmul %x, %w {transpose_rhs} : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
  %1 = oneflow.reduce <sum> %0 dims [0, 1, 2] : (tensor<2x3x5xf32>) -> tensor<f32>
  oneflow.output "loss" %1 : tensor<f32>
  return
}
