// RUN: oneflow-opt %s -split-input-file -verify-diagnostics -oneflow-differentiate | FileCheck %s

// expected-error @+1 {{expected a function @train to differentiate}}
module {
}

// -----

// expected-error @+1 {{expected an output 'loss' to differentiate}}
func.func @train() {
  return
}

// -----

func.func @train() {
  %x = oneflow.input "x" : tensor<4xf32>
  // expected-error @+1 {{expected a float scalar as the loss, got: 'tensor<4xf32>'}}
  oneflow.output "loss" %x : tensor<4xf32>
  return
}

// -----

oneflow.variable @w : tensor<f32> {trainable}
func.func @train() {
  %w = oneflow.read @w : tensor<f32>
  // expected-error @+1 {{'oneflow.gelu_grad' op expected an op with a gradient between the trainable variables and the loss}}
  %0 = oneflow.gelu_grad <erf> %w, %w : tensor<f32>
  oneflow.output "loss" %0 : tensor<f32>
  return
}

// -----

// An op without a gradient does not matter where nothing trainable flows.
oneflow.variable @w : tensor<f32> {trainable}
// expected-remark @+1 {{the loss does not depend on this variable: its gradient is zero}}
oneflow.variable @unused : tensor<2xf32> {trainable}
// CHECK-LABEL: func @train
// CHECK: oneflow.gradient @w
// CHECK: %[[ZERO:.*]] = oneflow.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK: oneflow.gradient @unused, %[[ZERO]]
func.func @train() {
  %x = oneflow.input "x" : tensor<f32>
  %w = oneflow.read @w : tensor<f32>
  %unused = oneflow.read @unused : tensor<2xf32>
  %0 = oneflow.gelu_grad <erf> %x, %x : tensor<f32>
  %1 = oneflow.mul %0, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
  oneflow.output "loss" %1 : tensor<f32>
  return
}
