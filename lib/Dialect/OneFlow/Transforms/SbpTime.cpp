//===- SbpTime.cpp - signatures along the time axis -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Micro-batches are walked one after the other, so signatures along `time` are
// not a matter of cost but of what can be there when: they follow from the
// inputs, op by op. A value is, along time, a part (S), a summand (P), or whole
// (B); and if whole, it is there either before the first micro-batch or only
// behind the last, when it stems from an accumulation. An op that makes parts
// or summands acts once per micro-batch, and can take nothing that is there
// behind the last only.
//
//===----------------------------------------------------------------------===//

#include "SbpSelection.h"

#include "oneflow/Dialect/OneFlow/Transforms/BoxingRequest.h"

using namespace mlir;
using namespace oneflow;

namespace {
constexpr size_t timeAxis = 0;

/// Of options that are possible, the cheaper one is taken: parts rather than
/// summands, summands rather than whole batches; nothing sooner than
/// accumulated.
enum Effort {
  Nothing = 0,
  Summand = 1,
  Whole = 2,
  Slice = 4,
  Accumulate = 64,
  Move = 1024
};
} // namespace

bool SbpSelection::hasTime(const Node &node) const {
  return node.kind != Node::Kind::Delivery &&
         PlacementOp(node.placement).hasTimeAxis();
}

SbpSelection::TimeState SbpSelection::timeStateOf(Value value) const {
  const Node &producer = nodes[index.at(value.getDefiningOp())];
  unsigned result = producer.kind == Node::Kind::Variable
                        ? 0
                        : cast<OpResult>(value).getResultNumber();
  const sbp::Signature &option = producer.options.front();
  return {result < option.results.size() ? option.results[result]
                                         : sbp::Sbp::broadcast(),
          producer.isLate};
}

/// What an operand costs where it is wanted as `to`; nothing where that cannot
/// be. Sets `accumulates` where all micro-batches must be waited for.
std::optional<int> SbpSelection::operandEffort(Value operand,
                                               const Node &consumer,
                                               const sbp::Sbp &to,
                                               bool &accumulates) const {
  auto [from, isLate] = timeStateOf(operand);
  if (isLate) {
    accumulates = true;
    return to.isBroadcast() ? std::optional<int>(Nothing) : std::nullopt;
  }
  // Summands are accumulated before they go to another stage: once, not once
  // per micro-batch.
  const Node &producer = nodes[index.at(operand.getDefiningOp())];
  if (from == to)
    return from.isPartial() && producer.placement != consumer.placement
               ? std::optional<int>(Move)
               : Nothing;
  if (sameMicroBatches(from, to, operand, producer.placement))
    return Nothing;
  if (from.isBroadcast() && to.isSplit())
    return Slice;
  if (from.isPartial() && to.isBroadcast()) {
    accumulates = true;
    return Accumulate;
  }
  return std::nullopt;
}

std::optional<int> SbpSelection::timeEffort(const Node &node,
                                            const sbp::Signature &option,
                                            bool &isLate) const {
  isLate = false;
  if (option.decomposed)
    return std::nullopt;
  bool whole = true;
  int sum = 0;
  for (auto [number, operand] : llvm::enumerate(node.op->getOperands())) {
    std::optional<int> effort =
        operandEffort(operand, node, option.operands[number], isLate);
    if (!effort)
      return std::nullopt;
    sum += *effort;
    whole &= option.operands[number].isBroadcast();
  }
  bool takesWhole = whole;
  for (const sbp::Sbp &result : option.results) {
    whole &= result.isBroadcast();
    // From whole operands a whole result is made; makeParts changes that where
    // only parts are wanted.
    if (takesWhole && node.op->getNumOperands() > 0 && !result.isBroadcast())
      return std::nullopt;
    sum += result.isSplit() ? Nothing : result.isPartial() ? Summand : Whole;
  }
  if (isLate && !whole)
    return std::nullopt;
  return sum;
}

LogicalResult SbpSelection::reportTime(Node &node) {
  InFlightDiagnostic error = node.op->emitOpError(
      "along 'time': micro-batches come one after the other, and this op needs "
      "all of them at once: ");
  bool first = true;
  for (auto [number, operand] : llvm::enumerate(node.op->getOperands())) {
    TimeState state = timeStateOf(operand);
    if (!first)
      error << ", ";
    first = false;
    error << "operand " << number << " is ";
    if (state.isLate)
      error << "there behind the last micro-batch only";
    else
      error << sbp::toString(state.sbp);
  }
  error << "; it allows for its shapes: ";
  std::vector<sbp::Signature> legal;
  for (const sbp::Signature &option : node.options)
    legal.push_back(option);
  llvm::interleaveComma(legal, error, [&](const sbp::Signature &option) {
    error << sbp::toString(option);
  });
  error << "; use one micro-batch, or make what it needs of inputs alone";
  return failure();
}

/// The ops that `number` is computed by, itself included, when these are
/// inputs, constants and cheap ops without variables only: they can do with the
/// whole batch before the first micro-batch. Empty otherwise.
std::vector<unsigned> SbpSelection::originsOf(unsigned number) const {
  std::vector<unsigned> origins{number};
  std::set<unsigned> seen{number};
  for (size_t next = 0; next < origins.size(); ++next) {
    const Node &node = nodes[origins[next]];
    if (node.kind != Node::Kind::Op || node.carried || isa<MatmulOp>(node.op))
      return {};
    const SbpPin *pin = pinAt(node.pins.results, 0, timeAxis);
    if (pin && !StringRef(pin->reason).starts_with("default"))
      return {};
    for (Value operand : node.op->getOperands()) {
      unsigned producer = index.at(operand.getDefiningOp());
      if (seen.insert(producer).second)
        origins.push_back(producer);
    }
  }
  return origins;
}

LogicalResult SbpSelection::chooseTimeOf(unsigned number,
                                         std::set<unsigned> &whole,
                                         bool &again) {
  Node &node = nodes[number];
  std::optional<int> least;
  sbp::Signature best;
  bool bestIsLate = false;
  for (const sbp::Signature &option : node.options) {
    bool isLate;
    std::optional<int> effort = timeEffort(node, option, isLate);
    if (effort && (!least || *effort < *least)) {
      least = effort;
      best = option;
      bestIsLate = isLate;
    }
  }
  if (least) {
    node.options = {best};
    node.isLate = bestIsLate;
    return success();
  }
  // What is accumulated of inputs alone, a count of labels, say, can be had
  // from the whole batch beforehand.
  for (Value operand : node.op->getOperands()) {
    TimeState state = timeStateOf(operand);
    if (!state.isLate && !state.sbp.isPartial())
      continue;
    for (unsigned origin : originsOf(index.at(operand.getDefiningOp())))
      again |= whole.insert(origin).second;
  }
  if (again)
    return success();
  return reportTime(node);
}

/// What is made of whole values alone, but wanted in parts only, is made in
/// parts: a broadcast of a bias to the batch, say.
void SbpSelection::makeParts() {
  for (Node &node : llvm::reverse(nodes)) {
    if (!hasTime(node) || node.kind != Node::Kind::Op || node.carried ||
        node.isLate || node.op->getNumResults() != 1 || isa<InputOp>(node.op) ||
        !node.options.front().results[0].isBroadcast() || node.op->use_empty())
      continue;
    std::optional<sbp::Sbp> wanted;
    bool agree = true;
    for (OpOperand &use : node.op->getUses()) {
      const Node &consumer = nodes[index.at(use.getOwner())];
      unsigned operand =
          consumer.kind == Node::Kind::Variable ? 0 : use.getOperandNumber();
      const sbp::Sbp &state = consumer.options.front().operands[operand];
      agree &= state.isSplit() && (!wanted || *wanted == state);
      wanted = state;
    }
    if (!agree)
      continue;
    for (const sbp::Signature &option : node.allowed) {
      if (option.decomposed || option.results[0] != *wanted ||
          !obeysPins(node, option, timeAxis) ||
          !isLegal(node, option, timeAxis))
        continue;
      bool possible = true, accumulates = false;
      for (auto [number, operand] : llvm::enumerate(node.op->getOperands())) {
        possible &= operandEffort(operand, node, option.operands[number],
                                  accumulates) &&
                    !accumulates;
      }
      if (possible) {
        node.options = {option};
        break;
      }
    }
  }
}

LogicalResult SbpSelection::chooseTime() {
  if (llvm::none_of(nodes, [&](const Node &node) { return hasTime(node); }))
    return success();
  std::vector<std::vector<sbp::Signature>> found;
  for (const Node &node : nodes)
    found.push_back(node.options);
  // Ops that are to compute on the whole batch; grows until it is enough.
  std::set<unsigned> whole;
  bool again = true;
  while (again) {
    again = false;
    for (unsigned number = 0; number < nodes.size() && !again; ++number) {
      Node &node = nodes[number];
      if (!hasTime(node))
        continue;
      node.options = found[number];
      node.isLate = false;
      auto keep = [&](llvm::function_ref<bool(const sbp::Signature &)> fits) {
        llvm::erase_if(node.options, [&](const sbp::Signature &option) {
          return !fits(option);
        });
      };
      auto isWhole = [](const sbp::Signature &option) {
        auto broadcast = [](const sbp::Sbp &state) {
          return state.isBroadcast();
        };
        return llvm::all_of(option.operands, broadcast) &&
               llvm::all_of(option.results, broadcast);
      };
      if (node.kind == Node::Kind::Variable) {
        keep(isWhole);
        if (node.options.empty())
          return node.op->emitOpError("along 'time': expected a variable to be "
                                      "whole: it outlives all micro-batches");
        continue;
      }
      if (node.carried)
        continue;
      if (whole.count(number)) {
        node.options = {};
        for (const sbp::Signature &option : node.allowed)
          if (isWhole(option))
            node.options = {option};
      }
      if (isa<OutputOp>(node.op)) {
        // An output takes its parts as they come.
        TimeState state = timeStateOf(node.op->getOperand(0));
        if (state.sbp.isSplit())
          node.options = {{{state.sbp}, {}}};
      }
      if (failed(chooseTimeOf(number, whole, again)))
        return failure();
    }
  }
  makeParts();
  return checkUpdatesInTime();
}

LogicalResult SbpSelection::checkUpdatesInTime() const {
  for (const Node &node : nodes) {
    if (node.kind != Node::Kind::Variable || !hasTime(node))
      continue;
    for (SpreadOpInterface use : node.uses)
      for (Value operand : use->getOperands())
        if (timeStateOf(operand).sbp.isSplit())
          return use->emitOpError("along 'time': expected the new value of "
                                  "the variable to be there at once, got "
                                  "one part per micro-batch");
  }
  return success();
}
