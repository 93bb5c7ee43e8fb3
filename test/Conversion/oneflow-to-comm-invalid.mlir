// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: oneflow-opt %s --convert-oneflow-to-comm --split-input-file -verify-diagnostics

// expected-error@+1 {{expected a logical function of one block, got: 0 blocks}}
func.func private @declared()

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-error@+1 {{expected tensors to come by oneflow.input and go by oneflow.output, got a function of type '() -> tensor<4xf32>'}}
func.func @returns() -> tensor<4xf32> {
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-error@+1 {{go by oneflow.output, got a function of type '(tensor<4xf32>) -> ()'}}
func.func @takes(%x: tensor<4xf32>) {
  return
}

// -----

// expected-error@+1 {{expected a logical function of one block, got: 2 blocks}}
func.func @branches() {
  cf.br ^bb1
^bb1:
  return
}
