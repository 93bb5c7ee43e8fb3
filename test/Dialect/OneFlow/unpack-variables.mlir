// RUN: oneflow-opt %s -split-input-file -oneflow-unpack-variables | FileCheck %s

// Query, key and value side by side, then a bias, then three slices.
// CHECK: oneflow.variable @w.0 part of "w" [2, 6] at dim 1 offset 0 : tensor<2x2xf32> = dense<{{\[\[}}0.000000e+00, 1.000000e+00], [6.000000e+00, 7.000000e+00]]> {{.*}} {trainable}
// CHECK-NEXT: oneflow.variable @w.1 part of "w" [2, 6] at dim 1 offset 2 : tensor<2x2xf32> = dense<{{\[\[}}2.000000e+00, 3.000000e+00], [8.000000e+00, 9.000000e+00]]>
// CHECK-NEXT: oneflow.variable @w.2 part of "w" [2, 6] at dim 1 offset 4 : tensor<2x2xf32> = dense<{{\[\[}}4.000000e+00, 5.000000e+00], [1.000000e+01, 1.100000e+01]]>
// CHECK-NEXT: oneflow.variable @b.0 part of "b" [6] at dim 0 offset 0 : tensor<2xf32> = dense<5.000000e-01> : tensor<2xf32> {trainable}
// CHECK-NEXT: oneflow.variable @b.1 part of "b" [6] at dim 0 offset 2 : tensor<2xf32>
// CHECK-NEXT: oneflow.variable @b.2 part of "b" [6] at dim 0 offset 4 : tensor<2xf32>
oneflow.variable @w : tensor<2x6xf32> = dense<[[0., 1., 2., 3., 4., 5.], [6., 7., 8., 9., 10., 11.]]> : tensor<2x6xf32> {trainable}
oneflow.variable @b : tensor<6xf32> = dense<0.5> : tensor<6xf32> {trainable}
// CHECK-LABEL: func @slices
// CHECK: %[[X:.*]] = oneflow.input "x"
// CHECK-DAG: %[[W0:.*]] = oneflow.read @w.0
// CHECK-DAG: %[[W1:.*]] = oneflow.read @w.1
// CHECK-DAG: %[[W2:.*]] = oneflow.read @w.2
// CHECK-DAG: %[[B2:.*]] = oneflow.read @b.2
// CHECK-DAG: %[[M0:.*]] = oneflow.matmul %[[X]], %[[W0]] {oneflow.packed = [[PRODUCT:.*]] : i64} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
// CHECK-DAG: %[[M1:.*]] = oneflow.matmul %[[X]], %[[W1]] {oneflow.packed = [[PRODUCT]] : i64}
// CHECK-DAG: %[[M2:.*]] = oneflow.matmul %[[X]], %[[W2]] {oneflow.packed = [[PRODUCT]] : i64}
// CHECK-DAG: %[[Q:.*]] = oneflow.add %[[M0]]
// CHECK-DAG: %[[K:.*]] = oneflow.add %[[M1]]
// CHECK-DAG: %[[V:.*]] = oneflow.add %[[M2]], %[[B2]] {oneflow.packed = [[SUM:.*]] : i64} : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
// CHECK-NOT: oneflow.slice
// CHECK: oneflow.output "q" %[[Q]]
// CHECK: oneflow.output "k" %[[K]]
// CHECK: oneflow.output "v" %[[V]]
func.func @slices() {
  %x = oneflow.input "x" : tensor<4x2xf32>
  %w = oneflow.read @w : tensor<2x6xf32>
  %b = oneflow.read @b : tensor<6xf32>
  %0 = oneflow.matmul %x, %w : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  %1 = oneflow.add %0, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %q = oneflow.slice %1 offsets [0, 0] sizes [4, 2] strides [1, 1] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %k = oneflow.slice %1 offsets [0, 2] sizes [4, 2] strides [1, 1] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %v = oneflow.slice %1 offsets [0, 4] sizes [4, 2] strides [1, 1] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  oneflow.output "q" %q : tensor<4x2xf32>
  oneflow.output "k" %k : tensor<4x2xf32>
  oneflow.output "v" %v : tensor<4x2xf32>
  return
}

// -----

// Grouped queries: intervals of unequal length; the weight is stored transposed,
// the bias is a constant and comes first.
// CHECK: oneflow.variable @w.0 part of "w" [8, 3] at dim 0 offset 0 : tensor<4x3xf32>
// CHECK-NEXT: oneflow.variable @w.1 part of "w" [8, 3] at dim 0 offset 4 : tensor<2x3xf32>
// CHECK-NEXT: oneflow.variable @w.2 part of "w" [8, 3] at dim 0 offset 6 : tensor<2x3xf32>
oneflow.variable @w : tensor<8x3xf32> {trainable}
// CHECK-LABEL: func @grouped_queries
// CHECK-DAG: oneflow.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK-DAG: oneflow.constant dense<[7.000000e+00, 8.000000e+00]>
// CHECK-DAG: oneflow.matmul {{.*}} {{{.*}}transpose_rhs} : (tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<5x4xf32>
// CHECK-DAG: oneflow.add %{{.*}}, %{{.*}} {{{.*}}} : (tensor<4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
func.func @grouped_queries() {
  %x = oneflow.input "x" : tensor<5x3xf32>
  %w = oneflow.read @w : tensor<8x3xf32>
  %b = oneflow.constant dense<[1., 2., 3., 4., 5., 6., 7., 8.]> : tensor<8xf32>
  %0 = oneflow.matmul %x, %w {transpose_rhs} : (tensor<5x3xf32>, tensor<8x3xf32>) -> tensor<5x8xf32>
  %1 = oneflow.add %b, %0 : (tensor<8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  %q = oneflow.slice %1 offsets [0, 0] sizes [5, 4] strides [1, 1] : (tensor<5x8xf32>) -> tensor<5x4xf32>
  %k = oneflow.slice %1 offsets [0, 4] sizes [5, 2] strides [1, 1] : (tensor<5x8xf32>) -> tensor<5x2xf32>
  %v = oneflow.slice %1 offsets [0, 6] sizes [5, 2] strides [1, 1] : (tensor<5x8xf32>) -> tensor<5x2xf32>
  oneflow.output "q" %q : tensor<5x4xf32>
  oneflow.output "k" %k : tensor<5x2xf32>
  oneflow.output "v" %v : tensor<5x2xf32>
  return
}

// -----

// A reshape exposes the factor, a transpose brings it to the front, slices of size
// 1 and gathers at one index cut it. Two cuts take the same part.
oneflow.variable @w : tensor<8x24xf32> {trainable}
oneflow.variable @b : tensor<24xf32> {trainable}
// CHECK: oneflow.variable @w.2 part of "w" [8, 24] at dim 1 offset 16 : tensor<8x8xf32>
// CHECK-LABEL: func @factor
// CHECK: oneflow.matmul {{.*}} -> tensor<2x5x8xf32>
// CHECK: oneflow.reshape {{.*}} : (tensor<2x5x8xf32>) -> tensor<2x5x1x4x2xf32>
// CHECK: oneflow.transpose {{.*}} [2, 0, 3, 1, 4]{{.*}} : (tensor<2x5x1x4x2xf32>) -> tensor<1x2x4x5x2xf32>
// CHECK-NOT: oneflow.slice
// CHECK-NOT: oneflow.gather
// CHECK: oneflow.output "q" {{.*}} : tensor<1x2x4x5x2xf32>
// CHECK: oneflow.output "k" {{.*}} : tensor<2x4x5x2xf32>
func.func @factor() {
  %x = oneflow.input "x" : tensor<2x5x8xf32>
  %w = oneflow.read @w : tensor<8x24xf32>
  %b = oneflow.read @b : tensor<24xf32>
  %one = oneflow.constant dense<1> : tensor<i64>
  %last = oneflow.constant dense<-1> : tensor<i64>
  %0 = oneflow.matmul %x, %w : (tensor<2x5x8xf32>, tensor<8x24xf32>) -> tensor<2x5x24xf32>
  %1 = oneflow.add %0, %b : (tensor<2x5x24xf32>, tensor<24xf32>) -> tensor<2x5x24xf32>
  %2 = oneflow.reshape %1 : (tensor<2x5x24xf32>) -> tensor<2x5x3x4x2xf32>
  %3 = oneflow.transpose %2 [2, 0, 3, 1, 4] : (tensor<2x5x3x4x2xf32>) -> tensor<3x2x4x5x2xf32>
  %q = oneflow.slice %3 offsets [0, 0, 0, 0, 0] sizes [1, 2, 4, 5, 2] strides [1, 1, 1, 1, 1] : (tensor<3x2x4x5x2xf32>) -> tensor<1x2x4x5x2xf32>
  %k = oneflow.gather %3, %one dim 0 : (tensor<3x2x4x5x2xf32>, tensor<i64>) -> tensor<2x4x5x2xf32>
  %v = oneflow.gather %3, %last dim 0 : (tensor<3x2x4x5x2xf32>, tensor<i64>) -> tensor<2x4x5x2xf32>
  %q2 = oneflow.slice %3 offsets [0, 0, 0, 0, 0] sizes [1, 2, 4, 5, 2] strides [1, 1, 1, 1, 1] : (tensor<3x2x4x5x2xf32>) -> tensor<1x2x4x5x2xf32>
  oneflow.output "q" %q : tensor<1x2x4x5x2xf32>
  oneflow.output "k" %k : tensor<2x4x5x2xf32>
  oneflow.output "v" %v : tensor<2x4x5x2xf32>
  oneflow.output "q2" %q2 : tensor<1x2x4x5x2xf32>
  return
}

// -----

// Rows of the batch merged and taken apart again around the product, and two
// functions that read the same weight alike.
oneflow.variable @w : tensor<4x6xf32> {trainable}
// CHECK: @w.0 part of "w"
// CHECK: @w.1 part of "w"
// CHECK-NOT: oneflow.read @w :
func.func @merged_rows() {
  %x = oneflow.input "x" : tensor<10x4xf32>
  %w = oneflow.read @w : tensor<4x6xf32>
  %0 = oneflow.matmul %x, %w : (tensor<10x4xf32>, tensor<4x6xf32>) -> tensor<10x6xf32>
  %1 = oneflow.reshape %0 : (tensor<10x6xf32>) -> tensor<2x5x6xf32>
  %g = oneflow.slice %1 offsets [0, 0, 0] sizes [2, 5, 3] strides [1, 1, 1] : (tensor<2x5x6xf32>) -> tensor<2x5x3xf32>
  %u = oneflow.slice %1 offsets [0, 0, 3] sizes [2, 5, 3] strides [1, 1, 1] : (tensor<2x5x6xf32>) -> tensor<2x5x3xf32>
  oneflow.output "g" %g : tensor<2x5x3xf32>
  oneflow.output "u" %u : tensor<2x5x3xf32>
  return
}
func.func @again() {
  %x = oneflow.input "x" : tensor<1x4xf32>
  %w = oneflow.read @w : tensor<4x6xf32>
  %0 = oneflow.matmul %x, %w : (tensor<1x4xf32>, tensor<4x6xf32>) -> tensor<1x6xf32>
  %g = oneflow.slice %0 offsets [0, 0] sizes [1, 3] strides [1, 1] : (tensor<1x6xf32>) -> tensor<1x3xf32>
  %u = oneflow.slice %0 offsets [0, 3] sizes [1, 3] strides [1, 1] : (tensor<1x6xf32>) -> tensor<1x3xf32>
  oneflow.output "g" %g : tensor<1x3xf32>
  oneflow.output "u" %u : tensor<1x3xf32>
  return
}
