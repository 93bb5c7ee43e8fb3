//===- UnscaleGradients.cpp - training with a scaled loss -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands between the gradients of a scaled loss and the optimizer: takes the
// scale out of them, and lets a step in which one is not finite change nothing
// but the scale. Works on what the optimizer's ops take, so however a gradient
// was summed up, this is done once per step.
//
//===----------------------------------------------------------------------===//

#include "TrainingVariables.h"

#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <limits>

namespace oneflow {
#define GEN_PASS_DEF_UNSCALEGRADIENTSPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

/// The scale stays where it and its inverse are normal numbers of f32.
constexpr double kLargestScale = 0x1p126, kSmallestScale = 0x1p-126;

/// The gradient that an optimizer's op takes; null for others.
static OpOperand *gradientOf(Operation *op) {
  if (auto sgd = dyn_cast<SgdUpdateOp>(op))
    return &sgd.getGradientMutable();
  if (auto adamw = dyn_cast<AdamWUpdateOp>(op))
    return &adamw.getGradientMutable();
  return nullptr;
}

namespace {
/// Builds ops without signatures.
struct GraphBuilder {
  OpBuilder &b;
  Location loc;
  FlatSymbolRefAttr placement;

  Value constant(Type element, double value) {
    auto type = RankedTensorType::get({}, element);
    Attribute number;
    if (isa<FloatType>(element))
      number = b.getFloatAttr(element, value);
    else
      number = b.getIntegerAttr(element, static_cast<int64_t>(value));
    return oneflow::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, number), placement, nullptr);
  }
  Value cast(Value x, Type element) {
    auto type = llvm::cast<RankedTensorType>(x.getType());
    if (type.getElementType() == element)
      return x;
    return CastOp::create(b, loc, type.clone(element), x, placement, nullptr);
  }
  Value mul(Value l, Value r) {
    return MulOp::create(b, loc, l, r, placement, nullptr);
  }
  Value max(Value l, Value r) {
    return MaxOp::create(b, loc, l, r, placement, nullptr);
  }
  Value min(Value l, Value r) {
    return MinOp::create(b, loc, l, r, placement, nullptr);
  }
  Value compare(CompareKind kind, Value l, Value r) {
    return CompareOp::create(b, loc, l, r, kind, placement, nullptr);
  }
  Value select(Value condition, Value l, Value r) {
    return SelectOp::create(b, loc, condition, l, r, placement, nullptr);
  }
  Value reduceMin(Value x, llvm::iota_range<int64_t> dims) {
    return ReduceOp::create(b, loc, x, ReduceKind::Min, llvm::to_vector(dims),
                            /*keep_dims=*/false, placement, nullptr);
  }
  /// 1 where all elements are finite, else 0. By comparisons, which want whole
  /// values: the sum of finite parts may not be finite, and what is linear
  /// would be summed a second time.
  Value allFinite(Value x) {
    Type element = getElementTypeOrSelf(x.getType());
    double infinity = std::numeric_limits<double>::infinity();
    Value yes = constant(b.getF32Type(), 1), no = constant(b.getF32Type(), 0);
    Value above = compare(CompareKind::Gt, x, constant(element, -infinity));
    Value below = compare(CompareKind::Lt, x, constant(element, infinity));
    Value finite = select(above, yes, no);
    finite = select(below, finite, no);
    // Rows first: they are reduced side by side.
    int64_t rank = llvm::cast<RankedTensorType>(x.getType()).getRank();
    if (rank > 1)
      finite = reduceMin(finite, llvm::seq<int64_t>(1, rank));
    return rank > 0 ? reduceMin(finite, llvm::seq<int64_t>(0, 1)) : finite;
  }
};

struct UnscaleGradientsPass
    : oneflow::impl::UnscaleGradientsPassBase<UnscaleGradientsPass> {
  using UnscaleGradientsPassBase::UnscaleGradientsPassBase;

  void runOnOperation() override {
    if (growthInterval < 1) {
      getOperation().emitError(
          "option growth-interval: expected at least 1, got: ")
          << growthInterval.getValue();
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<OpOperand *> gradients;
      ReadOp scale;
      function.walk([&](Operation *op) {
        if (OpOperand *gradient = gradientOf(op))
          gradients.push_back(gradient);
        auto read = dyn_cast<ReadOp>(op);
        if (read && !scale && read.getVariable() == kLossScaleName)
          scale = read;
      });
      if (gradients.empty() && !scale)
        continue;
      if (gradients.empty() || !scale) {
        function.emitOpError("expected an optimizer of the gradients of a "
                             "scaled loss, got no ")
            << (scale ? "optimizer" : "scale");
        return signalPassFailure();
      }
      if (failed(guard(function, gradients, scale)))
        return signalPassFailure();
    }
  }

private:
  LogicalResult guard(func::FuncOp function, ArrayRef<OpOperand *> gradients,
                      ReadOp scale) {
    SmallVector<UpdateOp> updates(function.getOps<UpdateOp>());
    // All gradients, then all that changes: whether something may change is
    // known only when the last gradient is.
    OpBuilder b(function.getBody().front().getTerminator());
    Location loc =
        NameLoc::get(b.getStringAttr(kLossScaleName), function.getLoc());
    GraphBuilder scalars{b, loc, scale.getPlacementAttr()};
    Value one = scalars.constant(b.getF32Type(), 1);
    Value inverse =
        DivOp::create(b, loc, one, scale, scalars.placement, nullptr);
    Value finite = unscale(scalars, gradients, inverse);

    auto moveToEnd = [&](Operation *op) {
      op->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
    };
    llvm::SmallPtrSet<Operation *, 16> guarded;
    auto guardUpdate = [&](UpdateOp update) {
      if (!guarded.insert(update).second)
        return;
      GraphBuilder graph{b, update.getLoc(), update.getPlacementAttr()};
      Value after = update.getValue();
      Value before =
          ReadOp::create(b, update.getLoc(), after.getType(),
                         update.getVariable(), graph.placement, nullptr);
      update.getValueMutable().assign(graph.select(finite, after, before));
      moveToEnd(update);
    };
    // Each optimizer's op beside its updates, so that they become one kernel.
    for (OpOperand *gradient : gradients) {
      Operation *owner = gradient->getOwner();
      moveToEnd(owner);
      for (UpdateOp update : updates)
        if (update.getValue().getDefiningOp() == owner)
          guardUpdate(update);
    }
    llvm::for_each(updates, guardUpdate);
    return dynamic ? adapt(scalars, scale, finite) : success();
  }

  /// Replaces gradients by unscaled ones; whether all are finite.
  Value unscale(GraphBuilder &scalars, ArrayRef<OpOperand *> gradients,
                Value inverse) {
    OpBuilder &b = scalars.b;
    Value all;
    for (OpOperand *gradient : gradients) {
      Operation *owner = gradient->getOwner();
      GraphBuilder graph{b, owner->getLoc(),
                         cast<SpreadOpInterface>(owner).getPlacementAttr()};
      Type element = getElementTypeOrSelf(gradient->get().getType());
      Type wide = element.isF64() ? element : Type(b.getF32Type());
      Value unscaled = graph.mul(graph.cast(gradient->get(), wide),
                                 graph.cast(inverse, wide));
      Value finite = graph.allFinite(unscaled);
      all = all ? scalars.min(all, finite) : finite;
      gradient->set(graph.cast(unscaled, element));
    }
    return scalars.compare(CompareKind::Gt, all,
                           scalars.constant(b.getF32Type(), 0));
  }

  /// Doubles the scale after so many finite steps, halves it after another.
  LogicalResult adapt(GraphBuilder &scalars, Value scale, Value finite) {
    OpBuilder &b = scalars.b;
    Type f32 = b.getF32Type(), i64 = b.getI64Type();
    auto countType = RankedTensorType::get({}, i64);
    if (!getOrCreateVariable(getOperation(), scalars.loc, kGoodStepsName,
                             countType, {}))
      return failure();
    Value before = ReadOp::create(b, scalars.loc, countType, kGoodStepsName,
                                  scalars.placement, nullptr);
    Value count =
        AddOp::create(b, scalars.loc, before, scalars.constant(i64, 1),
                      scalars.placement, nullptr);
    Value grows = scalars.compare(CompareKind::Gt, count,
                                  scalars.constant(i64, growthInterval - 1));
    Value none = scalars.constant(i64, 0);
    Value good =
        scalars.select(finite, scalars.select(grows, none, count), none);

    Value doubled = scalars.min(scalars.mul(scale, scalars.constant(f32, 2)),
                                scalars.constant(f32, kLargestScale));
    Value halved = scalars.max(scalars.mul(scale, scalars.constant(f32, 0.5)),
                               scalars.constant(f32, kSmallestScale));
    Value next =
        scalars.select(finite, scalars.select(grows, doubled, scale), halved);
    UpdateOp::create(b, scalars.loc, kLossScaleName, next, scalars.placement,
                     nullptr);
    UpdateOp::create(b, scalars.loc, kGoodStepsName, good, scalars.placement,
                     nullptr);
    return success();
  }
};
} // namespace
