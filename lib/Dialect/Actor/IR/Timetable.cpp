//===- Timetable.cpp - who acts where and how often -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Timetable.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/IR/Timetable.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include <map>

using namespace mlir;
using namespace oneflow;
using namespace oneflow::actor;

ExchangeOp actor::getExchange(TaskOp task) {
  Block &body = task.getBody().front();
  return llvm::hasSingleElement(body) ? dyn_cast<ExchangeOp>(&body.front())
                                      : ExchangeOp();
}

FlatSymbolRefAttr actor::getPlacement(TaskOp task, Operation *op,
                                      unsigned access) {
  if (auto exchange = dyn_cast<ExchangeOp>(op))
    return access == 0 ? exchange.getSourceLayout().getPlacement()
                       : exchange.getTargetLayout().getPlacement();
  return task.getPlacementAttr();
}

Timetable::Timetable(GraphOp graph) {
  for (Operation &op : graph.getBody().front()) {
    if (auto phase = dyn_cast<PhaseOp>(op)) {
      if (phaseIndex.try_emplace(phase.getName(), phases.size()).second)
        phases.push_back({phase.getName(), int64_t(phase.getActions())});
    } else if (auto schedule = dyn_cast<ScheduleOp>(op)) {
      addPlacement(graph, schedule.getPlacementAttr());
    } else if (auto task = dyn_cast<TaskOp>(op)) {
      addPlacement(graph, task.getPlacementAttr());
      if (ExchangeOp exchange = getExchange(task)) {
        addPlacement(graph, exchange.getSourceLayout().getPlacement());
        addPlacement(graph, exchange.getTargetLayout().getPlacement());
      }
    }
  }
  if (phases.empty())
    phases.push_back({"", 1});
  makeGroups();

  for (auto schedule : graph.getOps<ScheduleOp>())
    for (unsigned group : getGroups(schedule.getPlacementAttr()))
      if (!groups[group].schedule) {
        groups[group].schedule = schedule;
        groups[group].steps = getSteps(schedule);
      }
  for (Group &group : groups)
    if (!group.schedule)
      for (unsigned phase = 0; phase < phases.size(); ++phase)
        for (int64_t action = 0; action < phases[phase].actions; ++action)
          group.steps.push_back({phase, action});
}

void Timetable::addPlacement(GraphOp graph, FlatSymbolRefAttr symbol) {
  if (ranges.contains(symbol))
    return;
  if (PlacementOp placement = lookupPlacement(graph, symbol)) {
    int64_t first = placement.getFirstRank();
    ranges[symbol] = {first, first + placement.getRankCount()};
  }
}

void Timetable::makeGroups() {
  SmallVector<int64_t> cuts;
  for (auto &[symbol, range] : ranges) {
    cuts.push_back(range.first);
    cuts.push_back(range.second);
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  std::map<std::vector<unsigned>, unsigned> groupIndex;
  for (size_t cut = 1; cut < cuts.size(); ++cut) {
    std::vector<unsigned> covering;
    for (auto [index, entry] : llvm::enumerate(ranges))
      if (entry.second.first < cuts[cut] && cuts[cut - 1] < entry.second.second)
        covering.push_back(index);
    if (covering.empty())
      continue;
    auto [place, isNew] = groupIndex.try_emplace(covering, groups.size());
    if (isNew) {
      groups.emplace_back();
      for (unsigned index : covering) {
        auto symbol = cast<FlatSymbolRefAttr>(ranges.begin()[index].first);
        groups.back().placements.push_back(symbol);
        groupsOf[symbol].push_back(place->second);
      }
    }
    groups[place->second].ranges.push_back({cuts[cut - 1], cuts[cut]});
  }
}

std::optional<unsigned> Timetable::findPhase(TaskOp task) const {
  auto found = phaseIndex.find(task.getPhase().value_or(""));
  if (found != phaseIndex.end())
    return found->second;
  return phaseIndex.empty() && !task.getPhase() ? std::optional<unsigned>(0)
                                                : std::nullopt;
}

int64_t Timetable::getActions(TaskOp task) const {
  std::optional<unsigned> phase = findPhase(task);
  return phase ? phases[*phase].actions : 1;
}

ArrayRef<unsigned> Timetable::getGroups(FlatSymbolRefAttr placement) const {
  auto found = groupsOf.find(placement);
  return found == groupsOf.end() ? ArrayRef<unsigned>()
                                 : ArrayRef<unsigned>(found->second);
}

SmallVector<unsigned> Timetable::getGroups(TaskOp task) const {
  ExchangeOp exchange = getExchange(task);
  if (!exchange)
    return SmallVector<unsigned>(getGroups(task.getPlacementAttr()));
  SmallVector<unsigned> both(
      getGroups(exchange.getSourceLayout().getPlacement()));
  llvm::append_range(both,
                     getGroups(exchange.getTargetLayout().getPlacement()));
  llvm::sort(both);
  both.erase(llvm::unique(both), both.end());
  return both;
}

ArrayRef<unsigned> Timetable::getGroups(TaskOp task, Operation *op,
                                        unsigned access) const {
  return getGroups(getPlacement(task, op, access));
}

std::string Timetable::describe(unsigned group) const {
  std::string text;
  bool isOne =
      groups[group].ranges.size() == 1 &&
      groups[group].ranges[0].second == groups[group].ranges[0].first + 1;
  for (auto [first, end] : groups[group].ranges) {
    text += text.empty() ? (isOne ? "rank " : "ranks ") : ", ";
    text += std::to_string(first);
    if (end > first + 1)
      text += "-" + std::to_string(end - 1);
  }
  text += " (";
  for (auto [index, placement] : llvm::enumerate(groups[group].placements))
    text += (index ? ", @" : "@") + placement.getValue().str();
  return text + ")";
}

SmallVector<Step> Timetable::getSteps(ScheduleOp schedule) const {
  SmallVector<Step> steps;
  for (auto [name, action] :
       llvm::zip(schedule.getPhases().getAsRange<StringAttr>(),
                 schedule.getActions()))
    if (auto found = phaseIndex.find(name.getValue());
        found != phaseIndex.end())
      steps.push_back({found->second, action});
  return steps;
}
