//===- AttachLoss.cpp - a training function with a loss -------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clones the inference function and ends the clone in a scalar loss.
//
//===----------------------------------------------------------------------===//

#include "TrainingVariables.h"

#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

namespace oneflow {
#define GEN_PASS_DEF_ATTACHLOSSPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

/// The output of that name, the first where it is empty; null, with an error,
/// where there is none.
static OutputOp findOutput(func::FuncOp function, StringRef name) {
  SmallVector<StringRef> names;
  for (auto output : function.getOps<OutputOp>()) {
    if (name.empty() || output.getName() == name)
      return output;
    names.push_back(output.getName());
  }
  InFlightDiagnostic error = function.emitError("expected an output ");
  if (!name.empty())
    error << "'" << name << "'";
  error << ", got: " << (names.empty() ? "none" : "");
  llvm::interleaveComma(names, error);
  return {};
}

/// The operand of a softmax or log-softmax over the last dimension, else the
/// value: cross-entropy takes the logarithm of the sum itself.
static Value lookThroughSoftmax(Value value) {
  auto isLast = [&](int64_t dim) {
    return dim == cast<RankedTensorType>(value.getType()).getRank() - 1;
  };
  if (auto softmax = value.getDefiningOp<SoftmaxOp>();
      softmax && isLast(softmax.getDim()))
    return softmax.getX();
  if (auto softmax = value.getDefiningOp<LogSoftmaxOp>();
      softmax && isLast(softmax.getDim()))
    return softmax.getX();
  return value;
}

/// Whether mean and variance are variables, which training can move.
static bool hasRunningStatistics(BatchNormOp norm) {
  return norm.getMean().getDefiningOp<ReadOp>() &&
         norm.getVariance().getDefiningOp<ReadOp>();
}

namespace {
struct AttachLossPass : oneflow::impl::AttachLossPassBase<AttachLossPass> {
  using AttachLossPassBase::AttachLossPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto eval = module.lookupSymbol<func::FuncOp>(entry);
    if (!eval) {
      module.emitError("expected a function @") << entry;
      return signalPassFailure();
    }
    for (StringRef name : {"train", "eval"}) {
      Operation *taken = module.lookupSymbol(name);
      if (taken && (taken != eval || name == "train")) {
        taken->emitOpError("expected the name @")
            << name << " to be free for what attaching a loss makes; rename it";
        return signalPassFailure();
      }
    }
    auto train = cast<func::FuncOp>(eval->clone());
    train.setName("train");
    eval.setName("eval");
    module.insert(std::next(Block::iterator(eval)), train);
    if (failed(attach(train)) || failed(supplyStep(train)) ||
        failed(trainBatchNorms(train)))
      return signalPassFailure();
    eval.walk([](BatchNormOp norm) {
      if (hasRunningStatistics(norm))
        norm.setTraining(false);
    });
  }

private:
  LogicalResult attach(func::FuncOp train) {
    OutputOp source = findOutput(train, output);
    if (!source)
      return failure();
    OpBuilder b(source);
    Location loc = NameLoc::get(b.getStringAttr("loss"), source.getLoc());
    Value losses;
    if (loss == "cross-entropy")
      losses = buildCrossEntropy(b, loc, source);
    else if (loss == "mean")
      losses = source.getValue();
    else
      return source.emitOpError(
                 "expected the loss cross-entropy or mean, got: ")
             << loss;
    if (!losses)
      return failure();
    Value mean = buildMean(b, loc, losses, source);
    if (!mean)
      return failure();

    // The loss is computed where the output is.
    FlatSymbolRefAttr placement = source.getPlacementAttr();
    for (OutputOp other : llvm::make_early_inc_range(train.getOps<OutputOp>()))
      other.erase();
    b.setInsertionPoint(train.getBody().front().getTerminator());
    OutputOp::create(b, loc, "loss", mean, nullptr, nullptr);
    if (placement)
      train.walk([&](SpreadOpInterface op) {
        if (!op.getPlacementAttr())
          op.setPlacementAttr(placement);
      });
    // What only the dropped outputs needed.
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(train.getBody().front())))
      if (isOpTriviallyDead(&op) && !isa<InputOp>(op))
        op.erase();
    return success();
  }

  /// One loss per sample; null, with an error, where it cannot be.
  Value buildCrossEntropy(OpBuilder &b, Location loc, OutputOp source) {
    Value logits = lookThroughSoftmax(source.getValue());
    auto type = cast<RankedTensorType>(logits.getType());
    if (type.getRank() < 2 || !type.hasStaticShape() ||
        !isa<FloatType>(type.getElementType())) {
      source.emitOpError(
          "expected static float logits with a batch and a class "
          "dimension, got: ")
          << type;
      return {};
    }
    for (auto input :
         source->getParentOfType<func::FuncOp>().getOps<InputOp>()) {
      if (input.getName() == "labels") {
        input.emitOpError(
            "expected the name 'labels' to be free for the class labels");
        return {};
      }
    }
    auto labelsType =
        RankedTensorType::get(type.getShape().drop_back(), b.getI64Type());
    Value labels =
        InputOp::create(b, loc, labelsType, "labels", nullptr, nullptr);
    if (type.getRank() > 2) {
      int64_t samples = labelsType.getNumElements();
      logits = ReshapeOp::create(b, loc,
                                 type.clone({samples, type.getShape().back()}),
                                 logits, nullptr, nullptr);
      labels = ReshapeOp::create(b, loc, labelsType.clone({samples}), labels,
                                 nullptr, nullptr);
    }
    return CrossEntropyOp::create(b, loc, logits, labels, nullptr, nullptr)
        .getLoss();
  }

  /// The mean over all elements, in f32 at least: the whole batch's, since
  /// shapes are logical.
  Value buildMean(OpBuilder &b, Location loc, Value x, OutputOp source) {
    auto type = cast<RankedTensorType>(x.getType());
    auto element = dyn_cast<FloatType>(type.getElementType());
    if (!element || !type.hasStaticShape() || type.getNumElements() == 0) {
      source.emitOpError(
          "expected a static float tensor with elements to average, "
          "got: ")
          << type;
      return {};
    }
    if (element.getWidth() < 32) {
      element = b.getF32Type();
      x = CastOp::create(b, loc, type.clone(element), x, nullptr, nullptr);
    }
    if (type.getRank() == 0)
      return x;
    SmallVector<int64_t> dims =
        llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    Value sum = ReduceOp::create(b, loc, x, ReduceKind::Sum, dims,
                                 /*keep_dims=*/false, nullptr, nullptr);
    auto scalar = RankedTensorType::get({}, element);
    Attribute count = b.getFloatAttr(element, type.getNumElements());
    Value divisor = oneflow::ConstantOp::create(
        b, loc, DenseElementsAttr::get(scalar, count), nullptr, nullptr);
    return DivOp::create(b, loc, sum, divisor, nullptr, nullptr);
  }

  LogicalResult trainBatchNorms(func::FuncOp train) {
    SmallVector<BatchNormOp> norms;
    train.walk([&](BatchNormOp norm) {
      if (hasRunningStatistics(norm))
        norms.push_back(norm);
    });
    DenseSet<StringAttr> moved;
    for (BatchNormOp norm : norms) {
      norm.setTraining(true);
      if (failed(moveStatistic(norm, norm.getMean(), norm.getBatchMean(),
                               moved)) ||
          failed(moveStatistic(norm, norm.getVariance(),
                               norm.getBatchVariance(), moved)))
        return failure();
    }
    return success();
  }

  /// Updates the variable that `running` reads. `moved` has those that are.
  LogicalResult moveStatistic(BatchNormOp norm, Value running, Value batch,
                              DenseSet<StringAttr> &moved) {
    auto read = running.getDefiningOp<ReadOp>();
    auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(
        read, read.getVariableAttr());
    if (!variable || variable.getTrainable() ||
        !moved.insert(variable.getSymNameAttr()).second)
      return norm.emitOpError("expected a running statistic of its own that is "
                              "not trainable, got: @")
             << read.getVariable();
    OpBuilder b(norm->getContext());
    b.setInsertionPointAfter(norm);
    Location loc = norm.getLoc();
    // Where the variable is.
    FlatSymbolRefAttr placement = read.getPlacementAttr();
    auto type = cast<RankedTensorType>(running.getType());
    auto scalar = RankedTensorType::get({}, type.getElementType());
    auto share = [&](Value value, double factor) -> Value {
      Attribute element = b.getFloatAttr(scalar.getElementType(), factor);
      Value constant = oneflow::ConstantOp::create(
          b, loc, DenseElementsAttr::get(scalar, element), placement, nullptr);
      return MulOp::create(b, loc, value, constant, placement, nullptr);
    };
    if (batch.getType() != type)
      batch = CastOp::create(b, loc, type, batch, placement, nullptr);
    double momentum = norm.getMomentum().convertToDouble();
    Value next = AddOp::create(b, loc, share(running, momentum),
                               share(batch, 1 - momentum), placement, nullptr);
    UpdateOp::create(b, loc, variable.getSymName(), next, placement, nullptr);
    return success();
  }

  LogicalResult supplyStep(func::FuncOp train) {
    SmallVector<DropoutOp> dropouts;
    train.walk([&](DropoutOp dropout) {
      if (!dropout.getStep())
        dropouts.push_back(dropout);
    });
    if (dropouts.empty())
      return success();
    Value step = getOrCreateStep(train);
    if (!step)
      return failure();
    for (DropoutOp dropout : dropouts)
      dropout.getStepMutable().assign(step);
    return success();
  }
};
} // namespace
