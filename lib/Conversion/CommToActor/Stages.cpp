//===- Stages.cpp - a per-rank program cut into tasks ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Stages.h.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace oneflow;

Stages::Stages(func::FuncOp function) : function(function), phases(function) {
  assignDepths();
  assignUpdates();
  makeStages();
}

unsigned Stages::operandDepth(Operation *op) const {
  unsigned depth = 0;
  for (Value operand : op->getOperands())
    depth = std::max(depth, depths.lookup(operand));
  return depth;
}

void Stages::assignDepths() {
  for (Operation &op : function.getBody().front()) {
    unsigned depth = operandDepth(&op) + (comm::isCommunication(&op) ? 1 : 0);
    for (Value result : op.getResults())
      depths[result] = depth;
  }
}

void Stages::assignUpdates() {
  llvm::DenseMap<Attribute, SmallVector<Value>> reads;
  for (auto read : function.getOps<comm::ReadOp>())
    reads[read.getVariableAttr()].push_back(read.getResult());
  for (auto update : function.getOps<comm::UpdateOp>()) {
    unsigned depth = operandDepth(update);
    for (Value read : reads.lookup(update.getVariableAttr())) {
      for (Operation *user : read.getUsers()) {
        if (comm::isCommunication(user))
          depth = std::max(depth, operandDepth(user) + 1);
        else if (isa<comm::KernelOp>(user))
          depth = std::max(depth, operandDepth(user));
      }
    }
    updateDepths[update] = depth;
  }
  // An update that takes the old value of a variable reads it, too.
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto update : function.getOps<comm::UpdateOp>())
      for (Value read : reads.lookup(update.getVariableAttr()))
        for (Operation *user : read.getUsers())
          if (isa<comm::UpdateOp>(user) &&
              updateDepths.lookup(update) < updateDepths.lookup(user)) {
            updateDepths[update] = updateDepths.lookup(user);
            changed = true;
          }
  }
}

Stage *Stages::addStage(Stage::Kind kind, FlatSymbolRefAttr placement,
                        unsigned phase) {
  stages.push_back(std::make_unique<Stage>());
  stages.back()->kind = kind;
  stages.back()->placement = placement;
  stages.back()->phase = phase;
  return stages.back().get();
}

void Stages::makeStages() {
  // Chains and transfers by depth; inputs go before, outputs behind.
  struct Level {
    // By phase, since those of one depth depend on each other in that order.
    std::map<std::pair<unsigned, std::string>, Stage *> chains;
    SmallVector<Operation *> transfers;
  };
  std::map<unsigned, Level> levels;
  auto addTo = [&](Stage::Kind kind, FlatSymbolRefAttr placement,
                   Operation *op) {
    Stage *stage = addStage(kind, placement, phases.of(op));
    stage->ops.push_back(op);
    stageOf[op] = stage;
  };
  auto chainAt = [&](unsigned depth, FlatSymbolRefAttr placement,
                     unsigned phase) {
    Stage *&chain = levels[depth].chains[{phase, placement.getValue().str()}];
    if (!chain)
      chain = addStage(Stage::Kind::Chain, placement, phase);
    return chain;
  };

  for (auto input : function.getOps<comm::InputOp>())
    addTo(Stage::Kind::Input, input.getLayout().getPlacement(), input);
  size_t inputCount = stages.size();
  for (Operation &op : function.getBody().front()) {
    if (isa<comm::KernelOp, comm::AccumulateOp>(op)) {
      Stage *chain =
          chainAt(operandDepth(&op), comm::placementOf(&op), phases.of(&op));
      chain->ops.push_back(&op);
      stageOf[&op] = chain;
    } else if (comm::isCommunication(&op)) {
      levels[operandDepth(&op)].transfers.push_back(&op);
    } else if (auto update = dyn_cast<comm::UpdateOp>(op)) {
      Stage *chain = chainAt(updateDepths.lookup(&op), comm::placementOf(&op),
                             phases.of(&op));
      chain->updates.push_back(update);
      stageOf[&op] = chain;
    }
  }

  std::vector<std::unique_ptr<Stage>> unordered = std::move(stages);
  stages.clear();
  for (size_t index = 0; index < inputCount; ++index)
    stages.push_back(std::move(unordered[index]));
  for (auto &[depth, level] : levels) {
    for (auto &[placement, chain] : level.chains)
      for (std::unique_ptr<Stage> &owner : unordered)
        if (owner.get() == chain)
          stages.push_back(std::move(owner));
    for (Operation *op : level.transfers) {
      FlatSymbolRefAttr placement;
      if (auto exchange = dyn_cast<comm::ExchangeOp>(op))
        placement = exchange.getTarget().getPlacement();
      else
        placement = op->getAttrOfType<FlatSymbolRefAttr>("placement");
      addTo(Stage::Kind::Transfer, placement, op);
    }
  }
  for (auto output : function.getOps<comm::OutputOp>())
    addTo(Stage::Kind::Output, output.getLayout().getPlacement(), output);
  for (auto [index, stage] : llvm::enumerate(stages))
    stage->index = index;
}

Stage *Stages::getProducer(Value value) const {
  return stageOf.lookup(value.getDefiningOp());
}

SmallVector<Stage *> Stages::getConsumers(Value value) const {
  llvm::SmallSetVector<Stage *, 4> consumers;
  for (Operation *user : value.getUsers())
    if (Stage *stage = stageOf.lookup(user))
      consumers.insert(stage);
  SmallVector<Stage *> ordered = consumers.takeVector();
  llvm::sort(ordered, [](Stage *a, Stage *b) { return a->index < b->index; });
  return ordered;
}

SmallVector<std::pair<Stage *, Stage *>> Stages::getUnorderedUpdates() const {
  // reaches[a] holds every stage that is ordered behind a by values alone, and
  // by way of its own ranks: what others do is not seen when memory is planned.
  std::vector<llvm::BitVector> reaches(stages.size(),
                                       llvm::BitVector(stages.size()));
  for (const std::unique_ptr<Stage> &stage : llvm::reverse(stages)) {
    llvm::BitVector &reach = reaches[stage->index];
    if (stage->kind == Stage::Kind::Transfer && comm::isTransfer(stage->ops[0]))
      continue;
    for (Operation *op : stage->ops)
      for (Value result : op->getResults())
        for (Stage *consumer : getConsumers(result))
          if (consumer != stage.get()) {
            reach.set(consumer->index);
            reach |= reaches[consumer->index];
          }
  }
  func::FuncOp reads = function;
  llvm::SmallSetVector<std::pair<Stage *, Stage *>, 4> seen;
  for (const std::unique_ptr<Stage> &updater : stages)
    for (comm::UpdateOp update : updater->updates)
      for (auto read : reads.getOps<comm::ReadOp>()) {
        if (read.getVariableAttr() != update.getVariableAttr())
          continue;
        for (Stage *reader : getConsumers(read.getResult()))
          if (reader != updater.get() &&
              !reaches[reader->index].test(updater->index))
            seen.insert({reader, updater.get()});
      }
  return seen.takeVector();
}
