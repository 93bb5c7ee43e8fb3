// RUN: oneflow-opt %s --split-input-file --oneflow-infer-sbp | FileCheck %s

// What the input carries is never changed, even where it is not the best.

// CHECK-LABEL: func.func @pinned
// CHECK: oneflow.read @w on @mesh sbp () -> ([S(1)])
// CHECK: oneflow.matmul {{.*}} sbp ([S(1)], [S(0)]) -> ([P(sum)])
// CHECK: oneflow.relu {{.*}} sbp ([B]) -> ([B])
oneflow.placement @mesh cpu [dp = 2]
oneflow.variable @w on @mesh storage [S(1)] : tensor<4x6xf32>
func.func @pinned() {
  %x = oneflow.input "x" on @mesh : tensor<8x4xf32>
  %w = oneflow.read @w on @mesh : tensor<4x6xf32>
  %0 = oneflow.matmul %x, %w on @mesh sbp ([S(1)], [S(0)]) -> ([P(sum)]) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = oneflow.relu %0 on @mesh sbp ([B]) -> ([B]) : tensor<8x6xf32>
  oneflow.output "y" %1 on @mesh : tensor<8x6xf32>
  return
}

// -----

// An input that cannot be split along dp is whole; one of a single rank splits nothing;
// other axes are left alone.

// CHECK-LABEL: func.func @inputs
// CHECK: oneflow.input "three" on @mesh sbp () -> ([B, B])
// CHECK: oneflow.input "scalar" on @mesh sbp () -> ([B, B])
// CHECK: oneflow.input "four" on @mesh sbp () -> ([S(0), B])
// CHECK: oneflow.input "one" on @single sbp () -> ([B])
oneflow.placement @mesh cpu [dp = 4, tp = 2]
oneflow.placement @single cpu [dp = 1]
func.func @inputs() {
  %0 = oneflow.input "three" on @mesh : tensor<3xf32>
  %1 = oneflow.input "scalar" on @mesh : tensor<f32>
  %2 = oneflow.input "four" on @mesh : tensor<4xf32>
  %3 = oneflow.input "one" on @single : tensor<4xf32>
  return
}

// -----

// A read pins its variable, which then holds in every function; what is like it follows.
// Nothing keeps each rank from holding a part only of one that is not used.

// CHECK: oneflow.variable @w on @mesh storage [S(0)]
// CHECK: oneflow.variable @m like @w on @mesh storage [S(0)]
// CHECK: oneflow.variable @free on @mesh storage [S(0)]
// CHECK-LABEL: func.func @first
// CHECK: oneflow.read @w on @mesh sbp () -> ([S(0)])
// CHECK: oneflow.read @m on @mesh sbp () -> ([S(0)])
// CHECK: oneflow.add {{.*}} sbp ([S(0)], [S(0)]) -> ([S(0)])
// CHECK: oneflow.update @w, {{.*}} sbp ([S(0)]) -> ()
oneflow.placement @mesh cpu [p = 2]
oneflow.variable @w on @mesh : tensor<4xf32>
oneflow.variable @m like @w on @mesh : tensor<4xf32>
oneflow.variable @free on @mesh : tensor<4xf32>
func.func @first() {
  %w = oneflow.read @w on @mesh : tensor<4xf32>
  %m = oneflow.read @m on @mesh : tensor<4xf32>
  %0 = oneflow.add %w, %m on @mesh : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  oneflow.update @w, %0 on @mesh : tensor<4xf32>
  return
}
func.func @second() {
  %w = oneflow.read @w on @mesh sbp () -> ([S(0)]) : tensor<4xf32>
  return
}

// -----

// An uneven batch stays split through a reshape: 4 samples of 2 rows over 3 ranks are
// 4, 2 and 2 rows, where 8 rows alone would be 3, 3 and 2.

// CHECK-LABEL: func.func @uneven
// CHECK: oneflow.reshape {{.*}} sbp ([S(0)]) -> ([S(0, block = 2)])
// CHECK: oneflow.matmul {{.*}} sbp ([S(0, block = 2)], [B]) -> ([S(0, block = 2)])
// CHECK: oneflow.relu {{.*}} sbp ([S(0, block = 2)]) -> ([S(0, block = 2)])
oneflow.placement @mesh cpu [dp = 3]
oneflow.variable @w on @mesh : tensor<4x6xf32>
func.func @uneven() {
  %x = oneflow.input "x" on @mesh : tensor<4x2x4xf32>
  %w = oneflow.read @w on @mesh : tensor<4x6xf32>
  %0 = oneflow.reshape %x on @mesh : (tensor<4x2x4xf32>) -> tensor<8x4xf32>
  %1 = oneflow.matmul %0, %w on @mesh : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %2 = oneflow.relu %1 on @mesh : tensor<8x6xf32>
  return
}

// -----

// Two partial values are added before they are reduced: one all-reduce, not two.

// CHECK-LABEL: func.func @late
// CHECK: oneflow.add {{.*}} sbp ([P(sum)], [P(sum)]) -> ([P(sum)])
// CHECK: oneflow.output "y" {{.*}} sbp ([B]) -> ()
oneflow.placement @mesh cpu [dp = 2]
func.func @late() {
  %x = oneflow.input "x" on @mesh : tensor<8x4xf32>
  %0 = oneflow.reduce <sum> %x dims [0] on @mesh : (tensor<8x4xf32>) -> tensor<4xf32>
  %y = oneflow.input "y" on @mesh : tensor<8x4xf32>
  %1 = oneflow.reduce <sum> %y dims [0] on @mesh : (tensor<8x4xf32>) -> tensor<4xf32>
  %2 = oneflow.add %0, %1 on @mesh : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  oneflow.output "y" %2 on @mesh : tensor<4xf32>
  return
}

// -----

// Work is shared where that is worth a gather of the result, and not where it is not.

// CHECK-LABEL: func.func @work
// CHECK: oneflow.matmul {{.*}} sbp ([B], [B]) -> ([B]) : (tensor<4x4xf32>
// CHECK: oneflow.matmul {{.*}} sbp ({{.*}}S({{.*}}) -> ({{.*}}) : (tensor<4096x4096xf32>
oneflow.placement @mesh cpu [p = 4]
func.func @work() {
  %x = oneflow.input "x" on @mesh : tensor<4x4xf32>
  %0 = oneflow.matmul %x, %x on @mesh : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  oneflow.output "small" %0 on @mesh : tensor<4x4xf32>
  %y = oneflow.input "y" on @mesh : tensor<4096x4096xf32>
  %1 = oneflow.matmul %y, %y on @mesh : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  oneflow.output "large" %1 on @mesh : tensor<4096x4096xf32>
  return
}
