// RUN: oneflow-opt %s -split-input-file -verify-diagnostics -oneflow-apply-optimizer | FileCheck %s

// A step that is counted already is not counted twice.
oneflow.variable @w : tensor<f32> {trainable}
oneflow.variable @optimizer.step : tensor<i64>
// CHECK-LABEL: func @train
// CHECK: %[[STEP:.*]] = oneflow.add
// CHECK: oneflow.update @optimizer.step, %[[STEP]]
// CHECK-NOT: oneflow.update @optimizer.step
// CHECK: oneflow.adamw_update %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[STEP]],
func.func @train() {
  %one = oneflow.constant dense<1> : tensor<i64>
  %0 = oneflow.read @optimizer.step : tensor<i64>
  %1 = oneflow.add %0, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  oneflow.update @optimizer.step, %1 : tensor<i64>
  %2 = oneflow.input "dw" : tensor<f32>
  oneflow.gradient @w, %2 : tensor<f32>
  return
}

// -----

oneflow.variable @w : tensor<f32> {trainable}
// expected-error @+1 {{expected a variable of type 'tensor<i64>' under the name @optimizer.step}}
oneflow.variable @optimizer.step : tensor<f32>
func.func @train() {
  %0 = oneflow.input "dw" : tensor<f32>
  oneflow.gradient @w, %0 : tensor<f32>
  return
}

// -----

oneflow.variable @w : tensor<f32> {trainable}
func.func @train() {
  %0 = oneflow.input "dw" : tensor<f32>
  // expected-error @+1 {{expected no update of @w, which the optimizer updates}}
  oneflow.update @w, %0 : tensor<f32>
  oneflow.gradient @w, %0 : tensor<f32>
  return
}

// -----

oneflow.variable @w : tensor<f32> {trainable}
// expected-error @+1 {{expected the name @w.second_moment to be free for the optimizer's state}}
oneflow.variable @w.second_moment : tensor<f32>
func.func @train() {
  %0 = oneflow.input "dw" : tensor<f32>
  oneflow.gradient @w, %0 : tensor<f32>
  return
}
