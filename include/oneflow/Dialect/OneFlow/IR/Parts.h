//===- Parts.h - tensors that are several variables -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The wholes that variables of a module are parts of: what the user knows as
// one tensor, and what `oneflow.variable`'s `part of` refers to.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_PARTS_H
#define ONEFLOW_DIALECT_ONEFLOW_IR_PARTS_H

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/IR/BuiltinOps.h"

namespace oneflow {

/// On the parts of an op that oneflow-unpack-variables took apart: a number
/// that tells which ops were one. Gone once signatures are chosen.
inline constexpr llvm::StringLiteral kPackedAttrName = "oneflow.packed";

/// A tensor that a module holds as parts.
struct Whole {
  mlir::StringAttr name;
  /// Of the whole.
  mlir::RankedTensorType type;
  int64_t dim;
  /// By their offsets along `dim`; never empty.
  llvm::SmallVector<VariableOp> parts;
};

/// The wholes of a module, in the order of their first parts. Fails, with
/// errors on parts, where those of one whole differ in what they say of it, in
/// element type or in being trainable, where they leave gaps or overlap, or
/// where the whole's name is that of another variable.
mlir::FailureOr<llvm::SmallVector<Whole>> collectWholes(mlir::ModuleOp module);

} // namespace oneflow

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_PARTS_H
