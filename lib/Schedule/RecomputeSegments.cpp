//===- RecomputeSegments.cpp - recomputing whole segments -------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One input kept for every so many blocks. Longer segments keep fewer inputs,
// but more is back at a time.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Schedule/Recompute.h"

#include <algorithm>

namespace oneflow::schedule {

namespace {

/// Sums of the blocks before each, so that a segment is looked at in no time.
class Segments {
public:
  explicit Segments(const std::vector<RecomputeBlock> &blocks)
      : blocks(blocks), kept(blocks.size() + 1, 0) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      kept[i + 1] = kept[i] + blocks[i].keptBytes;
      seconds += blocks[i].forwardSeconds;
    }
  }
  SegmentPlan plan(unsigned interval, unsigned inFlight) const {
    uint64_t inputs = 0, back = 0;
    for (size_t i = 0; i < blocks.size(); i += interval) {
      size_t end = std::min(i + interval, blocks.size());
      uint64_t all = kept[end] - kept[i];
      inputs += blocks[i].inputBytes;
      if (all > blocks[i].inputBytes)
        back = std::max(back, all - blocks[i].inputBytes);
    }
    return {interval, inputs * inFlight + back, seconds};
  }

private:
  const std::vector<RecomputeBlock> &blocks;
  std::vector<uint64_t> kept;
  double seconds = 0;
};

/// Whether blocks are as they should be, by the check of chooseRecompute, which
/// has nothing to search for under this limit.
bool check(const std::vector<RecomputeBlock> &blocks, unsigned inFlight,
           std::string *error) {
  return chooseRecompute(blocks, inFlight, UINT64_MAX, error).has_value();
}

} // namespace

std::optional<SegmentPlan>
recomputeEvery(const std::vector<RecomputeBlock> &blocks, unsigned interval,
               unsigned inFlight, std::string *error) {
  if (interval == 0) {
    if (error)
      *error = "expected segments of at least 1 block, got: 0";
    return std::nullopt;
  }
  if (!check(blocks, inFlight, error))
    return std::nullopt;
  return Segments(blocks).plan(interval, inFlight);
}

std::optional<SegmentPlan>
leastRecomputeInterval(const std::vector<RecomputeBlock> &blocks,
                       unsigned inFlight, std::string *error) {
  if (!check(blocks, inFlight, error))
    return std::nullopt;
  Segments segments(blocks);
  SegmentPlan best = segments.plan(1, inFlight);
  for (unsigned interval = 2; interval <= blocks.size(); ++interval) {
    SegmentPlan plan = segments.plan(interval, inFlight);
    if (plan.bytes < best.bytes)
      best = plan;
  }
  return best;
}

} // namespace oneflow::schedule
