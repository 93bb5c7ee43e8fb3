//===- RecomputeTest.cpp - choices against all choices ----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The blocks chosen against every choice there is; the figures of a transformer
// that the literature gives; and what a search that is cut short still
// promises.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Schedule/Recompute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace oneflow::schedule;

namespace {

using Blocks = std::vector<RecomputeBlock>;

/// The definition, written out per micro-batch: all are in flight when the
/// oldest of them makes a block's activations again.
uint64_t peakOf(const Blocks &blocks, unsigned chosen, unsigned inFlight) {
  uint64_t kept = 0;
  for (unsigned microBatch = 0; microBatch < inFlight; ++microBatch)
    for (size_t i = 0; i < blocks.size(); ++i)
      kept += chosen >> i & 1 ? blocks[i].inputBytes : blocks[i].keptBytes;
  uint64_t peak = kept;
  for (size_t i = 0; i < blocks.size(); ++i)
    if (chosen >> i & 1)
      peak = std::max(peak, kept - blocks[i].inputBytes + blocks[i].keptBytes);
  return peak;
}

} // namespace

TEST(Recompute, AgainstAllChoices) {
  std::mt19937 engine;
  auto below = [&](unsigned n) { return unsigned(engine() % n); };
  unsigned possible = 0, all = 3000;
  for (unsigned round = 0; round < all; ++round) {
    Blocks blocks;
    unsigned n = 1 + below(10), kinds = 1 + below(4);
    for (unsigned i = 0; i < n; ++i) {
      // Repeated blocks as in models, and blocks that recomputing makes no
      // smaller.
      if (round % 2 && i >= kinds)
        blocks.push_back(blocks[below(kinds)]);
      else
        blocks.push_back({below(20), below(6), double(below(8))});
    }
    unsigned inFlight = 1 + below(4);
    uint64_t limit = below(10 * n * inFlight);
    double best = std::numeric_limits<double>::infinity();
    uint64_t least = UINT64_MAX;
    for (unsigned chosen = 0; chosen < 1u << n; ++chosen) {
      uint64_t bytes = peakOf(blocks, chosen, inFlight);
      least = std::min(least, bytes);
      double seconds = 0;
      for (unsigned i = 0; i < n; ++i)
        seconds += chosen >> i & 1 ? blocks[i].forwardSeconds : 0;
      if (bytes <= limit)
        best = std::min(best, seconds);
    }
    std::string error;
    auto plan = chooseRecompute(blocks, inFlight, limit, &error);
    if (least > limit) {
      EXPECT_FALSE(plan);
      EXPECT_EQ(error, "expected activations of at most " +
                           std::to_string(limit) +
                           " bytes, but the least possible by recomputing "
                           "blocks is " +
                           std::to_string(least));
      continue;
    }
    ++possible;
    ASSERT_TRUE(plan) << error;
    EXPECT_TRUE(plan->exact);
    EXPECT_EQ(plan->seconds, best);
    EXPECT_EQ(plan->leastSeconds, best);
    unsigned chosen = 0;
    double seconds = 0;
    for (unsigned i = 0; i < n; ++i)
      if (plan->recomputed[i]) {
        chosen |= 1u << i;
        seconds += blocks[i].forwardSeconds;
      }
    EXPECT_EQ(seconds, best);
    EXPECT_EQ(plan->bytes, peakOf(blocks, chosen, inFlight));
    EXPECT_LE(plan->bytes, limit);
    // Cut short at once: still a choice that fits, and an honest bound.
    auto quick = chooseRecompute(blocks, inFlight, limit, nullptr, 0);
    ASSERT_TRUE(quick);
    EXPECT_LE(quick->bytes, limit);
    EXPECT_GE(quick->seconds, best);
    EXPECT_LE(quick->leastSeconds, best + 1e-9);
    EXPECT_LE(quick->seconds - quick->leastSeconds, 7);
    if (quick->exact)
      EXPECT_EQ(quick->seconds, best);
    if (HasFailure())
      return;
  }
  EXPECT_GT(possible, all / 3);
}

// GPT-3 on one of eight stages with tensor and sequence parallelism of 8: per
// layer sbh/t (34 + 5as/h) bytes, 2sbh/t for the input (arXiv 2205.05198,
// table 2). Twelve layers with eight micro-batches in flight do not fit beside
// the parameters; how many have to be recomputed follows by division.
TEST(Recompute, Transformer) {
  uint64_t s = 2048, h = 12288, a = 96, t = 8;
  uint64_t kept = s * h / t * 34 + 5 * a * s * s / t, input = 2 * s * h / t;
  Blocks blocks(12, {kept, input, 0.01});
  uint64_t limit = 20ull << 30;
  uint64_t saved = 8 * (kept - input);
  uint64_t over = 12 * 8 * kept + (kept - input) - limit;
  uint64_t count = (over + saved - 1) / saved;
  ASSERT_GT(count, 1u);
  ASSERT_LT(count, 12u);
  auto plan = chooseRecompute(blocks, 8, limit, nullptr);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->exact);
  EXPECT_EQ(size_t(std::count(plan->recomputed.begin(), plan->recomputed.end(),
                              true)),
            count);
  EXPECT_NEAR(plan->seconds, 0.01 * double(count), 1e-12);
}

TEST(Recompute, NothingToDo) {
  auto plan = chooseRecompute({{10, 1, 1}, {5, 1, 1}}, 2, 30, nullptr);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->recomputed, std::vector<bool>({false, false}));
  EXPECT_EQ(plan->bytes, 30u);
  EXPECT_EQ(plan->seconds, 0);
  EXPECT_TRUE(chooseRecompute({}, 1, 0, nullptr));
}

// One block in flight once saves nothing: it comes back whole.
TEST(Recompute, OneBlockOnceSavesNothing) {
  std::string error;
  EXPECT_FALSE(chooseRecompute({{10, 1, 1}}, 1, 9, &error));
  EXPECT_EQ(error, "expected activations of at most 9 bytes, but the least "
                   "possible by recomputing blocks is 10");
  EXPECT_TRUE(chooseRecompute({{10, 1, 1}}, 2, 11, &error));
}

TEST(Recompute, LargeChains) {
  std::mt19937 engine;
  for (unsigned n : {100u, 2000u, 20000u}) {
    Blocks blocks;
    uint64_t bytes = 0;
    double longest = 0;
    for (unsigned i = 0; i < n; ++i) {
      blocks.push_back({1000000 + engine() % 9000000, engine() % 1000000,
                        1e-6 * double(1 + engine() % 100000)});
      bytes += blocks.back().keptBytes;
      longest = std::max(longest, blocks.back().forwardSeconds);
    }
    for (unsigned inFlight : {1u, 7u}) {
      uint64_t limit = bytes * inFlight / 2;
      auto plan = chooseRecompute(blocks, inFlight, limit, nullptr);
      ASSERT_TRUE(plan);
      EXPECT_LE(plan->bytes, limit);
      EXPECT_EQ(plan->bytes,
                recomputeBytes(blocks, plan->recomputed, inFlight));
      EXPECT_LE(plan->leastSeconds, plan->seconds);
      EXPECT_LE(plan->seconds - plan->leastSeconds, longest);
    }
  }
}

TEST(Recompute, Segments) {
  // n equal blocks, one micro-batch: n/k inputs and k blocks less an input; for
  // a kept of 10 inputs the least is near sqrt(n/10).
  Blocks blocks(90, {10, 1, 0.5});
  auto plan = recomputeEvery(blocks, 9, 1, nullptr);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->bytes, 10u + 90 - 1);
  EXPECT_EQ(plan->seconds, 45);
  auto best = leastRecomputeInterval(blocks, 1, nullptr);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->interval, 3u);
  EXPECT_EQ(best->bytes, 30u + 30 - 1);
  // More in flight make inputs dearer.
  EXPECT_EQ(leastRecomputeInterval(blocks, 4, nullptr)->interval, 6u);
  // By hand: inputs 2 and 3; 7 + 5 - 2 and 8 - 3 come back.
  plan = recomputeEvery({{7, 2, 1}, {5, 4, 1}, {8, 3, 1}}, 2, 3, nullptr);
  EXPECT_EQ(plan->bytes, 3u * (2 + 3) + 10);
  // Segments of one are all blocks recomputed.
  EXPECT_EQ(recomputeEvery(blocks, 1, 5, nullptr)->bytes,
            recomputeBytes(blocks, std::vector<bool>(90, true), 5));
  EXPECT_EQ(recomputeEvery(blocks, ~0u, 2, nullptr)->bytes, 2u + 899);
  EXPECT_TRUE(leastRecomputeInterval({}, 1, nullptr));
}

TEST(Recompute, Errors) {
  std::string error;
  EXPECT_FALSE(chooseRecompute({{1, 1, 1}}, 0, 1, &error));
  EXPECT_EQ(error, "expected at least 1 micro-batch in flight, got: 0");
  for (double bad :
       {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(chooseRecompute({{1, 1, 1}, {1, 1, bad}}, 1, 1, &error));
    EXPECT_EQ(
        error.rfind("expected finite seconds of at least 0 for block 1", 0),
        0u);
    EXPECT_FALSE(recomputeEvery({{1, 1, bad}}, 1, 1, nullptr));
  }
  EXPECT_FALSE(chooseRecompute({{~0ull / 2, 0, 1}}, 2, 1, &error));
  EXPECT_EQ(error, "expected bytes of all blocks and micro-batches that add up "
                   "to less than 2^64");
  EXPECT_FALSE(leastRecomputeInterval({{~0ull, 0, 1}}, 1, nullptr));
  EXPECT_FALSE(recomputeEvery({{1, 1, 1}}, 0, 1, &error));
  EXPECT_EQ(error, "expected segments of at least 1 block, got: 0");
}
