//===- Comm/Transforms/Passes.h - per-rank passes ---------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes inside the per-rank dialect; documented in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_COMM_TRANSFORMS_PASSES_H
#define ONEFLOW_DIALECT_COMM_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace oneflow::comm {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "oneflow/Dialect/Comm/Transforms/Passes.h.inc"

} // namespace oneflow::comm

#endif // ONEFLOW_DIALECT_COMM_TRANSFORMS_PASSES_H
