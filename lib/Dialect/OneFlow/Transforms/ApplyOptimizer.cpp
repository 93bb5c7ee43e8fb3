//===- ApplyOptimizer.cpp - from gradients to updates ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares the optimizer's state and replaces gradients by updates of
// parameters and state.
//
//===----------------------------------------------------------------------===//

#include "TrainingVariables.h"

#include "oneflow/Dialect/OneFlow/IR/Parts.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace oneflow {
#define GEN_PASS_DEF_APPLYOPTIMIZERPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

namespace {
struct ApplyOptimizerPass
    : oneflow::impl::ApplyOptimizerPassBase<ApplyOptimizerPass> {
  using ApplyOptimizerPassBase::ApplyOptimizerPassBase;

  void runOnOperation() override {
    if (optimizer != "adamw" && optimizer != "sgd" && optimizer != "none") {
      getOperation().emitError(
          "expected the optimizer adamw, sgd or none, got: ")
          << optimizer;
      return signalPassFailure();
    }
    FailureOr<SmallVector<Whole>> wholes = collectWholes(getOperation());
    if (failed(wholes))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<oneflow::GradientOp> gradients(
          function.getOps<oneflow::GradientOp>());
      if (gradients.empty())
        continue;
      completeWholes(gradients, *wholes);
      if (optimizer == "none")
        exposeGradients(gradients, *wholes);
      else if (failed(applyUpdates(function, gradients)))
        return signalPassFailure();
    }
  }

private:
  /// Where a function has gradients of some parts of a whole only, since it
  /// does not read the others, theirs are zero, as the whole's would be there.
  void completeWholes(SmallVectorImpl<oneflow::GradientOp> &gradients,
                      MutableArrayRef<Whole> wholes) {
    llvm::StringSet<> known;
    for (oneflow::GradientOp gradient : gradients)
      known.insert(gradient.getVariable());
    for (Whole &whole : wholes) {
      auto has = [&](VariableOp part) {
        return known.contains(part.getSymName());
      };
      if (llvm::none_of(whole.parts, has))
        continue;
      for (VariableOp part : whole.parts) {
        if (has(part))
          continue;
        OpBuilder b(gradients.back());
        RankedTensorType type = part.getTensorType();
        Value zero = oneflow::ConstantOp::create(
            b, part.getLoc(),
            DenseElementsAttr::get(type, b.getZeroAttr(type.getElementType())),
            nullptr, nullptr);
        gradients.push_back(oneflow::GradientOp::create(
            b, part.getLoc(), part.getSymName(), zero, nullptr, nullptr));
      }
    }
  }

  void exposeGradients(ArrayRef<oneflow::GradientOp> gradients,
                       MutableArrayRef<Whole> wholes) {
    llvm::MapVector<StringAttr, oneflow::GradientOp> ofVariable;
    for (oneflow::GradientOp gradient : gradients)
      ofVariable[gradient.getVariableAttr().getAttr()] = gradient;
    for (Whole &whole : wholes)
      exposeWhole(whole, ofVariable);
    for (auto &[name, gradient] : ofVariable)
      expose(gradient, name, gradient.getValue());
    for (oneflow::GradientOp gradient : gradients)
      gradient.erase();
  }

  /// The gradient of a whole is put together from those of its parts, which are
  /// taken out of `ofVariable`.
  void
  exposeWhole(Whole &whole,
              llvm::MapVector<StringAttr, oneflow::GradientOp> &ofVariable) {
    SmallVector<Value> parts;
    oneflow::GradientOp last;
    for (VariableOp part : whole.parts)
      if (oneflow::GradientOp gradient =
              ofVariable.lookup(part.getSymNameAttr())) {
        parts.push_back(gradient.getValue());
        if (!last || last->isBeforeInBlock(gradient))
          last = gradient;
      }
    if (!last)
      return;
    OpBuilder b(last);
    expose(last, whole.name,
           ConcatOp::create(b, last.getLoc(), whole.type, parts, whole.dim,
                            nullptr, nullptr));
    for (VariableOp part : whole.parts)
      ofVariable.erase(part.getSymNameAttr());
  }

  void expose(oneflow::GradientOp gradient, StringAttr name, Value value) {
    OpBuilder b(gradient);
    auto output = OutputOp::create(b, gradient.getLoc(),
                                   (name.getValue() + ".gradient").str(), value,
                                   gradient.getPlacementAttr(), nullptr);
    // Not what the forward pass is for: see Comm/Transforms/Phases.h.
    output->setAttr("oneflow.gradient", b.getUnitAttr());
  }

  LogicalResult applyUpdates(func::FuncOp function,
                             ArrayRef<oneflow::GradientOp> gradients) {
    for (oneflow::GradientOp gradient : gradients)
      for (auto update : function.getOps<UpdateOp>())
        if (update.getVariable() == gradient.getVariable())
          return update.emitOpError("expected no update of @")
                 << gradient.getVariable() << ", which the optimizer updates";
    Value step = getOrCreateStep(function);
    if (!step)
      return failure();
    Value rate = readLearningRate(function, gradients.front());
    if (!rate)
      return failure();
    for (oneflow::GradientOp gradient : gradients)
      if (failed(applyUpdate(function, gradient, step, rate)))
        return failure();
    return success();
  }

  Value readLearningRate(func::FuncOp function, oneflow::GradientOp gradient) {
    constexpr StringLiteral name = "optimizer.learning_rate";
    OpBuilder b(function.getContext());
    Location loc = NameLoc::get(b.getStringAttr(name), function.getLoc());
    Type element = getElementTypeOrSelf(gradient.getValue().getType());
    auto type = RankedTensorType::get({}, element);
    Attribute initial = b.getFloatAttr(element, learningRate);
    if (!getOrCreateVariable(getOperation(), loc, name, type,
                             DenseElementsAttr::get(type, initial)))
      return {};
    b.setInsertionPointToStart(&function.getBody().front());
    return ReadOp::create(b, loc, type, name, nullptr, nullptr);
  }

  /// Declares `<parameter>.<suffix>`, which lies as the parameter does. The
  /// state of a part is a part of `<whole>.<suffix>`.
  VariableOp declareState(VariableOp parameter, StringRef suffix) {
    std::string name = (parameter.getSymName() + "." + suffix).str();
    if (Operation *taken = getOperation().lookupSymbol(name)) {
      taken->emitOpError("expected the name @")
          << name << " to be free for the optimizer's state";
      return {};
    }
    OpBuilder b(getOperation());
    b.setInsertionPointAfter(parameter);
    PartAttr part = parameter.getPartAttr();
    if (part)
      part = PartAttr::get(
          &getContext(),
          b.getStringAttr(part.getWhole().getValue() + "." + suffix),
          part.getShape(), part.getDim(), part.getOffset());
    auto state = VariableOp::create(
        b, parameter.getLoc(), b.getStringAttr(name), parameter.getTypeAttr(),
        /*initial=*/nullptr, /*trainable=*/nullptr,
        FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
        parameter.getPlacementAttr(), parameter.getStorageAttr(), part);
    return state;
  }

  LogicalResult applyUpdate(func::FuncOp function, oneflow::GradientOp gradient,
                            Value step, Value rate) {
    OpBuilder b(gradient);
    Location loc = gradient.getLoc();
    auto parameter =
        getOperation().lookupSymbol<VariableOp>(gradient.getVariable());
    Type type = gradient.getValue().getType();
    Type element = getElementTypeOrSelf(type);
    if (getElementTypeOrSelf(rate.getType()) != element)
      rate = CastOp::create(b, loc, RankedTensorType::get({}, element), rate,
                            nullptr, nullptr);
    auto read = [&](VariableOp variable) -> Value {
      return ReadOp::create(b, loc, type, variable.getSymName(), nullptr,
                            nullptr);
    };
    auto update = [&](VariableOp variable, Value value) {
      UpdateOp::create(b, loc, variable.getSymName(), value, nullptr, nullptr);
    };
    auto f64 = [&](double value) { return b.getF64FloatAttr(value); };
    if (optimizer == "sgd") {
      VariableOp velocity = declareState(parameter, "velocity");
      if (!velocity)
        return failure();
      auto op = SgdUpdateOp::create(
          b, loc, read(parameter), gradient.getValue(), read(velocity), rate,
          f64(momentum), f64(weightDecay), nullptr, nullptr);
      update(parameter, op.getNewParameter());
      update(velocity, op.getNewVelocity());
    } else {
      // The second first: each is put right after the parameter.
      VariableOp second = declareState(parameter, "second_moment");
      VariableOp first = declareState(parameter, "first_moment");
      if (!first || !second)
        return failure();
      auto op = AdamWUpdateOp::create(
          b, loc, read(parameter), gradient.getValue(), read(first),
          read(second), step, rate, f64(beta1), f64(beta2), f64(epsilon),
          f64(weightDecay), nullptr, nullptr);
      update(parameter, op.getNewParameter());
      update(first, op.getNewFirstMoment());
      update(second, op.getNewSecondMoment());
    }
    gradient.erase();
    return success();
  }
};
} // namespace
