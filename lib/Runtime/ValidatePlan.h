//===- ValidatePlan.h - what every plan must satisfy ------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The semantic rules of the graph section, checked once at load; the rest of
// the runtime indexes and divides without looking again. What depends on a
// rank's coordinates (collectives with scalar extents) is checked when a
// session binds the plan to its ranks.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_VALIDATEPLAN_H
#define ONEFLOW_RUNTIME_VALIDATEPLAN_H

#include "Status.h"

#include "oneflow/Plan/Plan_generated.h"

#include <cstdint>
#include <vector>

namespace oneflow::runtime {

/// No plan spans more ranks than this.
inline constexpr int64_t kMaxRanks = 1 << 20;
/// No tensor has more dimensions than this.
inline constexpr uint32_t kMaxTensorRank = 32;

/// No phase acts more often in a run than this.
inline constexpr uint32_t kMaxActions = 1 << 16;
/// The tasks of an entry together act no more often in a run than this, nor do
/// its phases; the plan's scalars have no more values in all actions.
inline constexpr uint64_t kMaxSteps = uint64_t(1) << 22;

/// Checks the whole graph. `dataBytes` is the size of the data section.
Status validatePlan(const plan::Plan &plan, uint64_t dataBytes);

/// Checks one entry; a part of validatePlan.
Status validateEntry(const plan::Plan &plan, const plan::Entry &entry);

/// Checks phases, and the tasks' indices of them; a part of validateEntry.
Status checkPhases(const plan::Entry &entry);
/// Checks what kinds of tasks are on which streams, and that orders are unique.
/// Registers and tasks are valid.
Status checkStreams(const plan::Plan &plan, const plan::Entry &entry);
/// Checks that schedules are complete and that the entry, unrolled to the
/// actions of its tasks, has no cycle. All else is valid. Takes time and memory
/// in proportion to the actions, of which kMaxSteps are allowed.
Status checkSchedule(const plan::Plan &plan, const plan::Entry &entry);

/// Checks a layout and computes its sizes. `what` names it in messages.
///
///   1. dtype, placement, reducers and kinds exist
///   2. one Sbp per mesh axis
///   3. extents are not negative, and the tensor is under 2^62 bytes
///   4. a split dimension exists, and every part of it that an earlier axis can
///      leave is a multiple of the block
///   5. all Partial axes have one reducer
///
/// \param logicalBytes the whole tensor.
/// \param maxLocalBytes the largest part that a rank can hold.
Status checkLayout(const plan::Plan &plan, const plan::Layout &layout,
                   const std::string &what, uint64_t &logicalBytes,
                   uint64_t &maxLocalBytes);

/// Position of every task of a valid entry in one topological order of its
/// registers; the same on all ranks. Empty when there is a cycle.
std::vector<uint32_t> topologicalPositions(const plan::Entry &entry);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_VALIDATEPLAN_H
