//===- ChunkSchedule.cpp - the order of phases on each stage --------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ChunkSchedule.h.
//
//===----------------------------------------------------------------------===//

#include "ChunkSchedule.h"

#include "oneflow/Schedule/Pipeline.h"

using namespace mlir;
using namespace oneflow;

static std::optional<comm::PassKind> kindOf(schedule::Pass pass) {
  switch (pass) {
  case schedule::Pass::Forward:
    return comm::PassKind::Forward;
  case schedule::Pass::Backward:
    return comm::PassKind::Backward;
  case schedule::Pass::Weights:
    return comm::PassKind::Weights;
  }
  return std::nullopt;
}

FailureOr<ChunkSchedule> ChunkSchedule::make(func::FuncOp function,
                                             const comm::Phases &phases) {
  ChunkSchedule result;
  auto module = function->getParentOfType<ModuleOp>();
  auto name = module->getAttrOfType<StringAttr>("oneflow.schedule");
  if (!phases.hasMicroBatches() || !name)
    return result;
  std::optional<schedule::PipelineKind> kind =
      schedule::parsePipelineKind(name.getValue());
  if (!kind)
    return function.emitOpError("expected oneflow.schedule to be gpipe, 1f1b, "
                                "interleaved or zero-bubble, got: ")
           << name;

  // Chunks in order, and what stage each is on.
  std::map<int64_t, PlacementOp> chunks;
  for (auto placement : module.getOps<PlacementOp>())
    if (auto chunk = placement->getAttrOfType<IntegerAttr>("oneflow.stage"))
      chunks[chunk.getInt()] = placement;
  std::map<int64_t, unsigned> stageAt;
  for (auto &[chunk, placement] : chunks) {
    PlacementOp at = placement;
    stageAt.try_emplace(at.getFirstRank(), stageAt.size());
  }
  auto stageCount = static_cast<unsigned>(stageAt.size());
  if (stageCount == 0)
    return result;
  schedule::PipelineShape shape{
      stageCount, static_cast<unsigned>(phases.getMicroBatches()),
      static_cast<unsigned>(chunks.size()) / stageCount};
  std::string error;
  std::optional<schedule::PipelineSchedule> made =
      schedule::makePipelineSchedule(*kind, shape, &error);
  if (!made)
    return function.emitOpError("oneflow.schedule: ") << error;

  std::map<std::pair<int64_t, comm::PassKind>, unsigned> phaseAt;
  std::vector<std::vector<unsigned>> before(stageCount), after(stageCount);
  for (auto [index, phase] : llvm::enumerate(phases.getPhases())) {
    PlacementOp placement = lookupPlacement(function, phase.placement);
    auto chunk = placement->getAttrOfType<IntegerAttr>("oneflow.stage");
    if (!chunk)
      return function.emitOpError("expected all ops on the chunks of the "
                                  "pipeline, got some on ")
             << phase.placement;
    unsigned stage = stageAt.at(placement.getFirstRank());
    result.stageOf[index] = stage;
    if (phase.kind == comm::PassKind::Before)
      before[stage].push_back(index);
    else if (phase.kind == comm::PassKind::After)
      after[stage].push_back(index);
    else
      phaseAt[{chunk.getInt(), phase.kind}] = index;
  }
  for (unsigned stage = 0; stage < stageCount; ++stage) {
    Stage order;
    order.placement = FlatSymbolRefAttr::get(chunks.at(stage));
    for (unsigned phase : before[stage])
      order.steps.push_back({phase, 0});
    // An entry without a backward pass goes through the forward steps alone.
    for (const schedule::PipelineStep &step : (*made)[stage])
      if (auto phase = phaseAt.find({step.chunk, *kindOf(step.pass)});
          phase != phaseAt.end())
        order.steps.push_back({phase->second, step.microBatch});
    for (unsigned phase : after[stage])
      order.steps.push_back({phase, 0});
    result.stages.push_back(std::move(order));
  }
  return result;
}

int64_t ChunkSchedule::countUnderWay(unsigned made,
                                     ArrayRef<unsigned> used) const {
  auto stage = stageOf.find(made);
  if (stage == stageOf.end())
    return 1;
  llvm::DenseMap<int64_t, size_t> ended;
  int64_t underWay = 0, most = 1;
  for (const Step &step : stages[stage->second].steps) {
    if (step.phase == made)
      most = std::max(most, ++underWay);
    if (llvm::is_contained(used, step.phase) &&
        ++ended[step.action] == used.size())
      --underWay;
  }
  return most;
}
