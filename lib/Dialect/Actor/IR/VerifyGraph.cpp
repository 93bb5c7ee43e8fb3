//===- VerifyGraph.cpp - what a well-formed graph is ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of graphs, in the terms of Plan.fbs: phases, schedules, fills
// and transfers. Whether the graph can run is what --actor-prove-schedule says.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/IR/Timetable.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace oneflow;
using namespace oneflow::actor;

/// Of all tasks together: analyses unroll the graph.
static constexpr int64_t kMaxActions = int64_t(1) << 26;

namespace {

class GraphVerifier {
public:
  explicit GraphVerifier(GraphOp graph) : graph(graph) {}

  LogicalResult run() {
    if (failed(verifyPhases()))
      return failure();
    timetable.emplace(graph);
    return failure(failed(verifyTasks()) || failed(verifyRegisters()) ||
                   failed(verifySchedules()) || failed(verifyAgreement()));
  }

private:
  LogicalResult verifyPhases();
  LogicalResult verifyTasks();
  LogicalResult verifyTransfer(TaskOp task);
  LogicalResult verifyRegisters();
  LogicalResult verifySchedules();
  LogicalResult verifySchedule(ScheduleOp schedule);
  LogicalResult verifyAgreement();

  GraphOp graph;
  std::optional<Timetable> timetable;
  /// needed[group]: the phases with compute or comm tasks on its ranks, and one
  /// of those tasks.
  std::vector<DenseMap<unsigned, TaskOp>> needed;
};

} // namespace

LogicalResult GraphVerifier::verifyPhases() {
  llvm::StringSet<> names;
  for (auto phase : graph.getOps<PhaseOp>()) {
    int64_t actions = phase.getActions();
    if (phase.getName().empty())
      return phase.emitOpError("graph_c1: expected a name");
    if (actions < 1 || actions > kMaxActions)
      return phase.emitOpError("graph_c1: expected from 1 to ")
             << kMaxActions << " actions, got: " << actions;
    if (!names.insert(phase.getName()).second)
      return phase.emitOpError("graph_c1: there is another phase \"")
             << phase.getName() << "\"";
  }
  return success();
}

LogicalResult GraphVerifier::verifyTasks() {
  bool hasPhases = !graph.getOps<PhaseOp>().empty();
  needed.resize(timetable->getGroupCount());
  int64_t total = 0;
  for (auto task : graph.getOps<TaskOp>()) {
    if (hasPhases && !task.getPhase())
      return task.emitOpError(
          "graph_c1: expected a phase, as the graph has phases");
    std::optional<unsigned> phase = timetable->findPhase(task);
    if (!phase)
      return task.emitOpError("graph_c1: its graph has no phase \"")
             << *task.getPhase() << "\"";
    total += timetable->getActions(*phase);
    if (total > kMaxActions)
      return graph.emitOpError("expected at most ")
             << kMaxActions << " actions of all tasks together";
    if (timetable->getGroups(task.getPlacementAttr()).empty())
      return task.emitOpError("there is no placement ")
             << task.getPlacementAttr();
    if (ExchangeOp exchange = getExchange(task))
      for (comm::LayoutAttr layout :
           {exchange.getSourceLayout(), exchange.getTargetLayout()})
        if (timetable->getGroups(layout.getPlacement()).empty())
          return exchange.emitOpError("there is no placement ")
                 << layout.getPlacement();
    if (task.getStream() == Stream::Transfer && failed(verifyTransfer(task)))
      return failure();
    if (task.getStream() == Stream::Compute || task.getStream() == Stream::Comm)
      for (unsigned group : timetable->getGroups(task))
        needed[group].try_emplace(*phase, task);
  }
  return success();
}

LogicalResult GraphVerifier::verifyTransfer(TaskOp task) {
  ExchangeOp exchange = getExchange(task);
  if (!exchange)
    return task.emitOpError(
        "graph_c4: expected exactly one exchange on the transfer stream");
  FlatSymbolRefAttr source = exchange.getSourceLayout().getPlacement();
  FlatSymbolRefAttr target = exchange.getTargetLayout().getPlacement();
  for (unsigned group : timetable->getGroups(source))
    if (llvm::is_contained(timetable->getGroups(target), group))
      return task.emitOpError(
                 "graph_c4: expected a transfer between placements that "
                 "share no rank, but both ")
             << source << " and " << target << " have "
             << timetable->describe(group);
  return success();
}

LogicalResult GraphVerifier::verifyRegisters() {
  DenseMap<Value, int64_t> fills;
  for (auto task : graph.getOps<TaskOp>()) {
    int64_t actions = timetable->getActions(task);
    for (Value value : task.getPosts()) {
      auto reg = value.getDefiningOp<RegisterOp>();
      if (!reg || fills.contains(value))
        continue; // Check 1 of the proof.
      int64_t times = reg.getFills().value_or(actions);
      if (times < 1 || actions % times != 0)
        return reg.emitOpError("graph_c3: expected fills that divide the ")
               << actions << " actions of its producer \"" << task.getName()
               << "\", got: " << times;
      fills[value] = times;
    }
  }
  for (auto task : graph.getOps<TaskOp>()) {
    int64_t actions = timetable->getActions(task);
    for (Value value : task.getWaits())
      if (auto found = fills.find(value);
          found != fills.end() && actions % found->second != 0)
        return value.getDefiningOp()->emitOpError("graph_c3: is filled ")
               << found->second << " times, which does not divide the "
               << actions << " actions of its consumer \"" << task.getName()
               << "\"";
  }
  return success();
}

LogicalResult GraphVerifier::verifySchedules() {
  DenseMap<Attribute, ScheduleOp> seen;
  for (auto schedule : graph.getOps<ScheduleOp>()) {
    if (!seen.try_emplace(schedule.getPlacementAttr(), schedule).second)
      return schedule.emitOpError("graph_c2: there is another schedule of ")
             << schedule.getPlacementAttr();
    if (failed(verifySchedule(schedule)))
      return failure();
  }
  return success();
}

LogicalResult GraphVerifier::verifySchedule(ScheduleOp schedule) {
  ArrayRef<unsigned> ranks = timetable->getGroups(schedule.getPlacementAttr());
  if (ranks.empty())
    return schedule.emitOpError("there is no placement ")
           << schedule.getPlacementAttr();
  if (schedule.getPhases().size() != schedule.getActions().size())
    return schedule.emitOpError(
               "graph_c2: expected as many phases as actions, got: ")
           << schedule.getPhases().size() << " and "
           << schedule.getActions().size();
  SmallVector<Step> steps = timetable->getSteps(schedule);
  if (steps.size() != schedule.getPhases().size())
    for (auto name : schedule.getPhases().getAsRange<StringAttr>())
      if (llvm::none_of(graph.getOps<PhaseOp>(), [&](PhaseOp phase) {
            return phase.getNameAttr() == name;
          }))
        return schedule.emitOpError("graph_c2: its graph has no phase ")
               << name;
  // Ascending from 0 is each action once.
  SmallVector<int64_t> next(timetable->getPhaseCount(), 0);
  for (const Step &step : steps) {
    if (step.action != next[step.phase])
      return schedule.emitOpError("graph_c2: expected the actions of \"")
             << timetable->getPhaseName(step.phase)
             << "\" in ascending order, each once: action " << next[step.phase]
             << ", got: " << step.action;
    if (step.action >= timetable->getActions(step.phase))
      return schedule.emitOpError("graph_c2: \"")
             << timetable->getPhaseName(step.phase) << "\" has "
             << timetable->getActions(step.phase) << " actions, got action "
             << step.action;
    ++next[step.phase];
  }
  for (unsigned phase = 0; phase < timetable->getPhaseCount(); ++phase) {
    if (next[phase] == timetable->getActions(phase))
      continue;
    for (unsigned group : ranks)
      if (auto found = needed[group].find(phase); found != needed[group].end())
        return schedule.emitOpError("graph_c2: does not name action ")
               << next[phase] << " of phase \""
               << timetable->getPhaseName(phase) << "\", in which task \""
               << TaskOp(found->second).getName() << "\" acts on these ranks";
  }
  return success();
}

/// Schedules that have ranks in common, or tasks (one exchange acts on the
/// ranks of two placements, one placement may hold the ranks of another), go
/// through the phases of those in one order: else a task would come first on
/// one rank and last on another, and collectives would wait for each other.
LogicalResult GraphVerifier::verifyAgreement() {
  // Phases by the pair of schedules that must agree on them. Ranks without a
  // schedule count as having a null one.
  auto scheduleName = [](ScheduleOp schedule) {
    return schedule ? ("the schedule of @" + schedule.getPlacement()).str()
                    : std::string("ranks without a schedule");
  };
  llvm::MapVector<std::pair<unsigned, unsigned>, DenseMap<unsigned, TaskOp>>
      common;
  for (auto task : graph.getOps<TaskOp>()) {
    if (task.getStream() != Stream::Compute && task.getStream() != Stream::Comm)
      continue;
    SmallVector<unsigned> ranks = timetable->getGroups(task);
    for (unsigned group : ArrayRef(ranks).drop_front(ranks.empty() ? 0 : 1))
      if (timetable->getSchedule(group) != timetable->getSchedule(ranks[0]))
        common[{ranks[0], group}].try_emplace(*timetable->findPhase(task),
                                              task);
  }
  auto compare = [&](ArrayRef<Step> first, ArrayRef<Step> second,
                     const DenseMap<unsigned, TaskOp> &shared)
      -> std::optional<std::pair<Step, Step>> {
    auto isShared = [&](const Step &step) {
      return shared.contains(step.phase);
    };
    auto a = llvm::make_filter_range(first, isShared);
    auto b = llvm::make_filter_range(second, isShared);
    for (auto [one, other] : llvm::zip(a, b))
      if (one.phase != other.phase || one.action != other.action)
        return std::pair(one, other);
    return std::nullopt;
  };
  auto report = [&](Operation *at, std::pair<Step, Step> steps,
                    const std::string &first, const std::string &second,
                    const DenseMap<unsigned, TaskOp> &shared) {
    auto describe = [&](const Step &step) {
      return "action " + std::to_string(step.action) + " of \"" +
             timetable->getPhaseName(step.phase).str() + "\" (task \"" +
             TaskOp(shared.lookup(step.phase)).getName().str() + "\")";
    };
    return at->emitOpError("graph_c5: two orders of the same tasks: where ")
           << first << " comes to " << describe(steps.first) << ", " << second
           << " comes to " << describe(steps.second);
  };
  for (auto &[pair, shared] : common)
    if (auto steps = compare(timetable->getSteps(pair.first),
                             timetable->getSteps(pair.second), shared)) {
      ScheduleOp first = timetable->getSchedule(pair.first);
      ScheduleOp second = timetable->getSchedule(pair.second);
      return report(second ? second : first, *steps, scheduleName(first),
                    scheduleName(second), shared);
    }
  // The ranks of several schedules go by the first of them.
  for (auto schedule : graph.getOps<ScheduleOp>()) {
    SmallVector<Step> steps = timetable->getSteps(schedule);
    for (unsigned group : timetable->getGroups(schedule.getPlacementAttr()))
      if (auto differ =
              compare(timetable->getSteps(group), steps, needed[group]))
        return report(schedule, *differ,
                      scheduleName(timetable->getSchedule(group)),
                      scheduleName(schedule), needed[group]);
  }
  return success();
}

LogicalResult GraphOp::verifySymbolUses(SymbolTableCollection &) {
  return GraphVerifier(*this).run();
}
