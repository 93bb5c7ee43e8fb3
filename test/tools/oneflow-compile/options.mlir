// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// REQUIRES: oneflow-compile

// What the options of oneflow-compile promise, and where its output goes.

// RUN: not oneflow-compile %s --dim batch=2 -o %t.ofp 2>&1 | FileCheck %s --check-prefix=DIM
// DIM: error: --dim goes with .onnx models
// RUN: not oneflow-compile model.onnx --dim n=1 --dim n=2 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --dim n is given twice
// RUN: not oneflow-compile %s --explain -o - 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: error: --explain writes to standard output: expected -o with a file
// RUN: not oneflow-compile %s --explain --emit logical -o %t.mlir 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: --explain goes with --emit spread and later levels
// RUN: oneflow-compile %s --mesh dp=2 --emit spread -o %t.mlir
// RUN: not oneflow-compile %t.mlir --mesh dp=4 -o %t.ofp 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: error: the mesh of the module is dp=2, got: --mesh dp=4

// RUN: not oneflow-compile %s --mesh dp=2 --zero 1 -o %t.ofp 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: --zero goes with --train
// RUN: not oneflow-compile %s --train --loss mean --mesh dp=2 --zero 4 -o %t.ofp 2>&1 | FileCheck %s --check-prefix=STAGE
// STAGE: error: expected --zero 0, 1, 2 or 3, got: 4
// RUN: not oneflow-compile %s --train --loss mean --optimizer none --zero 1 -o %t.ofp 2>&1 | FileCheck %s --check-prefix=NO-OPTIMIZER
// NO-OPTIMIZER: error: --zero goes with --optimizer adamw or sgd
// RUN: not oneflow-compile %s --train --loss mean --mesh dp=2 --zero 1 -o %t.ofp 2>&1 | FileCheck %s --check-prefix=NO-VARIABLE
// NO-VARIABLE: error: zero 1: expected a training step with an optimizer's updates, got none

// A full disk is an error, on standard output as well as in a file.
// Reached by a link, so that a mistake here replaces the link only.
// RUN: ln -sf /dev/full %t.full
// RUN: not oneflow-compile %s -o %t.full 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not oneflow-compile %s -o - 2>&1 >/dev/full | FileCheck %s --check-prefix=FULL
// FULL-NOT: LLVM ERROR
// FULL: error: cannot write {{.*}}: No space left on device

// A link stays a link to the file that is written.
// RUN: rm -f %t.ofp && touch %t.ofp && ln -sf %t.ofp %t.link
// RUN: oneflow-compile %s -o %t.link && test -L %t.link && test -s %t.ofp

func.func @main() {
  %x = oneflow.input "x" : tensor<4xf32>
  %r = oneflow.exp %x : tensor<4xf32>
  oneflow.output "r" %r : tensor<4xf32>
  return
}
