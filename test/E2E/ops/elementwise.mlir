// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Samples of every op that has a kernel: one op per function, between inputs and
// outputs, with uneven extents and each way that the op's rule distinguishes. What
// inputs hold follows from their names (samples.py): `positive...` is above zero,
// `labels` are below ten, `step` counts from one.

// Elementwise, of one operand.

func.func @relu() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.relu %x : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @tanh() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.tanh %x : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @sigmoid() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.sigmoid %x : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @erf() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.erf %x : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @exp() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.exp %x : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @neg() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.neg %x : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @log() {
  %positive = oneflow.input "positive" : tensor<5x7xf64>
  %r = oneflow.log %positive : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @sqrt() {
  %positive = oneflow.input "positive" : tensor<5x7xf64>
  %r = oneflow.sqrt %positive : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @exp_3d() {
  %x = oneflow.input "x" : tensor<3x5x17xf64>
  %r = oneflow.exp %x : tensor<3x5x17xf64>
  oneflow.output "r" %r : tensor<3x5x17xf64>
  return
}
func.func @tanh_f32() {
  %x = oneflow.input "x" : tensor<2x3x4x5xf32>
  %r = oneflow.tanh %x : tensor<2x3x4x5xf32>
  oneflow.output "r" %r : tensor<2x3x4x5xf32>
  return
}
func.func @gelu_erf() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.gelu <erf> %x : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @gelu_grad_erf() {
  %dy = oneflow.input "dy" : tensor<5x7xf64>
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.gelu_grad <erf> %dy, %x : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @gelu_tanh() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.gelu <tanh> %x : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @gelu_grad_tanh() {
  %dy = oneflow.input "dy" : tensor<5x7xf64>
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.gelu_grad <tanh> %dy, %x : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @relu_grad() {
  %dy = oneflow.input "dy" : tensor<5x7xf64>
  %y = oneflow.input "y" : tensor<5x7xf64>
  %r = oneflow.relu_grad %dy, %y : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}

// Elementwise, of two operands, with NumPy's broadcasting.

func.func @add() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<5x7xf64>
  %r = oneflow.add %lhs, %rhs : (tensor<5x7xf64>, tensor<5x7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @add_row() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<7xf64>
  %r = oneflow.add %lhs, %rhs : (tensor<5x7xf64>, tensor<7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @sub() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<5x7xf64>
  %r = oneflow.sub %lhs, %rhs : (tensor<5x7xf64>, tensor<5x7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @sub_row() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<7xf64>
  %r = oneflow.sub %lhs, %rhs : (tensor<5x7xf64>, tensor<7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @mul() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<5x7xf64>
  %r = oneflow.mul %lhs, %rhs : (tensor<5x7xf64>, tensor<5x7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @mul_row() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<7xf64>
  %r = oneflow.mul %lhs, %rhs : (tensor<5x7xf64>, tensor<7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @max() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<5x7xf64>
  %r = oneflow.max %lhs, %rhs : (tensor<5x7xf64>, tensor<5x7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @max_row() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<7xf64>
  %r = oneflow.max %lhs, %rhs : (tensor<5x7xf64>, tensor<7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @min() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<5x7xf64>
  %r = oneflow.min %lhs, %rhs : (tensor<5x7xf64>, tensor<5x7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @min_row() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<7xf64>
  %r = oneflow.min %lhs, %rhs : (tensor<5x7xf64>, tensor<7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @div() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %positive = oneflow.input "positive" : tensor<5x7xf64>
  %r = oneflow.div %lhs, %positive : (tensor<5x7xf64>, tensor<5x7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @div_column() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %positive = oneflow.input "positive" : tensor<5x1xf64>
  %r = oneflow.div %lhs, %positive : (tensor<5x7xf64>, tensor<5x1xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @add_column() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<5x1xf64>
  %r = oneflow.add %lhs, %rhs : (tensor<5x7xf64>, tensor<5x1xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @add_scalar() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<f64>
  %r = oneflow.add %lhs, %rhs : (tensor<5x7xf64>, tensor<f64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @mul_outer() {
  %lhs = oneflow.input "lhs" : tensor<5x1xf64>
  %rhs = oneflow.input "rhs" : tensor<1x7xf64>
  %r = oneflow.mul %lhs, %rhs : (tensor<5x1xf64>, tensor<1x7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @sub_3d() {
  %lhs = oneflow.input "lhs" : tensor<5x1xf64>
  %rhs = oneflow.input "rhs" : tensor<3x5x7xf64>
  %r = oneflow.sub %lhs, %rhs : (tensor<5x1xf64>, tensor<3x5x7xf64>) -> tensor<3x5x7xf64>
  oneflow.output "r" %r : tensor<3x5x7xf64>
  return
}
func.func @mul_3d() {
  %lhs = oneflow.input "lhs" : tensor<3x5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<5x1xf64>
  %r = oneflow.mul %lhs, %rhs : (tensor<3x5x7xf64>, tensor<5x1xf64>) -> tensor<3x5x7xf64>
  oneflow.output "r" %r : tensor<3x5x7xf64>
  return
}
func.func @add_i64() {
  %lhs = oneflow.input "lhs" : tensor<6xi64>
  %rhs = oneflow.input "rhs" : tensor<6xi64>
  %r = oneflow.add %lhs, %rhs : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  oneflow.output "r" %r : tensor<6xi64>
  return
}
func.func @mul_i64() {
  %lhs = oneflow.input "lhs" : tensor<5x6xi64>
  %rhs = oneflow.input "rhs" : tensor<6xi64>
  %r = oneflow.mul %lhs, %rhs : (tensor<5x6xi64>, tensor<6xi64>) -> tensor<5x6xi64>
  oneflow.output "r" %r : tensor<5x6xi64>
  return
}
func.func @div_i64() {
  %lhs = oneflow.input "lhs" : tensor<5x6xi64>
  %positive = oneflow.input "positive" : tensor<5x6xi64>
  %r = oneflow.div %lhs, %positive : (tensor<5x6xi64>, tensor<5x6xi64>) -> tensor<5x6xi64>
  oneflow.output "r" %r : tensor<5x6xi64>
  return
}
func.func @max_i64() {
  %lhs = oneflow.input "lhs" : tensor<5x6xi64>
  %rhs = oneflow.input "rhs" : tensor<5x6xi64>
  %r = oneflow.max %lhs, %rhs : (tensor<5x6xi64>, tensor<5x6xi64>) -> tensor<5x6xi64>
  oneflow.output "r" %r : tensor<5x6xi64>
  return
}
func.func @add_f32() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf32>
  %rhs = oneflow.input "rhs" : tensor<7xf32>
  %r = oneflow.add %lhs, %rhs : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  oneflow.output "r" %r : tensor<5x7xf32>
  return
}
func.func @compare_eq() {
  %lhs = oneflow.input "lhs" : tensor<5x7xi64>
  %rhs = oneflow.input "rhs" : tensor<7xi64>
  %r = oneflow.compare <eq> %lhs, %rhs : (tensor<5x7xi64>, tensor<7xi64>) -> tensor<5x7xi1>
  oneflow.output "r" %r : tensor<5x7xi1>
  return
}
func.func @compare_lt() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<7xf64>
  %r = oneflow.compare <lt> %lhs, %rhs : (tensor<5x7xf64>, tensor<7xf64>) -> tensor<5x7xi1>
  oneflow.output "r" %r : tensor<5x7xi1>
  return
}
func.func @compare_gt() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<7xf64>
  %r = oneflow.compare <gt> %lhs, %rhs : (tensor<5x7xf64>, tensor<7xf64>) -> tensor<5x7xi1>
  oneflow.output "r" %r : tensor<5x7xi1>
  return
}

// Casts.

func.func @cast_f64_f32() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.cast %x : (tensor<5x7xf64>) -> tensor<5x7xf32>
  oneflow.output "r" %r : tensor<5x7xf32>
  return
}
func.func @cast_f32_f64() {
  %x = oneflow.input "x" : tensor<5x7xf32>
  %r = oneflow.cast %x : (tensor<5x7xf32>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @cast_f64_i64() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.cast %x : (tensor<5x7xf64>) -> tensor<5x7xi64>
  oneflow.output "r" %r : tensor<5x7xi64>
  return
}
func.func @cast_i64_f64() {
  %x = oneflow.input "x" : tensor<5x7xi64>
  %r = oneflow.cast %x : (tensor<5x7xi64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @cast_i1_f64() {
  %x = oneflow.input "x" : tensor<5x7xi1>
  %r = oneflow.cast %x : (tensor<5x7xi1>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @cast_f64_i1() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.cast %x : (tensor<5x7xf64>) -> tensor<5x7xi1>
  oneflow.output "r" %r : tensor<5x7xi1>
  return
}
func.func @cast_i64_i32() {
  %x = oneflow.input "x" : tensor<5x7xi64>
  %r = oneflow.cast %x : (tensor<5x7xi64>) -> tensor<5x7xi32>
  oneflow.output "r" %r : tensor<5x7xi32>
  return
}

// Dropout.

func.func @dropout() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %step = oneflow.input "step" : tensor<i64>
  %r = oneflow.dropout %x at %step : tensor<i64> {ratio = 0.25 : f64, seed = 3 : i64, id = 7 : i64} : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @dropout_3d() {
  %x = oneflow.input "x" : tensor<4x6x5xf64>
  %step = oneflow.input "step" : tensor<i64>
  %r = oneflow.dropout %x at %step : tensor<i64> {ratio = 0.25 : f64, seed = 3 : i64, id = 7 : i64} : tensor<4x6x5xf64>
  oneflow.output "r" %r : tensor<4x6x5xf64>
  return
}
func.func @dropout_offset() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %step = oneflow.input "step" : tensor<i64>
  %offset = oneflow.input "offset" : tensor<i64>
  %r = oneflow.dropout %x at %step : tensor<i64> offset %offset : tensor<i64> {ratio = 0.25 : f64, seed = 3 : i64, id = 7 : i64} : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
