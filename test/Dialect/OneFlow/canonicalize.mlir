// RUN: oneflow-opt %s -canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: func @same_type
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32>
func.func @same_type(%x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = oneflow.cast %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = oneflow.reshape %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = oneflow.broadcast %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %3 = oneflow.transpose %x [0, 1] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]]
  return %0, %1, %2, %3 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// Extents that are not known may differ from each other.
// CHECK-LABEL: func @dynamic
func.func @dynamic(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // CHECK: oneflow.reshape
  %0 = oneflow.reshape %x : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

// Result dimension i is dimension p2[i] of the middle, which is p1[p2[i]] of x:
// [2, 0, 1] after [1, 2, 0] is the identity.
// CHECK-LABEL: func @transposes
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
func.func @transposes(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4x2x3xf32>) {
  %0 = oneflow.transpose %x [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = oneflow.transpose %0 [2, 0, 1] : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  %2 = oneflow.transpose %0 [1, 2, 0] : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  // CHECK-NEXT: %[[T:.*]] = oneflow.transpose %[[X]] [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  // CHECK-NEXT: return %[[X]], %[[T]]
  return %1, %2 : tensor<2x3x4xf32>, tensor<4x2x3xf32>
}

// -----

// CHECK-LABEL: func @reshapes
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
func.func @reshapes(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<24xf32>) {
  %0 = oneflow.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = oneflow.reshape %0 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %2 = oneflow.reshape %0 : (tensor<6x4xf32>) -> tensor<24xf32>
  // CHECK-NEXT: %[[R:.*]] = oneflow.reshape %[[X]] : (tensor<2x3x4xf32>) -> tensor<24xf32>
  // CHECK-NEXT: return %[[X]], %[[R]]
  return %1, %2 : tensor<2x3x4xf32>, tensor<24xf32>
}

// -----

// What a signature pins stays as it is.
oneflow.placement @mesh cpu [tp = 2]
// CHECK-LABEL: func @pinned
func.func @pinned(%x: tensor<2x3x4xf32>) -> tensor<24xf32> {
  // CHECK: oneflow.reshape %{{.*}} -> tensor<6x4xf32>
  %0 = oneflow.reshape %x on @mesh sbp ([S(0)]) -> ([S(0)]) : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  // CHECK: oneflow.reshape %{{.*}} -> tensor<24xf32>
  %1 = oneflow.reshape %0 on @mesh : (tensor<6x4xf32>) -> tensor<24xf32>
  return %1 : tensor<24xf32>
}
