// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Samples of the ops that are not elementwise; see elementwise.mlir.

// Matrix products.

func.func @matmul() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<7x6xf64>
  %r = oneflow.matmul %lhs, %rhs : (tensor<5x7xf64>, tensor<7x6xf64>) -> tensor<5x6xf64>
  oneflow.output "r" %r : tensor<5x6xf64>
  return
}
func.func @matmul_transposed_lhs() {
  %lhs = oneflow.input "lhs" : tensor<7x5xf64>
  %rhs = oneflow.input "rhs" : tensor<7x6xf64>
  %r = oneflow.matmul %lhs, %rhs {transpose_lhs} : (tensor<7x5xf64>, tensor<7x6xf64>) -> tensor<5x6xf64>
  oneflow.output "r" %r : tensor<5x6xf64>
  return
}
func.func @matmul_transposed_rhs() {
  %lhs = oneflow.input "lhs" : tensor<5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<6x7xf64>
  %r = oneflow.matmul %lhs, %rhs {transpose_rhs} : (tensor<5x7xf64>, tensor<6x7xf64>) -> tensor<5x6xf64>
  oneflow.output "r" %r : tensor<5x6xf64>
  return
}
func.func @matmul_transposed() {
  %lhs = oneflow.input "lhs" : tensor<7x5xf64>
  %rhs = oneflow.input "rhs" : tensor<6x7xf64>
  %r = oneflow.matmul %lhs, %rhs {transpose_lhs, transpose_rhs} : (tensor<7x5xf64>, tensor<6x7xf64>) -> tensor<5x6xf64>
  oneflow.output "r" %r : tensor<5x6xf64>
  return
}
func.func @matmul_shared() {
  %lhs = oneflow.input "lhs" : tensor<3x5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<7x4xf64>
  %r = oneflow.matmul %lhs, %rhs : (tensor<3x5x7xf64>, tensor<7x4xf64>) -> tensor<3x5x4xf64>
  oneflow.output "r" %r : tensor<3x5x4xf64>
  return
}
func.func @matmul_shared_transposed() {
  %lhs = oneflow.input "lhs" : tensor<3x5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<4x7xf64>
  %r = oneflow.matmul %lhs, %rhs {transpose_rhs} : (tensor<3x5x7xf64>, tensor<4x7xf64>) -> tensor<3x5x4xf64>
  oneflow.output "r" %r : tensor<3x5x4xf64>
  return
}
func.func @matmul_batch() {
  %lhs = oneflow.input "lhs" : tensor<3x5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<3x7x4xf64>
  %r = oneflow.matmul %lhs, %rhs : (tensor<3x5x7xf64>, tensor<3x7x4xf64>) -> tensor<3x5x4xf64>
  oneflow.output "r" %r : tensor<3x5x4xf64>
  return
}
func.func @matmul_batch_transposed_lhs() {
  %lhs = oneflow.input "lhs" : tensor<3x7x5xf64>
  %rhs = oneflow.input "rhs" : tensor<3x7x4xf64>
  %r = oneflow.matmul %lhs, %rhs {transpose_lhs} : (tensor<3x7x5xf64>, tensor<3x7x4xf64>) -> tensor<3x5x4xf64>
  oneflow.output "r" %r : tensor<3x5x4xf64>
  return
}
func.func @matmul_batch_transposed_rhs() {
  %lhs = oneflow.input "lhs" : tensor<3x5x7xf64>
  %rhs = oneflow.input "rhs" : tensor<3x4x7xf64>
  %r = oneflow.matmul %lhs, %rhs {transpose_rhs} : (tensor<3x5x7xf64>, tensor<3x4x7xf64>) -> tensor<3x5x4xf64>
  oneflow.output "r" %r : tensor<3x5x4xf64>
  return
}
func.func @matmul_4d() {
  %lhs = oneflow.input "lhs" : tensor<2x3x5x4xf64>
  %rhs = oneflow.input "rhs" : tensor<2x3x4x7xf64>
  %r = oneflow.matmul %lhs, %rhs : (tensor<2x3x5x4xf64>, tensor<2x3x4x7xf64>) -> tensor<2x3x5x7xf64>
  oneflow.output "r" %r : tensor<2x3x5x7xf64>
  return
}
func.func @matmul_4d_shared() {
  %lhs = oneflow.input "lhs" : tensor<2x3x5x4xf64>
  %rhs = oneflow.input "rhs" : tensor<4x7xf64>
  %r = oneflow.matmul %lhs, %rhs : (tensor<2x3x5x4xf64>, tensor<4x7xf64>) -> tensor<2x3x5x7xf64>
  oneflow.output "r" %r : tensor<2x3x5x7xf64>
  return
}
func.func @matmul_large() {
  %lhs = oneflow.input "lhs" : tensor<33x41xf64>
  %rhs = oneflow.input "rhs" : tensor<41x70xf64>
  %r = oneflow.matmul %lhs, %rhs : (tensor<33x41xf64>, tensor<41x70xf64>) -> tensor<33x70xf64>
  oneflow.output "r" %r : tensor<33x70xf64>
  return
}
func.func @matmul_f32() {
  %lhs = oneflow.input "lhs" : tensor<17x19xf32>
  %rhs = oneflow.input "rhs" : tensor<19x21xf32>
  %r = oneflow.matmul %lhs, %rhs : (tensor<17x19xf32>, tensor<19x21xf32>) -> tensor<17x21xf32>
  oneflow.output "r" %r : tensor<17x21xf32>
  return
}

// Reductions.

func.func @reduce_sum_rows() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.reduce <sum> %x dims [0] : (tensor<5x7xf64>) -> tensor<7xf64>
  oneflow.output "r" %r : tensor<7xf64>
  return
}
func.func @reduce_sum_columns() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.reduce <sum> %x dims [1] {keep_dims} : (tensor<5x7xf64>) -> tensor<5x1xf64>
  oneflow.output "r" %r : tensor<5x1xf64>
  return
}
func.func @reduce_sum_all() {
  %x = oneflow.input "x" : tensor<5x6xf64>
  %r = oneflow.reduce <sum> %x dims [0, 1] : (tensor<5x6xf64>) -> tensor<f64>
  oneflow.output "r" %r : tensor<f64>
  return
}
func.func @reduce_sum_outer() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %r = oneflow.reduce <sum> %x dims [0, 2] {keep_dims} : (tensor<3x5x4xf64>) -> tensor<1x5x1xf64>
  oneflow.output "r" %r : tensor<1x5x1xf64>
  return
}
func.func @reduce_max_rows() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.reduce <max> %x dims [0] : (tensor<5x7xf64>) -> tensor<7xf64>
  oneflow.output "r" %r : tensor<7xf64>
  return
}
func.func @reduce_max_columns() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.reduce <max> %x dims [1] {keep_dims} : (tensor<5x7xf64>) -> tensor<5x1xf64>
  oneflow.output "r" %r : tensor<5x1xf64>
  return
}
func.func @reduce_max_all() {
  %x = oneflow.input "x" : tensor<5x6xf64>
  %r = oneflow.reduce <max> %x dims [0, 1] : (tensor<5x6xf64>) -> tensor<f64>
  oneflow.output "r" %r : tensor<f64>
  return
}
func.func @reduce_max_outer() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %r = oneflow.reduce <max> %x dims [0, 2] {keep_dims} : (tensor<3x5x4xf64>) -> tensor<1x5x1xf64>
  oneflow.output "r" %r : tensor<1x5x1xf64>
  return
}
func.func @reduce_min_rows() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.reduce <min> %x dims [0] : (tensor<5x7xf64>) -> tensor<7xf64>
  oneflow.output "r" %r : tensor<7xf64>
  return
}
func.func @reduce_min_columns() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.reduce <min> %x dims [1] {keep_dims} : (tensor<5x7xf64>) -> tensor<5x1xf64>
  oneflow.output "r" %r : tensor<5x1xf64>
  return
}
func.func @reduce_min_all() {
  %x = oneflow.input "x" : tensor<5x6xf64>
  %r = oneflow.reduce <min> %x dims [0, 1] : (tensor<5x6xf64>) -> tensor<f64>
  oneflow.output "r" %r : tensor<f64>
  return
}
func.func @reduce_min_outer() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %r = oneflow.reduce <min> %x dims [0, 2] {keep_dims} : (tensor<3x5x4xf64>) -> tensor<1x5x1xf64>
  oneflow.output "r" %r : tensor<1x5x1xf64>
  return
}
func.func @reduce_prod_rows() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.reduce <prod> %x dims [0] : (tensor<5x7xf64>) -> tensor<7xf64>
  oneflow.output "r" %r : tensor<7xf64>
  return
}
func.func @reduce_prod_columns() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.reduce <prod> %x dims [1] {keep_dims} : (tensor<5x7xf64>) -> tensor<5x1xf64>
  oneflow.output "r" %r : tensor<5x1xf64>
  return
}
func.func @reduce_prod_all() {
  %x = oneflow.input "x" : tensor<5x6xf64>
  %r = oneflow.reduce <prod> %x dims [0, 1] : (tensor<5x6xf64>) -> tensor<f64>
  oneflow.output "r" %r : tensor<f64>
  return
}
func.func @reduce_prod_outer() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %r = oneflow.reduce <prod> %x dims [0, 2] {keep_dims} : (tensor<3x5x4xf64>) -> tensor<1x5x1xf64>
  oneflow.output "r" %r : tensor<1x5x1xf64>
  return
}
func.func @reduce_sum_middle() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %r = oneflow.reduce <sum> %x dims [1] : (tensor<3x5x4xf64>) -> tensor<3x4xf64>
  oneflow.output "r" %r : tensor<3x4xf64>
  return
}
func.func @reduce_sum_i64() {
  %x = oneflow.input "x" : tensor<5x7xi64>
  %r = oneflow.reduce <sum> %x dims [0] : (tensor<5x7xi64>) -> tensor<7xi64>
  oneflow.output "r" %r : tensor<7xi64>
  return
}
func.func @reduce_max_i64() {
  %x = oneflow.input "x" : tensor<5x7xi64>
  %r = oneflow.reduce <max> %x dims [1] : (tensor<5x7xi64>) -> tensor<5xi64>
  oneflow.output "r" %r : tensor<5xi64>
  return
}
func.func @reduce_sum_f32() {
  %x = oneflow.input "x" : tensor<5x7xf32>
  %r = oneflow.reduce <sum> %x dims [0] : (tensor<5x7xf32>) -> tensor<7xf32>
  oneflow.output "r" %r : tensor<7xf32>
  return
}

// Movement of elements.

func.func @broadcast_column() {
  %x = oneflow.input "x" : tensor<5x1xf64>
  %r = oneflow.broadcast %x : (tensor<5x1xf64>) -> tensor<3x5x7xf64>
  oneflow.output "r" %r : tensor<3x5x7xf64>
  return
}
func.func @broadcast_row() {
  %x = oneflow.input "x" : tensor<7xf64>
  %r = oneflow.broadcast %x : (tensor<7xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @broadcast_scalar() {
  %x = oneflow.input "x" : tensor<f64>
  %r = oneflow.broadcast %x : (tensor<f64>) -> tensor<5xf64>
  oneflow.output "r" %r : tensor<5xf64>
  return
}
func.func @broadcast_ones() {
  %x = oneflow.input "x" : tensor<1x6xi64>
  %r = oneflow.broadcast %x : (tensor<1x6xi64>) -> tensor<5x6xi64>
  oneflow.output "r" %r : tensor<5x6xi64>
  return
}
func.func @transpose() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.transpose %x [1, 0] : (tensor<5x7xf64>) -> tensor<7x5xf64>
  oneflow.output "r" %r : tensor<7x5xf64>
  return
}
func.func @transpose_3d() {
  %x = oneflow.input "x" : tensor<3x5x7xf64>
  %r = oneflow.transpose %x [2, 0, 1] : (tensor<3x5x7xf64>) -> tensor<7x3x5xf64>
  oneflow.output "r" %r : tensor<7x3x5xf64>
  return
}
func.func @transpose_4d() {
  %x = oneflow.input "x" : tensor<2x3x4x5xf64>
  %r = oneflow.transpose %x [0, 2, 1, 3] : (tensor<2x3x4x5xf64>) -> tensor<2x4x3x5xf64>
  oneflow.output "r" %r : tensor<2x4x3x5xf64>
  return
}
func.func @transpose_i64() {
  %x = oneflow.input "x" : tensor<5x6xi64>
  %r = oneflow.transpose %x [1, 0] : (tensor<5x6xi64>) -> tensor<6x5xi64>
  oneflow.output "r" %r : tensor<6x5xi64>
  return
}
func.func @reshape_merge() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.reshape %x : (tensor<5x7xf64>) -> tensor<35xf64>
  oneflow.output "r" %r : tensor<35xf64>
  return
}
func.func @reshape_divide() {
  %x = oneflow.input "x" : tensor<35xf64>
  %r = oneflow.reshape %x : (tensor<35xf64>) -> tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @reshape_heads() {
  %x = oneflow.input "x" : tensor<3x5x64xf64>
  %r = oneflow.reshape %x : (tensor<3x5x64xf64>) -> tensor<3x320xf64>
  oneflow.output "r" %r : tensor<3x320xf64>
  return
}
func.func @reshape_regroup() {
  %x = oneflow.input "x" : tensor<6x4xf64>
  %r = oneflow.reshape %x : (tensor<6x4xf64>) -> tensor<3x8xf64>
  oneflow.output "r" %r : tensor<3x8xf64>
  return
}
func.func @reshape_mixed() {
  %x = oneflow.input "x" : tensor<6x35xf64>
  %r = oneflow.reshape %x : (tensor<6x35xf64>) -> tensor<2x3x5x7xf64>
  oneflow.output "r" %r : tensor<2x3x5x7xf64>
  return
}
func.func @reshape_back() {
  %x = oneflow.input "x" : tensor<2x3x5x7xf64>
  %r = oneflow.reshape %x : (tensor<2x3x5x7xf64>) -> tensor<6x35xf64>
  oneflow.output "r" %r : tensor<6x35xf64>
  return
}
func.func @reshape_swap() {
  %x = oneflow.input "x" : tensor<2x3xf64>
  %r = oneflow.reshape %x : (tensor<2x3xf64>) -> tensor<3x2xf64>
  oneflow.output "r" %r : tensor<3x2xf64>
  return
}
func.func @reshape_ones() {
  %x = oneflow.input "x" : tensor<5x1x7xf64>
  %r = oneflow.reshape %x : (tensor<5x1x7xf64>) -> tensor<5x7x1xf64>
  oneflow.output "r" %r : tensor<5x7x1xf64>
  return
}
func.func @reshape_i64() {
  %x = oneflow.input "x" : tensor<4x5xi64>
  %r = oneflow.reshape %x : (tensor<4x5xi64>) -> tensor<20xi64>
  oneflow.output "r" %r : tensor<20xi64>
  return
}

// Constants.

func.func @constant_splat() {
  %r = oneflow.constant dense<2.5> : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @constant() {
  %r = oneflow.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  oneflow.output "r" %r : tensor<2x3xi64>
  return
}

// Over classes.

func.func @softmax_columns() {
  %x = oneflow.input "x" : tensor<5x10xf64>
  %r = oneflow.softmax %x dim 1 : tensor<5x10xf64>
  oneflow.output "r" %r : tensor<5x10xf64>
  return
}
func.func @softmax_rows() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.softmax %x dim 0 : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @softmax_middle() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %r = oneflow.softmax %x dim 1 : tensor<3x5x4xf64>
  oneflow.output "r" %r : tensor<3x5x4xf64>
  return
}
func.func @log_softmax_columns() {
  %x = oneflow.input "x" : tensor<5x10xf64>
  %r = oneflow.log_softmax %x dim 1 : tensor<5x10xf64>
  oneflow.output "r" %r : tensor<5x10xf64>
  return
}
func.func @log_softmax_rows() {
  %x = oneflow.input "x" : tensor<5x7xf64>
  %r = oneflow.log_softmax %x dim 0 : tensor<5x7xf64>
  oneflow.output "r" %r : tensor<5x7xf64>
  return
}
func.func @log_softmax_middle() {
  %x = oneflow.input "x" : tensor<3x5x4xf64>
  %r = oneflow.log_softmax %x dim 1 : tensor<3x5x4xf64>
  oneflow.output "r" %r : tensor<3x5x4xf64>
  return
}
func.func @softmax_one_row() {
  %x = oneflow.input "x" : tensor<1x24xf64>
  %r = oneflow.softmax %x dim 1 : tensor<1x24xf64>
  oneflow.output "r" %r : tensor<1x24xf64>
  return
}
func.func @softmax_one_long_row() {
  %x = oneflow.input "x" : tensor<1x9001xf64>
  %r = oneflow.softmax %x dim 1 : tensor<1x9001xf64>
  oneflow.output "r" %r : tensor<1x9001xf64>
  return
}
func.func @softmax_long_rows() {
  %x = oneflow.input "x" : tensor<3x9001xf64>
  %r = oneflow.softmax %x dim 1 : tensor<3x9001xf64>
  oneflow.output "r" %r : tensor<3x9001xf64>
  return
}
func.func @log_softmax_one_row() {
  %x = oneflow.input "x" : tensor<1x24xf64>
  %r = oneflow.log_softmax %x dim 1 : tensor<1x24xf64>
  oneflow.output "r" %r : tensor<1x24xf64>
  return
}
func.func @log_softmax_one_long_row() {
  %x = oneflow.input "x" : tensor<1x9001xf64>
  %r = oneflow.log_softmax %x dim 1 : tensor<1x9001xf64>
  oneflow.output "r" %r : tensor<1x9001xf64>
  return
}
func.func @log_softmax_long_rows() {
  %x = oneflow.input "x" : tensor<3x9001xf64>
  %r = oneflow.log_softmax %x dim 1 : tensor<3x9001xf64>
  oneflow.output "r" %r : tensor<3x9001xf64>
  return
}
func.func @cross_entropy() {
  %logits = oneflow.input "logits" : tensor<7x10xf64>
  %labels = oneflow.input "labels" : tensor<7xi64>
  %r0, %r1 = oneflow.cross_entropy %logits, %labels : (tensor<7x10xf64>, tensor<7xi64>) -> (tensor<7xf64>, tensor<7xf64>)
  oneflow.output "r0" %r0 : tensor<7xf64>
  oneflow.output "r1" %r1 : tensor<7xf64>
  return
}
func.func @cross_entropy_grad() {
  %dloss = oneflow.input "dloss" : tensor<7xf64>
  %logits = oneflow.input "logits" : tensor<7x10xf64>
  %labels = oneflow.input "labels" : tensor<7xi64>
  %log_sum = oneflow.input "log_sum" : tensor<7xf64>
  %r = oneflow.cross_entropy_grad %dloss, %logits, %labels, %log_sum : (tensor<7xf64>, tensor<7x10xf64>, tensor<7xi64>, tensor<7xf64>) -> tensor<7x10xf64>
  oneflow.output "r" %r : tensor<7x10xf64>
  return
}
func.func @pick() {
  %x = oneflow.input "x" : tensor<7x10xf64>
  %labels = oneflow.input "labels" : tensor<7xi64>
  %r = oneflow.pick %x, %labels : (tensor<7x10xf64>, tensor<7xi64>) -> tensor<7xf64>
  oneflow.output "r" %r : tensor<7xf64>
  return
}

// Optimizers.

func.func @sgd_update() {
  %parameter = oneflow.input "parameter" : tensor<5x7xf64>
  %gradient = oneflow.input "gradient" : tensor<5x7xf64>
  %velocity = oneflow.input "velocity" : tensor<5x7xf64>
  %learning_rate = oneflow.input "learning_rate" : tensor<f64>
  %r0, %r1 = oneflow.sgd_update %parameter, %gradient, %velocity, %learning_rate {momentum = 0.9 : f64, weight_decay = 0.1 : f64} : (tensor<5x7xf64>, tensor<5x7xf64>, tensor<5x7xf64>, tensor<f64>) -> (tensor<5x7xf64>, tensor<5x7xf64>)
  oneflow.output "r0" %r0 : tensor<5x7xf64>
  oneflow.output "r1" %r1 : tensor<5x7xf64>
  return
}
func.func @sgd_update_plain() {
  %parameter = oneflow.input "parameter" : tensor<5x7xf64>
  %gradient = oneflow.input "gradient" : tensor<5x7xf64>
  %velocity = oneflow.input "velocity" : tensor<5x7xf64>
  %learning_rate = oneflow.input "learning_rate" : tensor<f64>
  %r0, %r1 = oneflow.sgd_update %parameter, %gradient, %velocity, %learning_rate {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : (tensor<5x7xf64>, tensor<5x7xf64>, tensor<5x7xf64>, tensor<f64>) -> (tensor<5x7xf64>, tensor<5x7xf64>)
  oneflow.output "r0" %r0 : tensor<5x7xf64>
  oneflow.output "r1" %r1 : tensor<5x7xf64>
  return
}
func.func @adamw_update() {
  %parameter = oneflow.input "parameter" : tensor<5x7xf64>
  %gradient = oneflow.input "gradient" : tensor<5x7xf64>
  %first_moment = oneflow.input "first_moment" : tensor<5x7xf64>
  %positive_second_moment = oneflow.input "positive_second_moment" : tensor<5x7xf64>
  %step = oneflow.input "step" : tensor<i64>
  %learning_rate = oneflow.input "learning_rate" : tensor<f64>
  %r0, %r1, %r2 = oneflow.adamw_update %parameter, %gradient, %first_moment, %positive_second_moment, %step, %learning_rate {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64} : (tensor<5x7xf64>, tensor<5x7xf64>, tensor<5x7xf64>, tensor<5x7xf64>, tensor<i64>, tensor<f64>) -> (tensor<5x7xf64>, tensor<5x7xf64>, tensor<5x7xf64>)
  oneflow.output "r0" %r0 : tensor<5x7xf64>
  oneflow.output "r1" %r1 : tensor<5x7xf64>
  oneflow.output "r2" %r2 : tensor<5x7xf64>
  return
}
