//===- BoxingRequest.h - boxing of values of the IR -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the algebra plans (oneflow/Sbp/Boxing.h), asked for values and
// placements.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ONEFLOW_TRANSFORMS_BOXINGREQUEST_H
#define ONEFLOW_DIALECT_ONEFLOW_TRANSFORMS_BOXINGREQUEST_H

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Sbp/Boxing.h"

namespace oneflow {

/// The ranks of a placement, with the links of its kind of device; without the
/// time axis.
sbp::RankMesh ranksOf(PlacementOp placement);

/// The first of the states where the placement has a time axis, else B.
sbp::Sbp timeStateOf(PlacementOp placement, NdSbpAttr state);
/// The states of the other axes.
sbp::NdSbp spaceStateOf(PlacementOp placement, NdSbpAttr state);
/// The inverse of the two.
NdSbpAttr withTimeState(PlacementOp placement, const sbp::Sbp &time,
                        const sbp::NdSbp &inSpace);

/// Whether two splits of `value` along time give the same micro-batches: those
/// on multiples of other blocks may.
bool sameMicroBatches(const sbp::Sbp &a, const sbp::Sbp &b, mlir::Value value,
                      PlacementOp placement);

/// A boxing that accumulates over micro-batches or cuts one out: nothing moves
/// between ranks.
bool isTimeBoxing(BoxingOp boxing);

/// Bringing `value`, of static shape, from one state to another, which are
/// equal along time: what is moved once per micro-batch if they are split
/// there.
sbp::BoxingRequest boxingRequest(mlir::Value value, PlacementOp source,
                                 NdSbpAttr from, PlacementOp target,
                                 NdSbpAttr to);

/// What a boxing op asks for. nullopt while it lacks a signature, or a
/// placement that can be found, and for boxing along time.
std::optional<sbp::BoxingRequest> boxingRequest(BoxingOp boxing);

/// The plan that a boxing op is a step of: the longest way, through the boxing
/// ops before and behind it, on which planning puts this step; else the one
/// from its own operand to its own result. Null where boxingRequest is nullopt
/// or a state is not legal. Lives as long as `plans`.
const sbp::BoxingPlan *findPlanOf(BoxingOp boxing, sbp::BoxingPlans &plans);

/// "[P(sum)] reduce-scatter [S(0)], exchange across [B]".
std::string pathOf(const sbp::BoxingPlan &plan);

} // namespace oneflow

#endif // ONEFLOW_DIALECT_ONEFLOW_TRANSFORMS_BOXINGREQUEST_H
