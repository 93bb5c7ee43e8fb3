//===- Stages.h - a per-rank program cut into tasks -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which ops of a per-rank program become one task, and in which order
// tasks depend on each other. No IR is changed here.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_CONVERSION_COMMTOACTOR_STAGES_H
#define ONEFLOW_LIB_CONVERSION_COMMTOACTOR_STAGES_H

#include "oneflow/Dialect/Comm/Transforms/Phases.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <memory>

namespace oneflow {

/// A task in the making.
struct Stage {
  enum class Kind { Input, Chain, Transfer, Output };

  Kind kind;
  mlir::FlatSymbolRefAttr placement;
  /// In Phases.
  unsigned phase = 0;
  /// Kernels and accumulations in program order, or the single input, transfer
  /// or output.
  mlir::SmallVector<mlir::Operation *> ops;
  /// Variables that get their new value when the kernels are done.
  mlir::SmallVector<comm::UpdateOp> updates;
  unsigned index = 0;
};

/// The stages of a function. A kernel's depth is the largest number of
/// communications on a way to it; kernels of one depth and phase make one
/// chain, so that a chain never waits in its middle. The updates of a variable
/// come in a chain no shallower than any reader of the old value.
class Stages {
public:
  explicit Stages(mlir::func::FuncOp function);

  const comm::Phases &getPhases() const { return phases; }

  /// In an order that respects all dependences.
  llvm::ArrayRef<std::unique_ptr<Stage>> getStages() const { return stages; }
  /// The stage that makes a value; null for variables.
  Stage *getProducer(mlir::Value value) const;
  /// The stages that use a value, by first use, without repetitions.
  mlir::SmallVector<Stage *> getConsumers(mlir::Value value) const;
  /// Pairs (reader of a variable's old value, its updater) that no chain of
  /// values orders.
  mlir::SmallVector<std::pair<Stage *, Stage *>> getUnorderedUpdates() const;

private:
  unsigned operandDepth(mlir::Operation *op) const;
  void assignDepths();
  void assignUpdates();
  void makeStages();
  Stage *addStage(Stage::Kind kind, mlir::FlatSymbolRefAttr placement,
                  unsigned phase);

  mlir::func::FuncOp function;
  comm::Phases phases;
  /// Of values that are not variables.
  llvm::DenseMap<mlir::Value, unsigned> depths;
  /// Of updates: the chain they come in.
  llvm::DenseMap<mlir::Operation *, unsigned> updateDepths;
  std::vector<std::unique_ptr<Stage>> stages;
  llvm::DenseMap<mlir::Operation *, Stage *> stageOf;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_CONVERSION_COMMTOACTOR_STAGES_H
