// RUN: oneflow-opt %s | oneflow-opt | FileCheck %s

// CHECK-LABEL: func @convolutions
func.func @convolutions(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %p: tensor<2x4x4x4xf32>) {
  // CHECK: oneflow.convolution %{{.*}}, %{{.*}} strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1] groups 1 : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %0 = oneflow.convolution %x, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1] groups 1 : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: oneflow.convolution_grad_input %{{.*}}, %{{.*}} strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1] groups 1 extents [8, 8] : (tensor<2x4x4x4xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  %1 = oneflow.convolution_grad_input %p, %w strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1] groups 1 extents [8, 8] : (tensor<2x4x4x4xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: oneflow.convolution_grad_weight %{{.*}}, %{{.*}} strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1] groups 1 extents [3, 3] : (tensor<2x3x8x8xf32>, tensor<2x4x4x4xf32>) -> tensor<4x3x3x3xf32>
  %2 = oneflow.convolution_grad_weight %x, %p strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1] groups 1 extents [3, 3] : (tensor<2x3x8x8xf32>, tensor<2x4x4x4xf32>) -> tensor<4x3x3x3xf32>
  return
}

// CHECK-LABEL: func @pools
func.func @pools(%x: tensor<3x8xf32>) {
  // CHECK: oneflow.pool <max> %{{.*}} window [2] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>) -> tensor<3x4xf32>
  %0 = oneflow.pool <max> %x window [2] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>) -> tensor<3x4xf32>
  // CHECK: oneflow.pool_index %{{.*}}, %{{.*}} window [2] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<3x4xi32>
  %1 = oneflow.pool_index %x, %0 window [2] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<3x4xi32>
  // CHECK: oneflow.pool_grad %{{.*}} at %{{.*}} window [2] strides [2] low [0] high [0] dilations [1] extents [8] : (tensor<3x4xf32>, tensor<3x4xi32>) -> tensor<3x8xf32>
  %2 = oneflow.pool_grad %0 at %1 window [2] strides [2] low [0] high [0] dilations [1] extents [8] : (tensor<3x4xf32>, tensor<3x4xi32>) -> tensor<3x8xf32>
  // CHECK: oneflow.pool <sum> %{{.*}} at %{{.*}} window [2] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>, tensor<3x4xi32>) -> tensor<3x4xf32>
  %3 = oneflow.pool <sum> %2 at %1 window [2] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>, tensor<3x4xi32>) -> tensor<3x4xf32>
  // CHECK: oneflow.pool_grad %{{.*}} window [2] strides [2] low [0] high [0] dilations [1] extents [8] : (tensor<3x4xf32>) -> tensor<3x8xf32>
  %4 = oneflow.pool_grad %3 window [2] strides [2] low [0] high [0] dilations [1] extents [8] : (tensor<3x4xf32>) -> tensor<3x8xf32>
  return
}

// CHECK-LABEL: func @batch_norm
func.func @batch_norm(%x: tensor<8x4x6xf16>, %c: tensor<4xf32>) {
  // CHECK: oneflow.batch_norm %{{.*}} scale %{{.*}} bias %{{.*}} mean %{{.*}} variance %{{.*}} {epsilon = 1.000000e-05 : f64, momentum = 9.000000e-01 : f64, per_micro_batch, training} : (tensor<8x4x6xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x6xf16>, tensor<4xf32>, tensor<4xf32>)
  %y, %m, %v = oneflow.batch_norm %x scale %c bias %c mean %c variance %c {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, training, per_micro_batch} : (tensor<8x4x6xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x6xf16>, tensor<4xf32>, tensor<4xf32>)
  return
}
