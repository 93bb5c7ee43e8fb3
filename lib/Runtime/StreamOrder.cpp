//===- StreamOrder.cpp - who acts where, how often, and in which turn -----===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamOrder.h"

#include "Layout.h"

#include <algorithm>
#include <map>

using namespace oneflow;
using namespace oneflow::runtime;
using plan::StreamKind;

bool oneflow::runtime::hasPhases(const plan::Entry &entry) {
  return entry.phases() && entry.phases()->size() > 0;
}

uint32_t oneflow::runtime::actionsOf(const plan::Entry &entry,
                                     const plan::Task &task) {
  return hasPhases(entry) ? entry.phases()->Get(task.phase())->actions() : 1;
}

uint32_t oneflow::runtime::fillsOf(const plan::Entry &entry,
                                   const plan::Register &reg) {
  return reg.fills() > 0
             ? reg.fills()
             : actionsOf(entry, *entry.tasks()->Get(reg.producer()));
}

bool oneflow::runtime::isCommunication(const plan::Task &task) {
  return task.body_type() == plan::TaskBody::CollectiveBody ||
         task.body_type() == plan::TaskBody::ExchangeBody;
}

TaskRanks::TaskRanks(const plan::Plan &plan, const plan::Entry &entry) {
  std::vector<Range> ofPlacement;
  for (const plan::Placement *placement : *plan.placements()) {
    Mesh mesh = Mesh::of(*placement);
    ofPlacement.push_back({mesh.firstRank, mesh.firstRank + mesh.rankCount()});
  }
  auto use = [&](uint32_t placement) {
    const Range &range = ofPlacement[placement];
    firsts.push_back(range.first);
    firsts.push_back(range.end);
    return range;
  };
  if (entry.schedules())
    for (const plan::Schedule *schedule : *entry.schedules())
      use(schedule->placement());
  if (entry.tasks())
    for (const plan::Task *task : *entry.tasks()) {
      if (const plan::ExchangeBody *body = task->body_as_ExchangeBody())
        ranges.push_back({use(body->source_layout()->placement()),
                          use(body->target_layout()->placement())});
      else
        ranges.push_back({use(task->placement()), Range()});
    }
  std::sort(firsts.begin(), firsts.end());
  firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
  // Behind the last border there is no rank.
  if (!firsts.empty())
    firsts.pop_back();
}

bool TaskRanks::takesPart(uint32_t task, int64_t rank) const {
  for (const Range &range : ranges[task])
    if (rank >= range.first && rank < range.end)
      return true;
  return false;
}

bool TaskRanks::meet(uint32_t a, uint32_t b) const {
  for (const Range &one : ranges[a])
    for (const Range &other : ranges[b])
      if (std::max(one.first, other.first) < std::min(one.end, other.end))
        return true;
  return false;
}

std::vector<plan::Step> oneflow::runtime::stepsOf(const plan::Plan &plan,
                                                  const plan::Entry &entry,
                                                  int64_t rank) {
  std::vector<plan::Step> steps;
  if (entry.schedules())
    for (const plan::Schedule *schedule : *entry.schedules()) {
      Mesh mesh = Mesh::of(*plan.placements()->Get(schedule->placement()));
      if (!mesh.contains(rank))
        continue;
      if (schedule->steps())
        for (const plan::Step *step : *schedule->steps())
          steps.push_back(*step);
      return steps;
    }
  if (!hasPhases(entry))
    return {plan::Step(0, 0)};
  for (uint32_t phase = 0; phase < entry.phases()->size(); ++phase)
    for (uint32_t k = 0; k < entry.phases()->Get(phase)->actions(); ++k)
      steps.emplace_back(phase, k);
  return steps;
}

std::vector<std::vector<uint32_t>>
oneflow::runtime::streamOrders(const plan::Plan &plan, const plan::Entry &entry,
                               const TaskRanks &ranks, int64_t rank) {
  uint32_t taskCount = entry.tasks() ? entry.tasks()->size() : 0;
  size_t phaseCount = hasPhases(entry) ? entry.phases()->size() : 1;
  auto task = [&](uint32_t index) { return entry.tasks()->Get(index); };
  auto kindOf = [&](uint32_t index) {
    return plan.streams()->Get(task(index)->stream())->kind();
  };
  auto phaseOf = [&](uint32_t index) {
    return hasPhases(entry) ? task(index)->phase() : 0;
  };
  // Per phase, the tasks that act in steps and those that follow their own
  // actions; computations in the order of the entry, communications in theirs.
  std::vector<std::vector<uint32_t>> stepped(phaseCount), own(phaseCount);
  std::vector<uint32_t> communications;
  for (uint32_t i = 0; i < taskCount; ++i) {
    if (!ranks.takesPart(i, rank))
      continue;
    if (task(i)->order() > 0)
      communications.push_back(i);
    else if (kindOf(i) == StreamKind::CpuCompute)
      stepped[phaseOf(i)].push_back(i);
  }
  // Of different streams, two may have the same number.
  std::sort(communications.begin(), communications.end(),
            [&](uint32_t a, uint32_t b) {
              return std::pair(task(a)->order(), a) <
                     std::pair(task(b)->order(), b);
            });
  for (uint32_t i : communications) {
    auto &list = kindOf(i) == StreamKind::CpuTransfer ? own : stepped;
    list[phaseOf(i)].push_back(i);
  }

  std::map<uint32_t, size_t> orderOfStream;
  std::vector<std::vector<uint32_t>> orders;
  auto append = [&](uint32_t index) {
    auto [at, isNew] =
        orderOfStream.try_emplace(task(index)->stream(), orders.size());
    if (isNew)
      orders.emplace_back();
    orders[at->second].push_back(index);
  };
  for (const plan::Step &step : stepsOf(plan, entry, rank))
    for (uint32_t index : stepped[step.phase()])
      append(index);
  for (const std::vector<uint32_t> &tasks : own)
    for (uint32_t k = 0;
         !tasks.empty() && k < actionsOf(entry, *task(tasks[0])); ++k)
      for (uint32_t index : tasks)
        append(index);
  return orders;
}
