//===- TaskBody.h - what the bodies of all tasks share ----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Within the runtime's tasks only: see Tasks.h for their makers.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_TASKBODY_H
#define ONEFLOW_RUNTIME_TASKBODY_H

#include "StreamOrder.h"
#include "Tasks.h"

#include <map>

namespace oneflow::runtime {

/// Times each action for the trace; subclasses do the work.
class TaskBody : public ActorBody {
public:
  TaskBody(Rank &rank, const TaskPlace &place)
      : rank(rank), entry(rank.plan().entry(place.entry)),
        task(*entry.tasks()->Get(place.task)), place(place),
        actions(actionsOf(entry, task)), trace(rank.trace(task.stream())) {}

  void act(uint64_t action) final {
    if (!trace.active())
      return work(action);
    uint64_t begin = nowNs();
    work(action);
    ActionDetails details;
    details.traffic = traffic(action);
    if (hasPhases(entry))
      details.phase = entry.phases()->Get(task.phase())->name()->c_str();
    if (actions > 1)
      details.microBatch = static_cast<int64_t>(action);
    trace.action(task.name()->c_str(), begin, nowNs(), details);
  }

protected:
  virtual void work(uint64_t action) = 0;
  /// Of a communication.
  virtual const Traffic *traffic(uint64_t) const { return nullptr; }

  void fail(of_status_code code, std::string message, std::string location) {
    rank.failure().record(
        {code, place.position, std::move(message), std::move(location)});
  }
  SlotAddress address(const plan::Buffer &buffer) {
    return rank.address(entry, task, buffer);
  }

  Rank &rank;
  const plan::Entry &entry;
  const plan::Task &task;
  const TaskPlace place;
  const uint64_t actions;
  TraceBuffer &trace;
};

/// What is bound for a task whose actions differ: one value per distinct key,
/// not per action.
template <typename Key, typename Value> class Variants {
public:
  /// The variant of the next action; null if it has to be made by add().
  bool append(const Key &key) {
    auto found = known.find(key);
    if (found != known.end())
      ofAction.push_back(found->second);
    return found != known.end();
  }
  /// Of the key for which append() has just returned false.
  Value &add(const Key &key) {
    known.emplace(key, values.size());
    ofAction.push_back(values.size());
    values.push_back(std::make_unique<Value>());
    return *values.back();
  }
  Value &at(uint64_t action) { return *values[indexOf(action)]; }
  const Value &at(uint64_t action) const { return *values[indexOf(action)]; }

private:
  /// Where actions do not differ, only the first one is bound.
  size_t indexOf(uint64_t action) const {
    return ofAction[ofAction.size() == 1 ? 0 : action];
  }

  std::map<Key, size_t> known;
  std::vector<size_t> ofAction;
  std::vector<std::unique_ptr<Value>> values;
};

/// The bodies of input and output tasks.
Status createPortTask(Rank &rank, const TaskPlace &place,
                      std::unique_ptr<ActorBody> &result);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_TASKBODY_H
