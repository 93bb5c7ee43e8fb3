// RUN: oneflow-opt %s | oneflow-opt | FileCheck %s
// RUN: oneflow-opt %s -mlir-print-op-generic | oneflow-opt | FileCheck %s

// Every op of the dialect survives printing and parsing, in its own form and in the
// generic one.

// CHECK: oneflow.placement @mesh cpu [dp = 2, tp = 4]
oneflow.placement @mesh cpu [dp = 2, tp = 4]
// CHECK: oneflow.placement @tail cuda [dp = 3] from 8
oneflow.placement @tail cuda [dp = 3] from 8

// CHECK: oneflow.variable @w : tensor<4x3xf32> {trainable}
oneflow.variable @w : tensor<4x3xf32> {trainable}
// CHECK: oneflow.variable @b on @mesh storage [S(0), B] : tensor<8xf32> = dense<5.000000e-01> : tensor<8xf32>
oneflow.variable @b on @mesh storage [S(0), B] : tensor<8xf32> = dense<0.5> : tensor<8xf32>
// CHECK: oneflow.variable @w.velocity like @w : tensor<4x3xf32>
oneflow.variable @w.velocity like @w : tensor<4x3xf32>
oneflow.variable @count : tensor<i64>
// CHECK: oneflow.variable @part.0 part of "a whole" [4, 9] at dim 1 offset 6 like @w on @mesh : tensor<4x3xf32> {trainable}
oneflow.variable @part.0 part of "a whole" [4, 9] at dim 1 offset 6 like @w on @mesh : tensor<4x3xf32> {trainable}

// CHECK-LABEL: func @structure
func.func @structure() {
  // CHECK: %[[X:.*]] = oneflow.input "x" on @mesh sbp () -> ([S(0), S(1, block = 2)]) : tensor<8x16xf32>
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0), S(1, block = 2)]) : tensor<8x16xf32>
  // CHECK: %[[W:.*]] = oneflow.read @w : tensor<4x3xf32>
  %w = oneflow.read @w : tensor<4x3xf32>
  // CHECK: oneflow.constant dense<1> : tensor<i64>
  %one = oneflow.constant dense<1> : tensor<i64>
  // CHECK: oneflow.constant dense<[0, 1]> : tensor<2xi64> on @mesh sbp () -> ([B, B])
  %two = oneflow.constant dense<[0, 1]> : tensor<2xi64> on @mesh sbp () -> ([B, B])
  // CHECK: oneflow.boxing %[[X]] on @mesh sbp ([S(0), B]) -> ([B, P(sum)]) : tensor<8x16xf32>
  %0 = oneflow.boxing %x on @mesh sbp ([S(0), B]) -> ([B, P(sum)]) : tensor<8x16xf32>
  // CHECK: oneflow.boxing %{{.*}} from @mesh on @tail sbp ([B, B]) -> ([S(0)]) : tensor<8x16xf32>
  %1 = oneflow.boxing %0 from @mesh on @tail sbp ([B, B]) -> ([S(0)]) : tensor<8x16xf32>
  // CHECK: oneflow.gradient @w, %[[W]] : tensor<4x3xf32>
  oneflow.gradient @w, %w : tensor<4x3xf32>
  // CHECK: oneflow.update @count, %{{.*}} : tensor<i64>
  oneflow.update @count, %one : tensor<i64>
  // CHECK: oneflow.output "y" %{{.*}} : tensor<8x16xf32>
  oneflow.output "y" %1 : tensor<8x16xf32>
  return
}

// CHECK-LABEL: func @elementwise
func.func @elementwise(%x: tensor<4x3xf32>, %y: tensor<3xf32>, %step: tensor<i64>) {
  // CHECK: oneflow.relu %{{.*}} : tensor<4x3xf32>
  %0 = oneflow.relu %x : tensor<4x3xf32>
  // CHECK: oneflow.tanh %{{.*}} on @mesh : tensor<4x3xf32>
  %1 = oneflow.tanh %x on @mesh : tensor<4x3xf32>
  // CHECK: oneflow.sigmoid %{{.*}} on @mesh sbp ([S(0), P(max)]) -> ([S(0), P(max)]) : tensor<4x3xf32>
  %2 = oneflow.sigmoid %x on @mesh sbp ([S(0), P(max)]) -> ([S(0), P(max)]) : tensor<4x3xf32>
  // CHECK: oneflow.erf
  %3 = oneflow.erf %x : tensor<4x3xf32>
  // CHECK: oneflow.exp
  %4 = oneflow.exp %x : tensor<4x3xf32>
  // CHECK: oneflow.log
  %5 = oneflow.log %x : tensor<4x3xf32>
  // CHECK: oneflow.sqrt
  %6 = oneflow.sqrt %x : tensor<4x3xf32>
  // CHECK: oneflow.neg
  %7 = oneflow.neg %x : tensor<4x3xf32>
  // CHECK: oneflow.gelu <erf> %{{.*}} : tensor<4x3xf32>
  %8 = oneflow.gelu <erf> %x : tensor<4x3xf32>
  // CHECK: oneflow.gelu_grad <tanh> %{{.*}}, %{{.*}} : tensor<4x3xf32>
  %9 = oneflow.gelu_grad <tanh> %x, %x : tensor<4x3xf32>
  // CHECK: oneflow.relu_grad %{{.*}}, %{{.*}} : tensor<4x3xf32>
  %10 = oneflow.relu_grad %x, %x : tensor<4x3xf32>
  // CHECK: oneflow.add %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %11 = oneflow.add %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: oneflow.sub
  %12 = oneflow.sub %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: oneflow.mul
  %13 = oneflow.mul %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: oneflow.div
  %14 = oneflow.div %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: oneflow.max
  %15 = oneflow.max %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: oneflow.min
  %16 = oneflow.min %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: oneflow.compare <lt> %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %17 = oneflow.compare <lt> %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK: oneflow.cast %{{.*}} : (tensor<4x3xi1>) -> tensor<4x3xbf16>
  %18 = oneflow.cast %17 : (tensor<4x3xi1>) -> tensor<4x3xbf16>
  // CHECK: oneflow.dropout %{{.*}} {id = 7 : i64, ratio = 2.500000e-01 : f64, seed = 3 : i64} : tensor<4x3xf32>
  %19 = oneflow.dropout %x {ratio = 0.25 : f64, seed = 3 : i64, id = 7 : i64} : tensor<4x3xf32>
  // CHECK: oneflow.dropout %{{.*}} at %{{.*}} : tensor<i64> on @mesh {{.*}} : tensor<4x3xf32>
  %20 = oneflow.dropout %x at %step : tensor<i64> on @mesh {ratio = 0.25 : f64, seed = 3 : i64, id = 7 : i64} : tensor<4x3xf32>
  // CHECK: oneflow.dropout %{{.*}} at %{{.*}} : tensor<i64> offset %{{.*}} : tensor<i64> {id = 7 : i64, ratio = 2.500000e-01 : f64, seed = 3 : i64} : tensor<4x3xf32>
  %21 = oneflow.dropout %x at %step : tensor<i64> offset %step : tensor<i64> {ratio = 0.25 : f64, seed = 3 : i64, id = 7 : i64} : tensor<4x3xf32>
  return
}

// CHECK-LABEL: func @tensor
func.func @tensor(%x: tensor<8x4xf32>, %y: tensor<4x3xf32>, %z: tensor<2x8x4xf32>) {
  // CHECK: oneflow.matmul %{{.*}}, %{{.*}} : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %0 = oneflow.matmul %x, %y : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  // CHECK: oneflow.matmul %{{.*}}, %{{.*}} {transpose_lhs} : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = oneflow.matmul %x, %0 {transpose_lhs} : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  // CHECK: oneflow.matmul %{{.*}}, %{{.*}} : (tensor<2x8x4xf32>, tensor<4x3xf32>) -> tensor<2x8x3xf32>
  %2 = oneflow.matmul %z, %y : (tensor<2x8x4xf32>, tensor<4x3xf32>) -> tensor<2x8x3xf32>
  // CHECK: oneflow.matmul %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  %3 = oneflow.matmul %z, %z {transpose_rhs} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  // CHECK: oneflow.reduce <sum> %{{.*}} dims [0] : (tensor<8x4xf32>) -> tensor<4xf32>
  %4 = oneflow.reduce <sum> %x dims [0] : (tensor<8x4xf32>) -> tensor<4xf32>
  // CHECK: oneflow.reduce <max> %{{.*}} dims [0, 2] {keep_dims} : (tensor<2x8x4xf32>) -> tensor<1x8x1xf32>
  %5 = oneflow.reduce <max> %z dims [0, 2] {keep_dims} : (tensor<2x8x4xf32>) -> tensor<1x8x1xf32>
  // CHECK: oneflow.broadcast %{{.*}} : (tensor<4x3xf32>) -> tensor<2x4x3xf32>
  %6 = oneflow.broadcast %y : (tensor<4x3xf32>) -> tensor<2x4x3xf32>
  // CHECK: oneflow.transpose %{{.*}} [2, 0, 1] : (tensor<2x8x4xf32>) -> tensor<4x2x8xf32>
  %7 = oneflow.transpose %z [2, 0, 1] : (tensor<2x8x4xf32>) -> tensor<4x2x8xf32>
  // CHECK: oneflow.reshape %{{.*}} : (tensor<2x8x4xf32>) -> tensor<16x4xf32>
  %8 = oneflow.reshape %z : (tensor<2x8x4xf32>) -> tensor<16x4xf32>
  return
}

// CHECK-LABEL: func @norms
func.func @norms(%x: tensor<2x8x4xf16>, %s: tensor<8x4xf16>) {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = oneflow.layer_norm %{{.*}} dims_from 1 {epsilon = 1.000000e-05 : f64} : (tensor<2x8x4xf16>) -> (tensor<2x8x4xf16>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
  %0:3 = oneflow.layer_norm %x dims_from 1 {epsilon = 1.0e-5 : f64} : (tensor<2x8x4xf16>) -> (tensor<2x8x4xf16>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
  // CHECK: oneflow.layer_norm %{{.*}} bias %{{.*}} dims_from 1 {{{.*}}} : (tensor<2x8x4xf16>, tensor<8x4xf16>) ->
  %1:3 = oneflow.layer_norm %x bias %s dims_from 1 {epsilon = 0.0 : f64} : (tensor<2x8x4xf16>, tensor<8x4xf16>) -> (tensor<2x8x4xf16>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
  // CHECK: oneflow.layer_norm %{{.*}} scale %{{.*}} bias %{{.*}} dims_from 1 {{{.*}}} : (tensor<2x8x4xf16>, tensor<8x4xf16>, tensor<8x4xf16>) ->
  %2:3 = oneflow.layer_norm %x scale %s bias %s dims_from 1 {epsilon = 1.0e-5 : f64} : (tensor<2x8x4xf16>, tensor<8x4xf16>, tensor<8x4xf16>) -> (tensor<2x8x4xf16>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
  // CHECK: %{{.*}}, %{{.*}} = oneflow.rms_norm %{{.*}} scale %{{.*}} dims_from 1 {epsilon = 1.000000e-05 : f64} : (tensor<2x8x4xf16>, tensor<8x4xf16>) -> (tensor<2x8x4xf16>, tensor<2x1x1xf32>)
  %3:2 = oneflow.rms_norm %x scale %s dims_from 1 {epsilon = 1.0e-5 : f64} : (tensor<2x8x4xf16>, tensor<8x4xf16>) -> (tensor<2x8x4xf16>, tensor<2x1x1xf32>)
  return
}

// CHECK-LABEL: func @training
func.func @training(%x: tensor<8x4xf32>, %labels: tensor<8xi64>, %dloss: tensor<8xf32>,
                    %rate: tensor<f32>, %step: tensor<i64>) {
  // CHECK: oneflow.softmax %{{.*}} dim 1 : tensor<8x4xf32>
  %0 = oneflow.softmax %x dim 1 : tensor<8x4xf32>
  // CHECK: oneflow.log_softmax %{{.*}} dim 0 : tensor<8x4xf32>
  %1 = oneflow.log_softmax %x dim 0 : tensor<8x4xf32>
  // CHECK: %{{.*}}, %{{.*}} = oneflow.cross_entropy %{{.*}}, %{{.*}} : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>)
  %loss, %log_sum = oneflow.cross_entropy %x, %labels : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK: oneflow.cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8xf32>, tensor<8x4xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x4xf32>
  %2 = oneflow.cross_entropy_grad %dloss, %x, %labels, %log_sum : (tensor<8xf32>, tensor<8x4xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x4xf32>
  // CHECK: oneflow.pick %{{.*}}, %{{.*}} : (tensor<8x4xf32>, tensor<8xi64>) -> tensor<8xf32>
  %3 = oneflow.pick %x, %labels : (tensor<8x4xf32>, tensor<8xi64>) -> tensor<8xf32>
  // CHECK: oneflow.sgd_update
  %4:2 = oneflow.sgd_update %x, %x, %x, %rate {momentum = 0.9 : f64, weight_decay = 0.0 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  // CHECK: oneflow.adamw_update
  %5:3 = oneflow.adamw_update %x, %x, %x, %x, %step, %rate {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  return
}
