//===- PipelinePlan.h - a pipeline of two stages ----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ranks, a stage each, in micro-batches along the only dimension of x:
//
//   begin, once      w = v + 1 on the second stage, v an input
//   forward          h = check(x) | g = h + w, total = sum of g, over all of
//   time backward         d = g + 1    | y = d + 1 (right to left) end, once
//   total is given out
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_RUNTIME_PIPELINEPLAN_H
#define ONEFLOW_TEST_RUNTIME_PIPELINEPLAN_H

#include "PlanBuilder.h"

namespace oneflow::test {

struct PipelineOptions {
  int64_t count = 10;
  uint32_t microBatches = 4;
  uint32_t slots = 2;
  /// What makes h of x.
  const char *firstChain = "chain_check_index";
  /// The schedules are those of GPipe, not 1F1B.
  bool allForwardFirst = false;
};

/// Inputs x [count], v [1]; outputs y [count], total [1]. Streams 3 and 4 are
/// those of the transfers.
inline PlanBuilder pipelinePlan(const PipelineOptions &options) {
  PlanBuilder b;
  uint32_t m = options.microBatches;
  int64_t count = options.count;
  uint64_t bytes = 4 * static_cast<uint64_t>((count + m - 1) / m);
  uint32_t first = b.timedPlacement(m, {1}, 0);
  uint32_t second = b.timedPlacement(m, {1}, 1);
  uint32_t down = b.stream("down", plan::StreamKind::CpuTransfer);
  uint32_t up = b.stream("up", plan::StreamKind::CpuTransfer);
  auto parts = [&](uint32_t placement) {
    return PlanBuilder::layout(placement, {count}, {split(0), broadcast()});
  };
  auto one = [&] {
    return PlanBuilder::layout(second, {1}, {broadcast(), broadcast()});
  };
  auto at = [&](uint32_t index) { return b.inRegister(index); };
  uint32_t both = b.timedPlacement(m, {2}, 0);
  b.scalar(plan::ScalarKind::Extent, count, both, {{0, 1}});
  b.scalar(plan::ScalarKind::Coordinate, 0, both, {{0, 1}});

  uint32_t begin = b.phase("begin", 1);
  uint32_t v = b.input("v", one(), 4), w = b.reg(4);
  b.chain("chain_add_one_to_first", second, {at(v), at(w)}, {v}, {w});

  uint32_t forward = b.phase("forward", m);
  uint32_t x = b.input("x", parts(first), bytes, options.slots);
  uint32_t h = b.reg(bytes, options.slots),
           arrived = b.reg(bytes, options.slots);
  // As many micro-batches may be under way between the passes.
  uint32_t g = b.reg(bytes, options.allForwardFirst ? m : options.slots);
  uint32_t total = b.reg(4);
  b.entry().registers[total]->fills = 1;
  b.chain(options.firstChain, first, {at(x), at(h)}, {x}, {h});
  b.exchange(parts(first), parts(second), h, arrived, down);
  b.chain("chain_add_first", second, {at(arrived), at(w), at(g)}, {arrived, w},
          {g});
  b.chain("chain_sum_over_time", second, {at(g), at(total)}, {g}, {total});

  uint32_t backward = b.phase("backward", m);
  uint32_t d = b.reg(bytes, options.slots), back = b.reg(bytes, options.slots);
  uint32_t y = b.reg(bytes, options.slots);
  b.chain("chain_add_one", second, {at(g), at(d)}, {g}, {d});
  b.exchange(parts(second), parts(first), d, back, up);
  b.chain("chain_add_one", first, {at(back), at(y)}, {back}, {y});
  b.output("y", parts(first), y);

  b.phase("end", 1);
  b.output("total", one(), total);

  std::vector<uint32_t> firstSteps, secondSteps = {begin};
  for (uint32_t k = 0; k < m; ++k) {
    firstSteps.push_back(forward);
    secondSteps.push_back(forward);
    if (options.allForwardFirst)
      continue;
    if (k > 0)
      firstSteps.push_back(backward);
    secondSteps.push_back(backward);
  }
  firstSteps.resize(2 * m, backward);
  secondSteps.resize(2 * m + 1, backward);
  b.schedule(first, firstSteps);
  b.schedule(second, secondSteps);
  return b;
}

} // namespace oneflow::test

#endif // ONEFLOW_TEST_RUNTIME_PIPELINEPLAN_H
