//===- oneflow/Pipelines/Explain.h - why data moves -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The communication of a spread module, op by op: what --explain prints.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_PIPELINES_EXPLAIN_H
#define ONEFLOW_PIPELINES_EXPLAIN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace oneflow {

/// Prints one line per boxing of `module` (between --oneflow-insert-boxing and
/// --convert-oneflow-to-comm): the function, whether it is part of the forward
/// pass, the backward pass or the optimizer, the step, the states, the source
/// nodes that caused it, the bytes that cross between ranks in all, and the
/// predicted time on the algebra's default links. The last line of each
/// function has the step `total`: the sums of bytes and of time, the largest
/// peak, and the number of steps. Tab-separated below a header line, so that a
/// script can read it.
void explainBoxing(mlir::ModuleOp module, llvm::raw_ostream &out);

} // namespace oneflow

#endif // ONEFLOW_PIPELINES_EXPLAIN_H
