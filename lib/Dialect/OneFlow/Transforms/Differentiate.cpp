//===- Differentiate.cpp - reverse-mode gradients -------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the function backwards from the loss and lets each op on the way from a
// trainable variable build its vector-Jacobian product. Gradients that meet are
// added; those of the parts of one tensor become their concatenation.
//
//===----------------------------------------------------------------------===//

#include "MergePads.h"
#include "TrainingVariables.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>

namespace oneflow {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

/// A splat of the type of `like`.
static Value splat(OpBuilder &b, Location loc, Type like, double value) {
  auto type = cast<RankedTensorType>(like);
  Attribute element = b.getFloatAttr(type.getElementType(), value);
  return oneflow::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, element), nullptr, nullptr);
}

/// The location of an op of the backward pass: that of the forward op, marked.
static Location gradientLoc(Location forward) {
  MLIRContext *context = forward.getContext();
  return FusedLoc::get(context, forward, StringAttr::get(context, "grad"));
}

namespace {
/// Differentiates one block with respect to the trainable variables that it
/// reads.
class Differentiator : OpBuilder::Listener {
public:
  explicit Differentiator(Block &block)
      : block(block), builder(block.getTerminator(), this) {}

  /// With a scale, the gradient of the loss is `@optimizer.loss_scale`, which
  /// begins with it; with 0 it is 1.
  LogicalResult run(OutputOp loss, double scale);

private:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    created.push_back(op);
  }
  VariableOp trainableOf(Operation &op);
  Value seed(OutputOp loss, double scale);
  void findActive();
  LogicalResult visit(Operation *op);
  void accumulate(Value value, Value gradient, Location loc);
  void writeGradients(Location loc);
  void eraseDead();

  Block &block;
  OpBuilder builder;
  SmallVector<Operation *> created;
  /// Values that depend on a trainable variable.
  DenseSet<Value> active;
  DenseMap<Value, Value> gradients;
  /// The reads of each trainable variable, in order.
  llvm::MapVector<VariableOp, SmallVector<ReadOp>> reads;
};
} // namespace

/// The trainable variable that an op reads, null where it does not.
VariableOp Differentiator::trainableOf(Operation &op) {
  auto read = dyn_cast<ReadOp>(op);
  if (!read || !isa<FloatType>(getElementTypeOrSelf(read.getType())))
    return {};
  auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(
      read, read.getVariableAttr());
  return variable && variable.getTrainable() ? variable : VariableOp();
}

void Differentiator::findActive() {
  for (Operation &op : block) {
    VariableOp variable = trainableOf(op);
    if (variable)
      reads[variable].push_back(cast<ReadOp>(op));
    bool isActive =
        variable || llvm::any_of(op.getOperands(), [&](Value operand) {
          return active.contains(operand);
        });
    if (!isActive)
      continue;
    // Integers and booleans carry no gradient.
    for (Value result : op.getResults())
      if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
        active.insert(result);
  }
}

/// Where an op runs; null where that is not settled yet.
static FlatSymbolRefAttr placementOf(Operation *op) {
  // A batch norm has no placement of its own: it goes with what it normalizes.
  while (auto norm = dyn_cast_or_null<BatchNormOp>(op))
    op = norm.getX().getDefiningOp();
  auto spread = dyn_cast_or_null<SpreadOpInterface>(op);
  return spread ? spread.getPlacementAttr() : FlatSymbolRefAttr();
}

void Differentiator::accumulate(Value value, Value gradient, Location loc) {
  Value &sum = gradients[value];
  sum = sum ? AddOp::create(builder, loc, sum, gradient,
                            placementOf(value.getDefiningOp()), nullptr)
            : gradient;
}

LogicalResult Differentiator::visit(Operation *op) {
  bool flows = llvm::any_of(op->getResults(), [&](Value result) {
    return gradients.contains(result);
  });
  bool isActive = llvm::any_of(op->getOperands(), [&](Value operand) {
    return active.contains(operand);
  });
  if (!flows || !isActive)
    return success();
  auto interface = dyn_cast<GradientOpInterface>(op);
  if (!interface)
    return op->emitOpError(
        "expected an op with a gradient between the trainable "
        "variables and the loss");
  SmallVector<Value> resultGradients, operandGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  Location loc = gradientLoc(op->getLoc());
  size_t first = created.size();
  if (failed(
          interface.buildGradient(builder, resultGradients, operandGradients)))
    return failure();
  for (Operation *part : llvm::drop_begin(created, first)) {
    part->setLoc(loc);
    if (auto spread = dyn_cast<SpreadOpInterface>(part))
      spread.setPlacementAttr(placementOf(op));
  }
  if (operandGradients.size() != op->getNumOperands())
    return op->emitOpError("expected ")
           << op->getNumOperands()
           << " operand gradients, got: " << operandGradients.size();
  for (auto [operand, gradient] :
       llvm::zip(op->getOperands(), operandGradients)) {
    if (!gradient || !active.contains(operand))
      continue;
    if (gradient.getType() != operand.getType())
      return op->emitOpError("expected a gradient of type ")
             << operand.getType() << ", got: " << gradient.getType();
    accumulate(operand, gradient, loc);
  }
  return success();
}

void Differentiator::writeGradients(Location loc) {
  for (auto &[variable, variableReads] : reads) {
    Value total;
    for (ReadOp read : variableReads) {
      Value gradient = gradients.lookup(read.getResult());
      if (!gradient)
        continue;
      Location sumLoc = gradientLoc(read.getLoc());
      total = total ? AddOp::create(builder, sumLoc, total, gradient,
                                    placementOf(read), nullptr)
                    : gradient;
    }
    Location readLoc = gradientLoc(variableReads.front().getLoc());
    if (!total) {
      variable.emitRemark(
          "the loss does not depend on this variable: its gradient is "
          "zero");
      total = splat(builder, readLoc, variable.getType(), 0);
    }
    oneflow::GradientOp::create(builder, readLoc, variable.getSymName(), total,
                                nullptr, nullptr);
  }
}

void Differentiator::eraseDead() {
  for (Operation *op : llvm::reverse(created))
    if (isOpTriviallyDead(op))
      op->erase();
  created.clear();
}

/// The gradient of the loss with respect to itself; null, with an error, where
/// its variable's name is taken.
Value Differentiator::seed(OutputOp loss, double scale) {
  Location loc = gradientLoc(loss.getLoc());
  auto type = cast<RankedTensorType>(loss.getValue().getType());
  if (scale == 0)
    return splat(builder, loc, type, 1);
  auto stored = RankedTensorType::get({}, builder.getF32Type());
  Attribute initial = builder.getF32FloatAttr(static_cast<float>(scale));
  if (!getOrCreateVariable(loss->getParentOfType<ModuleOp>(), loss.getLoc(),
                           kLossScaleName, stored,
                           DenseElementsAttr::get(stored, initial)))
    return {};
  Value value = ReadOp::create(builder, loc, stored, kLossScaleName,
                               loss.getPlacementAttr(), nullptr);
  if (stored == type)
    return value;
  return CastOp::create(builder, loc, type, value, loss.getPlacementAttr(),
                        nullptr);
}

LogicalResult Differentiator::run(OutputOp loss, double scale) {
  findActive();
  SmallVector<Operation *> forward;
  for (Operation &op : block)
    forward.push_back(&op);
  Value lossGradient = seed(loss, scale);
  if (!lossGradient)
    return failure();
  gradients[loss.getValue()] = lossGradient;
  for (Operation *op : llvm::reverse(forward))
    if (failed(visit(op)))
      return failure();
  writeGradients(loss.getLoc());
  mergePads(block);
  eraseDead();
  return success();
}

namespace {
struct DifferentiatePass
    : oneflow::impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto function = module.lookupSymbol<func::FuncOp>(entry);
    if (!function || function.isExternal()) {
      module.emitError("expected a function @") << entry << " to differentiate";
      return signalPassFailure();
    }
    Block &block = function.getBody().front();
    OutputOp output;
    for (auto candidate : block.getOps<OutputOp>())
      if (candidate.getName() == loss)
        output = candidate;
    if (!output) {
      function.emitOpError("expected an output '")
          << loss << "' to differentiate";
      return signalPassFailure();
    }
    auto type = cast<RankedTensorType>(output.getValue().getType());
    if (type.getRank() != 0 || !isa<FloatType>(type.getElementType())) {
      output.emitOpError("expected a float scalar as the loss, got: ") << type;
      return signalPassFailure();
    }
    if (auto gradients = block.getOps<oneflow::GradientOp>();
        !gradients.empty()) {
      (*gradients.begin()).emitOpError("expected a function without gradients");
      return signalPassFailure();
    }
    auto asFloat = static_cast<float>(lossScale.getValue());
    if (!(lossScale == 0 || (lossScale > 0 && std::isnormal(asFloat)))) {
      module.emitError("option loss-scale: expected a positive number, got: ")
          << lossScale.getValue();
      return signalPassFailure();
    }
    if (failed(Differentiator(block).run(output, lossScale)))
      signalPassFailure();
  }
};
} // namespace
