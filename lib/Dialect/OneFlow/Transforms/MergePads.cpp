//===- MergePads.cpp - parts that are put together again ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See MergePads.h.
//
//===----------------------------------------------------------------------===//

#include "MergePads.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace oneflow;

/// The dimension that the op pads by zeros at its ends, if it does that and no
/// more.
static std::optional<int64_t> paddedDim(PadOp pad) {
  std::optional<int64_t> found;
  if (!matchPattern(pad.getValue(), m_AnyZeroFloat()))
    return std::nullopt;
  for (int64_t dim = 0; dim < pad.getType().getRank(); ++dim) {
    if (pad.isWhole(dim))
      continue;
    if (found || pad.getInterior()[dim] != 0)
      return std::nullopt;
    found = dim;
  }
  return found;
}

/// Collects the pads of which `value` is the sum; false where it is of others
/// too, or where others use a part of the sum.
static bool collectPads(Value value, Value root, SmallVectorImpl<PadOp> &pads) {
  if (auto pad = value.getDefiningOp<PadOp>()) {
    pads.push_back(pad);
    return !pad.getSignatureAttr();
  }
  auto add = value.getDefiningOp<AddOp>();
  return add && !add.getSignatureAttr() &&
         (value == root || value.hasOneUse()) &&
         add.getLhs().getType() == add.getType() &&
         add.getRhs().getType() == add.getType() &&
         collectPads(add.getLhs(), root, pads) &&
         collectPads(add.getRhs(), root, pads);
}

/// The parts in order, if they fill the sum without gaps.
static bool sortAdjacent(SmallVectorImpl<PadOp> &pads, int64_t dim) {
  llvm::sort(pads, [&](PadOp a, PadOp b) {
    return a.getLow()[dim] < b.getLow()[dim];
  });
  int64_t end = 0;
  for (PadOp pad : pads) {
    if (paddedDim(pad) != dim || pad.getLow()[dim] != end)
      return false;
    end += pad.getX().getType().getDimSize(dim);
  }
  return end == pads.front().getType().getDimSize(dim);
}

void oneflow::mergePads(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto add = dyn_cast<AddOp>(op);
    SmallVector<PadOp> pads;
    if (!add || add->use_empty() ||
        !collectPads(add.getResult(), add.getResult(), pads))
      continue;
    std::optional<int64_t> dim = paddedDim(pads.front());
    if (!dim || !sortAdjacent(pads, *dim))
      continue;
    OpBuilder builder(add);
    SmallVector<Value> parts;
    for (PadOp pad : pads)
      parts.push_back(pad.getX());
    Value whole = ConcatOp::create(builder, add.getLoc(), parts, *dim,
                                   add.getPlacementAttr(), nullptr);
    add.getResult().replaceAllUsesWith(whole);
  }
}
