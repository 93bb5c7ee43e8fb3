//===- WorkerPool.h - parallel items of one kernel --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spreads the work items of one kernel over the threads of a rank. Each part is
// a contiguous range; a kernel's result does not depend on how its items are
// cut (KernelAbi.h), so the number of threads never changes a bit of the
// result.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_WORKERPOOL_H
#define ONEFLOW_RUNTIME_WORKERPOOL_H

#include "Gate.h"

#include "oneflow/Plan/KernelAbi.h"

#include <memory>
#include <thread>
#include <vector>

namespace oneflow::runtime {

class WorkerPool {
public:
  /// Starts `threads` - 1 threads; the caller of run() is the last one.
  /// Throws std::system_error when the system refuses.
  WorkerPool(int threads, const Patience &patience);
  ~WorkerPool();

  /// Runs items [0, items), items > 0, and returns the first status in item
  /// order that is not zero. Any thread; a second concurrent call runs its
  /// items alone.
  int32_t run(OfKernelFn kernel, void *const *buffers, const int64_t *scalars,
              int64_t items);

private:
  struct Job {
    OfKernelFn kernel;
    void *const *buffers;
    const int64_t *scalars;
    int64_t items;
    uint32_t parts;
  };

  // Claims a part of the current job; false when there is none left.
  bool claim(uint32_t &part);
  void runPart(uint32_t part);
  void serve();

  const Patience patience;
  std::vector<std::thread> helpers;
  std::unique_ptr<int32_t[]> statuses;
  std::mutex busy;
  Job job = {};
  // High half: number of the job. Low half: parts not yet claimed. A claim is
  // one compare-and-swap; it succeeds only while its job is the current one,
  // and the job's fields do not change before all of its parts are finished.
  std::atomic<uint64_t> ticket{0};
  std::atomic<uint32_t> unfinished{0};
  std::atomic<bool> stopping{false};
  Gate work, finished;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_WORKERPOOL_H
