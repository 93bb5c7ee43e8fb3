// RUN: oneflow-opt %s --split-input-file --oneflow-insert-boxing --oneflow-verify-spread | FileCheck %s
// RUN: oneflow-opt %s --split-input-file --oneflow-insert-boxing --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOC

// A value that several consumers want alike is boxed once, where the first of them
// is; one that is wanted as it is stays alone.

// CHECK-LABEL: func.func @share
// CHECK: %[[X:.*]] = oneflow.input "x"
// CHECK-NEXT: oneflow.relu %[[X]]
// CHECK-NEXT: %[[B:.*]] = oneflow.boxing %[[X]] on @mesh sbp ([S(0)]) -> ([B])
// CHECK-NEXT: oneflow.exp %[[B]]
// CHECK-NEXT: oneflow.neg %[[B]]
// CHECK-NOT: oneflow.boxing
// LOC-LABEL: func.func @share
// LOC: oneflow.boxing {{.*}} loc(fused["producer", "consumer"])
oneflow.placement @mesh cpu [p = 2]
func.func @share() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0)]) : tensor<4xf32> loc("producer")
  %0 = oneflow.relu %x on @mesh sbp ([S(0)]) -> ([S(0)]) : tensor<4xf32>
  %1 = oneflow.exp %x on @mesh sbp ([B]) -> ([B]) : tensor<4xf32> loc("consumer")
  %2 = oneflow.neg %x on @mesh sbp ([B]) -> ([B]) : tensor<4xf32>
  return
}

// -----

// A reduction begins right after its producer, each in the order of the consumers.

// CHECK-LABEL: func.func @early
// CHECK: %[[P:.*]] = oneflow.reduce
// CHECK-NEXT: %[[S:.*]] = oneflow.boxing %[[P]] on @mesh sbp ([P(sum)]) -> ([S(0)])
// CHECK-NEXT: %[[B:.*]] = oneflow.boxing %[[P]] on @mesh sbp ([P(sum)]) -> ([B])
// CHECK-NEXT: oneflow.neg %[[P]]
// CHECK-NEXT: oneflow.relu %[[S]]
// CHECK-NEXT: oneflow.exp %[[B]]
oneflow.placement @mesh cpu [p = 2]
func.func @early() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0)]) : tensor<4x6xf32>
  %0 = oneflow.reduce <sum> %x dims [0] on @mesh sbp ([S(0)]) -> ([P(sum)]) : (tensor<4x6xf32>) -> tensor<6xf32>
  %1 = oneflow.neg %0 on @mesh sbp ([P(sum)]) -> ([P(sum)]) : tensor<6xf32>
  %2 = oneflow.relu %0 on @mesh sbp ([S(0)]) -> ([S(0)]) : tensor<6xf32>
  %3 = oneflow.exp %0 on @mesh sbp ([B]) -> ([B]) : tensor<6xf32>
  return
}

// -----

// One op per step, each along one axis; later chains begin with what is there.

// CHECK-LABEL: func.func @steps
// CHECK: %[[X:.*]] = oneflow.input "x"
// CHECK: %[[FIRST:.*]] = oneflow.boxing %[[X]] on @mesh sbp ([S(0), S(1)]) -> (
// CHECK-NEXT: %[[SECOND:.*]] = oneflow.boxing %[[FIRST]] on @mesh sbp ({{.*}}) -> ([B, B])
// CHECK-NEXT: oneflow.relu %[[SECOND]]
// CHECK-NOT: oneflow.boxing
oneflow.placement @mesh cpu [a = 2, b = 2]
func.func @steps() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0), S(1)]) : tensor<4x6xf32>
  %0 = oneflow.relu %x on @mesh sbp ([B, B]) -> ([B, B]) : tensor<4x6xf32>
  return
}

// -----

// Other ranks: parts are reduced where they are, then one exchange goes across.

// CHECK-LABEL: func.func @move
// CHECK: %[[X:.*]] = oneflow.reduce
// CHECK-NEXT: %[[S:.*]] = oneflow.boxing %[[X]] on @head sbp ([P(sum)]) -> ([S(0)])
// CHECK-NEXT: %[[Y:.*]] = oneflow.boxing %[[S]] from @head on @tail sbp ([S(0)]) -> ([S(0), B])
// CHECK-NEXT: oneflow.relu %[[Y]]
oneflow.placement @head cpu [p = 2]
oneflow.placement @tail cpu [a = 2, b = 2] from 2
func.func @move() {
  %w = oneflow.input "x" on @head sbp () -> ([S(0)]) : tensor<2x4xf32>
  %x = oneflow.reduce <sum> %w dims [0] on @head sbp ([S(0)]) -> ([P(sum)]) : (tensor<2x4xf32>) -> tensor<4xf32>
  %0 = oneflow.relu %x on @tail sbp ([S(0), B]) -> ([S(0), B]) : tensor<4xf32>
  return
}

// -----

// Blocks that cut at the same places are no difference: 12 rows in blocks of 3 over
// 2 ranks are 6 and 6. Others are.

// CHECK-LABEL: func.func @blocks
// CHECK: oneflow.relu %{{.*}} on @two sbp ([S(0)])
// CHECK-NOT: oneflow.boxing
// CHECK: oneflow.input "y"
// CHECK-NEXT: oneflow.boxing %{{.*}} on @five sbp ([S(0, block = 2)]) -> ([S(0)])
oneflow.placement @two cpu [p = 2]
oneflow.placement @five cpu [p = 5]
func.func @blocks() {
  %x = oneflow.input "x" on @two sbp () -> ([S(0, block = 3)]) : tensor<12xf32>
  %0 = oneflow.relu %x on @two sbp ([S(0)]) -> ([S(0)]) : tensor<12xf32>
  %y = oneflow.input "y" on @five sbp () -> ([S(0, block = 2)]) : tensor<12xf32>
  %1 = oneflow.relu %y on @five sbp ([S(0)]) -> ([S(0)]) : tensor<12xf32>
  return
}
