//===- BoxingCost.cpp - bytes and time of a boxing step ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The boxing table in closed form. Splits partition a tensor and copies and
// partial values repeat it, so the tensors of all groups along one axis add up
// to the logical one times the sizes of the other axes that do not split: no
// loop over ranks is needed but for the exchange.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Boxing.h"

#include <algorithm>
#include <limits>
#include <map>

namespace oneflow::sbp {

static int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

static Interval intersect(const Interval &a, const Interval &b) {
  int64_t begin = std::max(a.offset, b.offset);
  int64_t end = std::min(a.offset + a.extent, b.offset + b.extent);
  return {begin, std::max<int64_t>(end - begin, 0)};
}

static int64_t intersectionVolume(const std::vector<Interval> &a,
                                  const std::vector<Interval> &b) {
  int64_t volume = 1;
  for (size_t dim = 0; dim < a.size(); ++dim)
    volume *= intersect(a[dim], b[dim]).extent;
  return volume;
}

static int64_t volumeOf(const std::vector<Interval> &box) {
  return intersectionVolume(box, box);
}

/// Sizes of the axes other than `axis` that do not split: how many groups hold
/// each element.
static int64_t copiesOverOtherAxes(const NdSbp &state, size_t axis,
                                   const Mesh &mesh) {
  int64_t copies = 1;
  for (size_t other = 0; other < mesh.size(); ++other)
    if (other != axis && !state[other].isSplit())
      copies *= mesh[other];
  return copies;
}

/// How many ranks' worth of each extent the axes before `axis` leave of `dim`.
static std::map<int64_t, int64_t> extentsBefore(const NdSbp &state, size_t axis,
                                                int64_t dim, const Shape &shape,
                                                const Mesh &mesh) {
  std::map<int64_t, int64_t> extents{{shape[dim], 1}};
  for (size_t before = 0; before < axis; ++before) {
    if (!state[before].isSplit() || state[before].dim != dim)
      continue;
    std::map<int64_t, int64_t> left;
    for (auto [extent, count] : extents)
      for (int64_t part = 0; part < mesh[before]; ++part)
        left[plan::balancedSplit(extent, mesh[before], part,
                                 state[before].block)
                 .extent] += count;
    extents = std::move(left);
  }
  return extents;
}

/// Elements that a step between two splits leaves where they are, over all
/// ranks.
static int64_t keptElements(const BoxingStep &step, const Shape &shape,
                            const Mesh &mesh) {
  size_t axis = static_cast<size_t>(step.axis);
  int64_t parts = mesh[axis];
  const Sbp &from = step.from[axis], &to = step.to[axis];
  auto fromExtents = extentsBefore(step.from, axis, from.dim, shape, mesh);
  auto toExtents = extentsBefore(step.from, axis, to.dim, shape, mesh);
  int64_t rest = copiesOverOtherAxes(step.from, axis, mesh);
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (static_cast<int64_t>(dim) != from.dim &&
        static_cast<int64_t>(dim) != to.dim)
      rest *= shape[dim];

  int64_t kept = 0;
  for (int64_t part = 0; part < parts; ++part) {
    if (from.dim == to.dim) {
      for (auto [extent, count] : fromExtents)
        kept += count *
                intersect(plan::balancedSplit(extent, parts, part, from.block),
                          plan::balancedSplit(extent, parts, part, to.block))
                    .extent;
      continue;
    }
    int64_t alongFrom = 0, alongTo = 0;
    for (auto [extent, count] : fromExtents)
      alongFrom +=
          count * plan::balancedSplit(extent, parts, part, from.block).extent;
    for (auto [extent, count] : toExtents)
      alongTo +=
          count * plan::balancedSplit(extent, parts, part, to.block).extent;
    kept += alongFrom * alongTo;
  }
  return kept * rest;
}

namespace {

/// The exact intersection exchange: what each rank receives. Along an axis
/// whose target is partial, parts of the same reducer stay at their coordinate,
/// splits are embedded where they are, and coordinate 0 takes everything else.
class ExchangeVolume {
public:
  ExchangeVolume(const NdSbp &from, const NdSbp &to, const Shape &shape,
                 const Mesh &mesh)
      : from(from), to(to), shape(shape), mesh(mesh) {
    for (size_t axis = 0; axis < mesh.size(); ++axis) {
      bool keepsParts = to[axis].isPartial() && from[axis] == to[axis];
      if (from[axis].isPartial() && !keepsParts)
        partsPerElement *= mesh[axis];
      if (to[axis].isPartial() && from[axis].isSplit())
        embeds = true;
      if (to[axis].isPartial() && !from[axis].isSplit() && !keepsParts)
        firstOnly.push_back(axis);
      if (from[axis].isSplit() && !to[axis].isPartial())
        freeSplits.push_back(axis);
    }
  }

  int64_t receivedBy(const std::vector<int64_t> &coords) const {
    for (size_t axis : firstOnly)
      if (coords[axis] != 0)
        return 0;
    std::vector<Interval> needed = localIntervals(to, shape, mesh, coords);
    std::vector<Interval> owned = localIntervals(from, shape, mesh, coords);
    int64_t elements = embeds ? embedded(needed, coords) : volumeOf(needed);
    return partsPerElement * elements - intersectionVolume(needed, owned);
  }

private:
  /// Elements of `needed` that lie at this rank's coordinates along all
  /// embedded axes.
  int64_t embedded(const std::vector<Interval> &needed,
                   std::vector<int64_t> coords) const {
    for (size_t axis : freeSplits)
      coords[axis] = 0;
    int64_t elements = 0;
    while (true) {
      elements +=
          intersectionVolume(needed, localIntervals(from, shape, mesh, coords));
      size_t next = 0;
      while (next < freeSplits.size() &&
             ++coords[freeSplits[next]] == mesh[freeSplits[next]])
        coords[freeSplits[next++]] = 0;
      if (next == freeSplits.size())
        return elements;
    }
  }

  const NdSbp &from;
  const NdSbp &to;
  const Shape &shape;
  const Mesh &mesh;
  int64_t partsPerElement = 1;
  bool embeds = false;
  std::vector<size_t> firstOnly;
  std::vector<size_t> freeSplits;
};

/// The axes that an exchange runs over: those that change, and those that split
/// a dimension which one of them splits.
std::vector<size_t> exchangeAxes(const NdSbp &from, const NdSbp &to) {
  auto splitsSame = [](const Sbp &a, const Sbp &b) {
    return a.isSplit() && b.isSplit() && a.dim == b.dim;
  };
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    bool joins = from[axis] != to[axis];
    for (size_t other = 0; other < from.size() && !joins; ++other)
      joins =
          from[other] != to[other] && (splitsSame(from[axis], from[other]) ||
                                       splitsSame(from[axis], to[other]));
    if (joins)
      axes.push_back(axis);
  }
  return axes;
}

} // namespace

static BoxingCost exchangeCost(const BoxingStep &step, const Shape &shape,
                               int64_t elementBytes, const Mesh &mesh,
                               const std::vector<Link> &links) {
  ExchangeVolume volume(step.from, step.to, shape, mesh);
  int64_t total = 0, largest = 0;
  for (int64_t rank = 0, ranks = rankCount(mesh); rank < ranks; ++rank) {
    int64_t received = volume.receivedBy(coordinates(mesh, rank));
    total += received;
    largest = std::max(largest, received);
  }
  BoxingCost cost;
  cost.bytesMoved = total * elementBytes;
  if (total == 0)
    return cost;
  // Messages may take any of the axes: count on the slowest.
  int64_t peers = 1;
  Link slowest{0, std::numeric_limits<double>::infinity()};
  for (size_t axis : exchangeAxes(step.from, step.to)) {
    Link link = axis < links.size() ? links[axis] : Link();
    peers *= mesh[axis];
    slowest.latencySeconds =
        std::max(slowest.latencySeconds, link.latencySeconds);
    slowest.bytesPerSecond =
        std::min(slowest.bytesPerSecond, link.bytesPerSecond);
  }
  cost.seconds =
      static_cast<double>(peers - 1) * slowest.latencySeconds +
      static_cast<double>(largest * elementBytes) / slowest.bytesPerSecond;
  return cost;
}

BoxingCost stepCost(const BoxingStep &step, const Shape &shape,
                    int64_t elementBytes, const Mesh &mesh,
                    const std::vector<Link> &links) {
  if (step.kind == StepKind::Exchange)
    return exchangeCost(step, shape, elementBytes, mesh, links);
  if (step.axis < 0 || step.axis >= static_cast<int64_t>(mesh.size()))
    return {};

  size_t axis = static_cast<size_t>(step.axis);
  int64_t parts = mesh[axis];
  Link link = axis < links.size() ? links[axis] : Link();
  // The tensors of all groups together, and the largest of them.
  int64_t allGroups =
      elementCount(shape) * copiesOverOtherAxes(step.from, axis, mesh);
  NdSbp whole = step.from;
  whole[axis] = Sbp::broadcast();
  int64_t largestGroup = elementCount(ceilingShape(whole, shape, mesh));

  int64_t moved = 0;
  double rounds = 1;
  double bytesOnLink = static_cast<double>(largestGroup * elementBytes);
  switch (step.kind) {
  case StepKind::Slice:
  case StepKind::Embed:
  case StepKind::Dilute:
  case StepKind::Exchange:
    return {};
  case StepKind::AllGather:
  case StepKind::ReduceScatter:
    moved = (parts - 1) * allGroups;
    break;
  case StepKind::AllReduce:
    moved = 2 * (parts - 1) * allGroups;
    rounds = 2;
    break;
  case StepKind::AllToAll:
    moved = allGroups - keptElements(step, shape, mesh);
    bytesOnLink = static_cast<double>(
        elementCount(ceilingShape(step.from, shape, mesh)) * elementBytes);
    break;
  }
  if (moved == 0)
    return {};
  double others = static_cast<double>(parts - 1);
  BoxingCost cost;
  cost.bytesMoved = moved * elementBytes;
  cost.seconds = rounds * (others * link.latencySeconds +
                           others / static_cast<double>(parts) * bytesOnLink /
                               link.bytesPerSecond);
  return cost;
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
