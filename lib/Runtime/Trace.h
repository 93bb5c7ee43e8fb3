//===- Trace.h - what ran when ----------------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A record of actions and kernels per stream, and its form for Chrome and
// Perfetto: one process per rank, one row per stream, one slice per action with
// the slices of its kernels below.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_TRACE_H
#define ONEFLOW_RUNTIME_TRACE_H

#include "Status.h"

#include <cstdint>
#include <vector>

namespace oneflow::runtime {

/// Nanoseconds of the monotonic clock.
uint64_t nowNs();

/// What one action of a communication takes on one rank.
struct Traffic {
  /// Sent to other ranks.
  uint64_t bytes = 0;
  /// Of memory for messages beside the two buffers.
  uint64_t stagingBytes = 0;
  /// Of the source and the target buffer, as far as the rank has them.
  uint64_t bufferBytes = 0;
};

/// What the arguments of a slice say.
struct ActionDetails {
  /// Of a communication, else null; lives as long as the rank.
  const Traffic *traffic = nullptr;
  /// Where the plan names phases, else null; lives as long as it.
  const char *phase = nullptr;
  /// The number of the action, where there are several in a run; else -1.
  int64_t microBatch = -1;
};

/// The events of one stream. Written by its thread during a run; read, started
/// and ended between runs. Never grows during a run.
class TraceBuffer {
public:
  struct Event {
    /// Of the plan; lives as long as it.
    const char *name;
    uint64_t begin, end;
    bool kernel;
    ActionDetails details;
  };

  bool active() const { return recording; }
  /// Keeps the first `actions` actions, each with at most `kernelsPerAction`
  /// kernels.
  void start(size_t actions, size_t kernelsPerAction);
  void stop() { recording = false; }
  void action(const char *name, uint64_t begin, uint64_t end,
              const ActionDetails &details);
  void kernel(const char *name, uint64_t begin, uint64_t end);
  const std::vector<Event> &events() const { return list; }

private:
  bool recording = false;
  size_t actionsLeft = 0;
  std::vector<Event> list;
};

/// One row of the trace.
struct TraceRow {
  int rank;
  uint32_t stream;
  const char *streamName;
  const TraceBuffer *buffer;
};

/// Writes beside `path`, then renames, so that no half-written file is left.
Status writeChromeTrace(const std::vector<TraceRow> &rows, const char *path);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_TRACE_H
