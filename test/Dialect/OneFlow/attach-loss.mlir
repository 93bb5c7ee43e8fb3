// RUN: oneflow-opt %s -split-input-file -oneflow-attach-loss=output=p | FileCheck %s
// RUN: oneflow-opt %s -split-input-file -oneflow-attach-loss="output=p loss=mean" | FileCheck %s --check-prefix=AVERAGE

oneflow.variable @w : tensor<4x3xf32> {trainable}
// The counter of the steps is declared because of the dropout.
// CHECK: oneflow.variable @optimizer.step : tensor<i64>

// CHECK-LABEL: func.func @eval
// CHECK-NOT: labels
// CHECK: oneflow.softmax
// CHECK: oneflow.output "unrelated"
// CHECK: oneflow.output "p"

// CHECK-LABEL: func.func @train
// CHECK-DAG: %[[OLD:.*]] = oneflow.read @optimizer.step
// CHECK-DAG: %[[ONE:.*]] = oneflow.constant dense<1> : tensor<i64>
// CHECK: %[[STEP:.*]] = oneflow.add %[[OLD]], %[[ONE]]
// CHECK: oneflow.update @optimizer.step, %[[STEP]]
// CHECK: %[[X:.*]] = oneflow.input "x"
// CHECK: %[[D:.*]] = oneflow.dropout %[[X]] at %[[STEP]] : tensor<i64>
// CHECK: %[[LOGITS:.*]] = oneflow.matmul %[[D]]
// CHECK-NOT: softmax
// CHECK: %[[LABELS:.*]] = oneflow.input "labels" : tensor<16xi64>
// CHECK: %[[LOSS:.*]], %{{.*}} = oneflow.cross_entropy %[[LOGITS]], %[[LABELS]]
// CHECK: %[[SUM:.*]] = oneflow.reduce <sum> %[[LOSS]] dims [0] : (tensor<16xf32>) -> tensor<f32>
// CHECK: %[[COUNT:.*]] = oneflow.constant dense<1.600000e+01> : tensor<f32>
// CHECK: %[[MEAN:.*]] = oneflow.div %[[SUM]], %[[COUNT]]
// CHECK-NOT: unrelated
// CHECK: oneflow.output "loss" %[[MEAN]] : tensor<f32>
// CHECK-NEXT: return

// AVERAGE-LABEL: func.func @train
// AVERAGE: %[[P:.*]] = oneflow.softmax
// AVERAGE: oneflow.reduce <sum> %[[P]] dims [0, 1] : (tensor<16x3xf32>) -> tensor<f32>
// AVERAGE: oneflow.constant dense<4.800000e+01> : tensor<f32>
// AVERAGE: oneflow.output "loss"
func.func @main() {
  %x = oneflow.input "x" : tensor<16x4xf32>
  %w = oneflow.read @w : tensor<4x3xf32>
  %0 = oneflow.dropout %x {ratio = 0.25 : f64, seed = 3 : i64, id = 7 : i64} : tensor<16x4xf32>
  %1 = oneflow.matmul %0, %w : (tensor<16x4xf32>, tensor<4x3xf32>) -> tensor<16x3xf32>
  %2 = oneflow.softmax %1 dim 1 : tensor<16x3xf32>
  %3 = oneflow.exp %2 : tensor<16x3xf32>
  oneflow.output "unrelated" %3 : tensor<16x3xf32>
  oneflow.output "p" %2 : tensor<16x3xf32>
  return
}

// -----

// Sequences: every position is a sample. The loss is averaged in f32.
// CHECK-LABEL: func.func @train
// CHECK: %[[LABELS:.*]] = oneflow.input "labels" : tensor<2x5xi64>
// CHECK-DAG: oneflow.reshape %{{.*}} : (tensor<2x5x3xf16>) -> tensor<10x3xf16>
// CHECK-DAG: oneflow.reshape %[[LABELS]] : (tensor<2x5xi64>) -> tensor<10xi64>
// CHECK: oneflow.cross_entropy
// CHECK: oneflow.cast %{{.*}} : (tensor<10xf16>) -> tensor<10xf32>
func.func @main() {
  %x = oneflow.input "x" : tensor<2x5x3xf16>
  %0 = oneflow.log_softmax %x dim 2 : tensor<2x5x3xf16>
  oneflow.output "p" %0 : tensor<2x5x3xf16>
  return
}
