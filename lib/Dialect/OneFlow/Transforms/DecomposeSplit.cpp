//===- DecomposeSplit.cpp - ops over a split dimension --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces softmax, log-softmax and cross-entropy, where their class dimension
// is split, by ops that each rank computes on its part. Only row maxima and
// sums are partial, so boxing moves one number per row. After Megatron-LM's
// vocabulary parallel loss (Shoeybi et al., arXiv 1909.08053).
//
//===----------------------------------------------------------------------===//

#include "Spread.h"

#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

namespace oneflow {
#define GEN_PASS_DEF_DECOMPOSESPLITPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

namespace {

/// Builds ops on the rows of one tensor, which is split along `dim` on some
/// axes. Rows keep `dim` with extent 1, so that they broadcast against the
/// tensor.
class RowBuilder {
public:
  RowBuilder(SpreadOpInterface op, Value x, int64_t dim)
      : builder(op), loc(op->getLoc()), placement(op.getPlacementAttr()), x(x),
        dim(dim), whole(op.getSignatureAttr().getOperands()[0].toNdSbp()) {}

  /// The tensor less its row maxima: no exponential of it overflows.
  Value shifted() {
    maxima = reduce(ReduceKind::Max, x);
    return SubOp::create(builder, loc, x, maxima, placement,
                         signature({whole, rows()}, {whole}));
  }
  Value exp(Value full) {
    return ExpOp::create(builder, loc, full, placement,
                         signature({whole}, {whole}));
  }
  /// Row sums, not yet combined over the axes that split `dim`.
  Value sum(Value full) { return reduce(ReduceKind::Sum, full); }
  Value log(Value row) {
    return LogOp::create(builder, loc, row, placement,
                         signature({rows()}, {rows()}));
  }
  /// The maxima taken out by `shifted` put back.
  Value unshift(Value row) {
    return AddOp::create(builder, loc, row, maxima, placement,
                         signature({rows(), rows()}, {rows()}));
  }
  Value subtract(Value full, Value row) {
    return SubOp::create(builder, loc, full, row, placement,
                         signature({whole, rows()}, {whole}));
  }
  Value divide(Value full, Value row) {
    return DivOp::create(builder, loc, full, row, placement,
                         signature({whole, rows()}, {whole}));
  }

  /// Rows of a matrix as a vector. The row dimension is the first, so states
  /// stay.
  Value flatten(Value row, Type type) {
    return ReshapeOp::create(builder, loc, type, row, placement,
                             signature({rows()}, {rows()}));
  }
  /// What the labels choose of each row: each rank answers for its own columns.
  Value pick(Value labels, Type type, const sbp::NdSbp &labelState) {
    return PickOp::create(
        builder, loc, type, x, labels, placement,
        signature({whole, labelState}, {rows(sbp::Sbp::partial())}));
  }
  Value subtractVectors(Value lhs, Value rhs) {
    return SubOp::create(builder, loc, lhs, rhs, placement,
                         signature({rows(), rows()}, {rows()}));
  }

private:
  /// The state of something with one element per row: `split` along the axes
  /// that split `dim`, else as the tensor.
  sbp::NdSbp rows(sbp::Sbp split = sbp::Sbp::broadcast()) const {
    sbp::NdSbp state = whole;
    for (sbp::Sbp &axis : state)
      if (axis.isSplit() && axis.dim == dim)
        axis = split;
    return state;
  }

  SignatureAttr signature(std::vector<sbp::NdSbp> operands,
                          std::vector<sbp::NdSbp> results) {
    return SignatureAttr::get(
        builder.getContext(),
        sbp::NdSignature{std::move(operands), std::move(results)});
  }

  Value reduce(ReduceKind kind, Value full) {
    auto type = cast<RankedTensorType>(full.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = 1;
    return ReduceOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()), full,
        kind, dim, /*keep_dims=*/true, placement,
        signature({whole}, {rows(sbp::Sbp::partial(toReducer(kind)))}));
  }

  OpBuilder builder;
  Location loc;
  FlatSymbolRefAttr placement;
  Value x;
  int64_t dim;
  sbp::NdSbp whole;
  Value maxima;
};

} // namespace

static Value decompose(SoftmaxOp op) {
  RowBuilder rows(op, op.getX(), op.getDim());
  Value e = rows.exp(rows.shifted());
  return rows.divide(e, rows.sum(e));
}

static Value decompose(LogSoftmaxOp op) {
  RowBuilder rows(op, op.getX(), op.getDim());
  Value shifted = rows.shifted();
  return rows.subtract(shifted, rows.log(rows.sum(rows.exp(shifted))));
}

/// loss = log_sum - picked, with log_sum = log Σ exp(x - m) + m.
static SmallVector<Value> decompose(CrossEntropyOp op) {
  RowBuilder rows(op, op.getLogits(), /*dim=*/1);
  Value sums = rows.sum(rows.exp(rows.shifted()));
  Value logSum =
      rows.flatten(rows.unshift(rows.log(sums)), op.getLogSum().getType());
  Value picked = rows.pick(op.getLabels(), op.getLoss().getType(),
                           op.getSignatureAttr().getOperands()[1].toNdSbp());
  return {rows.subtractVectors(logSum, picked), logSum};
}

namespace {

struct DecomposeSplitPass
    : oneflow::impl::DecomposeSplitPassBase<DecomposeSplitPass> {
  using DecomposeSplitPassBase::DecomposeSplitPassBase;

  void runOnOperation() override {
    SmallVector<SpreadOpInterface> split;
    WalkResult result = getOperation().walk([&](SpreadOpInterface op) {
      if (!isa<SoftmaxOp, LogSoftmaxOp, CrossEntropyOp>(op.getOperation()) ||
          !op.getSignatureAttr())
        return WalkResult::advance();
      if (failed(verifySignature(op)))
        return WalkResult::interrupt();
      if (!decomposedAxes(op.getSbpRule(),
                          op.getSignatureAttr().toNdSignature())
               .empty())
        split.push_back(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();

    for (SpreadOpInterface op : split) {
      Operation *target = op;
      if (auto softmax = dyn_cast<SoftmaxOp>(target))
        target->replaceAllUsesWith(ValueRange{decompose(softmax)});
      else if (auto logSoftmax = dyn_cast<LogSoftmaxOp>(target))
        target->replaceAllUsesWith(ValueRange{decompose(logSoftmax)});
      else
        target->replaceAllUsesWith(decompose(cast<CrossEntropyOp>(target)));
      target->erase();
    }
  }
};

} // namespace
