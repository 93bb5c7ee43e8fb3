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
  return {mesh, static_cast<int64_t>(placement.getFirstRank()),
          std::vector<sbp::Link>(mesh.size(), costModelOf(placement).link)};
}

sbp::BoxingRequest oneflow::boxingRequest(Value value, PlacementOp source,
                                          NdSbpAttr from, PlacementOp target,
                                          NdSbpAttr to) {
  return {from.toNdSbp(),        to.toNdSbp(),    shapeOf(value),
          elementBytesOf(value), ranksOf(source), ranksOf(target)};
}

std::optional<sbp::BoxingRequest> oneflow::boxingRequest(BoxingOp boxing) {
  SignatureAttr signature = boxing.getSignatureAttr();
  PlacementOp target = lookupPlacement(boxing, boxing.getPlacementAttr());
  PlacementOp source = boxing.getSourceAttr()
                           ? lookupPlacement(boxing, boxing.getSourceAttr())
                           : target;
  if (!signature || !source || !target ||
      !cast<RankedTensorType>(boxing.getType()).hasStaticShape())
    return std::nullopt;
  return boxingRequest(boxing.getValue(), source, signature.getOperands()[0],
                       target, signature.getResults()[0]);
}

/// Appends what the boxing ops behind `boxing` ask for, the farthest first.
static void collectEnds(BoxingOp boxing,
                        SmallVectorImpl<sbp::BoxingRequest> &ends) {
  for (Operation *user : boxing->getUsers())
    if (auto next = dyn_cast<BoxingOp>(user))
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
  for (auto op = boxing; op; op = op.getValue().getDefiningOp<BoxingOp>())
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
