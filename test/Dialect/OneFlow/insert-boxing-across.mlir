// RUN: oneflow-opt %s --split-input-file --oneflow-insert-boxing --oneflow-verify-spread | FileCheck %s

// Parts are reduced on the producer's ranks, one exchange goes across, and copies
// are made on the consumer's: 2 + 2 - 1 times the tensor, not 2 * 2.

// CHECK-LABEL: func.func @sum
// CHECK: %[[X:.*]] = oneflow.reduce
// CHECK-NEXT: %[[S:.*]] = oneflow.boxing %[[X]] on @head sbp ([P(sum)]) -> ([S(0)])
// CHECK-NEXT: %[[Y:.*]] = oneflow.boxing %[[S]] from @head on @tail sbp ([S(0)]) -> ([B])
// CHECK-NEXT: oneflow.relu %[[Y]]
oneflow.placement @head cpu [p = 2]
oneflow.placement @tail cpu [p = 2] from 2
func.func @sum() {
  %w = oneflow.input "x" on @head sbp () -> ([S(0)]) : tensor<2x4096xf32>
  %x = oneflow.reduce <sum> %w dims [0] on @head sbp ([S(0)]) -> ([P(sum)]) : (tensor<2x4096xf32>) -> tensor<4096xf32>
  %0 = oneflow.relu %x on @tail sbp ([B]) -> ([B]) : tensor<4096xf32>
  return
}

// -----

// Copies are cut before they go, so that all ranks send; two consumers share the way.

// CHECK-LABEL: func.func @cut
// CHECK: %[[X:.*]] = oneflow.input "x"
// CHECK-NEXT: %[[S:.*]] = oneflow.boxing %[[X]] on @head sbp ([B]) -> ([S(0)])
// CHECK-NEXT: %[[Y:.*]] = oneflow.boxing %[[S]] from @head on @tail sbp ([S(0)]) -> ([S(0)])
// CHECK-NEXT: oneflow.relu %[[Y]]
// CHECK-NEXT: oneflow.neg %[[Y]]
oneflow.placement @head cpu [p = 4]
oneflow.placement @tail cpu [p = 4] from 4
func.func @cut() {
  %x = oneflow.input "x" on @head sbp () -> ([B]) : tensor<4096x64xf32>
  %0 = oneflow.relu %x on @tail sbp ([S(0)]) -> ([S(0)]) : tensor<4096x64xf32>
  %1 = oneflow.neg %x on @tail sbp ([S(0)]) -> ([S(0)]) : tensor<4096x64xf32>
  return
}

// -----

// The same ranks as another mesh.

// CHECK-LABEL: func.func @reshape
// CHECK: oneflow.boxing %{{.*}} from @row on @grid sbp ([S(0)]) -> ([S(0), S(0)])
// CHECK-NEXT: oneflow.relu
oneflow.placement @row cpu [p = 4]
oneflow.placement @grid cpu [a = 2, b = 2]
func.func @reshape() {
  %x = oneflow.input "x" on @row sbp () -> ([S(0)]) : tensor<16xf32>
  %0 = oneflow.relu %x on @grid sbp ([S(0), S(0)]) -> ([S(0), S(0)]) : tensor<16xf32>
  return
}

// -----

// Two names of the same mesh on the same ranks: collectives do, and where nothing
// changes only the name does.

// CHECK-LABEL: func.func @names
// CHECK: %[[X:.*]] = oneflow.input "x"
// CHECK-NEXT: %[[Y:.*]] = oneflow.boxing %[[X]] from @one on @other sbp ([S(0)]) -> ([B])
// CHECK-NEXT: oneflow.relu %[[Y]]
// CHECK-NEXT: %[[Z:.*]] = oneflow.boxing %[[X]] from @one on @other sbp ([S(0)]) -> ([S(0)])
// CHECK-NEXT: oneflow.neg %[[Z]]
oneflow.placement @one cpu [p = 2]
oneflow.placement @other cpu [q = 2]
func.func @names() {
  %x = oneflow.input "x" on @one sbp () -> ([S(0)]) : tensor<16xf32>
  %0 = oneflow.relu %x on @other sbp ([B]) -> ([B]) : tensor<16xf32>
  %1 = oneflow.neg %x on @other sbp ([S(0)]) -> ([S(0)]) : tensor<16xf32>
  return
}

// -----

// A group along the first axis alone does not hold what is needed: an exchange,
// after the parts were reduced.

// CHECK-LABEL: func.func @joint
// CHECK: %[[P:.*]] = oneflow.reduce
// CHECK-NEXT: %[[S:.*]] = oneflow.boxing %[[P]] on @cube sbp ([S(0), S(0), P(sum)]) -> ([S(0), S(0), S(1)])
// CHECK-NEXT: oneflow.boxing %[[S]] on @cube sbp ([S(0), S(0), S(1)]) -> ([B, S(0), S(1)])
// CHECK-NEXT: oneflow.relu
oneflow.placement @cube cpu [a = 2, b = 2, c = 2]
func.func @joint() {
  %x = oneflow.input "x" on @cube sbp () -> ([S(0), S(0), S(2)]) : tensor<4096x300x2xf32>
  %p = oneflow.reduce <sum> %x dims [2] on @cube sbp ([S(0), S(0), S(2)]) -> ([S(0), S(0), P(sum)]) : (tensor<4096x300x2xf32>) -> tensor<4096x300xf32>
  %0 = oneflow.relu %p on @cube sbp ([B, S(0), S(1)]) -> ([B, S(0), S(1)]) : tensor<4096x300xf32>
  return
}

// -----

// A boxing that the user wrote keeps to the bounds as well.

// CHECK-LABEL: func.func @written
// CHECK: %[[P:.*]] = oneflow.reduce
// CHECK-NEXT: %[[A:.*]] = oneflow.boxing %[[P]] on @grid sbp ([P(sum), P(sum)]) -> (
// CHECK-NOT: sbp ([P(sum), P(sum)]) -> ([B, B])
// CHECK: %[[B:.*]] = oneflow.boxing %{{.*}} -> ([B, B])
// CHECK-NEXT: oneflow.relu %[[B]]
oneflow.placement @grid cpu [a = 2, b = 2]
func.func @written() {
  %x = oneflow.input "x" on @grid sbp () -> ([S(0), S(0)]) : tensor<4x300xf32>
  %p = oneflow.reduce <sum> %x dims [0] on @grid sbp ([S(0), S(0)]) -> ([P(sum), P(sum)]) : (tensor<4x300xf32>) -> tensor<300xf32>
  %b = oneflow.boxing %p on @grid sbp ([P(sum), P(sum)]) -> ([B, B]) : tensor<300xf32>
  %0 = oneflow.relu %b on @grid sbp ([B, B]) -> ([B, B]) : tensor<300xf32>
  return
}
