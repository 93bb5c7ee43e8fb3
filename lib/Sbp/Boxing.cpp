//===- Boxing.cpp - from one state to another -------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans a boxing: the one step of the table where a single axis changes and may
// do so by itself, else the search's.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Boxing.h"

#include "BoxingSearch.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace oneflow::sbp {

std::string_view toString(StepKind kind) {
  switch (kind) {
  case StepKind::Slice:
    return "slice";
  case StepKind::Embed:
    return "embed";
  case StepKind::Dilute:
    return "dilute";
  case StepKind::AllGather:
    return "all-gather";
  case StepKind::AllReduce:
    return "all-reduce";
  case StepKind::ReduceScatter:
    return "reduce-scatter";
  case StepKind::AllToAll:
    return "all-to-all";
  case StepKind::Exchange:
    return "exchange";
  }
  return "unknown";
}

bool operator<(const Link &a, const Link &b) {
  return std::tie(a.latencySeconds, a.bytesPerSecond) <
         std::tie(b.latencySeconds, b.bytesPerSecond);
}

static bool operator<(const RankMesh &a, const RankMesh &b) {
  return std::tie(a.sizes, a.firstRank, a.links) <
         std::tie(b.sizes, b.firstRank, b.links);
}

bool operator<(const BoxingRequest &a, const BoxingRequest &b) {
  if (a.source < b.source || b.source < a.source)
    return a.source < b.source;
  if (a.target < b.target || b.target < a.target)
    return a.target < b.target;
  return std::tie(a.from, a.to, a.shape, a.elementBytes) <
         std::tie(b.from, b.to, b.shape, b.elementBytes);
}

BoxingRequest boxingOn(const Mesh &mesh, NdSbp from, NdSbp to, Shape shape,
                       int64_t elementBytes, std::vector<Link> links) {
  RankMesh ranks{mesh, 0, std::move(links)};
  return {std::move(from), std::move(to), std::move(shape),
          elementBytes,    ranks,         ranks};
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

/// What does it along one axis, or nullopt where no collective does.
static std::optional<StepKind> kindOf(const Sbp &from, const Sbp &to) {
  switch (from.kind) {
  case Sbp::Kind::Broadcast:
    return to.isSplit() ? StepKind::Slice : StepKind::Dilute;
  case Sbp::Kind::Split:
    // To other blocks of its dimension a rank cannot tell from its own extent
    // what the group holds.
    if (to.isSplit() && to.dim == from.dim)
      return std::nullopt;
    if (to.isSplit())
      return StepKind::AllToAll;
    return to.isBroadcast() ? StepKind::AllGather : StepKind::Embed;
  case Sbp::Kind::Partial:
    if (to.isPartial())
      return std::nullopt;
    return to.isSplit() ? StepKind::ReduceScatter : StepKind::AllReduce;
  }
  return std::nullopt;
}

std::optional<StepKind> axisStepKind(const NdSbp &state, size_t axis,
                                     const Sbp &next) {
  auto touches = [&](int64_t dim) {
    return (state[axis].isSplit() && state[axis].dim == dim) ||
           (next.isSplit() && next.dim == dim);
  };
  for (size_t later = axis + 1; later < state.size(); ++later)
    if (state[later].isSplit() && touches(state[later].dim))
      return std::nullopt;
  return kindOf(state[axis], next);
}

std::optional<int64_t> collectiveAxis(const NdSbp &from, const NdSbp &to) {
  std::optional<int64_t> changed;
  for (size_t axis = 0; axis < from.size() && axis < to.size(); ++axis) {
    if (from[axis] == to[axis])
      continue;
    if (changed)
      return std::nullopt;
    changed = static_cast<int64_t>(axis);
  }
  if (!changed || !axisStepKind(from, *changed, to[*changed]))
    return std::nullopt;
  return changed;
}

BoxingStep directStep(const BoxingRequest &request) {
  LayoutMaker source(request.shape, request.source);
  LayoutMaker target(request.shape, request.target);
  Layout from = source.layout(request.from), to = target.layout(request.to);
  BoxingStep step;
  step.from = request.from;
  step.to = request.to;
  if (request.samePlacement() && request.from == request.to) {
    step.kind = StepKind::Slice;
    step.peakBytes = from.ceiling * request.elementBytes;
  } else if (!request.samePlacement()) {
    step.place = StepPlace::Across;
    costExchange(step, from, source, to, target, request.elementBytes);
  } else if (std::optional<int64_t> axis =
                 collectiveAxis(request.from, request.to)) {
    step.axis = *axis;
    step.kind = *axisStepKind(request.from, *axis, request.to[*axis]);
    costAxisStep(step, from, to, source, request.elementBytes);
  } else {
    costExchange(step, from, source, to, source, request.elementBytes);
  }
  return step;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static int64_t fullestRankBytes(const NdSbp &state, const RankMesh &ranks,
                                const BoxingRequest &request) {
  int64_t bytes = request.elementBytes;
  for (int64_t extent : ceilingShape(state, request.shape, ranks.sizes))
    bytes *= extent;
  return bytes;
}

static void setSteps(BoxingPlan &plan, std::vector<BoxingStep> steps) {
  plan.cost = {};
  plan.peakBytes = 0;
  for (const BoxingStep &step : steps) {
    plan.cost.bytesMoved += step.cost.bytesMoved;
    plan.cost.seconds += step.cost.seconds;
    plan.peakBytes = std::max(plan.peakBytes, step.peakBytes);
  }
  plan.steps = std::move(steps);
}

std::optional<BoxingPlan> planBoxing(const BoxingRequest &request,
                                     std::string *error) {
  auto check = [&](const char *which, const NdSbp &state, const Mesh &mesh) {
    std::optional<std::string> reason = checkLegal(state, request.shape, mesh);
    if (reason && error)
      *error = "boxing from " + toString(request.from) + " to " +
               toString(request.to) + ": " + which + ": " + *reason;
    return !reason;
  };
  if (!check("source", request.from, request.source.sizes) ||
      !check("target", request.to, request.target.sizes))
    return std::nullopt;

  BoxingPlan plan;
  plan.boundBytes =
      2 * (fullestRankBytes(request.from, request.source, request) +
           fullestRankBytes(request.to, request.target, request));
  plan.gatherBytes = gatherEverythingBytes(request);
  if (request.samePlacement()) {
    if (request.from == request.to)
      return plan;
    if (collectiveAxis(request.from, request.to)) {
      setSteps(plan, {directStep(request)});
      return plan;
    }
  }
  BoxingSearch search(request, plan.boundBytes);
  for (auto least : {BoxingSearch::Least::Time, BoxingSearch::Least::Bytes}) {
    std::optional<std::vector<BoxingStep>> steps = search.run(least);
    if (!steps) {
      // Out of reach but for sizes that overflow: see BoxingSearch::run.
      if (error)
        *error = "boxing from " + toString(request.from) + " to " +
                 toString(request.to) + ": no way within " +
                 std::to_string(plan.boundBytes) + " bytes on a rank";
      return std::nullopt;
    }
    setSteps(plan, std::move(*steps));
    if (plan.cost.bytesMoved <= plan.gatherBytes)
      break;
  }
  return plan;
}

const BoxingPlan *BoxingPlans::find(const BoxingRequest &request,
                                    std::string *error) {
  auto known = plans.find(request);
  if (known != plans.end())
    return known->second.get();
  std::optional<BoxingPlan> plan = planBoxing(request, error);
  if (!plan)
    return nullptr;
  return plans.emplace(request, std::make_unique<BoxingPlan>(std::move(*plan)))
      .first->second.get();
}

} // namespace oneflow::sbp
