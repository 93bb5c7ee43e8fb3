// RUN: oneflow-opt %s --split-input-file --oneflow-decompose-split | FileCheck %s
// RUN: oneflow-opt %s --split-input-file --oneflow-decompose-split --oneflow-insert-boxing --oneflow-verify-spread | FileCheck %s --check-prefix=BOXED

// One number per row is reduced over the axis that splits the classes; the batch stays
// split along the other, and the result is as it was declared.

// CHECK-LABEL: func.func @softmax
// CHECK: %[[X:.*]] = oneflow.input "x"
// CHECK-NEXT: %[[M:.*]] = oneflow.reduce <max> %[[X]] dims [1] on @mesh sbp ([S(0), S(1)]) -> ([S(0), P(max)]) {keep_dims} : (tensor<4x6xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %[[D:.*]] = oneflow.sub %[[X]], %[[M]] on @mesh sbp ([S(0), S(1)], [S(0), B]) -> ([S(0), S(1)])
// CHECK-NEXT: %[[E:.*]] = oneflow.exp %[[D]] on @mesh sbp ([S(0), S(1)]) -> ([S(0), S(1)])
// CHECK-NEXT: %[[S:.*]] = oneflow.reduce <sum> %[[E]] dims [1] on @mesh sbp ([S(0), S(1)]) -> ([S(0), P(sum)]) {keep_dims}
// CHECK-NEXT: %[[Y:.*]] = oneflow.div %[[E]], %[[S]] on @mesh sbp ([S(0), S(1)], [S(0), B]) -> ([S(0), S(1)])
// CHECK-NEXT: oneflow.relu %[[Y]]
// BOXED-LABEL: func.func @softmax
// BOXED: oneflow.boxing {{.*}} sbp ([S(0), P(max)]) -> ([S(0), B]) : tensor<4x1xf32>
// BOXED: oneflow.boxing {{.*}} sbp ([S(0), P(sum)]) -> ([S(0), B]) : tensor<4x1xf32>
// BOXED-NOT: oneflow.boxing
// BOXED: return
oneflow.placement @mesh cpu [dp = 2, tp = 2]
func.func @softmax() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0), S(1)]) : tensor<4x6xf32>
  %0 = oneflow.softmax %x dim 1 on @mesh sbp ([S(0), S(1)]) -> ([S(0), S(1)]) : tensor<4x6xf32>
  %1 = oneflow.relu %0 on @mesh sbp ([S(0), S(1)]) -> ([S(0), S(1)]) : tensor<4x6xf32>
  return
}

// -----

// Any dimension, on both axes at once.

// CHECK-LABEL: func.func @log_softmax
// CHECK: %[[M:.*]] = oneflow.reduce <max> %{{.*}} dims [0] on @mesh sbp ([S(0), S(0)]) -> ([P(max), P(max)]) {keep_dims} : (tensor<4x6xf32>) -> tensor<1x6xf32>
// CHECK-NEXT: %[[D:.*]] = oneflow.sub %{{.*}}, %[[M]] on @mesh sbp ([S(0), S(0)], [B, B]) -> ([S(0), S(0)])
// CHECK-NEXT: %[[E:.*]] = oneflow.exp %[[D]]
// CHECK-NEXT: %[[S:.*]] = oneflow.reduce <sum> %[[E]]
// CHECK-NEXT: %[[L:.*]] = oneflow.log %[[S]] on @mesh sbp ([B, B]) -> ([B, B])
// CHECK-NEXT: oneflow.sub %[[D]], %[[L]] on @mesh sbp ([S(0), S(0)], [B, B]) -> ([S(0), S(0)])
// BOXED-LABEL: func.func @log_softmax
oneflow.placement @mesh cpu [a = 2, b = 2]
func.func @log_softmax() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0), S(0)]) : tensor<4x6xf32>
  %0 = oneflow.log_softmax %x dim 0 on @mesh sbp ([S(0), S(0)]) -> ([S(0), S(0)]) : tensor<4x6xf32>
  return
}

// -----

// CHECK-LABEL: func.func @cross_entropy
// CHECK: %[[X:.*]] = oneflow.input "x"
// CHECK: %[[LABELS:.*]] = oneflow.input "labels"
// CHECK-NEXT: %[[M:.*]] = oneflow.reduce <max> %[[X]]
// CHECK-NEXT: %[[D:.*]] = oneflow.sub %[[X]], %[[M]]
// CHECK-NEXT: %[[E:.*]] = oneflow.exp %[[D]]
// CHECK-NEXT: %[[S:.*]] = oneflow.reduce <sum> %[[E]] dims [1] on @mesh sbp ([S(0), S(1)]) -> ([S(0), P(sum)])
// CHECK-NEXT: %[[L:.*]] = oneflow.log %[[S]] on @mesh sbp ([S(0), B]) -> ([S(0), B])
// CHECK-NEXT: %[[A:.*]] = oneflow.add %[[L]], %[[M]] on @mesh sbp ([S(0), B], [S(0), B]) -> ([S(0), B])
// CHECK-NEXT: %[[LOGSUM:.*]] = oneflow.reshape %[[A]] on @mesh sbp ([S(0), B]) -> ([S(0), B]) : (tensor<4x1xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[P:.*]] = oneflow.pick %[[X]], %[[LABELS]] on @mesh sbp ([S(0), S(1)], [S(0), B]) -> ([S(0), P(sum)])
// CHECK-NEXT: %[[LOSS:.*]] = oneflow.sub %[[LOGSUM]], %[[P]] on @mesh sbp ([S(0), B], [S(0), B]) -> ([S(0), B])
// CHECK-NEXT: oneflow.relu %[[LOSS]]
// CHECK-NEXT: oneflow.relu %[[LOGSUM]]
// BOXED-LABEL: func.func @cross_entropy
// BOXED-COUNT-3: oneflow.boxing
// BOXED-NOT: oneflow.boxing
// BOXED: return
oneflow.placement @mesh cpu [dp = 2, tp = 2]
func.func @cross_entropy() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0), S(1)]) : tensor<4x6xf32>
  %labels = oneflow.input "labels" on @mesh sbp () -> ([S(0), B]) : tensor<4xi64>
  %loss, %log_sum = oneflow.cross_entropy %x, %labels on @mesh sbp ([S(0), S(1)], [S(0), B]) -> ([S(0), B], [S(0), B]) : (tensor<4x6xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  %0 = oneflow.relu %loss on @mesh sbp ([S(0), B]) -> ([S(0), B]) : tensor<4xf32>
  %1 = oneflow.relu %log_sum on @mesh sbp ([S(0), B]) -> ([S(0), B]) : tensor<4xf32>
  return
}

// -----

// The mean is that of the logical row, 9 elements in uneven parts; the squares are of what
// is left without it. Parameters are split as the row is.

// CHECK-LABEL: func.func @layer_norm
// CHECK: %[[X:.*]] = oneflow.input "x"
// CHECK: %[[P:.*]] = oneflow.input "p"
// CHECK: %[[SUM:.*]] = oneflow.reduce <sum> %[[X]] dims [1, 2] on @mesh sbp ([S(0), S(2)]) -> ([S(0), P(sum)]) {keep_dims} : (tensor<4x1x9xf32>) -> tensor<4x1x1xf32>
// CHECK: %[[N:.*]] = oneflow.constant dense<9.000000e+00> : tensor<f32> on @mesh sbp () -> ([B, B])
// CHECK: %[[MEAN:.*]] = oneflow.div %[[SUM]], %[[N]] on @mesh sbp ([S(0), B], [B, B]) -> ([S(0), B])
// CHECK: %[[C:.*]] = oneflow.sub %[[X]], %[[MEAN]] on @mesh sbp ([S(0), S(2)], [S(0), B]) -> ([S(0), S(2)])
// CHECK: %[[SQUARES:.*]] = oneflow.mul %[[C]], %[[C]]
// CHECK: oneflow.reduce <sum> %[[SQUARES]] dims [1, 2] on @mesh sbp ([S(0), S(2)]) -> ([S(0), P(sum)])
// CHECK: %[[ROOT:.*]] = oneflow.sqrt
// CHECK: %[[INVERSE:.*]] = oneflow.div %{{.*}}, %[[ROOT]] on @mesh sbp ([B, B], [S(0), B]) -> ([S(0), B])
// CHECK: %[[NORMAL:.*]] = oneflow.mul %[[C]], %[[INVERSE]]
// CHECK: %[[SCALED:.*]] = oneflow.mul %[[NORMAL]], %[[P]] on @mesh sbp ([S(0), S(2)], [B, S(1)]) -> ([S(0), S(2)])
// CHECK: %[[Y:.*]] = oneflow.add %[[SCALED]], %[[P]] on @mesh sbp ([S(0), S(2)], [B, S(1)]) -> ([S(0), S(2)])
// CHECK: oneflow.relu %[[Y]]
// CHECK: oneflow.relu %[[MEAN]]
// CHECK: oneflow.relu %[[INVERSE]]
// BOXED-LABEL: func.func @layer_norm
// BOXED: oneflow.boxing {{.*}} sbp ([S(0), P(sum)]) -> ([S(0), B]) : tensor<4x1x1xf32>
// BOXED: oneflow.boxing {{.*}} sbp ([S(0), P(sum)]) -> ([S(0), B]) : tensor<4x1x1xf32>
// BOXED-NOT: oneflow.boxing
// BOXED: return
oneflow.placement @mesh cpu [dp = 2, tp = 2]
func.func @layer_norm() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0), S(2)]) : tensor<4x1x9xf32>
  %p = oneflow.input "p" on @mesh sbp () -> ([B, S(1)]) : tensor<1x9xf32>
  %y, %mean, %inverse = oneflow.layer_norm %x scale %p bias %p dims_from 1 on @mesh sbp ([S(0), S(2)], [B, S(1)], [B, S(1)]) -> ([S(0), S(2)], [S(0), B], [S(0), B]) {epsilon = 1.0e-5 : f64} : (tensor<4x1x9xf32>, tensor<1x9xf32>, tensor<1x9xf32>) -> (tensor<4x1x9xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>)
  %0 = oneflow.relu %y on @mesh sbp ([S(0), S(2)]) -> ([S(0), S(2)]) : tensor<4x1x9xf32>
  %1 = oneflow.relu %mean on @mesh sbp ([S(0), B]) -> ([S(0), B]) : tensor<4x1x1xf32>
  %2 = oneflow.relu %inverse on @mesh sbp ([S(0), B]) -> ([S(0), B]) : tensor<4x1x1xf32>
  return
}

// -----

// Halves are summed in f32: the casts keep the split, and only f32 rows move.

// CHECK-LABEL: func.func @rms_norm
// CHECK: %[[X:.*]] = oneflow.cast %{{.*}} on @mesh sbp ([S(1)]) -> ([S(1)]) : (tensor<4x6xf16>) -> tensor<4x6xf32>
// CHECK: %[[SQUARES:.*]] = oneflow.mul %[[X]], %[[X]]
// CHECK: oneflow.reduce <sum> %[[SQUARES]] dims [1] on @mesh sbp ([S(1)]) -> ([P(sum)])
// CHECK: %[[S:.*]] = oneflow.cast %{{.*}} on @mesh sbp ([S(0)]) -> ([S(0)]) : (tensor<6xf16>) -> tensor<6xf32>
// CHECK: %[[Y:.*]] = oneflow.mul %{{.*}}, %[[S]] on @mesh sbp ([S(1)], [S(0)]) -> ([S(1)])
// CHECK: oneflow.cast %[[Y]] on @mesh sbp ([S(1)]) -> ([S(1)]) : (tensor<4x6xf32>) -> tensor<4x6xf16>
// BOXED-LABEL: func.func @rms_norm
// BOXED: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([B]) : tensor<4x1xf32>
// BOXED-NOT: oneflow.boxing
// BOXED: return
oneflow.placement @mesh cpu [p = 2]
func.func @rms_norm() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(1)]) : tensor<4x6xf16>
  %s = oneflow.input "s" on @mesh sbp () -> ([S(0)]) : tensor<6xf16>
  %y, %inverse = oneflow.rms_norm %x scale %s dims_from 1 on @mesh sbp ([S(1)], [S(0)]) -> ([S(1)], [B]) {epsilon = 1.0e-5 : f64} : (tensor<4x6xf16>, tensor<6xf16>) -> (tensor<4x6xf16>, tensor<4x1xf32>)
  %0 = oneflow.relu %y on @mesh sbp ([S(1)]) -> ([S(1)]) : tensor<4x6xf16>
  return
}

// -----

// What is whole along its own dimension stays whole.

// CHECK-LABEL: func.func @whole
// CHECK: oneflow.softmax
// CHECK-NOT: oneflow.reduce
// BOXED-LABEL: func.func @whole
oneflow.placement @mesh cpu [p = 2]
func.func @whole() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0)]) : tensor<4x6xf32>
  %0 = oneflow.softmax %x dim 1 on @mesh sbp ([S(0)]) -> ([S(0)]) : tensor<4x6xf32>
  return
}
