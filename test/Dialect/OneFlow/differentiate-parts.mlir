// RUN: oneflow-opt %s -split-input-file -oneflow-differentiate | FileCheck %s

// The gradients of parts that follow one another are put together, in their order and
// not in that of their uses; what is left out keeps its zeros.
oneflow.variable @w : tensor<2x9xf32> {trainable}
oneflow.variable @v : tensor<2x9xf32> {trainable}
// CHECK-LABEL: func @train
// CHECK: %[[P:.*]] = oneflow.pad %{{.*}} low [0, 1] high [0, 7] interior [0, 0]
// CHECK-NOT: oneflow.pad
// CHECK: %[[G:.*]] = oneflow.concat %{{.*}}, %{{.*}}, %{{.*}} dim 1 : (tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x9xf32>
// CHECK: oneflow.gradient @w, %[[G]]
// CHECK: oneflow.gradient @v, %[[P]]
func.func @train() {
  %w = oneflow.read @w : tensor<2x9xf32>
  %v = oneflow.read @v : tensor<2x9xf32>
  %0 = oneflow.slice %w offsets [0, 0] sizes [2, 2] strides [1, 1] : (tensor<2x9xf32>) -> tensor<2x2xf32>
  %1 = oneflow.slice %w offsets [0, 5] sizes [2, 4] strides [1, 1] : (tensor<2x9xf32>) -> tensor<2x4xf32>
  %2 = oneflow.slice %w offsets [0, 2] sizes [2, 3] strides [1, 1] : (tensor<2x9xf32>) -> tensor<2x3xf32>
  %3 = oneflow.reduce <sum> %0 dims [0, 1] : (tensor<2x2xf32>) -> tensor<f32>
  %4 = oneflow.reduce <prod> %1 dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  %5 = oneflow.reduce <max> %2 dims [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %6 = oneflow.slice %v offsets [0, 1] sizes [2, 1] strides [1, 1] : (tensor<2x9xf32>) -> tensor<2x1xf32>
  %7 = oneflow.reduce <sum> %6 dims [0, 1] : (tensor<2x1xf32>) -> tensor<f32>
  %8 = oneflow.add %3, %4 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %9 = oneflow.add %8, %5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %10 = oneflow.add %9, %7 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  oneflow.output "loss" %10 : tensor<f32>
  return
}

// -----

// An embedding: its gradient is added at the indices.
oneflow.variable @table : tensor<10x4xf32> {trainable}
// CHECK-LABEL: func @train
// CHECK: %[[IDS:.*]] = oneflow.input "ids"
// CHECK: %[[G:.*]] = oneflow.gather_grad %{{.*}}, %[[IDS]] dim 0 extent 10 : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<10x4xf32>
// CHECK: oneflow.gradient @table, %[[G]]
func.func @train() {
  %ids = oneflow.input "ids" : tensor<3xi64>
  %table = oneflow.read @table : tensor<10x4xf32>
  %0 = oneflow.gather %table, %ids dim 0 : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %1 = oneflow.reduce <sum> %0 dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  oneflow.output "loss" %1 : tensor<f32>
  return
}
