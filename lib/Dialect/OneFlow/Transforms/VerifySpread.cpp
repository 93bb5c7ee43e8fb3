//===- VerifySpread.cpp - phase gate of the logical level -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// States what must hold before each rank gets its own program:
//   1. every variable has a placement and a storage that is legal there
//   2. every op has a placement and a signature that its rule allows
//   3. no op needs decomposition
//   4. every operand comes as its op wants it
//   5. reads and updates agree with their variable
//   6. inputs have distinct names, and so have outputs
//   7. variables that are parts tile their wholes
//
//===----------------------------------------------------------------------===//

#include "Spread.h"

#include "oneflow/Dialect/OneFlow/IR/Parts.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace oneflow {
#define GEN_PASS_DEF_VERIFYSPREADPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

static LogicalResult verifyVariable(VariableOp variable) {
  if (!variable.getPlacementAttr())
    return variable.emitOpError("expected a placement, got none; "
                                "oneflow-place gives every variable one");
  PlacementOp placement =
      lookupPlacement(variable, variable.getPlacementAttr());
  if (!placement)
    return variable.emitOpError("expected a placement, got: ")
           << variable.getPlacementAttr();
  NdSbpAttr storage = variable.getStorageAttr();
  if (!storage)
    return variable.emitOpError("expected a storage, got none; "
                                "oneflow-infer-sbp chooses one");
  RankedTensorType type = variable.getTensorType();
  sbp::Shape shape(type.getShape().begin(), type.getShape().end());
  if (auto reason =
          sbp::checkLegal(storage.toNdSbp(), shape, placement.getMesh()))
    return variable.emitOpError("storage: ") << *reason;
  for (const sbp::Sbp &axis : storage.getAxes())
    if (axis.isPartial())
      return variable.emitOpError(
                 "expected a storage of splits and broadcasts, "
                 "got: ")
             << sbp::toString(storage.toNdSbp());
  return success();
}

static LogicalResult verifyDecomposed(SpreadOpInterface op) {
  if (isa<BoxingOp>(op.getOperation()))
    return success();
  sbp::NdSignature signature = op.getSignatureAttr().toNdSignature();
  SmallVector<size_t> axes = decomposedAxes(op.getSbpRule(), signature);
  if (axes.empty())
    return success();
  return op->emitOpError("signature ")
         << sbp::toString(signature) << " splits, along '"
         << axisName(*requirePlacement(op), axes.front())
         << "', what the op needs whole; oneflow-decompose-split replaces it";
}

static LogicalResult verifyOperands(SpreadOpInterface op) {
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<SpreadOpInterface> producer = requireProducer(operand);
    if (failed(producer))
      return failure();
    // The producer has its own error where it lacks these.
    PlacementOp placement =
        lookupPlacement(*producer, producer->getPlacementAttr());
    SignatureAttr signature = producer->getSignatureAttr();
    unsigned result = cast<OpResult>(operand.get()).getResultNumber();
    if (!placement || !signature || signature.getResults().size() <= result)
      continue;
    SpreadState from{placement, signature.getResults()[result]};
    SpreadState to{
        *requireOperandPlacement(op),
        op.getSignatureAttr().getOperands()[operand.getOperandNumber()]};
    if (from.sbp.getAxes().size() != placement.getMesh().size() ||
        feeds(from, to, operand.get()))
      continue;
    InFlightDiagnostic error = op->emitOpError("expected operand ")
                               << operand.getOperandNumber() << " as "
                               << sbp::toString(to.sbp.toNdSbp()) << " on @"
                               << to.placement.getSymName()
                               << ", got: " << sbp::toString(from.sbp.toNdSbp())
                               << " on @" << from.placement.getSymName()
                               << "; oneflow-insert-boxing changes it";
    error.attachNote(producer->getLoc()) << "it comes from here";
    return failure();
  }
  return success();
}

static LogicalResult verifyVariableUse(SpreadOpInterface op,
                                       SymbolTableCollection &symbols) {
  FlatSymbolRefAttr symbol;
  NdSbpAttr state;
  if (auto read = dyn_cast<ReadOp>(op.getOperation())) {
    symbol = read.getVariableAttr();
    state = op.getSignatureAttr().getResults()[0];
  } else if (auto update = dyn_cast<UpdateOp>(op.getOperation())) {
    symbol = update.getVariableAttr();
    state = op.getSignatureAttr().getOperands()[0];
  } else {
    return success();
  }
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, symbol);
  if (!variable)
    return op->emitOpError("expected the symbol of a variable, got: ")
           << symbol;
  // A variable without one has its own error.
  if (!variable.getPlacementAttr())
    return failure();
  if (variable.getPlacementAttr() != op.getPlacementAttr())
    return op->emitOpError("expected the placement of the variable, ")
           << variable.getPlacementAttr() << ", got: " << op.getPlacementAttr();
  if (variable.getStorageAttr() && variable.getStorageAttr() != state)
    return op->emitOpError("expected the storage of the variable, ")
           << sbp::toString(variable.getStorageAttr().toNdSbp())
           << ", got: " << sbp::toString(state.toNdSbp());
  return success();
}

static LogicalResult verifyOp(SpreadOpInterface op,
                              SymbolTableCollection &symbols) {
  if (failed(requirePlacement(op)) || failed(requireOperandPlacement(op)))
    return failure();
  if (!op.getSignatureAttr())
    return op->emitOpError("expected a signature, got none; "
                           "oneflow-infer-sbp chooses one");
  return failure(failed(verifySignature(op)) || failed(verifyDecomposed(op)) ||
                 failed(verifyOperands(op)) ||
                 failed(verifyVariableUse(op, symbols)));
}

/// Callers know inputs and outputs by their names only.
static LogicalResult verifyPorts(func::FuncOp function) {
  llvm::StringMap<Operation *> inputs, outputs;
  WalkResult walk = function.walk([&](Operation *op) {
    bool isInput = isa<InputOp>(op);
    if (!isInput && !isa<OutputOp>(op))
      return WalkResult::advance();
    StringRef name =
        isInput ? cast<InputOp>(op).getName() : cast<OutputOp>(op).getName();
    auto [first, isNew] = (isInput ? inputs : outputs).try_emplace(name, op);
    if (isNew)
      return WalkResult::advance();
    InFlightDiagnostic error = op->emitOpError("expected distinct names of ")
                               << (isInput ? "inputs" : "outputs") << ", got \""
                               << name << "\" twice";
    error.attachNote(first->second->getLoc()) << "it has this name, too";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// A step leaves one value in a variable.
static LogicalResult verifyUpdates(func::FuncOp function) {
  llvm::DenseMap<Attribute, UpdateOp> updates;
  for (auto update : function.getOps<UpdateOp>()) {
    auto [first, isNew] = updates.try_emplace(update.getVariableAttr(), update);
    if (isNew)
      continue;
    InFlightDiagnostic error =
        update.emitOpError("expected at most one update of ")
        << update.getVariableAttr() << " in a function, got another";
    error.attachNote(first->second.getLoc()) << "it is updated here, too";
    return failure();
  }
  return success();
}

namespace {

struct VerifySpreadPass
    : oneflow::impl::VerifySpreadPassBase<VerifySpreadPass> {
  using VerifySpreadPassBase::VerifySpreadPassBase;

  void runOnOperation() override {
    SymbolTableCollection symbols;
    bool ok = succeeded(collectWholes(getOperation()));
    for (VariableOp variable : getOperation().getOps<VariableOp>())
      ok &= succeeded(verifyVariable(variable));
    for (auto function : getOperation().getOps<func::FuncOp>())
      ok &= succeeded(verifyPorts(function)) &&
            succeeded(verifyUpdates(function));
    getOperation().walk(
        [&](SpreadOpInterface op) { ok &= succeeded(verifyOp(op, symbols)); });
    if (!ok)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
