//===- Rank.h - one rank's memory and programs ------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan bound to one rank: its arena and variables, scalars, worker pool, and
// for every entry the actors of the tasks that this rank takes part in.
// Everything is allocated here, before the first run.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_RANK_H
#define ONEFLOW_RUNTIME_RANK_H

#include "ActorSystem.h"
#include "Gate.h"
#include "LoadedPlan.h"
#include "RunFailure.h"
#include "Scalars.h"
#include "Trace.h"
#include "Variable.h"
#include "WorkerPool.h"

#include "oneflow/Runtime/Transport.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace oneflow::runtime {

/// What all ranks of a process share during a run. Set between runs.
struct RunControl {
  std::atomic<bool> cancelled{false};
  const of_tensor_t *inputs = nullptr;
  const of_tensor_t *outputs = nullptr;
  /// Whether every rank that holds an output delivers it (one process per
  /// rank), or only the first (one process for all).
  bool everyRankDelivers = false;
  /// See SessionOptions.
  std::function<uint64_t(std::string_view phase)> sleepNs;
  /// To be aborted when a communication fails.
  Transport *transport = nullptr;
};

/// The communicators of one rank.
struct RankCommunicators {
  /// Of the ranks that differ in the given axes of the given placement only.
  std::map<std::pair<uint32_t, std::vector<uint32_t>>,
           std::unique_ptr<Communicator>>
      groups;
  /// All ranks; for exchanges.
  std::unique_ptr<Communicator> world;
  /// All ranks, again for each transfer stream: a communicator serves one
  /// thread.
  std::map<uint32_t, std::unique_ptr<Communicator>> transfers;

  Communicator &ofExchanges(uint32_t stream) const {
    auto found = transfers.find(stream);
    return found == transfers.end() ? *world : *found->second;
  }
};

/// Where a buffer is, action by action.
class SlotAddress {
public:
  SlotAddress() = default;
  explicit SlotAddress(uint8_t *base) : base(base) {}
  /// In one of `slots` slots, each for `group` actions.
  SlotAddress(uint8_t *base, uint64_t stride, uint32_t slots, uint64_t group)
      : base(base), stride(stride), slots(slots), group(group) {}

  uint8_t *at(uint64_t action) const {
    return slots == 1 ? base : base + action / group % slots * stride;
  }
  bool moves() const { return slots > 1; }

private:
  uint8_t *base = nullptr;
  uint64_t stride = 0;
  uint32_t slots = 1;
  uint64_t group = 1;
};

/// Memory for the messages of one communication at a time.
class StagingMemory {
public:
  /// Asks for that much; before anything runs.
  void reserve(uint64_t bytes) { wanted = std::max(wanted, bytes); }
  Status allocate() {
    return MappedMemory::allocate(wanted, "messages", memory);
  }
  uint8_t *data() { return memory.data(); }

private:
  uint64_t wanted = 0;
  MappedMemory memory;
};

class Rank {
public:
  /// Binds, allocates, and starts the threads. `control` and `communicators`
  /// outlive the rank. `callerServes`: the caller of actors().serve() stands in
  /// for the first thread.
  static Status create(const LoadedPlan &plan, int rank, int threads,
                       const Patience &patience, bool callerServes,
                       RunControl &control, RankCommunicators &communicators,
                       std::unique_ptr<Rank> &result);
  /// The streams that share the first thread: those of the host and the first
  /// compute stream. Handing a small tensor to another thread costs more than
  /// copying it.
  static uint32_t threadOf(const plan::Plan &plan, uint32_t stream);
  ~Rank();

  int index() const { return rank; }
  const LoadedPlan &plan() const { return loaded; }
  ActorSystem &actors() { return *system; }
  FailureSlot &failure() { return slot; }
  VariableStorage &variable(uint32_t i) { return variables[i]; }

  // For the bodies of tasks:
  RunControl &control() { return run; }
  RankCommunicators &communicators() { return groups; }
  WorkerPool &workers() { return *pool; }
  const int64_t *scalars(uint64_t action) const { return values.row(action); }
  bool scalarsDependOnTime() const { return values.dependsOnTime(); }
  TraceBuffer &trace(uint32_t stream) { return traces[stream]; }
  /// Where `task` finds a buffer that it touches on this rank.
  SlotAddress address(const plan::Entry &entry, const plan::Task &task,
                      const plan::Buffer &buffer);
  /// Of a stream, whose communications run one after the other.
  StagingMemory &staging(uint32_t stream) { return stagings[stream]; }

  void startTrace(size_t capacity);
  void stopTrace();
  /// Rows for the streams that this rank uses.
  void appendTraceRows(std::vector<TraceRow> &rows) const;

  /// Sums over the rank's threads.
  std::atomic<uint64_t> kernelCount{0}, bytesMoved{0};

private:
  Rank(const LoadedPlan &plan, int rank, RunControl &control,
       RankCommunicators &communicators)
      : loaded(plan), rank(rank), run(control), groups(communicators) {}
  Status bind(int threads, const Patience &patience, bool callerServes);
  Status bindVariables();
  Status bindEntry(uint32_t entryIndex, ActorGraph &graph);
  /// Where the last buffer ends that a task of this rank touches.
  uint64_t arenaBytes(const plan::Entry &entry) const;

  const LoadedPlan &loaded;
  const int rank;
  RunControl &run;
  RankCommunicators &groups;
  FailureSlot slot;
  ScalarTable values;
  std::vector<VariableStorage> variables;
  MappedMemory arena;
  // By stream; few are in use.
  std::vector<StagingMemory> stagings;
  std::vector<TraceBuffer> traces;
  std::vector<size_t> kernelsOfStream;
  std::vector<std::unique_ptr<ActorBody>> bodies;
  std::unique_ptr<WorkerPool> pool;
  // Last: its threads use all of the above.
  std::unique_ptr<ActorSystem> system;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_RANK_H
