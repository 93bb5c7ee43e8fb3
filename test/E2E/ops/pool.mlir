// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Samples of pooling; see elementwise.mlir.

// The largest, and which it is: equal elements are the first's.

func.func @pool_max() {
  %x = oneflow.input "x" : tensor<4x5x6x7xf64>
  %r = oneflow.pool <max> %x window [3, 2] strides [2, 1] low [1, 0] high [0, 1] dilations [1, 2] : (tensor<4x5x6x7xf64>) -> tensor<4x5x3x6xf64>
  oneflow.output "r" %r : tensor<4x5x3x6xf64>
  return
}
func.func @pool_max_1d() {
  %x = oneflow.input "x" : tensor<5x6x9xf64>
  %r = oneflow.pool <max> %x window [2] strides [3] low [1] high [2] dilations [1] : (tensor<5x6x9xf64>) -> tensor<5x6x4xf64>
  oneflow.output "r" %r : tensor<5x6x4xf64>
  return
}
func.func @pool_max_3d() {
  %x = oneflow.input "x" : tensor<3x4x3x4x5xf64>
  %r = oneflow.pool <max> %x window [2, 2, 2] strides [1, 2, 2] low [0, 0, 1] high [0, 0, 0] dilations [1, 1, 1] : (tensor<3x4x3x4x5xf64>) -> tensor<3x4x2x2x3xf64>
  oneflow.output "r" %r : tensor<3x4x2x2x3xf64>
  return
}
func.func @pool_max_integers() {
  %x = oneflow.input "x" : tensor<4x5x6x7xi32>
  %r = oneflow.pool <max> %x window [3, 2] strides [2, 1] low [1, 0] high [0, 1] dilations [1, 2] : (tensor<4x5x6x7xi32>) -> tensor<4x5x3x6xi32>
  oneflow.output "r" %r : tensor<4x5x3x6xi32>
  return
}
func.func @pool_index() {
  %x = oneflow.input "x" : tensor<4x5x6x7xf64>
  %best = oneflow.input "best" : tensor<4x5x3x6xf64>
  %r = oneflow.pool_index %x, %best window [3, 2] strides [2, 1] low [1, 0] high [0, 1] dilations [1, 2] : (tensor<4x5x6x7xf64>, tensor<4x5x3x6xf64>) -> tensor<4x5x3x6xi32>
  oneflow.output "r" %r : tensor<4x5x3x6xi32>
  return
}
func.func @pool_index_1d() {
  %x = oneflow.input "x" : tensor<5x6x9xf64>
  %best = oneflow.input "best" : tensor<5x6x4xf64>
  %r = oneflow.pool_index %x, %best window [2] strides [3] low [1] high [2] dilations [1] : (tensor<5x6x9xf64>, tensor<5x6x4xf64>) -> tensor<5x6x4xi32>
  oneflow.output "r" %r : tensor<5x6x4xi32>
  return
}
func.func @pool_index_integers() {
  %x = oneflow.input "x" : tensor<4x5x6x7xi32>
  %best = oneflow.input "best" : tensor<4x5x3x6xi32>
  %r = oneflow.pool_index %x, %best window [3, 2] strides [2, 1] low [1, 0] high [0, 1] dilations [1, 2] : (tensor<4x5x6x7xi32>, tensor<4x5x3x6xi32>) -> tensor<4x5x3x6xi32>
  oneflow.output "r" %r : tensor<4x5x3x6xi32>
  return
}

// Sums, and their gradients.

func.func @pool_sum() {
  %x = oneflow.input "x" : tensor<4x5x6x7xf64>
  %r = oneflow.pool <sum> %x window [3, 2] strides [2, 1] low [1, 0] high [0, 1] dilations [1, 2] : (tensor<4x5x6x7xf64>) -> tensor<4x5x3x6xf64>
  oneflow.output "r" %r : tensor<4x5x3x6xf64>
  return
}
func.func @pool_grad() {
  %dy = oneflow.input "dy" : tensor<4x5x3x6xf64>
  %r = oneflow.pool_grad %dy window [3, 2] strides [2, 1] low [1, 0] high [0, 1] dilations [1, 2] extents [6, 7] : (tensor<4x5x3x6xf64>) -> tensor<4x5x6x7xf64>
  oneflow.output "r" %r : tensor<4x5x6x7xf64>
  return
}
func.func @pool_sum_1d() {
  %x = oneflow.input "x" : tensor<5x6x9xf64>
  %r = oneflow.pool <sum> %x window [2] strides [3] low [1] high [2] dilations [1] : (tensor<5x6x9xf64>) -> tensor<5x6x4xf64>
  oneflow.output "r" %r : tensor<5x6x4xf64>
  return
}
func.func @pool_grad_1d() {
  %dy = oneflow.input "dy" : tensor<5x6x4xf64>
  %r = oneflow.pool_grad %dy window [2] strides [3] low [1] high [2] dilations [1] extents [9] : (tensor<5x6x4xf64>) -> tensor<5x6x9xf64>
  oneflow.output "r" %r : tensor<5x6x9xf64>
  return
}
func.func @pool_sum_3d() {
  %x = oneflow.input "x" : tensor<3x4x3x4x5xf64>
  %r = oneflow.pool <sum> %x window [2, 2, 2] strides [1, 2, 2] low [0, 0, 1] high [0, 0, 0] dilations [1, 1, 1] : (tensor<3x4x3x4x5xf64>) -> tensor<3x4x2x2x3xf64>
  oneflow.output "r" %r : tensor<3x4x2x2x3xf64>
  return
}
func.func @pool_grad_3d() {
  %dy = oneflow.input "dy" : tensor<3x4x2x2x3xf64>
  %r = oneflow.pool_grad %dy window [2, 2, 2] strides [1, 2, 2] low [0, 0, 1] high [0, 0, 0] dilations [1, 1, 1] extents [3, 4, 5] : (tensor<3x4x2x2x3xf64>) -> tensor<3x4x3x4x5xf64>
  oneflow.output "r" %r : tensor<3x4x3x4x5xf64>
  return
}
func.func @pool_sum_f32() {
  %x = oneflow.input "x" : tensor<4x5x6x7xf32>
  %r = oneflow.pool <sum> %x window [3, 2] strides [2, 1] low [1, 0] high [0, 1] dilations [1, 2] : (tensor<4x5x6x7xf32>) -> tensor<4x5x3x6xf32>
  oneflow.output "r" %r : tensor<4x5x3x6xf32>
  return
}
func.func @pool_grad_f32() {
  %dy = oneflow.input "dy" : tensor<4x5x3x6xf32>
  %r = oneflow.pool_grad %dy window [3, 2] strides [2, 1] low [1, 0] high [0, 1] dilations [1, 2] extents [6, 7] : (tensor<4x5x3x6xf32>) -> tensor<4x5x6x7xf32>
  oneflow.output "r" %r : tensor<4x5x6x7xf32>
  return
}

// Of one element of each window.

func.func @pool_sum_at() {
  %x = oneflow.input "x" : tensor<4x5x6x7xf64>
  %element = oneflow.input "element" : tensor<4x5x3x6xi32>
  %r = oneflow.pool <sum> %x at %element window [3, 2] strides [2, 1] low [1, 0] high [0, 1] dilations [1, 2] : (tensor<4x5x6x7xf64>, tensor<4x5x3x6xi32>) -> tensor<4x5x3x6xf64>
  oneflow.output "r" %r : tensor<4x5x3x6xf64>
  return
}
func.func @pool_grad_at() {
  %dy = oneflow.input "dy" : tensor<4x5x3x6xf64>
  %element = oneflow.input "element" : tensor<4x5x3x6xi32>
  %r = oneflow.pool_grad %dy at %element window [3, 2] strides [2, 1] low [1, 0] high [0, 1] dilations [1, 2] extents [6, 7] : (tensor<4x5x3x6xf64>, tensor<4x5x3x6xi32>) -> tensor<4x5x6x7xf64>
  oneflow.output "r" %r : tensor<4x5x6x7xf64>
  return
}
func.func @pool_sum_at_1d() {
  %x = oneflow.input "x" : tensor<5x6x9xf64>
  %element = oneflow.input "element" : tensor<5x6x4xi32>
  %r = oneflow.pool <sum> %x at %element window [2] strides [3] low [1] high [2] dilations [1] : (tensor<5x6x9xf64>, tensor<5x6x4xi32>) -> tensor<5x6x4xf64>
  oneflow.output "r" %r : tensor<5x6x4xf64>
  return
}
func.func @pool_grad_at_1d() {
  %dy = oneflow.input "dy" : tensor<5x6x4xf64>
  %element = oneflow.input "element" : tensor<5x6x4xi32>
  %r = oneflow.pool_grad %dy at %element window [2] strides [3] low [1] high [2] dilations [1] extents [9] : (tensor<5x6x4xf64>, tensor<5x6x4xi32>) -> tensor<5x6x9xf64>
  oneflow.output "r" %r : tensor<5x6x9xf64>
  return
}
