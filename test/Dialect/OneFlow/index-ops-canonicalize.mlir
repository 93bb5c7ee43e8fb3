// RUN: oneflow-opt %s --canonicalize | FileCheck %s

// What takes all, adds nothing, or has one part is no op.
// CHECK-LABEL: func @nothing
// CHECK-SAME: (%[[X:.*]]: tensor<4x3xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]]
func.func @nothing(%x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = oneflow.slice %x offsets [0, 0] sizes [4, 3] strides [1, 1] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = oneflow.pad %x low [0, 0] high [0, 0] interior [0, 0] value 1.0 : f32 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = oneflow.concat %x dim 0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0, %1, %2 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}
