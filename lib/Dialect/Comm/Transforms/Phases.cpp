//===- Phases.cpp - when the ops of a step act ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Phases.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Comm/Transforms/Phases.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace oneflow;
using namespace oneflow::comm;

FlatSymbolRefAttr comm::placementOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, FlatSymbolRefAttr>(op)
      .Case([](InputOp input) { return input.getLayout().getPlacement(); })
      .Case([](OutputOp output) { return output.getLayout().getPlacement(); })
      .Case([](ExchangeOp exchange) {
        return exchange.getSource().getPlacement();
      })
      .Case([](UpdateOp update) {
        return SymbolTable::lookupNearestSymbolFrom<VariableOp>(
                   update, update.getVariableAttr())
            .getPlacementAttr();
      })
      .Case([](ReadOp read) {
        return SymbolTable::lookupNearestSymbolFrom<VariableOp>(
                   read, read.getVariableAttr())
            .getPlacementAttr();
      })
      .Default([](Operation *other) {
        return other->getAttrOfType<FlatSymbolRefAttr>("placement");
      });
}

bool comm::isTransfer(Operation *op) {
  auto exchange = dyn_cast<ExchangeOp>(op);
  if (!exchange)
    return false;
  PlacementOp source = lookupPlacement(op, exchange.getSource().getPlacement());
  PlacementOp target = lookupPlacement(op, exchange.getTarget().getPlacement());
  int64_t first = source.getFirstRank(), second = target.getFirstRank();
  return first + source.getRankCount() <= second ||
         second + target.getRankCount() <= first;
}

static bool isSplitAlongTime(Operation *op, LayoutAttr layout) {
  PlacementOp placement = lookupPlacement(op, layout.getPlacement());
  return placement && placement.hasTimeAxis() &&
         layout.getSbp().getAxes().front().isSplit();
}

/// A number that depends on the micro-batch.
static bool dependsOnTime(Value value) {
  auto scalar = value.getDefiningOp<ScalarOp>();
  if (!scalar)
    return false;
  PlacementOp placement =
      lookupPlacement(scalar, scalar.getValue().getPlacement());
  return placement && placement.hasTimeAxis() &&
         llvm::is_contained(scalar.getValue().getAxes(), 0);
}

void Phases::findRepeated(func::FuncOp function) {
  for (Operation &op : function.getBody().front()) {
    auto input = dyn_cast<InputOp>(op);
    bool isRepeated = input && isSplitAlongTime(&op, input.getLayout());
    isRepeated |= isa<AccumulateOp>(op);
    for (Value operand : op.getOperands()) {
      Operation *maker = operand.getDefiningOp();
      isRepeated |= dependsOnTime(operand) ||
                    (repeated.contains(maker) && !isa<AccumulateOp>(maker));
    }
    if (isRepeated)
      repeated.insert(&op);
    if (FlatSymbolRefAttr on = placementOf(&op))
      if (PlacementOp placement = lookupPlacement(&op, on))
        microBatches = std::max(microBatches, placement.getMicroBatches());
    pipelined |= isTransfer(&op);
  }
  for (Operation &op : llvm::reverse(function.getBody().front()))
    for (Operation *user : op.getUsers())
      if (repeated.contains(user) || feedsRepeated.contains(user))
        feedsRepeated.insert(&op);
}

void Phases::findForward(func::FuncOp function) {
  auto isGradient = [](OutputOp output) {
    return output->hasAttr("oneflow.gradient");
  };
  for (Operation &op : llvm::reverse(function.getBody().front())) {
    auto output = dyn_cast<OutputOp>(op);
    bool needed = output && !isGradient(output);
    for (Operation *user : op.getUsers())
      needed |= forward.contains(user);
    if (needed)
      forward.insert(&op);
  }
}

void Phases::findWeights(func::FuncOp function) {
  for (Operation &op : llvm::reverse(function.getBody().front())) {
    if (!repeated.contains(&op) || forward.contains(&op))
      continue;
    bool isLeaf = isa<AccumulateOp>(op) ||
                  (isa<KernelOp>(op) && !op.use_empty() &&
                   llvm::all_of(op.getUsers(), [](Operation *user) {
                     return isa<AccumulateOp>(user);
                   }));
    if (isLeaf)
      weights.insert(&op);
  }
}

PassKind Phases::kindOf(Operation *op) const {
  if (!repeated.contains(op))
    return feedsRepeated.contains(op) ? PassKind::Before : PassKind::After;
  if (!pipelined || forward.contains(op))
    return PassKind::Forward;
  return weights.contains(op) ? PassKind::Weights : PassKind::Backward;
}

Phases::Phases(func::FuncOp function) {
  findRepeated(function);
  if (!hasMicroBatches()) {
    phases.push_back({PassKind::After, {}, "", 1});
    return;
  }
  if (pipelined) {
    findForward(function);
    auto schedule =
        function->getParentOp()->getAttrOfType<StringAttr>("oneflow.schedule");
    if (schedule && schedule.getValue() == "zero-bubble")
      findWeights(function);
  }
  SmallVector<std::pair<PassKind, FlatSymbolRefAttr>> keys;
  DenseMap<Operation *, unsigned> keyOf;
  for (Operation &op : function.getBody().front()) {
    if (isa<ReadOp, ScalarOp>(op) || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    std::pair<PassKind, FlatSymbolRefAttr> key{kindOf(&op), placementOf(&op)};
    auto *known = llvm::find(keys, key);
    keyOf[&op] = known - keys.begin();
    if (known == keys.end())
      keys.push_back(key);
  }
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(keys.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::make_pair(keys[a].first, a) < std::make_pair(keys[b].first, b);
  });
  SmallVector<unsigned> place(keys.size());
  for (auto [index, key] : llvm::enumerate(order)) {
    auto [kind, placement] = keys[key];
    place[key] = index;
    static constexpr StringLiteral names[] = {"before", "forward", "backward",
                                              "weights", "after"};
    std::string name = names[static_cast<unsigned>(kind)].str();
    if (!pipelined && kind == PassKind::Forward)
      name = "micro-batch";
    if (pipelined)
      name += " of @" + placement.getValue().str();
    Phase phase{kind, placement, std::move(name), 1};
    if (phase.isRepeated())
      phase.actions = microBatches;
    phases.push_back(std::move(phase));
  }
  for (auto [op, key] : keyOf)
    phaseOf[op] = place[key];
}
