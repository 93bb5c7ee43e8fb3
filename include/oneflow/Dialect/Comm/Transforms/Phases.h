//===- oneflow/Dialect/Comm/Transforms/Phases.h - when ops act --*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ops of a per-rank program act once per micro-batch and which once per
// step, and which passes through the model they belong to. All of it follows
// from the values: what depends on a part of the batch is repeated, what
// depends on an accumulation comes behind it, and the forward pass is what the
// outputs need. Nothing is changed here.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_COMM_TRANSFORMS_PHASES_H
#define ONEFLOW_DIALECT_COMM_TRANSFORMS_PHASES_H

#include "oneflow/Dialect/Comm/IR/Comm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace oneflow::comm {

/// The parts of a step, in the order in which they depend on each other.
enum class PassKind : uint8_t {
  /// Once, before the micro-batches.
  Before,
  /// Per micro-batch. Without pipeline stages this is all of it.
  Forward,
  Backward,
  /// What only gradients of variables need, where it is apart from Backward.
  Weights,
  /// Once, behind them.
  After
};

/// Ops that act together, on one placement.
struct Phase {
  PassKind kind;
  mlir::FlatSymbolRefAttr placement;
  /// "forward of @stage0".
  std::string name;
  /// Actions per step.
  int64_t actions;

  bool isRepeated() const {
    return kind != PassKind::Before && kind != PassKind::After;
  }
};

class Phases {
public:
  /// Where the module's `oneflow.schedule` is zero-bubble, the backward pass is
  /// cut in two.
  explicit Phases(mlir::func::FuncOp function);

  /// False when no placement has a time axis: there is one phase then, without
  /// a name, of one action.
  bool hasMicroBatches() const { return microBatches > 1; }
  int64_t getMicroBatches() const { return microBatches; }
  /// More than one placement whose ranks share no rank.
  bool isPipelined() const { return pipelined; }

  /// In the order of PassKind, and within one kind of first ops.
  llvm::ArrayRef<Phase> getPhases() const { return phases; }
  /// The phase of an op: an index into getPhases(). Reads and scalars have
  /// none.
  unsigned of(mlir::Operation *op) const { return phaseOf.lookup(op); }

private:
  void findRepeated(mlir::func::FuncOp function);
  PassKind kindOf(mlir::Operation *op) const;
  void findForward(mlir::func::FuncOp function);
  void findWeights(mlir::func::FuncOp function);

  int64_t microBatches = 1;
  bool pipelined = false;
  llvm::DenseSet<mlir::Operation *> repeated, feedsRepeated, forward, weights;
  llvm::SmallVector<Phase> phases;
  llvm::DenseMap<mlir::Operation *, unsigned> phaseOf;
};

/// Where an op runs; that of the producer for an exchange.
mlir::FlatSymbolRefAttr placementOf(mlir::Operation *op);

/// An exchange between placements that share no rank.
bool isTransfer(mlir::Operation *op);

} // namespace oneflow::comm

#endif // ONEFLOW_DIALECT_COMM_TRANSFORMS_PHASES_H
