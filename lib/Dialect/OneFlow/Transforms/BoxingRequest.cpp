//===- BoxingRequest.cpp - boxing of values of the IR ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See BoxingRequest.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/Transforms/BoxingRequest.h"

#include "Spread.h"

using namespace mlir;
using namespace oneflow;

sbp::RankMesh oneflow::ranksOf(PlacementOp placement) {
  sbp::Mesh mesh = placement.getMesh();
  if (placement.hasTimeAxis())
    mesh.erase(mesh.begin());
  return {mesh, static_cast<int64_t>(placement.getFirstRank()),
          std::vector<sbp::Link>(mesh.size(), costModelOf(placement).link)};
}

sbp::Sbp oneflow::timeStateOf(PlacementOp placement, NdSbpAttr state) {
  return placement.hasTimeAxis() ? state.toNdSbp().front()
                                 : sbp::Sbp::broadcast();
}

NdSbpAttr oneflow::withTimeState(PlacementOp placement, const sbp::Sbp &time,
                                 const sbp::NdSbp &inSpace) {
  sbp::NdSbp states = inSpace;
  if (placement.hasTimeAxis())
    states.insert(states.begin(), time);
  return NdSbpAttr::get(placement.getContext(), states);
}

sbp::NdSbp oneflow::spaceStateOf(PlacementOp placement, NdSbpAttr state) {
  sbp::NdSbp states = state.toNdSbp();
  if (placement.hasTimeAxis())
    states.erase(states.begin());
  return states;
}

bool oneflow::sameMicroBatches(const sbp::Sbp &a, const sbp::Sbp &b,
                               Value value, PlacementOp placement) {
  sbp::Shape shape = shapeOf(value);
  sbp::Mesh time{placement.getMicroBatches()};
  return a.isSplit() && b.isSplit() && !sbp::checkLegal({a}, shape, time) &&
         !sbp::checkLegal({b}, shape, time) &&
         sbp::sameLayout({a}, {b}, shape, time);
}

bool oneflow::isTimeBoxing(BoxingOp boxing) {
  PlacementOp target = lookupPlacement(boxing, boxing.getPlacementAttr());
  SignatureAttr signature = boxing.getSignatureAttr();
  return !boxing.getSourceAttr() && target && signature &&
         timeStateOf(target, signature.getOperands()[0]) !=
             timeStateOf(target, signature.getResults()[0]);
}

sbp::BoxingRequest oneflow::boxingRequest(Value value, PlacementOp source,
                                          NdSbpAttr from, PlacementOp target,
                                          NdSbpAttr to) {
  sbp::Shape shape = shapeOf(value);
  if (sbp::Sbp time = timeStateOf(source, from); time.isSplit())
    shape = sbp::ceilingShape({time}, shape, {source.getMicroBatches()});
  return {
      spaceStateOf(source, from), spaceStateOf(target, to), std::move(shape),
      elementBytesOf(value),      ranksOf(source),          ranksOf(target)};
}

std::optional<sbp::BoxingRequest> oneflow::boxingRequest(BoxingOp boxing) {
  SignatureAttr signature = boxing.getSignatureAttr();
  PlacementOp target = lookupPlacement(boxing, boxing.getPlacementAttr());
  PlacementOp source = boxing.getSourceAttr()
                           ? lookupPlacement(boxing, boxing.getSourceAttr())
                           : target;
  if (!signature || !source || !target || isTimeBoxing(boxing) ||
      !cast<RankedTensorType>(boxing.getType()).hasStaticShape())
    return std::nullopt;
  return boxingRequest(boxing.getValue(), source, signature.getOperands()[0],
                       target, signature.getResults()[0]);
}

/// Appends what the boxing ops behind `boxing` ask for, the farthest first.
static void collectEnds(BoxingOp boxing,
                        SmallVectorImpl<sbp::BoxingRequest> &ends) {
  for (Operation *user : boxing->getUsers())
    if (auto next = dyn_cast<BoxingOp>(user); next && !isTimeBoxing(next))
      collectEnds(next, ends);
  if (auto request = boxingRequest(boxing))
    ends.push_back(*request);
}

const sbp::BoxingPlan *oneflow::findPlanOf(BoxingOp boxing,
                                           sbp::BoxingPlans &plans) {
  std::optional<sbp::BoxingRequest> own = boxingRequest(boxing);
  if (!own)
    return nullptr;
  SmallVector<sbp::BoxingRequest> starts, ends;
  for (auto op = boxing; op && !isTimeBoxing(op);
       op = op.getValue().getDefiningOp<BoxingOp>())
    if (auto request = boxingRequest(op))
      starts.push_back(*request);
  collectEnds(boxing, ends);
  for (const sbp::BoxingRequest &start : llvm::reverse(starts))
    for (const sbp::BoxingRequest &end : ends) {
      sbp::BoxingRequest request = *own;
      request.from = start.from;
      request.source = start.source;
      request.to = end.to;
      request.target = end.target;
      const sbp::BoxingPlan *plan = plans.find(request);
      if (plan && llvm::any_of(plan->steps, [&](const sbp::BoxingStep &step) {
            const sbp::RankMesh &before = step.place == sbp::StepPlace::Target
                                              ? request.target
                                              : request.source;
            const sbp::RankMesh &after = step.place == sbp::StepPlace::Source
                                             ? request.source
                                             : request.target;
            return step.from == own->from && step.to == own->to &&
                   own->source.sameRanks(before) &&
                   own->target.sameRanks(after);
          }))
        return plan;
    }
  return plans.find(*own);
}

std::string oneflow::pathOf(const sbp::BoxingPlan &plan) {
  std::string path;
  for (const sbp::BoxingStep &step : plan.steps) {
    path += path.empty() ? sbp::toString(step.from) : ",";
    path += " " + std::string(toString(step.kind)) +
            (step.place == sbp::StepPlace::Across ? " across " : " ") +
            sbp::toString(step.to);
  }
  return path;
}
