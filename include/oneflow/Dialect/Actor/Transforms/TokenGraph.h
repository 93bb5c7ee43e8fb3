//===- TokenGraph.h - what happens before what ------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order that registers and the order of communications impose on the tasks
// of a graph, and what each buffer is used by.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ACTOR_TRANSFORMS_TOKENGRAPH_H
#define ONEFLOW_DIALECT_ACTOR_TRANSFORMS_TOKENGRAPH_H

#include "oneflow/Dialect/Actor/IR/Actor.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace oneflow::actor {

/// One use of a buffer.
struct Use {
  mlir::Operation *op;
  unsigned task;
  /// Place of the op in its task.
  unsigned position;
  bool writes;
};

class TokenGraph {
public:
  explicit TokenGraph(GraphOp graph);

  mlir::ArrayRef<TaskOp> getTasks() const { return tasks; }
  /// The tasks of a cycle, in order; empty when there is none.
  mlir::SmallVector<TaskOp> findCycle() const;
  /// True when a ends before b begins in every firing order. Requires no cycle.
  bool isBefore(const Use &a, const Use &b) const;
  /// All uses of a buffer, in task order. A register is used by the tasks that
  /// wait for it or post it, through the ops in them.
  mlir::ArrayRef<Use> getUses(mlir::Value buffer) const;
  /// Every use of a is before every use of b or the reverse: they may share
  /// bytes.
  bool areOrdered(mlir::Value a, mlir::Value b) const;
  /// Task that posts a register, or -1.
  int getProducer(mlir::Value reg) const;

private:
  bool allBefore(mlir::Value a, mlir::Value b) const;

  mlir::SmallVector<TaskOp> tasks;
  std::vector<mlir::SmallVector<unsigned>> successors;
  /// behind[a] holds the tasks that begin after a has ended.
  std::vector<llvm::BitVector> behind;
  llvm::DenseMap<mlir::Value, mlir::SmallVector<Use>> uses;
  llvm::DenseMap<mlir::Value, unsigned> producers;
};

/// Whether the launch may read `operand` and write `result` (places among its
/// buffers) in the same bytes, by the `oneflow.may_share` attribute of its
/// kernel.
bool mayShare(LaunchOp launch, unsigned operand, unsigned result);

} // namespace oneflow::actor

#endif // ONEFLOW_DIALECT_ACTOR_TRANSFORMS_TOKENGRAPH_H
