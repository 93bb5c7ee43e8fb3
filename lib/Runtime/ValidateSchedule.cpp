//===- ValidateSchedule.cpp - who acts when, and that it ends -------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of phases, streams and schedules, and the proof that a run ends:
// the entry is unrolled to the actions of its tasks, and what each waits for
// must not be a circle. An action is one node for all ranks that take part in
// it: what the ranks of a communication wait for, all of them wait for.
//
//===----------------------------------------------------------------------===//

#include "Layout.h"
#include "StreamOrder.h"
#include "ValidatePlan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

using namespace oneflow;
using namespace oneflow::runtime;
using plan::StreamKind;

namespace {

template <typename T> uint32_t sizeOf(const T *vector) {
  return vector ? vector->size() : 0;
}

std::string_view nameOf(const plan::Task &task) {
  return task.name()->string_view();
}

} // namespace

Status oneflow::runtime::checkPhases(const plan::Entry &entry) {
  std::set<std::string_view> names;
  uint64_t steps = 0;
  for (uint32_t i = 0; i < sizeOf(entry.phases()); ++i) {
    const plan::Phase &phase = *entry.phases()->Get(i);
    std::string_view name = phase.name()->string_view();
    if (!names.insert(name).second)
      return invalidPlan("two phases are named '", name, "'");
    if (phase.actions() == 0 || phase.actions() > kMaxActions)
      return invalidPlan("phase '", name, "' acts ", phase.actions(),
                         " times, expected 1 to ", kMaxActions);
    steps += phase.actions();
    if (steps > kMaxSteps)
      return invalidPlan("has more than ", kMaxSteps, " steps");
  }
  uint32_t count = std::max(1u, sizeOf(entry.phases()));
  for (uint32_t i = 0; i < sizeOf(entry.tasks()); ++i) {
    const plan::Task &task = *entry.tasks()->Get(i);
    if (task.phase() >= count)
      return invalidPlan("task '", nameOf(task), "' names phase ", task.phase(),
                         " of ", count);
  }
  return Status();
}

// Exchanges of one transfer stream go from one placement to another within one
// phase.
static Status checkTransfer(const plan::Plan &plan, const plan::Task &task,
                            const plan::Task &first) {
  const plan::ExchangeBody *body = task.body_as_ExchangeBody();
  std::string what = concat("task '", nameOf(task), "' ");
  if (!body)
    return invalidPlan(what, "is on a transfer stream but no exchange");
  Mesh from =
      Mesh::of(*plan.placements()->Get(body->source_layout()->placement()));
  Mesh to =
      Mesh::of(*plan.placements()->Get(body->target_layout()->placement()));
  if (std::max(from.firstRank, to.firstRank) <
      std::min(from.firstRank + from.rankCount(),
               to.firstRank + to.rankCount()))
    return invalidPlan(what, "is a transfer between placements that share a "
                             "rank");
  const plan::ExchangeBody &other = *first.body_as_ExchangeBody();
  if (task.phase() != first.phase() ||
      body->source_layout()->placement() !=
          other.source_layout()->placement() ||
      body->target_layout()->placement() != other.target_layout()->placement())
    return invalidPlan(what, "is on the transfer stream of '", nameOf(first),
                       "', but of another phase or between other placements");
  return Status();
}

Status oneflow::runtime::checkStreams(const plan::Plan &plan,
                                      const plan::Entry &entry) {
  const plan::Task *firstOnComm = nullptr;
  std::map<uint32_t, const plan::Task *> firstOfTransfers;
  std::set<std::array<uint32_t, 3>> places;
  for (uint32_t i = 0; i < sizeOf(entry.tasks()); ++i) {
    const plan::Task &task = *entry.tasks()->Get(i);
    StreamKind kind = plan.streams()->Get(task.stream())->kind();
    if (kind == StreamKind::CpuTransfer) {
      const plan::Task *first =
          firstOfTransfers.try_emplace(task.stream(), &task).first->second;
      if (Status status = checkTransfer(plan, task, *first))
        return status;
    } else if (kind == StreamKind::CpuComm && !isCommunication(task)) {
      return invalidPlan("task '", nameOf(task),
                         "' is on a communication stream but no communication");
    } else if (isCommunication(task)) {
      // The order holds within one stream.
      if (!firstOnComm)
        firstOnComm = &task;
      if (task.stream() != firstOnComm->stream() || kind != StreamKind::CpuComm)
        return invalidPlan(
            "task '", nameOf(task), "' is on stream '",
            plan.streams()->Get(task.stream())->name()->string_view(),
            "'; expected all communications but transfers on one "
            "communication stream");
    }
    // Transfers of different streams are independent of each other, so they
    // may have numbers of their own.
    uint32_t phase = hasPhases(entry) ? task.phase() : 0;
    if (task.order() > 0 &&
        !places.insert({task.stream(), phase, task.order()}).second)
      return invalidPlan("two communications have order ", task.order());
  }
  return Status();
}

// One schedule, by itself.
static Status checkSteps(const plan::Entry &entry,
                         const plan::Schedule &schedule,
                         const std::string &what) {
  std::vector<uint32_t> next(sizeOf(entry.phases()), 0);
  if (schedule.steps())
    for (const plan::Step *step : *schedule.steps()) {
      if (step->phase() >= next.size())
        return invalidPlan(what, " names phase ", step->phase(), " of ",
                           next.size());
      const plan::Phase &phase = *entry.phases()->Get(step->phase());
      uint32_t &expected = next[step->phase()];
      if (step->action() != expected || expected >= phase.actions())
        return invalidPlan(
            what, " names action ", step->action(), " of phase '",
            phase.name()->string_view(), "', expected ",
            expected < phase.actions() ? concat(expected)
                                       : concat("no more than ", expected));
      ++expected;
    }
  return Status();
}

// Ranks of several schedules must find the same in all.
static bool sameSteps(const plan::Schedule &a, const plan::Schedule &b) {
  if (sizeOf(a.steps()) != sizeOf(b.steps()))
    return false;
  for (uint32_t i = 0; i < sizeOf(a.steps()); ++i)
    if (a.steps()->Get(i)->phase() != b.steps()->Get(i)->phase() ||
        a.steps()->Get(i)->action() != b.steps()->Get(i)->action())
      return false;
  return true;
}

static Status checkSchedules(const plan::Plan &plan, const plan::Entry &entry) {
  for (uint32_t i = 0; i < sizeOf(entry.schedules()); ++i) {
    const plan::Schedule &schedule = *entry.schedules()->Get(i);
    if (schedule.placement() >= plan.placements()->size())
      return invalidPlan("schedule ", i, " names placement ",
                         schedule.placement(), " of ",
                         plan.placements()->size());
    const plan::Placement &placement =
        *plan.placements()->Get(schedule.placement());
    if (Status status =
            checkSteps(entry, schedule,
                       concat("schedule of placement '",
                              placement.name()->string_view(), "'")))
      return status;
  }
  // By first rank, so that those that share ranks are neighbors.
  std::vector<std::pair<Mesh, const plan::Schedule *>> sorted;
  for (uint32_t i = 0; i < sizeOf(entry.schedules()); ++i) {
    const plan::Schedule *schedule = entry.schedules()->Get(i);
    sorted.emplace_back(
        Mesh::of(*plan.placements()->Get(schedule->placement())), schedule);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return a.first.firstRank < b.first.firstRank;
  });
  size_t farthest = 0;
  for (size_t i = 1; i < sorted.size(); ++i) {
    auto end = [&](size_t at) {
      return sorted[at].first.firstRank + sorted[at].first.rankCount();
    };
    if (sorted[i].first.firstRank < end(farthest) &&
        !sameSteps(*sorted[i].second, *sorted[farthest].second))
      return invalidPlan("rank ", sorted[i].first.firstRank,
                         " has two schedules that differ");
    if (end(i) > end(farthest))
      farthest = i;
  }
  return Status();
}

namespace {

// The unrolled entry. Node `begin[task] + action`.
class Unrolled {
public:
  Unrolled(const plan::Plan &plan, const plan::Entry &entry)
      : plan(plan), entry(entry), ranks(plan, entry),
        taskCount(sizeOf(entry.tasks())) {}

  Status check();

private:
  // Fails where there is more than the limits allow.
  Status number();
  Status addOrders();
  Status reportCycle(const std::vector<uint32_t> &waits) const;
  const plan::Task &task(uint32_t index) const {
    return *entry.tasks()->Get(index);
  }
  uint32_t taskOf(uint32_t node) const {
    return static_cast<uint32_t>(
        std::upper_bound(begin.begin(), begin.end(), node) - begin.begin() - 1);
  }

  // Calls `visit` with every node that waits for action `k` of task `index`.
  template <typename Visit>
  void forEachWaiting(uint32_t index, uint32_t k, Visit visit) const {
    uint32_t node = begin[index] + k;
    if (node + 1 < begin[index + 1])
      visit(node + 1);
    for (uint32_t at = orderBegin[node]; at < orderBegin[node + 1]; ++at)
      visit(orderNext[at]);
    const plan::Task &self = task(index);
    uint32_t actions = actionsOf(entry, self);
    for (uint32_t i = 0; i < sizeOf(self.outputs()); ++i) {
      const plan::Register &reg =
          *entry.registers()->Get(self.outputs()->Get(i));
      uint32_t fills = fillsOf(entry, reg), group = actions / fills;
      if ((k + 1) % group != 0 || !reg.consumers())
        continue;
      for (uint32_t consumer : *reg.consumers())
        if (ranks.meet(index, consumer))
          visit(begin[consumer] +
                k / group * (actionsOf(entry, task(consumer)) / fills));
    }
    for (uint32_t i = 0; i < sizeOf(self.inputs()); ++i) {
      const plan::Register &reg =
          *entry.registers()->Get(self.inputs()->Get(i));
      uint32_t fills = fillsOf(entry, reg), group = actions / fills;
      uint64_t next = uint64_t(k / group) + reg.slots();
      if ((k + 1) % group != 0 || next >= fills ||
          !ranks.meet(index, reg.producer()))
        continue;
      uint32_t producerGroup = actionsOf(entry, task(reg.producer())) / fills;
      visit(begin[reg.producer()] +
            static_cast<uint32_t>(next) * producerGroup);
    }
  }

  const plan::Plan &plan;
  const plan::Entry &entry;
  const TaskRanks ranks;
  const uint32_t taskCount;
  // First node of each task, and behind the last the number of all.
  std::vector<uint32_t> begin;
  // What waits for a node in some stream's order, by node.
  std::vector<uint32_t> orderBegin, orderNext;
};

Status Unrolled::number() {
  uint64_t nodes = 0, edges = 0;
  begin.push_back(0);
  for (uint32_t i = 0; i < taskCount; ++i) {
    uint64_t degree = 1 + sizeOf(task(i).inputs());
    for (uint32_t o = 0; o < sizeOf(task(i).outputs()); ++o)
      degree +=
          1 +
          sizeOf(
              entry.registers()->Get(task(i).outputs()->Get(o))->consumers());
    uint64_t actions = actionsOf(entry, task(i));
    nodes += actions;
    edges += actions * degree;
    if (nodes > kMaxSteps || edges > 16 * kMaxSteps)
      return invalidPlan("its tasks act more often than ", kMaxSteps,
                         " times or wait for too much");
    begin.push_back(static_cast<uint32_t>(nodes));
  }
  return Status();
}

Status Unrolled::addOrders() {
  // Pairs of nodes, from every stretch of ranks that are alike.
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  uint64_t steps = 0;
  for (uint32_t i = 0; i < sizeOf(entry.phases()); ++i)
    steps += entry.phases()->Get(i)->actions();
  if (ranks.representatives().size() * (steps + taskCount) > 16 * kMaxSteps)
    return invalidPlan("its ranks have too many different schedules");
  std::vector<uint32_t> done(taskCount);
  for (int64_t rank : ranks.representatives()) {
    std::fill(done.begin(), done.end(), 0);
    for (const std::vector<uint32_t> &order :
         streamOrders(plan, entry, ranks, rank)) {
      if (pairs.size() + order.size() > 2 * kMaxSteps)
        return invalidPlan("its ranks have more than ", 2 * kMaxSteps,
                           " actions to order");
      uint32_t previous = 0;
      for (size_t i = 0; i < order.size(); ++i) {
        uint32_t node = begin[order[i]] + done[order[i]]++;
        if (i > 0)
          pairs.emplace_back(previous, node);
        previous = node;
      }
    }
    // What is in an order must be there with all its actions.
    for (uint32_t i = 0; i < taskCount; ++i) {
      StreamKind kind = plan.streams()->Get(task(i).stream())->kind();
      uint32_t expected = kind != StreamKind::Host && ranks.takesPart(i, rank)
                              ? actionsOf(entry, task(i))
                              : done[i];
      // Without phases, there are no schedules that could be wrong.
      if (done[i] != expected && hasPhases(entry))
        return invalidPlan(
            "the schedule of rank ", rank, " names ", done[i],
            " actions of phase '",
            entry.phases()->Get(task(i).phase())->name()->string_view(),
            "', whose task '", nameOf(task(i)), "' acts ", expected, " times");
    }
  }
  // Ranks that are not alike often have streams in common.
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  orderBegin.assign(begin.back() + 1, 0);
  for (auto [from, to] : pairs) {
    ++orderBegin[from + 1];
    orderNext.push_back(to);
  }
  for (size_t i = 1; i < orderBegin.size(); ++i)
    orderBegin[i] += orderBegin[i - 1];
  return Status();
}

Status Unrolled::check() {
  if (Status status = number())
    return status;
  if (Status status = addOrders())
    return status;
  std::vector<uint32_t> waits(begin.back(), 0), ready;
  for (uint32_t i = 0; i < taskCount; ++i)
    for (uint32_t k = 0; k < begin[i + 1] - begin[i]; ++k)
      forEachWaiting(i, k, [&](uint32_t node) { ++waits[node]; });
  for (uint32_t node = 0; node < waits.size(); ++node)
    if (waits[node] == 0)
      ready.push_back(node);
  for (size_t next = 0; next < ready.size(); ++next) {
    uint32_t index = taskOf(ready[next]);
    forEachWaiting(index, ready[next] - begin[index], [&](uint32_t node) {
      if (--waits[node] == 0)
        ready.push_back(node);
    });
  }
  return ready.size() == waits.size() ? Status() : reportCycle(waits);
}

Status Unrolled::reportCycle(const std::vector<uint32_t> &waits) const {
  // Whatever is left waits for something that is left; going back from any of
  // it ends in a circle.
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> waitsFor(waits.size(), kNone);
  uint32_t at = kNone;
  for (uint32_t i = 0; i < taskCount; ++i)
    for (uint32_t k = 0; k < begin[i + 1] - begin[i]; ++k) {
      if (waits[begin[i] + k] == 0)
        continue;
      at = begin[i] + k;
      forEachWaiting(i, k, [&](uint32_t node) { waitsFor[node] = at; });
    }
  std::vector<bool> seen(waits.size());
  for (; !seen[at]; at = waitsFor[at])
    seen[at] = true;
  constexpr int kShown = 8;
  std::string circle;
  uint32_t first = at;
  int shown = 0;
  do {
    uint32_t index = taskOf(at);
    circle += concat(shown > 0 ? ", which waits for " : "", "action ",
                     at - begin[index], " of '", nameOf(task(index)), "'");
    at = waitsFor[at];
  } while (++shown < kShown && at != first);
  return invalidPlan(
      "its registers, slots and schedules form a cycle; it would "
      "never end: ",
      circle, at == first ? ", which waits for the first" : "");
}

} // namespace

Status oneflow::runtime::checkSchedule(const plan::Plan &plan,
                                       const plan::Entry &entry) {
  if (!hasPhases(entry) && sizeOf(entry.schedules()) > 0)
    return invalidPlan("has schedules but no phases");
  if (Status status = checkSchedules(plan, entry))
    return status;
  return Unrolled(plan, entry).check();
}
