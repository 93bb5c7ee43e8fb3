// RUN: oneflow-opt %s -oneflow-convert-to-inference | FileCheck %s

oneflow.variable @count : tensor<f32>

// CHECK-LABEL: func @inference
func.func @inference(%step: tensor<i64>) {
  // CHECK-NEXT: %[[X:.*]] = oneflow.input "x"
  %x = oneflow.input "x" : tensor<8xf32>
  %0 = oneflow.dropout %x {ratio = 0.5 : f64, seed = 1 : i64, id = 0 : i64} : tensor<8xf32>
  // CHECK-NEXT: oneflow.output "y" %[[X]]
  oneflow.output "y" %0 : tensor<8xf32>
  // With a step, it is not the identity.
  // CHECK-NEXT: %[[D:.*]] = oneflow.dropout %[[X]] at
  %1 = oneflow.dropout %x at %step : tensor<i64> {ratio = 0.5 : f64, seed = 1 : i64, id = 1 : i64} : tensor<8xf32>
  // CHECK-NEXT: oneflow.output "z" %[[D]]
  oneflow.output "z" %1 : tensor<8xf32>
  return
}

// CHECK-LABEL: func @training
func.func @training() {
  %x = oneflow.input "x" : tensor<f32>
  // CHECK: oneflow.dropout
  %0 = oneflow.dropout %x {ratio = 0.5 : f64, seed = 1 : i64, id = 0 : i64} : tensor<f32>
  oneflow.update @count, %0 : tensor<f32>
  return
}
