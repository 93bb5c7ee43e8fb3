//===- PrecisionList.h - who computes in what ------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The list by which mixed precision decides which ops compute in the low type
// and which in f32. It begins as what practice has shown to be safe and worth
// it, and the user changes entries.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ONEFLOW_TRANSFORMS_PRECISIONLIST_H
#define ONEFLOW_DIALECT_ONEFLOW_TRANSFORMS_PRECISIONLIST_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace oneflow {

enum class OpPrecision {
  /// In the low type, whatever the operands are.
  Low,
  /// In f32, whatever the operands are.
  High,
  /// In the type of its operands, f32 where they differ.
  Follow
};

class PrecisionList {
public:
  /// The defaults: products low; exponentials, logarithms, roots,
  /// normalizations, reductions and losses high; all others follow.
  PrecisionList();

  /// The defaults changed by `text`, such as "matmul=high,gelu=low": names of
  /// ops of the oneflow dialect, which `context` has loaded, and low, high or
  /// follow. nullopt, with what is wrong in `mistake`, where it is not that.
  static std::optional<PrecisionList>
  parse(mlir::MLIRContext *context, llvm::StringRef text, std::string &mistake);

  /// By the op's name without its dialect.
  OpPrecision of(mlir::Operation *op) const;

private:
  llvm::StringMap<OpPrecision> precisions;
};

} // namespace oneflow

#endif // ONEFLOW_DIALECT_ONEFLOW_TRANSFORMS_PRECISIONLIST_H
