//===- oneflow/Dialect/Comm/IR/Comm.h - the per-rank dialect ----*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declarations of the `comm` dialect: what each rank does. Placements and
// variables are still those of the `oneflow` dialect: they are the same thing
// at every level.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_COMM_IR_COMM_H
#define ONEFLOW_DIALECT_COMM_IR_COMM_H

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include "oneflow/Dialect/Comm/IR/CommDialect.h.inc"
#include "oneflow/Dialect/Comm/IR/CommEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "oneflow/Dialect/Comm/IR/CommAttrs.h.inc"

#define GET_OP_CLASSES
#include "oneflow/Dialect/Comm/IR/CommOps.h.inc"

namespace oneflow::comm {

/// The scalars that give the dynamic extents of a local tensor, one per dynamic
/// dimension, read off the op that made it. Empty for static types.
mlir::SmallVector<mlir::Value> getExtents(mlir::Value tensor);

/// The largest extents that a rank may hold of a local tensor: what memory is
/// planned for.
mlir::SmallVector<int64_t> getBounds(mlir::Value tensor);

/// True for ops that communicate.
bool isCommunication(mlir::Operation *op);

} // namespace oneflow::comm

#endif // ONEFLOW_DIALECT_COMM_IR_COMM_H
