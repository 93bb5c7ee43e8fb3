//===- RunFailure.h - the first failure of a run ----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A failure poisons its rank: the remaining chains of the step are skipped, the
// communications still run, with whatever their buffers hold, so that no peer
// hangs. The ranks agree at the end of the step on one failure.
//
// Which one: peers compute on garbage after a failure and may fail in turn, so
// the cause is the failure that comes first in the plan's topological order,
// which is one order for all ranks; of the lowest rank where several fail
// there. A cancellation counts only when nothing else failed.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_RUNFAILURE_H
#define ONEFLOW_RUNTIME_RUNFAILURE_H

#include "Status.h"

#include "oneflow/Runtime/Transport.h"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace oneflow::runtime {

struct Failure {
  of_status_code code = OF_STATUS_OK;
  /// Of the task, in topological order.
  uint32_t position = 0;
  std::string message, location;

  bool happened() const { return code != OF_STATUS_OK; }
  /// Whether this one is nearer to the cause. No failure is the farthest.
  bool precedes(const Failure &other) const;
};

/// The failure of one rank in one run. Any of the rank's threads may record.
class FailureSlot {
public:
  bool poisoned() const { return flag.load(std::memory_order_relaxed); }
  void record(Failure failure);
  /// Returns what was recorded and forgets it. Between runs only.
  Failure take();

private:
  std::atomic<bool> flag{false};
  std::mutex mutex;
  Failure first;
};

/// Agrees with the other processes; on success every one leaves with the same
/// `failure`. Collective.
TransportResult agreeOnFailure(Communicator &control, Failure &failure);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_RUNFAILURE_H
