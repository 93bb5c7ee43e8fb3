//===- SbpExplain.cpp - why a signature was chosen ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says for each choice what would have cost more, or what it goes along with.
//
//===----------------------------------------------------------------------===//

#include "SbpSelection.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace oneflow;

SbpSelection::Node::Reason SbpSelection::explainChoice(
    unsigned number, const std::vector<unsigned> &options, size_t axis) const {
  const Node &node = nodes[number];
  if (node.carried)
    return {"pinned by its signature", {}};
  for (const auto *states : {&node.pins.results, &node.pins.operands})
    for (size_t index = 0; index < states->size(); ++index)
      if (const SbpPin *pin = pinAt(*states, index, axis))
        return {"pinned by " + pin->reason, {}};
  if (node.options.size() == 1)
    return {"nothing else is allowed", {}};

  auto edgeCost = [&](const Edge &edge, unsigned option) {
    unsigned a = edge.producer == number ? option : options[edge.producer];
    unsigned b = edge.consumer == number ? option : options[edge.consumer];
    return edge.costs[a * nodes[edge.consumer].options.size() + b];
  };
  auto total = [&](unsigned option) {
    double seconds = node.costs[option];
    for (unsigned edge : incident[number])
      seconds += edgeCost(edges[edge], option);
    return seconds;
  };
  unsigned chosen = options[number];
  double ours = total(chosen);
  std::optional<unsigned> best;
  for (unsigned option = 0; option < node.options.size(); ++option)
    if (option != chosen && (!best || total(option) < total(*best)))
      best = option;
  // The neighbor for which the next best would cost most.
  const Edge *dearest = nullptr;
  double most = 0;
  for (unsigned edge : incident[number]) {
    double more = edgeCost(edges[edge], *best) - edgeCost(edges[edge], chosen);
    if (more > most) {
      most = more;
      dearest = &edges[edge];
    }
  }
  double gain = total(*best) - ours;
  const sbp::Signature &next = node.options[*best];
  std::string alternative = node.kind == Node::Kind::Op
                                ? sbp::toString(next)
                                : sbp::toString(next.results[0]);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (gain <= 0)
    stream << "no dearer than " << alternative;
  else if (gain >= node.model.softPenalty)
    stream << "rather than " << alternative;
  else
    stream << "cheaper than " << alternative << " by "
           << llvm::format("%.3g", gain * 1e6) << " us";
  // What it saves itself, it is chosen for; else it goes along with a neighbor.
  if (!dearest || node.costs[*best] - node.costs[chosen] >= most)
    return {text, {}};
  if (dearest->ties) {
    unsigned other =
        dearest->consumer == number ? dearest->producer : dearest->consumer;
    return {"lies as @" +
                SymbolTable::getSymbolName(nodes[other].op).getValue().str(),
            other};
  }
  if (dearest->consumer == number)
    return {(node.kind == Node::Kind::Op
                 ? "follows operand " + std::to_string(dearest->operand)
                 : "follows its updates") +
                ", " + text,
            dearest->producer};
  return {"fits its use, " + text, dearest->consumer};
}

/// "; from @w, pinned by hint ...": the end of the chain of what follows what.
std::string SbpSelection::originOf(unsigned number, size_t axis) const {
  std::set<unsigned> seen;
  unsigned at = number;
  while (seen.insert(at).second && axis < nodes[at].reasons.size() &&
         nodes[at].reasons[axis].follows)
    at = *nodes[at].reasons[axis].follows;
  if (at == number || axis >= nodes[at].reasons.size() ||
      nodes[at].reasons[axis].follows)
    return "";
  const Node &origin = nodes[at];
  std::string name;
  if (origin.kind == Node::Kind::Variable) {
    name = "@" + SymbolTable::getSymbolName(origin.op).getValue().str();
  } else {
    name = nodeNameOf(origin.op->getLoc()).str();
    if (name.empty())
      name = origin.op->getName().getStringRef().str();
  }
  return " (from " + name + ": " + origin.reasons[axis].text + ")";
}

void SbpSelection::explain() {
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (node.kind == Node::Kind::Delivery)
      continue;
    InFlightDiagnostic remark = node.op->emitRemark("sbp ");
    if (node.kind == Node::Kind::Op)
      remark << sbp::toString(node.chosen);
    else
      remark << sbp::toString(node.chosen.results[0]);
    for (auto [axis, reason] : llvm::enumerate(node.reasons))
      remark << "; " << axisName(node.placement, axis) << ": " << reason.text
             << originOf(number, axis);
  }
}
