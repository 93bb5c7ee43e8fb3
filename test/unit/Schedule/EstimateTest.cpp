//===- EstimateTest.cpp - schedules against closed forms --------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the simulation says against what the papers say, and that it names what
// is wrong with a schedule that cannot run.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Schedule/Pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

using namespace oneflow::schedule;

namespace {

PipelineEstimate run(PipelineKind kind, const PipelineShape &shape,
                     const PassDurations &durations) {
  std::string error;
  auto schedule = makePipelineSchedule(kind, shape, &error);
  EXPECT_TRUE(schedule) << error;
  auto result = estimate(*schedule, durations, &error);
  EXPECT_TRUE(result) << toString(kind) << " " << shape.stages << " "
                      << shape.microBatches << ": " << error;
  return result.value_or(PipelineEstimate());
}

std::string errorOf(const PipelineSchedule &schedule) {
  std::string error;
  EXPECT_FALSE(estimate(schedule, PassDurations(), &error));
  EXPECT_FALSE(estimate(schedule, PassDurations(), nullptr));
  return error;
}

PipelineStep F(unsigned c, unsigned m) { return {Pass::Forward, c, m}; }
PipelineStep B(unsigned c, unsigned m) { return {Pass::Backward, c, m}; }
PipelineStep W(unsigned c, unsigned m) { return {Pass::Weights, c, m}; }

} // namespace

// Down to one micro-batch: these closed forms need not as many as stages.
TEST(Estimate, BubbleOfGPipeAnd1F1B) {
  for (PipelineKind kind :
       {PipelineKind::GPipe, PipelineKind::OneForwardOneBackward})
    for (unsigned p = 1; p <= 8; ++p)
      for (unsigned m = 1; m <= 32; ++m) {
        PipelineEstimate e = run(kind, {p, m}, {1, 2, 0, 0});
        EXPECT_DOUBLE_EQ(e.makespan, 3 * (m + p - 1));
        EXPECT_NEAR(e.bubble, double(p - 1) / m, 1e-12);
        EXPECT_NEAR(e.bubble, closedFormBubble(kind, {p, m}), 1e-12);
      }
}

TEST(Estimate, BubbleOfInterleaved) {
  for (unsigned p = 1; p <= 8; ++p)
    for (unsigned m = p; m <= 32; m += p)
      for (unsigned v = 1; v <= 4; ++v) {
        PipelineEstimate e =
            run(PipelineKind::Interleaved, {p, m, v}, {1, 2, 0, 0});
        EXPECT_DOUBLE_EQ(e.makespan, 3 * (v * m + p - 1));
        EXPECT_NEAR(e.bubble, double(p - 1) / (v * m), 1e-12);
        EXPECT_NEAR(e.bubble,
                    closedFormBubble(PipelineKind::Interleaved, {p, m, v}),
                    1e-12);
      }
}

// Exactly (p - 1) / 3m from as many micro-batches as stages on. With fewer the
// makespan is the longest way: p F, m - 1 pairs of B and F on the last stage, p
// B, one W.
TEST(Estimate, BubbleOfZeroBubble) {
  for (unsigned p = 1; p <= 8; ++p)
    for (unsigned m = 1; m <= 32; ++m) {
      PipelineEstimate e = run(PipelineKind::ZeroBubble, {p, m}, {1, 1, 1, 0});
      EXPECT_DOUBLE_EQ(e.makespan,
                       m >= p ? 3 * m + p - 1 : p + 2 * (m - 1) + p + 1)
          << p << " " << m;
      EXPECT_NEAR(e.bubble, closedFormBubble(PipelineKind::ZeroBubble, {p, m}),
                  1e-12);
      if (m >= p)
        EXPECT_NEAR(e.bubble, (p - 1) / (3.0 * m), 1e-12);
    }
}

// The paper's (p - 1)(F + B - W) where the passes differ.
TEST(Estimate, ZeroBubbleOfUnequalPasses) {
  for (unsigned p = 1; p <= 8; ++p)
    for (unsigned m = 2 * p; m <= 32; ++m) {
      PipelineEstimate e =
          run(PipelineKind::ZeroBubble, {p, m}, {10, 11, 9, 0});
      EXPECT_DOUBLE_EQ(e.makespan, 30 * m + (p - 1) * (10 + 11 - 9))
          << p << " " << m;
    }
}

TEST(Estimate, InFlight) {
  for (unsigned p = 1; p <= 8; ++p)
    for (unsigned m = 1; m <= 32; ++m)
      for (double transfer : {0.0, 0.7})
        for (unsigned s = 0; s < p; ++s) {
          PassDurations d = {1, 2, 0, transfer};
          EXPECT_EQ(run(PipelineKind::GPipe, {p, m}, d).inFlight[s], m);
          EXPECT_EQ(
              run(PipelineKind::OneForwardOneBackward, {p, m}, d).inFlight[s],
              std::min(p - s, m));
          PipelineEstimate zero =
              run(PipelineKind::ZeroBubble, {p, m}, {1, 1, 1, transfer});
          EXPECT_EQ(zero.inFlight[s], std::min(p, m));
          const ChunkInFlight &chunk = zero.inFlightOfChunk[s];
          EXPECT_EQ(chunk.forwardToBackward, std::min(p - s, m));
          EXPECT_EQ(chunk.forwardToLast, std::min(p, m));
          EXPECT_EQ(chunk.backwardToWeights, std::min(s + 1, m));
        }
}

// The first stage holds 1 + (p - 1) / pv times the activations of p whole
// stages, that is p v + p - 1 of its chunks (section 2.2 of arXiv 2104.04473,
// section 4.1 of arXiv 2205.05198).
TEST(Estimate, InFlightOfInterleaved) {
  for (unsigned p = 1; p <= 8; ++p)
    for (unsigned m = p; m <= 32; m += p)
      for (unsigned v = 1; v <= 4; ++v) {
        PipelineEstimate e =
            run(PipelineKind::Interleaved, {p, m, v}, {1, 2, 0, 0});
        EXPECT_EQ(e.inFlight[0], std::min(p * v + p - 1, m * v));
        EXPECT_EQ(*std::max_element(e.inFlight.begin(), e.inFlight.end()),
                  e.inFlight[0]);
        ASSERT_EQ(e.inFlightOfChunk.size(), p * v);
        // No register needs more slots than two groups of micro-batches, and
        // those of one stage's chunks cannot all be at their most at once.
        for (unsigned s = 0; s < p; ++s) {
          unsigned sum = 0;
          for (unsigned c = s; c < p * v; c += p) {
            EXPECT_LE(e.inFlightOfChunk[c].forwardToLast, std::min(2 * p, m));
            EXPECT_EQ(e.inFlightOfChunk[c].forwardToLast,
                      e.inFlightOfChunk[c].forwardToBackward);
            EXPECT_EQ(e.inFlightOfChunk[c].backwardToWeights, 0u);
            sum += e.inFlightOfChunk[c].forwardToLast;
          }
          EXPECT_GE(sum, e.inFlight[s]);
        }
      }
}

// Read off figure 4 of arXiv 2104.04473: F1a ... F7a before B1a has ended, and
// F1b ... F4b before B1b.
TEST(Estimate, InFlightOfFigure) {
  PipelineEstimate e = run(PipelineKind::Interleaved, {4, 8, 2}, {1, 2, 0, 0});
  EXPECT_EQ(e.inFlight, std::vector<unsigned>({11, 9, 7, 5}));
  EXPECT_EQ(e.inFlightOfChunk[0].forwardToLast, 8u);
  EXPECT_EQ(e.inFlightOfChunk[4].forwardToLast, 4u);
  EXPECT_EQ(e.inFlightOfChunk[7].forwardToLast, 1u);
}

TEST(Estimate, TransfersDelayAndNeverBlock) {
  for (PipelineKind kind :
       {PipelineKind::GPipe, PipelineKind::OneForwardOneBackward,
        PipelineKind::Interleaved, PipelineKind::ZeroBubble})
    for (unsigned p = 1; p <= 8; ++p)
      for (unsigned m : {1u, 2u, p, 4 * p}) {
        bool interleaved = kind == PipelineKind::Interleaved;
        if (interleaved && m % p != 0)
          continue;
        PipelineShape shape = {p, m, interleaved ? 3u : 1u};
        double before = 0;
        for (double transfer : {0.0, 0.25, 3.0, 100.0}) {
          PipelineEstimate e = run(kind, shape, {1, 1, 1, transfer});
          EXPECT_GE(e.makespan, before);
          before = e.makespan;
          if (kind == PipelineKind::GPipe)
            EXPECT_DOUBLE_EQ(e.makespan,
                             2 * (m + p - 1) + 2 * (p - 1) * transfer);
        }
      }
}

TEST(Estimate, ChunksOfUnequalLength) {
  // Stage 1 takes twice as long: it works without a pause between the first
  // forward pass and the last backward pass of stage 0.
  auto schedule = makePipelineSchedule(PipelineKind::OneForwardOneBackward,
                                       {2, 4}, nullptr);
  std::string error;
  auto e = estimate(*schedule,
                    std::vector<PassDurations>{{1, 2, 0, 0.5}, {2, 4, 0, 9}},
                    &error);
  ASSERT_TRUE(e) << error;
  EXPECT_DOUBLE_EQ(e->makespan, 1 + 0.5 + 4 * 6 + 0.5 + 2);
  EXPECT_DOUBLE_EQ(e->bubble, 28.0 / 24 - 1);
  EXPECT_FALSE(estimate(*schedule, std::vector<PassDurations>(3), &error));
  EXPECT_EQ(error, "expected durations of 2 chunks, got: 3");
  double nan = std::numeric_limits<double>::quiet_NaN();
  for (double bad : {-1.0, nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(estimate(*schedule, PassDurations{1, bad, 0, 0}, &error));
    EXPECT_EQ(error.rfind("expected durations of at least 0 for chunk 0", 0),
              0u);
  }
}

TEST(Estimate, HandmadeSchedules) {
  // Forward only, as for inference.
  auto e = estimate({{F(0, 0), F(0, 1)}, {F(1, 0), F(1, 1)}},
                    PassDurations{1, 2, 0, 0}, nullptr);
  ASSERT_TRUE(e);
  EXPECT_DOUBLE_EQ(e->makespan, 3);
  EXPECT_EQ(e->inFlight, std::vector<unsigned>({1, 1}));
  // Chunks in the shape of a V: the last one is on stage 0.
  e = estimate({{F(0, 0), F(3, 0), B(3, 0), B(0, 0)},
                {F(1, 0), F(2, 0), B(2, 0), B(1, 0)}},
               PassDurations{1, 1, 0, 10}, nullptr);
  ASSERT_TRUE(e);
  EXPECT_DOUBLE_EQ(e->makespan, 8 + 4 * 10);
  e = estimate({}, PassDurations(), nullptr);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->makespan, 0);
  EXPECT_TRUE(estimate({{}}, PassDurations(), nullptr));
}

TEST(Estimate, Circles) {
  // Stage 0 wants its gradient before it makes the forward pass behind it.
  EXPECT_EQ(
      errorOf({{F(0, 0), B(0, 0), F(0, 1), B(0, 1)},
               {F(1, 0), F(1, 1), B(1, 0), B(1, 1)}}),
      "steps wait for each other in a circle: backward of chunk 0, micro-batch "
      "0 on stage 0 waits for backward of chunk 1, micro-batch 0 on stage 1, "
      "which comes after forward of chunk 1, micro-batch 1; forward of chunk "
      "1, micro-batch 1 on stage 1 waits for forward of chunk 0, micro-batch 1 "
      "on stage 0, which comes after backward of chunk 0, micro-batch 0");
  EXPECT_EQ(errorOf({{F(0, 0), W(0, 0), B(0, 0)}}),
            "steps wait for each other in a circle: weights of chunk 0, "
            "micro-batch 0 on stage 0 waits for backward of chunk 0, "
            "micro-batch 0 on stage 0, which comes after weights of chunk 0, "
            "micro-batch 0");
  // The stages that wait for the circle are not in it.
  std::string error =
      errorOf({{F(0, 0), B(0, 0)}, {B(1, 0), F(1, 0)}, {F(2, 0), B(2, 0)}});
  EXPECT_EQ(error, "steps wait for each other in a circle: backward of chunk "
                   "1, micro-batch 0 on stage 1 waits for forward of chunk 1, "
                   "micro-batch 0 on stage 1, which comes after backward of "
                   "chunk 1, micro-batch 0");
}

TEST(Estimate, MissingSteps) {
  EXPECT_EQ(errorOf({{F(0, 0), B(0, 0)}, {F(1, 0)}}),
            "backward of chunk 0, micro-batch 0 on stage 0 waits for backward "
            "of chunk 1, micro-batch 0, which no stage makes");
  EXPECT_EQ(errorOf({{F(0, 0), F(0, 1)}, {F(1, 1)}}),
            "no stage makes forward of chunk 1, micro-batch 0");
  EXPECT_EQ(errorOf({{F(0, 0), B(0, 0), W(0, 0), F(0, 1), B(0, 1)}}),
            "no stage makes weights of chunk 0, micro-batch 1");
  EXPECT_EQ(errorOf({{F(0, 0), W(0, 0)}}),
            "weights of chunk 0, micro-batch 0 on stage 0 waits for backward "
            "of chunk 0, micro-batch 0, which no stage makes");
  // Not a table of 2^64 steps.
  EXPECT_EQ(errorOf({{F(~0u - 1, ~0u)}}),
            "no stage makes forward of chunk 0, micro-batch 0");
  EXPECT_EQ(errorOf({{F(0, 0), B(0, 0)}, {F(0, 0)}}),
            "expected one forward of chunk 0, micro-batch 0, got: one on "
            "stage 0 and one on stage 1");
  EXPECT_EQ(errorOf({{F(0, 0)}, {B(0, 0)}}),
            "expected all passes of chunk 0 on stage 0, got: backward of "
            "chunk 0, micro-batch 0 on stage 1");
}

// Every single step that is taken out of a schedule is missed.
TEST(Estimate, AnyMissingStepIsFound) {
  for (PipelineKind kind :
       {PipelineKind::OneForwardOneBackward, PipelineKind::ZeroBubble}) {
    auto schedule = makePipelineSchedule(kind, {3, 4}, nullptr);
    for (unsigned s = 0; s < 3; ++s)
      for (size_t i = 0; i < (*schedule)[s].size(); ++i) {
        PipelineSchedule planted = *schedule;
        PipelineStep step = planted[s][i];
        planted[s].erase(planted[s].begin() + i);
        EXPECT_NE(errorOf(planted).find(toString(step)), std::string::npos);
      }
  }
}
