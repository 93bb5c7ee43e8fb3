//===- Tasks.h - what the tasks of a plan do --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_TASKS_H
#define ONEFLOW_RUNTIME_TASKS_H

#include "Rank.h"

#include <memory>

namespace oneflow::runtime {

/// Where a task stands.
struct TaskPlace {
  uint32_t entry;
  uint32_t task;
  /// In topological order.
  uint32_t position;
};

/// Makes the body of a task that `rank` takes part in. It refers to the rank,
/// the plan and the rank's communicators.
Status createTaskBody(Rank &rank, const TaskPlace &place,
                      std::unique_ptr<ActorBody> &result);

/// Calls `visit` with every buffer that the task touches on `rank`: of an
/// exchange only those of the sides that the rank is on.
template <typename Visit>
void forEachBuffer(const plan::Plan &plan, const plan::Task &task, int rank,
                   Visit visit) {
  if (const plan::InputBody *body = task.body_as_InputBody()) {
    visit(*body->buffer());
  } else if (const plan::OutputBody *body = task.body_as_OutputBody()) {
    visit(*body->buffer());
  } else if (const plan::ChainBody *body = task.body_as_ChainBody()) {
    if (body->buffers())
      for (const plan::Buffer *buffer : *body->buffers())
        visit(*buffer);
  } else if (const plan::CollectiveBody *body = task.body_as_CollectiveBody()) {
    visit(*body->source());
    visit(*body->target());
  } else if (const plan::ExchangeBody *body = task.body_as_ExchangeBody()) {
    auto holds = [&](const plan::Layout &layout) {
      return Mesh::of(*plan.placements()->Get(layout.placement()))
          .contains(rank);
    };
    if (holds(*body->source_layout()))
      visit(*body->source());
    if (holds(*body->target_layout()))
      visit(*body->target());
  }
}

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_TASKS_H
