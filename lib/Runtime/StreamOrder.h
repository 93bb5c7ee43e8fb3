//===- StreamOrder.h - who acts when, and how often ------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the phases and schedules of an entry come to on a rank: how often each
// task acts and each register is filled, and the order in which the tasks of
// one stream act. Validation and the ranks use the same functions, so that what
// was checked is what runs. Assumes a plan that passed validatePlan, or as much
// of it as each function says.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_STREAMORDER_H
#define ONEFLOW_RUNTIME_STREAMORDER_H

#include "oneflow/Plan/Plan_generated.h"

#include <array>
#include <cstdint>
#include <vector>

namespace oneflow::runtime {

/// Whether the entry names phases. If not, every task acts once, in the only
/// step of a phase without a name.
bool hasPhases(const plan::Entry &entry);

/// How often a task acts in a run. Its phase must exist.
uint32_t actionsOf(const plan::Entry &entry, const plan::Task &task);

/// How often a register is filled in a run. Its producer and that one's phase
/// must exist.
uint32_t fillsOf(const plan::Entry &entry, const plan::Register &reg);

/// Whether it is a collective or an exchange.
bool isCommunication(const plan::Task &task);

/// The ranks that tasks of one entry run on: those of the task's placement, or
/// of both placements of an exchange. All of these must exist.
class TaskRanks {
public:
  TaskRanks(const plan::Plan &plan, const plan::Entry &entry);

  bool takesPart(uint32_t task, int64_t rank) const;
  /// Whether some rank takes part in both.
  bool meet(uint32_t a, uint32_t b) const;
  /// The first of each stretch of ranks that take part in the same tasks and
  /// have the same schedule, ascending.
  const std::vector<int64_t> &representatives() const { return firsts; }

private:
  struct Range {
    int64_t first = 0, end = 0;
  };
  std::vector<std::array<Range, 2>> ranges;
  std::vector<int64_t> firsts;
};

/// The steps that `rank` goes through: of the first schedule whose placement
/// has it, or else all phases in their order.
std::vector<plan::Step> stepsOf(const plan::Plan &plan,
                                const plan::Entry &entry, int64_t rank);

/// The streams of `rank` whose tasks have an order, each as the sequence of its
/// tasks: a task stands in it as often as it acts. Requires phases, schedules
/// and streams that are valid.
std::vector<std::vector<uint32_t>> streamOrders(const plan::Plan &plan,
                                                const plan::Entry &entry,
                                                const TaskRanks &ranks,
                                                int64_t rank);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_STREAMORDER_H
