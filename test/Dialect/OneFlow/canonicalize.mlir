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

// -----

// By way of a type that holds every value nothing is lost; by way of a narrower one
// something is, and both casts stay.
// CHECK-LABEL: func @cast_chains
// CHECK-SAME: %[[B:.*]]: tensor<4xbf16>, %[[F:.*]]: tensor<4xf32>, %[[H:.*]]: tensor<4xf16>
func.func @cast_chains(%b: tensor<4xbf16>, %f: tensor<4xf32>, %h: tensor<4xf16>)
    -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xf16>, tensor<4xbf16>) {
  // CHECK-DAG: %[[LOW:.*]] = oneflow.cast %[[F]] : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK-DAG: %[[ROUNDED:.*]] = oneflow.cast %[[LOW]] : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK-DAG: %[[DIRECT:.*]] = oneflow.cast %[[B]] : (tensor<4xbf16>) -> tensor<4xf16>
  // CHECK-DAG: %[[OTHER:.*]] = oneflow.cast %[[H]] : (tensor<4xf16>) -> tensor<4xbf16>
  // CHECK: return %[[B]], %[[ROUNDED]], %[[DIRECT]], %[[OTHER]]
  %0 = oneflow.cast %b : (tensor<4xbf16>) -> tensor<4xf32>
  %1 = oneflow.cast %0 : (tensor<4xf32>) -> tensor<4xbf16>
  %2 = oneflow.cast %f : (tensor<4xf32>) -> tensor<4xbf16>
  %3 = oneflow.cast %2 : (tensor<4xbf16>) -> tensor<4xf32>
  %4 = oneflow.cast %0 : (tensor<4xf32>) -> tensor<4xf16>
  %5 = oneflow.cast %h : (tensor<4xf16>) -> tensor<4xf64>
  %6 = oneflow.cast %5 : (tensor<4xf64>) -> tensor<4xbf16>
  return %1, %3, %4, %6 : tensor<4xbf16>, tensor<4xf32>, tensor<4xf16>, tensor<4xbf16>
}
