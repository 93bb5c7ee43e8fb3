// RUN: oneflow-opt %s -oneflow-infer-shapes -split-input-file -verify-diagnostics | FileCheck %s

oneflow.variable @w : tensor<12x5xf32>
// CHECK-LABEL: func @propagate
func.func @propagate() {
  %x = oneflow.input "x" : tensor<8x3x4xf32>
  %w = oneflow.read @w : tensor<12x5xf32>
  // CHECK: oneflow.cast %{{.*}} : (tensor<8x3x4xf32>) -> tensor<8x3x4xf32>
  %0 = oneflow.cast %x : (tensor<8x3x4xf32>) -> tensor<8x3x4xf32>
  // CHECK: %[[R:.*]] = oneflow.reshape %{{.*}} : (tensor<8x3x4xf32>) -> tensor<8x12xf32>
  %1 = oneflow.reshape %0 : (tensor<8x3x4xf32>) -> tensor<?x12xf32>
  // CHECK: oneflow.matmul %[[R]], %{{.*}} : (tensor<8x12xf32>, tensor<12x5xf32>) -> tensor<8x5xf32>
  %2 = oneflow.matmul %1, %w : (tensor<?x12xf32>, tensor<12x5xf32>) -> tensor<?x5xf32>
  // CHECK: oneflow.relu %{{.*}} : tensor<8x5xf32>
  %3 = oneflow.relu %2 : tensor<?x5xf32>
  // CHECK: oneflow.reduce <max> %{{.*}} : (tensor<8x5xf32>) -> tensor<8x1xf32>
  %4 = oneflow.reduce <max> %3 dims [1] {keep_dims} : (tensor<?x5xf32>) -> tensor<?x1xf32>
  // CHECK: oneflow.broadcast %{{.*}} : (tensor<8x1xf32>) -> tensor<2x8x7xf32>
  %5 = oneflow.broadcast %4 : (tensor<?x1xf32>) -> tensor<2x?x7xf32>
  // CHECK: oneflow.transpose %{{.*}} [1, 2, 0] : (tensor<2x8x7xf32>) -> tensor<8x7x2xf32>
  %6 = oneflow.transpose %5 [1, 2, 0] : (tensor<2x?x7xf32>) -> tensor<?x7x2xf32>
  // CHECK: oneflow.output "y" %{{.*}} : tensor<8x7x2xf32>
  oneflow.output "y" %6 : tensor<?x7x2xf32>
  return
}

// -----

func.func @dynamic_input() {
  // expected-error @+1 {{expected a static shape, got: 'tensor<?x4xf32>'}}
  %x = oneflow.input "x" : tensor<?x4xf32>
  %0 = oneflow.relu %x : tensor<?x4xf32>
  oneflow.output "y" %0 : tensor<?x4xf32>
  return
}

// -----

func.func @not_divisible() {
  %x = oneflow.input "x" : tensor<7x4xf32>
  // expected-error @+1 {{expected a static shape, got: 'tensor<?x8xf32>'}}
  %0 = oneflow.reshape %x : (tensor<7x4xf32>) -> tensor<?x8xf32>
  oneflow.output "y" %0 : tensor<?x8xf32>
  return
}

// -----

func.func @contradiction() {
  %x = oneflow.input "x" : tensor<8x4xf32>
  %y = oneflow.input "y" : tensor<12x3xf32>
  %0 = oneflow.reshape %x : (tensor<8x4xf32>) -> tensor<?x16xf32>
  // expected-error @+1 {{matmul_c3: expected equal contracted extents, got: 2 and 12}}
  %1 = oneflow.matmul %0, %y {transpose_lhs} : (tensor<?x16xf32>, tensor<12x3xf32>) -> tensor<16x3xf32>
  oneflow.output "y" %1 : tensor<16x3xf32>
  return
}

// -----

func.func @too_large() {
  // expected-error @+1 {{expected a tensor of less than 2^63 bytes, got: 'tensor<4000000000x4000000000xf32>'}}
  %x = oneflow.input "x" : tensor<4000000000x4000000000xf32>
  oneflow.output "y" %x : tensor<4000000000x4000000000xf32>
  return
}
