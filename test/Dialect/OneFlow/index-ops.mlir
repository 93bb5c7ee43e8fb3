// RUN: oneflow-opt %s | oneflow-opt | FileCheck %s

// CHECK-LABEL: func @parts
func.func @parts(%x: tensor<8x10xf32>, %y: tensor<8x2xf32>, %n: tensor<3xi64>) {
  // CHECK: oneflow.slice %{{.*}} offsets [0, 4] sizes [8, 2] strides [1, 3] : (tensor<8x10xf32>) -> tensor<8x2xf32>
  %0 = oneflow.slice %x offsets [0, 4] sizes [8, 2] strides [1, 3] : (tensor<8x10xf32>) -> tensor<8x2xf32>
  // CHECK: oneflow.pad %{{.*}} low [0, 4] high [0, 2] interior [0, 2] value 0.000000e+00 : f32 : (tensor<8x2xf32>) -> tensor<8x10xf32>
  %1 = oneflow.pad %y low [0, 4] high [0, 2] interior [0, 2] value 0.0 : f32 : (tensor<8x2xf32>) -> tensor<8x10xf32>
  // CHECK: oneflow.pad %{{.*}} low [1] high [0] interior [0] value -1 : i64 : (tensor<3xi64>) -> tensor<4xi64>
  %2 = oneflow.pad %n low [1] high [0] interior [0] value -1 : i64 : (tensor<3xi64>) -> tensor<4xi64>
  // CHECK: oneflow.concat %{{.*}}, %{{.*}}, %{{.*}} dim 1 : (tensor<8x10xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x14xf32>
  %3 = oneflow.concat %x, %y, %0 dim 1 : (tensor<8x10xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x14xf32>
  return
}

// CHECK-LABEL: func @choices
func.func @choices(%c: tensor<4x4xi1>, %x: tensor<2x4x4xf32>, %s: tensor<f32>,
                   %table: tensor<1000x64xf32>, %ids: tensor<8x16xi64>) {
  // CHECK: oneflow.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  %0 = oneflow.select %c, %x, %s : (tensor<4x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  // CHECK: oneflow.gather %{{.*}}, %{{.*}} dim 0 : (tensor<1000x64xf32>, tensor<8x16xi64>) -> tensor<8x16x64xf32>
  %1 = oneflow.gather %table, %ids dim 0 : (tensor<1000x64xf32>, tensor<8x16xi64>) -> tensor<8x16x64xf32>
  // CHECK: oneflow.gather_grad %{{.*}}, %{{.*}} dim 0 extent 1000 : (tensor<8x16x64xf32>, tensor<8x16xi64>) -> tensor<1000x64xf32>
  %2 = oneflow.gather_grad %1, %ids dim 0 extent 1000 : (tensor<8x16x64xf32>, tensor<8x16xi64>) -> tensor<1000x64xf32>
  return
}

oneflow.placement @mesh cpu [tp = 2]
// CHECK-LABEL: func @spread
func.func @spread(%table: tensor<1000x64xf32>, %ids: tensor<8xi64>) {
  // CHECK: oneflow.gather %{{.*}}, %{{.*}} dim 0 on @mesh sbp ([S(0)], [B]) -> ([P(sum)]) :
  %0 = oneflow.gather %table, %ids dim 0 on @mesh sbp ([S(0)], [B]) -> ([P(sum)]) : (tensor<1000x64xf32>, tensor<8xi64>) -> tensor<8x64xf32>
  // CHECK: oneflow.slice %{{.*}} offsets [1, 0] sizes [7, 64] strides [1, 1] on @mesh sbp ([S(1)]) -> ([S(1)]) :
  %1 = oneflow.slice %0 offsets [1, 0] sizes [7, 64] strides [1, 1] on @mesh sbp ([S(1)]) -> ([S(1)]) : (tensor<8x64xf32>) -> tensor<7x64xf32>
  return
}
