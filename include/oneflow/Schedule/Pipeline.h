//===- oneflow/Schedule/Pipeline.h - pipeline schedules ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In which order the stages of a pipeline go through the forward and backward
// passes of micro-batches. Pure algorithms, without IR.
//
// A model is cut into chunks, one behind the other. Chunk c is on stage c mod
// `stages`: with one chunk per stage the chunks are the stages; with v, each
// stage has v of them (Narayanan et al., arXiv 2104.04473).
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SCHEDULE_PIPELINE_H
#define ONEFLOW_SCHEDULE_PIPELINE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oneflow::schedule {

enum class PipelineKind {
  /// All forward passes, then all backward passes (Huang et al., arXiv
  /// 1811.06965), these too in ascending order of micro-batches as in figure 3
  /// of arXiv 2104.04473, so that registers are queues under every kind.
  GPipe,
  /// One forward, one backward: at most stages - s micro-batches are under way
  /// on stage s (Narayanan et al., arXiv 1806.03377, with a flush).
  OneForwardOneBackward,
  /// The same over several chunks per stage (arXiv 2104.04473). Micro-batches
  /// are a multiple of the stages.
  Interleaved,
  /// The backward pass cut into the gradient of the input, which the stage
  /// before waits for, and that of the weights, which fills what would be
  /// bubbles: ZB-H1 (Qi et al., arXiv 2401.10241). Stage s is s micro-batches
  /// late with the gradients of weights, so every stage holds as many
  /// micro-batches as the first one does under 1F1B.
  ZeroBubble,
};

/// gpipe, 1f1b, interleaved, zero-bubble.
std::optional<PipelineKind> parsePipelineKind(std::string_view name);
std::string_view toString(PipelineKind kind);

enum class Pass : uint8_t {
  Forward,
  /// The gradient of the input; under all schedules but ZeroBubble also that of
  /// the weights.
  Backward,
  /// The gradient of the weights; ZeroBubble only.
  Weights
};

/// One pass of one micro-batch through one chunk of the model.
struct PipelineStep {
  Pass pass;
  unsigned chunk;
  unsigned microBatch;
  bool operator==(const PipelineStep &other) const {
    return pass == other.pass && chunk == other.chunk &&
           microBatch == other.microBatch;
  }
};

/// The steps of each stage, in order.
using PipelineSchedule = std::vector<std::vector<PipelineStep>>;

/// What a pipeline is made of; all at least 1. `chunksPerStage` is 1 for all
/// kinds but Interleaved.
struct PipelineShape {
  unsigned stages;
  unsigned microBatches;
  unsigned chunksPerStage = 1;
};

/// The schedule of `kind`. On failure returns nothing and says in `error`, in
/// lower case and without a full stop, what it expects.
std::optional<PipelineSchedule> makePipelineSchedule(PipelineKind kind,
                                                     const PipelineShape &shape,
                                                     std::string *error);

/// forward, backward or weights.
std::string_view toString(Pass pass);
/// "forward of chunk 1, micro-batch 2": how messages name a step.
std::string toString(const PipelineStep &step);

/// Seconds, or any other unit, that the passes of a chunk take. For all kinds
/// but ZeroBubble `backward` is the whole backward pass.
struct PassDurations {
  double forward = 1, backward = 2, weights = 0;
  /// From a chunk to the next one on another stage, and of the gradient back.
  /// Overlaps with passes.
  double transfer = 0;
};

/// The most micro-batches of one chunk that are under way at a time: how many
/// slots a register needs that is filled in one pass and read in another. A
/// pass goes through micro-batches in ascending order, so slots are taken round
/// robin.
struct ChunkInFlight {
  /// From the begin of Forward to the end of Backward, and to the end of the
  /// last pass (Weights, or Backward where there is none).
  unsigned forwardToBackward = 0, forwardToLast = 0;
  /// From the begin of Backward to the end of Weights; 0 without Weights.
  unsigned backwardToWeights = 0;
};

/// What a schedule comes to when each stage begins each step as soon as the one
/// before it is done and its inputs are there.
struct PipelineEstimate {
  /// From the first begin to the last end.
  double makespan = 0;
  /// makespan / work of the busiest stage - 1: the closed forms of the
  /// literature.
  double bubble = 0;
  /// Per stage: the most micro-batches, summed over its chunks, whose forward
  /// pass has begun and whose last backward or weights pass has not ended.
  std::vector<unsigned> inFlight;
  /// Per chunk. Follows from the order alone, like `inFlight`.
  std::vector<ChunkInFlight> inFlightOfChunk;
};

/// Takes any schedule, handmade ones too: chunks may lie on any stage, and
/// there may be forward passes only. Nothing when the steps wait for each other
/// in a circle, when a pass is missing, is made twice or lies on another stage
/// than its chunk; `error` then names the steps.
std::optional<PipelineEstimate> estimate(const PipelineSchedule &schedule,
                                         const PassDurations &durations,
                                         std::string *error);

/// The same where chunks differ. `durations` has one entry per chunk; the
/// transfer of entry c is that between chunks c and c + 1, either way.
std::optional<PipelineEstimate>
estimate(const PipelineSchedule &schedule,
         const std::vector<PassDurations> &durations, std::string *error);

/// The bubble by its closed form, as a part of the work: see the table in
/// docs/schedules.md. For ZeroBubble with equal durations of the three passes.
/// Without transfers. `shape` must be one that makePipelineSchedule takes.
double closedFormBubble(PipelineKind kind, const PipelineShape &shape);

} // namespace oneflow::schedule

#endif // ONEFLOW_SCHEDULE_PIPELINE_H
