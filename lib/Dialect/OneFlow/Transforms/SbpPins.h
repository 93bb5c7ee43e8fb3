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

#include "SbpNodes.h"
#include "oneflow/Sbp/Hints.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace oneflow {

/// One axis of a state that is fixed.
struct SbpPin {
  sbp::Sbp sbp;
  /// Completes "pinned by ...".
  std::string reason;
};

/// How the reason of a pin by `oneflow.sharding` begins.
constexpr llvm::StringLiteral kShardingReason = "the model's sharding as ";

/// One entry per axis of the placement; empty ones are free.
using StatePins = llvm::SmallVector<std::optional<SbpPin>, 2>;

/// What is fixed of an op: one entry per operand and result. An entry of no
/// axes is free altogether.
struct OpPins {
  llvm::SmallVector<StatePins> operands, results;
};

/// The pins of a module.
class SbpPins {
public:
  /// Collects what the module carries (storages, signatures, `oneflow.sbp`,
  /// `oneflow.sharding`) and what `hints` ask for: texts that sbp::parseHint
  /// reads, perhaps split at the commas within their brackets. Fails, with
  /// errors, where hints cannot be read, match nothing, contradict each other
  /// or what the module carries, or ask a tensor for a state that it cannot
  /// have.
  static mlir::FailureOr<SbpPins> collect(mlir::ModuleOp module,
                                          llvm::ArrayRef<std::string> hints);

  /// Removes `oneflow.sbp` and `oneflow.sharding`: once signatures say it all,
  /// they would only grow stale.
  static void eraseAttributes(mlir::ModuleOp module);

  /// Null when nothing of the op is pinned. Reads, updates and gradients are
  /// never: they follow their variable.
  const OpPins *lookup(mlir::Operation *op) const;

  /// The pins of how a variable lies between steps, one entry per axis.
  const StatePins &storageOf(VariableOp variable) const;

private:
  explicit SbpPins(mlir::ModuleOp module) : module(module) {}

  /// A state that may be pinned.
  struct Target {
    /// A variable, or the op that has the operand or result.
    mlir::Operation *op;
    enum class Kind : uint8_t { Storage, Operand, Result } kind;
    unsigned index = 0;
  };

  mlir::LogicalResult pinStorages();
  /// SbpShardings.cpp
  mlir::LogicalResult pinShardings();
  mlir::LogicalResult pinAttributes();
  mlir::LogicalResult applyHint(const sbp::Hint &hint);
  /// The first output whose name the pattern matches; null where there is none.
  OutputOp findOutput(llvm::StringRef pattern);
  mlir::LogicalResult pinBySignatures();
  mlir::LogicalResult checkLikenesses();
  /// SbpPinChecks.cpp: whether the tensors can lie so.
  mlir::LogicalResult checkStates();
  mlir::LogicalResult checkState(const Target &target);
  /// "part w.0 of the whole 'w' of 4x6, "; empty where the target is no part.
  static std::string describePart(const Target &target);
  mlir::LogicalResult defaultInputs();
  mlir::LogicalResult defaultTime(mlir::func::FuncOp function);

  /// What a hint without endpoint means on an op: its result, or its operand
  /// if it has none.
  static Target ownTarget(mlir::Operation *op);
  static Target resultTarget(mlir::OpResult result);
  static Target operandTarget(mlir::OpOperand &operand);
  /// "operand 1 ", empty where there is nothing to confuse it with.
  static std::string nameOf(const Target &target);
  static sbp::Shape shapeOf(const Target &target);
  static mlir::FailureOr<PlacementOp> placementOf(const Target &target);
  StatePins &stateOf(const Target &target);

  /// Pins what `hint` says, for `reason`.
  mlir::LogicalResult pinHint(const Target &target, const sbp::Hint &hint,
                              const std::string &reason);

  /// Pins one axis; an error at the target where it is pinned otherwise, in
  /// which a note names `use`, if given, as what asks for it.
  mlir::LogicalResult pin(const Target &target, PlacementOp placement,
                          size_t axis, SbpPin pin,
                          mlir::Operation *use = nullptr);

  mlir::ModuleOp module;
  llvm::MapVector<mlir::Operation *, OpPins> pins;
  llvm::MapVector<mlir::Operation *, StatePins> storages;
  /// Mistakes that were reported of one part and are those of others, too.
  llvm::StringSet<> reported;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPPINS_H
