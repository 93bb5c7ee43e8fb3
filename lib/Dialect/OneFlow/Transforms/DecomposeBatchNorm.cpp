//===- DecomposeBatchNorm.cpp - batch norm from reductions ----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces every batch norm by the ops that it stands for. Their signatures are
// inferred like any others, so that ranks which split the batch add up their
// parts of its statistics.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h"

namespace oneflow {
#define GEN_PASS_DEF_DECOMPOSEBATCHNORMPASS
#include "oneflow/Dialect/OneFlow/Transforms/Passes.h.inc"
} // namespace oneflow

using namespace mlir;
using namespace oneflow;

static void addSharding(Operation *op, bool isOperand, unsigned index,
                        ShardingAttr sharding) {
  SmallVector<Attribute> all;
  if (auto known = op->getAttrOfType<ArrayAttr>(kShardingAttrName))
    all.append(known.begin(), known.end());
  all.push_back(ShardingAttr::get(op->getContext(), isOperand, index,
                                  sharding.toSharding(),
                                  sharding.getDevices()));
  op->setAttr(kShardingAttrName, ArrayAttr::get(op->getContext(), all));
}

/// Gives what the op was asked for to the first of its `parts` that reads the
/// operand, or to the one that makes the result.
static void moveShardings(BatchNormOp op, ArrayRef<Operation *> parts,
                          ArrayRef<Value> results) {
  auto shardings = op->getAttrOfType<ArrayAttr>(kShardingAttrName);
  if (!shardings)
    return;
  for (auto sharding : shardings.getAsRange<ShardingAttr>()) {
    if (!sharding.getIsOperand()) {
      auto result = cast<OpResult>(results[sharding.getIndex()]);
      addSharding(result.getOwner(), false, result.getResultNumber(), sharding);
      continue;
    }
    Value operand = op->getOperand(sharding.getIndex());
    for (Operation *part : parts) {
      auto use = llvm::find(part->getOperands(), operand);
      if (use == part->operand_end())
        continue;
      addSharding(part, true, use.getIndex(), sharding);
      break;
    }
  }
}

namespace {
struct DecomposeBatchNormPass
    : oneflow::impl::DecomposeBatchNormPassBase<DecomposeBatchNormPass> {
  void runOnOperation() override {
    SmallVector<BatchNormOp> norms;
    getOperation().walk([&](BatchNormOp op) { norms.push_back(op); });
    for (BatchNormOp op : norms) {
      if (!op.getX().getType().hasStaticShape()) {
        op.emitOpError("expected static extents, got: ") << op.getX().getType();
        return signalPassFailure();
      }
      OpBuilder builder(op);
      Operation *before = op->getPrevNode();
      SmallVector<Value> results = op.decompose(builder);
      SmallVector<Operation *> parts;
      Operation *part =
          before ? before->getNextNode() : &op->getBlock()->front();
      for (; part != op; part = part->getNextNode())
        parts.push_back(part);
      moveShardings(op, parts, results);
      // Where stages are assigned, it goes with what it normalizes.
      if (auto made = op.getX().getDefiningOp<SpreadOpInterface>())
        for (Operation *each : parts)
          if (auto spread = dyn_cast<SpreadOpInterface>(each))
            spread.setPlacementAttr(made.getPlacementAttr());
      op->replaceAllUsesWith(results);
      op->erase();
    }
  }
};
} // namespace
