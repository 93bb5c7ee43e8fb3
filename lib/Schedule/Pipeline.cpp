//===- Pipeline.cpp - pipeline schedules ------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The published orders. All but ZB-H1 are one scheme: a stage makes some
// forward passes to warm up, then one backward pass after each further forward
// pass, then the backward passes that are left. The kinds differ in how long
// they warm up and in which chunk and micro-batch is the i-th.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Schedule/Pipeline.h"

#include <algorithm>

namespace oneflow::schedule {

namespace {

struct KindName {
  PipelineKind kind;
  std::string_view name;
};
constexpr KindName kindNames[] = {
    {PipelineKind::GPipe, "gpipe"},
    {PipelineKind::OneForwardOneBackward, "1f1b"},
    {PipelineKind::Interleaved, "interleaved"},
    {PipelineKind::ZeroBubble, "zero-bubble"},
};

/// How many forward passes stage `s` makes before its first backward pass is
/// paired with one; `count` is all it makes.
uint64_t warmUp(PipelineKind kind, const PipelineShape &shape, unsigned s,
                uint64_t count) {
  uint64_t behind = shape.stages - s - 1;
  switch (kind) {
  case PipelineKind::GPipe:
    return count;
  case PipelineKind::OneForwardOneBackward:
  case PipelineKind::ZeroBubble:
    return std::min(behind, count);
  case PipelineKind::Interleaved: {
    // All chunks but the last for the first group of micro-batches; then as
    // many as are needed until the first gradient has come back, which passes
    // the stages behind once on its way there and once on its way back.
    uint64_t chunks = shape.chunksPerStage;
    return std::min(2 * behind + (chunks - 1) * shape.stages, count);
  }
  }
  return count;
}

/// The i-th forward or backward pass of stage `s`. Several chunks take turns
/// after each group of `stages` micro-batches.
PipelineStep stepAt(Pass pass, const PipelineShape &shape, unsigned s,
                    uint64_t i) {
  uint64_t group = uint64_t(shape.stages) * shape.chunksPerStage;
  // One chunk takes no turns, and micro-batches need not come in groups.
  if (shape.chunksPerStage == 1)
    return {pass, s, unsigned(i)};
  uint64_t inGroup = i % group;
  unsigned turn = unsigned(inGroup / shape.stages);
  if (pass != Pass::Forward)
    turn = shape.chunksPerStage - 1 - turn;
  return {pass, turn * shape.stages + s,
          unsigned(i / group * shape.stages + inGroup % shape.stages)};
}

std::vector<PipelineStep> makeStage(PipelineKind kind,
                                    const PipelineShape &shape, unsigned s) {
  uint64_t count = uint64_t(shape.microBatches) * shape.chunksPerStage;
  uint64_t warm = warmUp(kind, shape, s, count);
  bool split = kind == PipelineKind::ZeroBubble;
  std::vector<PipelineStep> steps;
  steps.reserve(count * (split ? 3 : 2));
  uint64_t forwards = 0, weights = 0;
  for (; forwards < warm; ++forwards)
    steps.push_back(stepAt(Pass::Forward, shape, s, forwards));
  for (uint64_t backwards = 0; backwards < count; ++backwards) {
    if (forwards < count)
      steps.push_back(stepAt(Pass::Forward, shape, s, forwards++));
    steps.push_back(stepAt(Pass::Backward, shape, s, backwards));
    // Stage s waits s times less for its first gradient than the first stage
    // does; so much later may it begin with the weights and hold no more.
    if (split && backwards >= s)
      steps.push_back(stepAt(Pass::Weights, shape, s, weights++));
  }
  for (; split && weights < count; ++weights)
    steps.push_back(stepAt(Pass::Weights, shape, s, weights));
  return steps;
}

/// What is wrong with the shape; empty if nothing is.
std::string checkShape(PipelineKind kind, const PipelineShape &shape) {
  if (shape.stages == 0)
    return "expected at least 1 stage, got: 0";
  if (shape.microBatches == 0)
    return "expected at least 1 micro-batch, got: 0";
  if (shape.chunksPerStage == 0)
    return "expected at least 1 chunk per stage, got: 0";
  std::string name(toString(kind));
  if (kind != PipelineKind::Interleaved)
    return shape.chunksPerStage == 1
               ? ""
               : "schedule " + name + ": expected 1 chunk per stage, got: " +
                     std::to_string(shape.chunksPerStage);
  if (shape.microBatches % shape.stages != 0)
    return "schedule " + name + ": expected a multiple of the stages (" +
           std::to_string(shape.stages) +
           ") as micro-batches, got: " + std::to_string(shape.microBatches);
  return "";
}

/// A bound on what one would ever want, so that a slip of the pen ends in a
/// message and not without memory.
constexpr uint64_t maxSteps = uint64_t(1) << 27;

} // namespace

std::optional<PipelineKind> parsePipelineKind(std::string_view name) {
  for (const KindName &entry : kindNames)
    if (entry.name == name)
      return entry.kind;
  return std::nullopt;
}

std::string_view toString(PipelineKind kind) {
  for (const KindName &entry : kindNames)
    if (entry.kind == kind)
      return entry.name;
  return "";
}

std::optional<PipelineSchedule> makePipelineSchedule(PipelineKind kind,
                                                     const PipelineShape &shape,
                                                     std::string *error) {
  std::string wrong = checkShape(kind, shape);
  uint64_t passes = kind == PipelineKind::ZeroBubble ? 3 : 2;
  // Divided, since the product may not fit.
  if (wrong.empty() && maxSteps / passes / shape.stages / shape.microBatches <
                           shape.chunksPerStage)
    wrong = "expected at most " + std::to_string(maxSteps) +
            " steps, got more: " + std::to_string(shape.stages) + " stages x " +
            std::to_string(shape.microBatches) + " micro-batches x " +
            std::to_string(shape.chunksPerStage) + " chunks per stage";
  if (!wrong.empty()) {
    if (error)
      *error = wrong;
    return std::nullopt;
  }
  PipelineSchedule schedule;
  for (unsigned s = 0; s < shape.stages; ++s)
    schedule.push_back(makeStage(kind, shape, s));
  return schedule;
}

double closedFormBubble(PipelineKind kind, const PipelineShape &shape) {
  double p = shape.stages, m = shape.microBatches, v = shape.chunksPerStage;
  switch (kind) {
  case PipelineKind::GPipe:
  case PipelineKind::OneForwardOneBackward:
    return (p - 1) / m;
  case PipelineKind::Interleaved:
    return (p - 1) / (v * m);
  case PipelineKind::ZeroBubble:
    // With fewer micro-batches than stages nothing is left to fill the bubble
    // with, and the longest way counts: p forward passes, 2 m - 1 passes of the
    // last stage, p - 1 backward passes, the weights of the first stage.
    return (p - 1 + std::max(0.0, p - m)) / (3 * m);
  }
  return 0;
}

} // namespace oneflow::schedule
