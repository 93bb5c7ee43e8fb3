//===- DecomposeSplit.cpp - ops over a split dimension --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces softmax, log-softmax, cross-entropy, layer norm and RMS norm, where
// the dimensions they run over are split, by ops that each rank computes on its
// part. Only row maxima and sums are partial, so boxing moves one number per
// row. The loss is after Megatron-LM's vocabulary parallel one (Shoeybi et al.,
// arXiv 1909.08053).
//
//===----------------------------------------------------------------------===//

#include "DecomposeNorms.h"
#include "RowBuilder.h"
#include "Spread.h"

#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace oneflow {
#define GEN_PASS_DEF_DECOMPOSESPLITPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

/// The tensor less its row maxima: no exponential of it overflows.
static Value shift(RowBuilder &rows, Value x, Value &maxima) {
  maxima = rows.reduce(ReduceKind::Max, x);
  return rows.onFullAndRow<SubOp>(x, maxima);
}

static SmallVector<Value> decompose(SoftmaxOp op) {
  RowBuilder rows(op, op.getDim());
  Value maxima;
  Value e = rows.onFull<ExpOp>(shift(rows, op.getX(), maxima));
  return {rows.onFullAndRow<DivOp>(e, rows.reduce(ReduceKind::Sum, e))};
}

static SmallVector<Value> decompose(LogSoftmaxOp op) {
  RowBuilder rows(op, op.getDim());
  Value maxima;
  Value shifted = shift(rows, op.getX(), maxima);
  Value sums = rows.reduce(ReduceKind::Sum, rows.onFull<ExpOp>(shifted));
  return {rows.onFullAndRow<SubOp>(shifted, rows.onRow<LogOp>(sums))};
}

/// loss = log_sum - picked, with log_sum = log Σ exp(x - m) + m.
static SmallVector<Value> decompose(CrossEntropyOp op) {
  RowBuilder rows(op, /*dims=*/1);
  Value maxima;
  Value e = rows.onFull<ExpOp>(shift(rows, op.getLogits(), maxima));
  Value logs = rows.onRow<LogOp>(rows.reduce(ReduceKind::Sum, e));
  Value logSum =
      rows.flatten(rows.onRows<AddOp>(logs, maxima), op.getLogSum().getType());
  Value picked =
      rows.pick(op.getLogits(), op.getLabels(), op.getLoss().getType(),
                op.getSignatureAttr().getOperands()[1].toNdSbp());
  return {rows.onRows<SubOp>(logSum, picked), logSum};
}

namespace {

struct DecomposeSplitPass
    : oneflow::impl::DecomposeSplitPassBase<DecomposeSplitPass> {
  using DecomposeSplitPassBase::DecomposeSplitPassBase;

  void runOnOperation() override {
    SmallVector<SpreadOpInterface> split;
    WalkResult result = getOperation().walk([&](SpreadOpInterface op) {
      if (!isa<SoftmaxOp, LogSoftmaxOp, CrossEntropyOp, LayerNormOp, RmsNormOp>(
              op.getOperation()) ||
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
      SmallVector<Value> results =
          llvm::TypeSwitch<Operation *, SmallVector<Value>>(target)
              .Case<SoftmaxOp, LogSoftmaxOp, CrossEntropyOp, LayerNormOp,
                    RmsNormOp>([](auto each) { return decompose(each); });
      target->replaceAllUsesWith(results);
      target->erase();
    }
  }
};

} // namespace
