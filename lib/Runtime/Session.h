//===- Session.h - a plan that runs -----------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loaded plan with everything that running it needs: the transport and the
// ranks of this process. What RuntimeC.h says of sessions, in C++.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_SESSION_H
#define ONEFLOW_RUNTIME_SESSION_H

#include "Gate.h"
#include "Rank.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace oneflow::runtime {

struct SessionOptions {
  std::string transport = "local";
  /// 0: the processors at hand divided by the ranks of this process.
  int threadsPerRank = 0;
  /// Null: beside the runtime library.
  const char *pluginPath = nullptr;
  /// Where not null, chains sleep instead of computing, and results mean
  /// nothing: to see what a schedule does without what kernels do. Nanoseconds
  /// per action of a phase, by its name.
  std::function<uint64_t(std::string_view phase)> sleepNs;
};

class Session {
public:
  /// May throw std::bad_alloc and std::system_error.
  static Status create(std::shared_ptr<const LoadedPlan> plan,
                       const SessionOptions &options,
                       std::unique_ptr<Session> &result);
  ~Session();

  /// The lowest rank of this process.
  int rank() const { return ranks.front()->index(); }

  Status run(int32_t entry, const of_tensor_t *inputs, int32_t inputCount,
             const of_tensor_t *outputs, int32_t outputCount);
  void cancel();
  Status getVariable(int32_t index, const of_tensor_t &value);
  Status setVariable(int32_t index, const of_tensor_t &value);
  Status startTrace(size_t capacity);
  Status writeTrace(const char *path);
  void readCounters(of_counters_t &counters) const;

private:
  explicit Session(std::shared_ptr<const LoadedPlan> plan)
      : plan(std::move(plan)) {}
  Status bind(const SessionOptions &options);
  Status createTransport(const SessionOptions &options,
                         const Patience &patience);
  Status createCommunicators();
  /// Ranks that have a thread for a transfer stream.
  int64_t ranksOfTransfer(uint32_t stream) const;
  /// Checks what a caller hands in for a variable, by the user's count.
  Status checkVariable(int32_t index, const of_tensor_t &value) const;
  /// Puts a variable of the plan together, dense; on every process at once.
  Status gatherVariable(uint32_t index, void *value);
  void scatterVariable(uint32_t index, const void *value);
  Status
  checkPorts(const flatbuffers::Vector<flatbuffers::Offset<plan::Port>> *ports,
             const of_tensor_t *tensors, int32_t count, const char *what) const;
  Status shareOutputs(const plan::Entry &entry, const of_tensor_t *outputs);
  Status communicationFailed(const std::string &message);
  bool severalProcesses() const {
    return static_cast<int>(ranks.size()) < transport->rankCount();
  }

  const std::shared_ptr<const LoadedPlan> plan;
  std::mutex mutex;
  bool unusable = false;
  std::atomic<bool> running{false};
  Patience patience;
  RunControl control;
  RunLatch latch;
  // In the order of destruction, reversed: ranks use communicators, those the
  // transport.
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Communicator> controlGroup;
  std::vector<RankCommunicators> communicators;
  std::vector<std::unique_ptr<Rank>> ranks;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_SESSION_H
