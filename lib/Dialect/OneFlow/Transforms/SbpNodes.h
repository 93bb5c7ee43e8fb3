//===- SbpNodes.h - nodes as users name them --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node of the source model may have become several ops: which values are its
// operands and results.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPNODES_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPNODES_H

#include "Spread.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace oneflow {

/// The ops of one name in a row. Later ops of that name are its gradient, which
/// computes other tensors.
struct SbpNode {
  /// A value that the node takes from outside.
  struct Operand {
    /// Of the variable, input or node that it comes from; may be empty.
    std::string name;
    llvm::SmallVector<mlir::OpOperand *> uses;
  };

  /// In order.
  llvm::SmallVector<mlir::Operation *> ops;
  /// In order of their first use. All reads of a variable are one operand, and
  /// so are the parts of what was taken apart (kPackedAttrName); what the node
  /// itself holds constant is none.
  llvm::SmallVector<Operand> operands;
  /// Of its leaf ops, in order: those that others use, and the last. Several
  /// where the op was taken apart.
  llvm::SmallVector<llvm::SmallVector<mlir::OpResult, 1>> results;
};

/// The named nodes of a function, in order.
llvm::MapVector<llvm::StringRef, SbpNode> nodesOf(mlir::func::FuncOp function);

/// The variable that an op reads, updates or has the gradient of, null for
/// others.
mlir::FlatSymbolRefAttr variableOf(mlir::Operation *op);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPNODES_H
