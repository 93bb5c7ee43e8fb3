//===- InPlace.h - results in the place of operands -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which buffers are planned as one: a kernel's result in the place of an
// operand that it reads last, where its code allows that.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ACTOR_TRANSFORMS_INPLACE_H
#define ONEFLOW_LIB_DIALECT_ACTOR_TRANSFORMS_INPLACE_H

#include "oneflow/Dialect/Actor/Transforms/Lifetimes.h"

namespace oneflow::actor {

/// Sets of buffers in one place, each set known by one of its members, the
/// root. Only buffers of the arena are in sets, and only those that take bytes.
class InPlaceSharing {
public:
  InPlaceSharing(const TokenGraph &tokens,
                 mlir::SymbolTableCollection &symbols);

  /// The root of the set of a buffer, null for one that is in none.
  mlir::Value find(mlir::Value buffer) const { return roots.lookup(buffer); }
  /// The buffers of a root, in the order in which they take its place.
  mlir::ArrayRef<mlir::Value> getMembers(mlir::Value root) const {
    auto found = members.find(root);
    return found == members.end() ? mlir::ArrayRef<mlir::Value>()
                                  : mlir::ArrayRef<mlir::Value>(found->second);
  }
  /// Of all members together, on the ranks of a group.
  Lifetime getLifetime(mlir::Value root, unsigned group) const;

private:
  bool canTake(unsigned task, unsigned position, mlir::Value root,
               mlir::Value target) const;
  /// `before`, and after it `after`: in its place from one op on.
  static Lifetime join(const Lifetime &before, const Lifetime &after);

  const TokenGraph &tokens;
  llvm::DenseMap<mlir::Value, mlir::Value> roots;
  llvm::DenseMap<mlir::Value, mlir::SmallVector<mlir::Value>> members;
};

} // namespace oneflow::actor

#endif // ONEFLOW_LIB_DIALECT_ACTOR_TRANSFORMS_INPLACE_H
