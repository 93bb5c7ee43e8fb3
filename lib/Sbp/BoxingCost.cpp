//===- BoxingCost.cpp - what steps along one axis cost ----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The boxing table in closed form: bytes, time and memory of the collectives,
// with no loop over ranks.
//
//===----------------------------------------------------------------------===//

#include "BoxingLayout.h"

#include <algorithm>

namespace oneflow::sbp {

/// Elements that an all-to-all leaves where they are, over all ranks. No later
/// axis splits either dimension, so that the parts of a coordinate are every
/// mesh[axis]-th.
static int64_t keptElements(size_t axis, const Layout &from, const Layout &to,
                            const LayoutMaker &maker) {
  auto oldDim = static_cast<size_t>(from.state[axis].dim);
  auto newDim = static_cast<size_t>(to.state[axis].dim);
  auto parts = static_cast<size_t>(maker.ranks.sizes[axis]);
  auto elementsAt = [&](const Partition &partition, size_t coordinate) {
    int64_t elements = 0;
    for (size_t i = coordinate; i < partition.parts.size(); i += parts)
      elements += partition.parts[i].extent;
    return elements;
  };
  int64_t kept = 0;
  for (size_t part = 0; part < parts; ++part)
    kept += elementsAt(*from.dims[oldDim], part) *
            elementsAt(*to.dims[newDim], part);
  for (size_t dim = 0; dim < maker.shape.size(); ++dim)
    if (dim != oldDim && dim != newDim)
      kept *= maker.shape[dim];
  for (size_t other = 0; other < from.state.size(); ++other)
    if (other != axis && !from.state[other].isSplit())
      kept *= maker.ranks.sizes[other];
  return kept;
}

/// True when parts of `dim` lie one after the other in the memory of the whole:
/// all dimensions before it are of extent 1. They need no packing then.
static bool isOutermost(int64_t dim, const Layout &whole) {
  for (int64_t before = 0; before < dim; ++before)
    if (whole.dims[before]->parts.front().extent > 1)
      return false;
  return true;
}

void costAxisStep(BoxingStep &step, const Layout &from, const Layout &to,
                  const LayoutMaker &maker, int64_t elementBytes) {
  auto axis = static_cast<size_t>(step.axis);
  int64_t parts = maker.ranks.sizes[axis];
  int64_t moved = 0, packed = 0, onLink = 0;
  double rounds = 1;
  switch (step.kind) {
  case StepKind::Slice:
  case StepKind::Embed:
  case StepKind::Dilute:
  case StepKind::Exchange:
    break;
  case StepKind::AllGather:
    moved = (parts - 1) * maker.groupElements(from, axis);
    onLink = to.ceiling;
    packed = isOutermost(from.state[axis].dim, to) ? 0 : to.ceiling;
    break;
  case StepKind::ReduceScatter:
    moved = (parts - 1) * maker.groupElements(from, axis);
    onLink = from.ceiling;
    packed = isOutermost(to.state[axis].dim, from) ? 0 : from.ceiling;
    break;
  case StepKind::AllReduce:
    moved = 2 * (parts - 1) * maker.groupElements(from, axis);
    onLink = from.ceiling;
    rounds = 2;
    break;
  case StepKind::AllToAll:
    moved =
        maker.groupElements(from, axis) - keptElements(axis, from, to, maker);
    onLink = from.ceiling;
    packed = from.ceiling + to.ceiling;
    break;
  }
  step.peakBytes = (from.ceiling + to.ceiling + packed) * elementBytes;
  step.cost = {moved * elementBytes, 0};
  if (moved == 0)
    return;
  Link link = maker.ranks.link(axis);
  double others = static_cast<double>(parts - 1);
  step.cost.seconds = rounds * (others * link.latencySeconds +
                                others / static_cast<double>(parts) *
                                    static_cast<double>(onLink * elementBytes) /
                                    link.bytesPerSecond);
}

int64_t gatherEverythingBytes(const BoxingRequest &request) {
  LayoutMaker maker(request.shape, request.source);
  int64_t moved = 0;
  NdSbp state = request.from;
  for (size_t axis = state.size(); axis-- > 0;) {
    int64_t passes = state[axis].isPartial() ? 2 : state[axis].isSplit();
    moved += passes * (request.source.sizes[axis] - 1) *
             maker.groupElements(maker.layout(state), axis);
    state[axis] = Sbp::broadcast();
  }
  const RankMesh &source = request.source, &target = request.target;
  int64_t shared = std::min(source.firstRank + source.rankCount(),
                            target.firstRank + target.rankCount()) -
                   std::max(source.firstRank, target.firstRank);
  moved += (target.rankCount() - std::max<int64_t>(shared, 0)) * maker.elements;
  return moved * request.elementBytes;
}

int64_t disjointBytes(const Sbp &from, int64_t fromRanks, const Sbp &to,
                      int64_t toRanks, int64_t logicalBytes) {
  if (from.isPartial()) {
    // To B, the sum is formed on one rank of the target, or spread over them,
    // and passed on to the others.
    int64_t copies = to.isBroadcast() ? toRanks - 1 : 0;
    return (fromRanks + copies) * logicalBytes;
  }
  return to.isBroadcast() ? toRanks * logicalBytes : logicalBytes;
}

} // namespace oneflow::sbp
