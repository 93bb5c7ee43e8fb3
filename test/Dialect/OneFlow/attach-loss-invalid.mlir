// RUN: oneflow-opt %s -split-input-file -verify-diagnostics -oneflow-attach-loss=output=p

// expected-error @+1 {{expected a function @main}}
module {
}

// -----

// expected-error @+1 {{expected an output 'p', got: q, r}}
func.func @main() {
  %x = oneflow.input "x" : tensor<4x3xf32>
  oneflow.output "q" %x : tensor<4x3xf32>
  oneflow.output "r" %x : tensor<4x3xf32>
  return
}

// -----

func.func @main() {
  %x = oneflow.input "x" : tensor<4xf32>
  // expected-error @+1 {{expected static float logits with a batch and a class dimension, got: 'tensor<4xf32>'}}
  oneflow.output "p" %x : tensor<4xf32>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{expected the name 'labels' to be free for the class labels}}
  %x = oneflow.input "labels" : tensor<4x3xf32>
  oneflow.output "p" %x : tensor<4x3xf32>
  return
}

// -----

func.func @main() {
  return
}
// expected-error @+1 {{expected the name @train to be free for what attaching a loss makes}}
func.func @train() {
  return
}
