// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Samples of convolution and its gradients; see elementwise.mlir.

// Two spatial dimensions, with each attribute.

func.func @convolution() {
  %x = oneflow.input "x" : tensor<4x5x6x7xf64>
  %weight = oneflow.input "weight" : tensor<6x5x3x2xf64>
  %r = oneflow.convolution %x, %weight strides [1, 2] low [1, 0] high [1, 1] dilations [1, 2] groups 1 : (tensor<4x5x6x7xf64>, tensor<6x5x3x2xf64>) -> tensor<4x6x6x3xf64>
  oneflow.output "r" %r : tensor<4x6x6x3xf64>
  return
}
func.func @convolution_grad_input() {
  %dy = oneflow.input "dy" : tensor<4x6x6x3xf64>
  %weight = oneflow.input "weight" : tensor<6x5x3x2xf64>
  %r = oneflow.convolution_grad_input %dy, %weight strides [1, 2] low [1, 0] high [1, 1] dilations [1, 2] groups 1 extents [6, 7] : (tensor<4x6x6x3xf64>, tensor<6x5x3x2xf64>) -> tensor<4x5x6x7xf64>
  oneflow.output "r" %r : tensor<4x5x6x7xf64>
  return
}
func.func @convolution_grad_weight() {
  %x = oneflow.input "x" : tensor<4x5x6x7xf64>
  %dy = oneflow.input "dy" : tensor<4x6x6x3xf64>
  %r = oneflow.convolution_grad_weight %x, %dy strides [1, 2] low [1, 0] high [1, 1] dilations [1, 2] groups 1 extents [3, 2] : (tensor<4x5x6x7xf64>, tensor<4x6x6x3xf64>) -> tensor<6x5x3x2xf64>
  oneflow.output "r" %r : tensor<6x5x3x2xf64>
  return
}

// One window per pixel: a product over channels.

func.func @convolution_pointwise() {
  %x = oneflow.input "x" : tensor<5x7x3x2xf64>
  %weight = oneflow.input "weight" : tensor<6x7x1x1xf64>
  %r = oneflow.convolution %x, %weight strides [1, 1] low [0, 0] high [0, 0] dilations [1, 1] groups 1 : (tensor<5x7x3x2xf64>, tensor<6x7x1x1xf64>) -> tensor<5x6x3x2xf64>
  oneflow.output "r" %r : tensor<5x6x3x2xf64>
  return
}
func.func @convolution_grad_input_pointwise() {
  %dy = oneflow.input "dy" : tensor<5x6x3x2xf64>
  %weight = oneflow.input "weight" : tensor<6x7x1x1xf64>
  %r = oneflow.convolution_grad_input %dy, %weight strides [1, 1] low [0, 0] high [0, 0] dilations [1, 1] groups 1 extents [3, 2] : (tensor<5x6x3x2xf64>, tensor<6x7x1x1xf64>) -> tensor<5x7x3x2xf64>
  oneflow.output "r" %r : tensor<5x7x3x2xf64>
  return
}
func.func @convolution_grad_weight_pointwise() {
  %x = oneflow.input "x" : tensor<5x7x3x2xf64>
  %dy = oneflow.input "dy" : tensor<5x6x3x2xf64>
  %r = oneflow.convolution_grad_weight %x, %dy strides [1, 1] low [0, 0] high [0, 0] dilations [1, 1] groups 1 extents [1, 1] : (tensor<5x7x3x2xf64>, tensor<5x6x3x2xf64>) -> tensor<6x7x1x1xf64>
  oneflow.output "r" %r : tensor<6x7x1x1xf64>
  return
}

// More padding than the window reaches, and windows that leave out elements.

func.func @convolution_1d() {
  %x = oneflow.input "x" : tensor<5x3x9xf64>
  %weight = oneflow.input "weight" : tensor<4x3x2xf64>
  %r = oneflow.convolution %x, %weight strides [3] low [3] high [2] dilations [1] groups 1 : (tensor<5x3x9xf64>, tensor<4x3x2xf64>) -> tensor<5x4x5xf64>
  oneflow.output "r" %r : tensor<5x4x5xf64>
  return
}
func.func @convolution_grad_input_1d() {
  %dy = oneflow.input "dy" : tensor<5x4x5xf64>
  %weight = oneflow.input "weight" : tensor<4x3x2xf64>
  %r = oneflow.convolution_grad_input %dy, %weight strides [3] low [3] high [2] dilations [1] groups 1 extents [9] : (tensor<5x4x5xf64>, tensor<4x3x2xf64>) -> tensor<5x3x9xf64>
  oneflow.output "r" %r : tensor<5x3x9xf64>
  return
}
func.func @convolution_grad_weight_1d() {
  %x = oneflow.input "x" : tensor<5x3x9xf64>
  %dy = oneflow.input "dy" : tensor<5x4x5xf64>
  %r = oneflow.convolution_grad_weight %x, %dy strides [3] low [3] high [2] dilations [1] groups 1 extents [2] : (tensor<5x3x9xf64>, tensor<5x4x5xf64>) -> tensor<4x3x2xf64>
  oneflow.output "r" %r : tensor<4x3x2xf64>
  return
}

// Channels in groups, and a group for each.

func.func @convolution_groups() {
  %x = oneflow.input "x" : tensor<5x6x5x4xf64>
  %weight = oneflow.input "weight" : tensor<4x3x3x3xf64>
  %r = oneflow.convolution %x, %weight strides [2, 1] low [1, 1] high [1, 0] dilations [1, 1] groups 2 : (tensor<5x6x5x4xf64>, tensor<4x3x3x3xf64>) -> tensor<5x4x3x3xf64>
  oneflow.output "r" %r : tensor<5x4x3x3xf64>
  return
}
func.func @convolution_grad_input_groups() {
  %dy = oneflow.input "dy" : tensor<5x4x3x3xf64>
  %weight = oneflow.input "weight" : tensor<4x3x3x3xf64>
  %r = oneflow.convolution_grad_input %dy, %weight strides [2, 1] low [1, 1] high [1, 0] dilations [1, 1] groups 2 extents [5, 4] : (tensor<5x4x3x3xf64>, tensor<4x3x3x3xf64>) -> tensor<5x6x5x4xf64>
  oneflow.output "r" %r : tensor<5x6x5x4xf64>
  return
}
func.func @convolution_grad_weight_groups() {
  %x = oneflow.input "x" : tensor<5x6x5x4xf64>
  %dy = oneflow.input "dy" : tensor<5x4x3x3xf64>
  %r = oneflow.convolution_grad_weight %x, %dy strides [2, 1] low [1, 1] high [1, 0] dilations [1, 1] groups 2 extents [3, 3] : (tensor<5x6x5x4xf64>, tensor<5x4x3x3xf64>) -> tensor<4x3x3x3xf64>
  oneflow.output "r" %r : tensor<4x3x3x3xf64>
  return
}
func.func @convolution_depthwise() {
  %x = oneflow.input "x" : tensor<3x4x5x5xf64>
  %weight = oneflow.input "weight" : tensor<4x1x3x3xf64>
  %r = oneflow.convolution %x, %weight strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1] groups 4 : (tensor<3x4x5x5xf64>, tensor<4x1x3x3xf64>) -> tensor<3x4x5x5xf64>
  oneflow.output "r" %r : tensor<3x4x5x5xf64>
  return
}
func.func @convolution_grad_input_depthwise() {
  %dy = oneflow.input "dy" : tensor<3x4x5x5xf64>
  %weight = oneflow.input "weight" : tensor<4x1x3x3xf64>
  %r = oneflow.convolution_grad_input %dy, %weight strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1] groups 4 extents [5, 5] : (tensor<3x4x5x5xf64>, tensor<4x1x3x3xf64>) -> tensor<3x4x5x5xf64>
  oneflow.output "r" %r : tensor<3x4x5x5xf64>
  return
}
func.func @convolution_grad_weight_depthwise() {
  %x = oneflow.input "x" : tensor<3x4x5x5xf64>
  %dy = oneflow.input "dy" : tensor<3x4x5x5xf64>
  %r = oneflow.convolution_grad_weight %x, %dy strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1] groups 4 extents [3, 3] : (tensor<3x4x5x5xf64>, tensor<3x4x5x5xf64>) -> tensor<4x1x3x3xf64>
  oneflow.output "r" %r : tensor<4x1x3x3xf64>
  return
}

// Three spatial dimensions, and single precision.

func.func @convolution_3d() {
  %x = oneflow.input "x" : tensor<3x2x3x4x3xf64>
  %weight = oneflow.input "weight" : tensor<4x2x2x2x3xf64>
  %r = oneflow.convolution %x, %weight strides [1, 2, 1] low [0, 1, 1] high [0, 0, 1] dilations [1, 1, 1] groups 1 : (tensor<3x2x3x4x3xf64>, tensor<4x2x2x2x3xf64>) -> tensor<3x4x2x2x3xf64>
  oneflow.output "r" %r : tensor<3x4x2x2x3xf64>
  return
}
func.func @convolution_grad_input_3d() {
  %dy = oneflow.input "dy" : tensor<3x4x2x2x3xf64>
  %weight = oneflow.input "weight" : tensor<4x2x2x2x3xf64>
  %r = oneflow.convolution_grad_input %dy, %weight strides [1, 2, 1] low [0, 1, 1] high [0, 0, 1] dilations [1, 1, 1] groups 1 extents [3, 4, 3] : (tensor<3x4x2x2x3xf64>, tensor<4x2x2x2x3xf64>) -> tensor<3x2x3x4x3xf64>
  oneflow.output "r" %r : tensor<3x2x3x4x3xf64>
  return
}
func.func @convolution_grad_weight_3d() {
  %x = oneflow.input "x" : tensor<3x2x3x4x3xf64>
  %dy = oneflow.input "dy" : tensor<3x4x2x2x3xf64>
  %r = oneflow.convolution_grad_weight %x, %dy strides [1, 2, 1] low [0, 1, 1] high [0, 0, 1] dilations [1, 1, 1] groups 1 extents [2, 2, 3] : (tensor<3x2x3x4x3xf64>, tensor<3x4x2x2x3xf64>) -> tensor<4x2x2x2x3xf64>
  oneflow.output "r" %r : tensor<4x2x2x2x3xf64>
  return
}
func.func @convolution_f32() {
  %x = oneflow.input "x" : tensor<4x5x6x5xf32>
  %weight = oneflow.input "weight" : tensor<6x5x3x3xf32>
  %r = oneflow.convolution %x, %weight strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1] groups 1 : (tensor<4x5x6x5xf32>, tensor<6x5x3x3xf32>) -> tensor<4x6x6x5xf32>
  oneflow.output "r" %r : tensor<4x6x6x5xf32>
  return
}
func.func @convolution_grad_input_f32() {
  %dy = oneflow.input "dy" : tensor<4x6x6x5xf32>
  %weight = oneflow.input "weight" : tensor<6x5x3x3xf32>
  %r = oneflow.convolution_grad_input %dy, %weight strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1] groups 1 extents [6, 5] : (tensor<4x6x6x5xf32>, tensor<6x5x3x3xf32>) -> tensor<4x5x6x5xf32>
  oneflow.output "r" %r : tensor<4x5x6x5xf32>
  return
}
func.func @convolution_grad_weight_f32() {
  %x = oneflow.input "x" : tensor<4x5x6x5xf32>
  %dy = oneflow.input "dy" : tensor<4x6x6x5xf32>
  %r = oneflow.convolution_grad_weight %x, %dy strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1] groups 1 extents [3, 3] : (tensor<4x5x6x5xf32>, tensor<4x6x6x5xf32>) -> tensor<6x5x3x3xf32>
  oneflow.output "r" %r : tensor<6x5x3x3xf32>
  return
}
