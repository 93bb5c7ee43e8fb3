//===- oneflow/Schedule/Recompute.h - what to make twice --------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which blocks of a model keep the activations that their backward pass needs,
// and which keep their input only and make the activations again (Chen et al.,
// arXiv 1604.06174), so that memory suffices at the least time.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SCHEDULE_RECOMPUTE_H
#define ONEFLOW_SCHEDULE_RECOMPUTE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace oneflow::schedule {

/// One block of a chain, for one micro-batch.
struct RecomputeBlock {
  /// All that the block keeps for its backward pass, its input included.
  uint64_t keptBytes;
  /// What it keeps when it is recomputed: its input.
  uint64_t inputBytes;
  /// Of one forward pass; finite and at least 0.
  double forwardSeconds;
};

struct RecomputePlan {
  /// Per block.
  std::vector<bool> recomputed;
  /// At the most: what is kept for all micro-batches in flight, and once the
  /// activations of the recomputed block that has most of them (see
  /// `recomputeBytes`).
  uint64_t bytes = 0;
  /// Recomputed per micro-batch.
  double seconds = 0;
  /// No plan that fits takes less, up to rounding: `seconds` itself if `exact`.
  double leastSeconds = 0;
  /// The search ended.
  bool exact = true;
};

/// The bytes of a choice: with f micro-batches in flight,
///   f x (keptBytes of kept + inputBytes of recomputed blocks)
///   + max over recomputed blocks of (keptBytes - inputBytes),
/// the latter because one micro-batch at a time makes its activations again.
uint64_t recomputeBytes(const std::vector<RecomputeBlock> &blocks,
                        const std::vector<bool> &recomputed, unsigned inFlight);

/// The blocks to recompute so that at most `byteLimit` bytes are needed with
/// `inFlight` micro-batches under way, at the least seconds. Branch and bound
/// over groups of equal blocks, deterministic, of about `maxSteps` steps at
/// most: where the search ends before (`exact`), nothing is better; otherwise
/// `seconds` is still within one block's forwardSeconds of `leastSeconds`.
///
/// Nothing where no choice fits (`error` says the least bytes of any), or where
/// a block is not as described above.
std::optional<RecomputePlan>
chooseRecompute(const std::vector<RecomputeBlock> &blocks, unsigned inFlight,
                uint64_t byteLimit, std::string *error,
                uint64_t maxSteps = uint64_t(1) << 20);

/// All blocks recomputed in segments of `interval`.
struct SegmentPlan {
  unsigned interval = 1;
  /// f x (inputs of segments) + max over segments of (keptBytes of its blocks -
  /// the segment's input).
  uint64_t bytes = 0;
  /// Recomputed per micro-batch.
  double seconds = 0;
};

/// Keeps the input of every `interval`-th block only; the backward pass makes a
/// whole segment again. Nothing for an interval of 0 or bad blocks.
std::optional<SegmentPlan>
recomputeEvery(const std::vector<RecomputeBlock> &blocks, unsigned interval,
               unsigned inFlight, std::string *error);

/// The interval of the fewest bytes, the smallest of several: about the root of
/// the number of blocks where they are equal and one micro-batch is in flight.
/// All intervals take the same seconds. O(n log n).
std::optional<SegmentPlan>
leastRecomputeInterval(const std::vector<RecomputeBlock> &blocks,
                       unsigned inFlight, std::string *error);

} // namespace oneflow::schedule

#endif // ONEFLOW_SCHEDULE_RECOMPUTE_H
