//===- SbpPins.h - what SBP inference must not change -----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the user fixed, by hints and in the input, and what follows from it for
// variables and inputs before anything is chosen.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPPINS_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPPINS_H

#include "Spread.h"
#include "oneflow/Sbp/Hints.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace oneflow {

/// One axis of a state that is fixed.
struct SbpPin {
  sbp::Sbp sbp;
  /// Completes "pinned by ...".
  std::string reason;
};

/// One entry per axis of the placement; empty ones are free.
using StatePins = llvm::SmallVector<std::optional<SbpPin>, 2>;

/// The pins of a module. Those of an op hold for all its results, or for its
/// operand if it has no result.
class SbpPins {
public:
  /// Fails, with errors, where hints cannot be read, match nothing, contradict
  /// each other or what the input carries, or ask a variable for an illegal
  /// state.
  static mlir::FailureOr<SbpPins> collect(mlir::ModuleOp module,
                                          llvm::ArrayRef<std::string> hints);

  /// Null when nothing is pinned.
  const StatePins *lookup(mlir::Operation *op) const;

  /// How a variable lies between steps.
  sbp::NdSbp storageOf(VariableOp variable) const;

private:
  explicit SbpPins(mlir::ModuleOp module) : module(module) {}

  mlir::LogicalResult pinStorages();
  mlir::LogicalResult applyHint(const sbp::Hint &hint);
  mlir::LogicalResult pinBySignatures();
  mlir::LogicalResult finishVariables();
  mlir::LogicalResult
  finishVariable(VariableOp variable,
                 llvm::SmallPtrSetImpl<mlir::Operation *> &open);
  mlir::LogicalResult followVariables();
  mlir::LogicalResult defaultInputs();

  /// Pins one axis, with an error on the op where it is pinned otherwise; a
  /// note names `use`, if given, as what asks for it.
  mlir::LogicalResult pin(mlir::Operation *op, PlacementOp placement,
                          size_t axis, SbpPin pin,
                          mlir::Operation *use = nullptr);

  mlir::ModuleOp module;
  llvm::MapVector<mlir::Operation *, StatePins> pins;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPPINS_H
