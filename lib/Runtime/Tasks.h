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

/// Whether `rank` takes part in the task: it belongs to the task's placement,
/// or to one of the two of an exchange.
bool takesPart(const plan::Plan &plan, const plan::Task &task, int rank);

/// Makes the body of a task that `rank` takes part in. It refers to the rank,
/// the plan and the rank's communicators.
Status createTaskBody(Rank &rank, const TaskPlace &place,
                      std::unique_ptr<ActorBody> &result);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_TASKS_H
