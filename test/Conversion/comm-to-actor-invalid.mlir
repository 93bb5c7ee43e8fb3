// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: oneflow-opt %s --convert-comm-to-actor --split-input-file -verify-diagnostics

// Programs of another level, and what --comm-verify-local would have refused.

func.func @logical() {
  // expected-error@+1 {{expected only ops of the comm dialect in a per-rank program: run --convert-oneflow-to-comm first}}
  %x = oneflow.input "x" : tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{expected a per-rank program of one block without arguments}}
func.func private @declared()

// -----

func.func @calls() {
  // expected-error@+1 {{expected only ops of the comm dialect}}
  func.call @calls() : () -> ()
  return
}

// -----

oneflow.placement @mesh cpu [dp = 3]
func.func @no_extents() {
  // expected-error@+1 {{expected an extent from a comm.scalar for each of the 1 dynamic dimensions of 'tensor<?xf32>'}}
  %x = comm.input "x" <tensor<4xf32>, @mesh, <[S(0)]>> : tensor<?xf32>
  return
}

// -----

oneflow.placement @mesh cpu [dp = 3]
// expected-error@+1 {{expected results as comm.output}}
func.func @returns() -> tensor<4xf32> {
  %x = comm.input "x" <tensor<4xf32>, @mesh, <[B]>> : tensor<4xf32>
  return %x : tensor<4xf32>
}
