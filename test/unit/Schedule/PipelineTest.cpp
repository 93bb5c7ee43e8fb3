//===- PipelineTest.cpp - the orders of the papers --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of each stage, written out for four stages and eight micro-batches
// as the papers' figures draw them, and what holds for all shapes.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Schedule/Pipeline.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

using namespace oneflow::schedule;

namespace {

constexpr PipelineKind allKinds[] = {
    PipelineKind::GPipe, PipelineKind::OneForwardOneBackward,
    PipelineKind::Interleaved, PipelineKind::ZeroBubble};

/// "F1 F2 B1", counted from 1 like the figures; with several chunks a letter
/// says which of the stage's own it is: "F1a F1b".
std::vector<std::string> draw(PipelineKind kind, const PipelineShape &shape) {
  std::string error;
  auto schedule = makePipelineSchedule(kind, shape, &error);
  EXPECT_TRUE(schedule) << error;
  std::vector<std::string> lines;
  for (auto &steps : *schedule) {
    std::string line;
    for (const PipelineStep &step : steps) {
      line += line.empty() ? "" : " ";
      line += "FBW"[int(step.pass)] + std::to_string(step.microBatch + 1);
      if (shape.chunksPerStage > 1)
        line += char('a' + step.chunk / shape.stages);
    }
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

} // namespace

// Figure 3 of arXiv 2104.04473.
TEST(Pipeline, GPipe) {
  std::string all = "F1 F2 F3 F4 F5 F6 F7 F8 B1 B2 B3 B4 B5 B6 B7 B8";
  EXPECT_EQ(draw(PipelineKind::GPipe, {4, 8}), Lines(4, all));
}

// Figure 4 of arXiv 2104.04473, above.
TEST(Pipeline, OneForwardOneBackward) {
  EXPECT_EQ(draw(PipelineKind::OneForwardOneBackward, {4, 8}),
            Lines({"F1 F2 F3 F4 B1 F5 B2 F6 B3 F7 B4 F8 B5 B6 B7 B8",
                   "F1 F2 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 F8 B6 B7 B8",
                   "F1 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 F8 B7 B8",
                   "F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 F8 B8"}));
}

// Figure 4 of arXiv 2104.04473, below: two chunks per device.
TEST(Pipeline, Interleaved) {
  EXPECT_EQ(
      draw(PipelineKind::Interleaved, {4, 8, 2}),
      Lines({"F1a F2a F3a F4a F1b F2b F3b F4b F5a F6a F7a B1b F8a B2b F5b B3b "
             "F6b B4b F7b B1a F8b B2a B3a B4a B5b B6b B7b B8b B5a B6a B7a B8a",
             "F1a F2a F3a F4a F1b F2b F3b F4b F5a B1b F6a B2b F7a B3b F8a B4b "
             "F5b B1a F6b B2a F7b B3a F8b B4a B5b B6b B7b B8b B5a B6a B7a B8a",
             "F1a F2a F3a F4a F1b F2b F3b B1b F4b B2b F5a B3b F6a B4b F7a B1a "
             "F8a B2a F5b B3a F6b B4a F7b B5b F8b B6b B7b B8b B5a B6a B7a B8a",
             "F1a F2a F3a F4a F1b B1b F2b B2b F3b B3b F4b B4b F5a B1a F6a B2a "
             "F7a B3a F8a B4a F5b B5b F6b B6b F7b B7b F8b B8b B5a B6a B7a "
             "B8a"}));
}

// Figure 3 of arXiv 2401.10241, above.
TEST(Pipeline, ZeroBubble) {
  EXPECT_EQ(
      draw(PipelineKind::ZeroBubble, {4, 8}),
      Lines({"F1 F2 F3 F4 B1 W1 F5 B2 W2 F6 B3 W3 F7 B4 W4 F8 B5 W5 B6 W6 B7 "
             "W7 B8 W8",
             "F1 F2 F3 B1 F4 B2 W1 F5 B3 W2 F6 B4 W3 F7 B5 W4 F8 B6 W5 B7 W6 "
             "B8 W7 W8",
             "F1 F2 B1 F3 B2 F4 B3 W1 F5 B4 W2 F6 B5 W3 F7 B6 W4 F8 B7 W5 B8 "
             "W6 W7 W8",
             "F1 B1 F2 B2 F3 B3 F4 B4 W1 F5 B5 W2 F6 B6 W3 F7 B7 W4 F8 B8 W5 "
             "W6 W7 W8"}));
}

TEST(Pipeline, FewMicroBatches) {
  EXPECT_EQ(
      draw(PipelineKind::OneForwardOneBackward, {4, 2}),
      Lines({"F1 F2 B1 B2", "F1 F2 B1 B2", "F1 F2 B1 B2", "F1 B1 F2 B2"}));
  EXPECT_EQ(draw(PipelineKind::ZeroBubble, {4, 1}), Lines(4, "F1 B1 W1"));
  EXPECT_EQ(draw(PipelineKind::GPipe, {1, 1}), Lines({"F1 B1"}));
  EXPECT_EQ(draw(PipelineKind::Interleaved, {1, 1, 2}),
            Lines({"F1a F1b B1b B1a"}));
}

// One chunk per stage leaves nothing to take turns with, and only the longer
// warm-up remains.
TEST(Pipeline, InterleavedOfOneChunk) {
  EXPECT_EQ(draw(PipelineKind::Interleaved, {2, 4, 1}),
            Lines({"F1 F2 F3 B1 F4 B2 B3 B4", "F1 B1 F2 B2 F3 B3 F4 B4"}));
}

TEST(Pipeline, EveryStepOnceAndQueued) {
  for (PipelineKind kind : allKinds)
    for (unsigned p = 1; p <= 6; ++p)
      for (unsigned m = 1; m <= 14; ++m)
        for (unsigned v = 1; v <= 3; ++v) {
          bool interleaved = kind == PipelineKind::Interleaved;
          if (interleaved ? m % p != 0 : v > 1)
            continue;
          auto schedule = makePipelineSchedule(kind, {p, m, v}, nullptr);
          ASSERT_TRUE(schedule);
          ASSERT_EQ(schedule->size(), p);
          std::set<std::tuple<Pass, unsigned, unsigned>> seen;
          // Per pass and chunk: which micro-batch comes next, so that
          // registers are queues.
          std::vector<std::vector<unsigned>> next(
              3, std::vector<unsigned>(p * v, 0));
          for (unsigned s = 0; s < p; ++s)
            for (const PipelineStep &step : (*schedule)[s]) {
              ASSERT_LT(step.chunk, p * v);
              EXPECT_EQ(step.chunk % p, s);
              EXPECT_EQ(step.microBatch, next[size_t(step.pass)][step.chunk]++);
              seen.insert({step.pass, step.chunk, step.microBatch});
            }
          size_t passes = kind == PipelineKind::ZeroBubble ? 3 : 2;
          EXPECT_EQ(seen.size(), passes * p * v * m);
          size_t steps = 0;
          for (auto &stage : *schedule)
            steps += stage.size();
          EXPECT_EQ(steps, seen.size());
        }
}

TEST(Pipeline, Names) {
  for (PipelineKind kind : allKinds)
    EXPECT_EQ(parsePipelineKind(toString(kind)), kind);
  EXPECT_EQ(toString(PipelineKind::OneForwardOneBackward), "1f1b");
  EXPECT_FALSE(parsePipelineKind("2f2b"));
  EXPECT_FALSE(parsePipelineKind(""));
  EXPECT_EQ(toString(PipelineStep{Pass::Weights, 3, 1}),
            "weights of chunk 3, micro-batch 1");
}

TEST(Pipeline, Errors) {
  struct {
    PipelineKind kind;
    PipelineShape shape;
    const char *message;
  } cases[] = {
      {PipelineKind::GPipe, {0, 1}, "expected at least 1 stage, got: 0"},
      {PipelineKind::GPipe, {1, 0}, "expected at least 1 micro-batch, got: 0"},
      {PipelineKind::Interleaved,
       {1, 1, 0},
       "expected at least 1 chunk per stage, got: 0"},
      {PipelineKind::ZeroBubble,
       {2, 4, 2},
       "schedule zero-bubble: expected 1 chunk per stage, got: 2"},
      {PipelineKind::Interleaved,
       {4, 6, 2},
       "schedule interleaved: expected a multiple of the stages (4) as "
       "micro-batches, got: 6"},
      {PipelineKind::GPipe,
       {~0u, ~0u},
       "expected at most 134217728 steps, got more: 4294967295 stages x "
       "4294967295 micro-batches x 1 chunks per stage"},
  };
  for (auto &[kind, shape, message] : cases) {
    std::string error;
    EXPECT_FALSE(makePipelineSchedule(kind, shape, &error));
    EXPECT_EQ(error, message);
    EXPECT_FALSE(makePipelineSchedule(kind, shape, nullptr));
  }
}
