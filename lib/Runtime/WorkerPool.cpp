//===- WorkerPool.cpp - parallel items of one kernel ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerPool.h"

#include "oneflow/Plan/Split.h"

#include <algorithm>

using namespace oneflow;
using namespace oneflow::runtime;

static constexpr uint64_t kPartsMask = 0xffffffffu;

WorkerPool::WorkerPool(int threads, const Patience &patience)
    : patience(patience), statuses(new int32_t[std::max(threads, 1)]()) {
  try {
    for (int i = 1; i < threads; ++i)
      helpers.emplace_back([this] { serve(); });
  } catch (...) {
    stopping = true;
    work.notify();
    for (std::thread &helper : helpers)
      helper.join();
    throw;
  }
}

WorkerPool::~WorkerPool() {
  stopping = true;
  work.notify();
  for (std::thread &helper : helpers)
    helper.join();
}

bool WorkerPool::claim(uint32_t &part) {
  uint64_t seen = ticket.load();
  while ((seen & kPartsMask) != 0)
    if (ticket.compare_exchange_weak(seen, seen - 1)) {
      part = job.parts - static_cast<uint32_t>(seen & kPartsMask);
      return true;
    }
  return false;
}

void WorkerPool::runPart(uint32_t part) {
  plan::Interval range = plan::balancedSplit(job.items, job.parts, part);
  statuses[part] = job.kernel(job.buffers, job.scalars, range.offset,
                              range.offset + range.extent);
  if (unfinished.fetch_sub(1) == 1)
    finished.notify();
}

void WorkerPool::serve() {
  while (true) {
    work.wait(
        [&] { return (ticket.load() & kPartsMask) != 0 || stopping.load(); },
        patience);
    if (stopping)
      return;
    uint32_t part;
    while (claim(part))
      runPart(part);
  }
}

int32_t WorkerPool::run(OfKernelFn kernel, void *const *buffers,
                        const int64_t *scalars, int64_t items) {
  if (items == 1 || helpers.empty())
    return kernel(buffers, scalars, 0, items);
  std::unique_lock<std::mutex> lock(busy, std::try_to_lock);
  if (!lock)
    return kernel(buffers, scalars, 0, items);
  auto parts = static_cast<uint32_t>(
      std::min<int64_t>(items, static_cast<int64_t>(helpers.size()) + 1));
  job = {kernel, buffers, scalars, items, parts};
  unfinished = parts;
  ticket = (((ticket.load() >> 32) + 1) << 32) | parts;
  work.notify();
  uint32_t part;
  while (claim(part))
    runPart(part);
  finished.wait([&] { return unfinished.load() == 0; }, patience);
  for (uint32_t i = 0; i < parts; ++i)
    if (statuses[i] != ONEFLOW_KERNEL_OK)
      return statuses[i];
  return ONEFLOW_KERNEL_OK;
}
