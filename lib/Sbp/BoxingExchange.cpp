//===- BoxingExchange.cpp - what an exchange costs --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The messages of the exact intersection exchange, counted without looking at
// pairs of ranks. Let a class be the source ranks that hold the same: those
// that differ on Broadcast axes only. Each class gives a receiver its box once,
// from the receiver itself if it is of the class, else from the first member.
// Since splits partition the tensor, the classes together give a receiver every
// element it needs as often as there are parts of it: the sum over receivers is
// in closed form, and what ranks of both placements keep for themselves comes
// off it.
//
//===----------------------------------------------------------------------===//

#include "BoxingLayout.h"

#include <algorithm>
#include <limits>

namespace oneflow::sbp {

static int64_t overlap(const Interval &a, const Interval &b) {
  int64_t begin = std::max(a.offset, b.offset);
  int64_t end = std::min(a.offset + a.extent, b.offset + b.extent);
  return std::max<int64_t>(end - begin, 0);
}

int64_t exchangeCopies(const NdSbp &to, const Mesh &mesh) {
  int64_t copies = 1;
  for (size_t axis = 0; axis < to.size(); ++axis)
    if (!to[axis].isSplit() && !needsNeutral(to[axis]))
      copies *= mesh[axis];
  return copies;
}

namespace {

/// Elements: what all ranks keep, and the traffic of the busiest ones.
struct Traffic {
  int64_t kept = 0;
  int64_t received = 0;
  int64_t sent = 0;
};

/// What a rank holds before and after.
struct RankParts {
  int64_t before = 1, after = 1, kept = 1;

  RankParts(const Layout &from, const Mesh &source, const int64_t *at,
            const Layout &to, const Mesh &target, const int64_t *coords) {
    for (size_t dim = 0; dim < from.dims.size(); ++dim) {
      const Partition &old = *from.dims[dim], &next = *to.dims[dim];
      const Interval &owned = old.parts[old.indexAt(at, source)];
      const Interval &needed = next.parts[next.indexAt(coords, target)];
      before *= owned.extent;
      after *= needed.extent;
      kept *= overlap(owned, needed);
    }
  }
};

/// Steps `coords` through all combinations of `axes`, the last fastest; false
/// after the last one.
bool advance(std::vector<int64_t> &coords, const std::vector<size_t> &axes,
             const Mesh &mesh) {
  for (size_t i = axes.size(); i-- > 0;) {
    if (++coords[axes[i]] < mesh[axes[i]])
      return true;
    coords[axes[i]] = 0;
  }
  return false;
}

/// On one placement only the axes that split something make a difference
/// between ranks.
Traffic trafficOnOnePlacement(const Layout &from, const Layout &to,
                              const Mesh &mesh) {
  std::vector<size_t> walked;
  // Ranks alike that keep the same, and those of them that are of one class.
  int64_t alike = 1, classmates = 1;
  bool someClassKeepsNothing = false;
  int64_t classes = 1;
  for (size_t axis = 0; axis < mesh.size(); ++axis) {
    if (mesh[axis] == 1)
      continue;
    const Sbp &old = from.state[axis], &next = to.state[axis];
    bool first = needsNeutral(next);
    someClassKeepsNothing |= first && !old.isBroadcast();
    if (old.isSplit())
      classes *= mesh[axis];
    if (old.isSplit() || next.isSplit()) {
      if (!first)
        walked.push_back(axis);
    } else if (!first) {
      alike *= mesh[axis];
      if (old.isBroadcast())
        classmates *= mesh[axis];
    }
  }
  int64_t copies = exchangeCopies(to.state, mesh);
  Traffic traffic;
  traffic.sent = copies * from.ceiling;
  bool counted = !someClassKeepsNothing && classes > 1;
  std::vector<int64_t> keptBy(counted ? classes : 0), heldBy(keptBy.size());
  std::vector<int64_t> coords(mesh.size());
  do {
    RankParts parts(from, mesh, coords.data(), to, mesh, coords.data());
    traffic.kept += parts.kept;
    traffic.received =
        std::max(traffic.received, from.partials * parts.after - parts.kept);
    if (counted) {
      size_t index = 0;
      for (size_t axis = 0; axis < mesh.size(); ++axis)
        if (from.state[axis].isSplit())
          index = index * mesh[axis] + coords[axis];
      keptBy[index] += parts.kept * classmates;
      heldBy[index] = parts.before;
    }
  } while (advance(coords, walked, mesh));
  traffic.kept *= alike;
  if (counted) {
    traffic.sent = 0;
    for (size_t index = 0; index < keptBy.size(); ++index)
      traffic.sent =
          std::max(traffic.sent, copies * heldBy[index] - keptBy[index]);
  }
  return traffic;
}

/// Between placements only the ranks of both make a difference.
Traffic trafficAcross(const Layout &from, const RankMesh &source,
                      const Layout &to, const RankMesh &target) {
  Traffic traffic;
  traffic.received = from.partials * to.ceiling;
  traffic.sent = exchangeCopies(to.state, target.sizes) * from.ceiling;
  int64_t begin = std::max(source.firstRank, target.firstRank);
  int64_t end = std::min(source.firstRank + source.rankCount(),
                         target.firstRank + target.rankCount());
  auto locate = [](std::vector<int64_t> &coords, const Mesh &mesh,
                   int64_t index) {
    for (size_t axis = mesh.size(); axis-- > 0;) {
      coords[axis] = index % mesh[axis];
      index /= mesh[axis];
    }
  };
  std::vector<int64_t> at(source.sizes.size()), coords(target.sizes.size());
  for (int64_t rank = begin; rank < end; ++rank) {
    locate(at, source.sizes, rank - source.firstRank);
    locate(coords, target.sizes, rank - target.firstRank);
    bool gets = true;
    for (size_t axis = 0; axis < coords.size(); ++axis)
      gets &= coords[axis] == 0 || !needsNeutral(to.state[axis]);
    if (gets)
      traffic.kept += RankParts(from, source.sizes, at.data(), to, target.sizes,
                                coords.data())
                          .kept;
  }
  return traffic;
}

/// The most parts of `others` that one of `parts` meets; both are in ascending
/// order.
int64_t mostMet(const std::vector<Interval> &parts,
                const std::vector<Interval> &others) {
  int64_t most = 1;
  size_t first = 0;
  for (const Interval &part : parts) {
    while (others[first].offset + others[first].extent <= part.offset)
      ++first;
    size_t last = first;
    while (last + 1 < others.size() &&
           others[last + 1].offset < part.offset + part.extent)
      ++last;
    most = std::max(most, static_cast<int64_t>(last - first + 1));
    first = last;
  }
  return most;
}

/// Messages of the busiest rank.
int64_t mostMessages(const Layout &from, const Layout &to, int64_t copies) {
  int64_t sent = copies, received = from.partials;
  for (size_t dim = 0; dim < from.dims.size(); ++dim) {
    const Partition &old = *from.dims[dim], &next = *to.dims[dim];
    if (&old == &next || from.dims[dim]->parts.front().extent == 0)
      continue;
    sent *= mostMet(old.parts, next.parts);
    received *= mostMet(next.parts, old.parts);
  }
  return std::max(sent, received);
}

void slow(Link &slowest, const Link &link) {
  slowest.latencySeconds =
      std::max(slowest.latencySeconds, link.latencySeconds);
  slowest.bytesPerSecond =
      std::min(slowest.bytesPerSecond, link.bytesPerSecond);
}

/// The slowest link that messages of an exchange on one placement may take:
/// along axes that change, that join parts, along which the first copy serves
/// the others, or that split a dimension which a changing axis splits.
Link slowestLink(const NdSbp &from, const NdSbp &to, const RankMesh &ranks) {
  auto splitsSame = [](const Sbp &a, const Sbp &b) {
    return a.isSplit() && b.isSplit() && a.dim == b.dim;
  };
  Link slowest{0, std::numeric_limits<double>::infinity()};
  for (size_t axis = 0; axis < from.size(); ++axis) {
    bool joins = from[axis] != to[axis] || !from[axis].isSplit();
    for (size_t other = 0; other < from.size() && !joins; ++other)
      joins =
          from[other] != to[other] && (splitsSame(from[axis], from[other]) ||
                                       splitsSame(from[axis], to[other]));
    if (joins && ranks.sizes[axis] > 1)
      slow(slowest, ranks.link(axis));
  }
  return slowest;
}

} // namespace

void costExchange(BoxingStep &step, const Layout &from,
                  const LayoutMaker &source, const Layout &to,
                  const LayoutMaker &target, int64_t elementBytes) {
  bool onOne = source.ranks.sameRanks(target.ranks);
  Traffic traffic = onOne ? trafficOnOnePlacement(from, to, source.ranks.sizes)
                          : trafficAcross(from, source.ranks, to, target.ranks);
  int64_t copies = exchangeCopies(to.state, target.ranks.sizes);
  int64_t moved = from.partials * copies * source.elements - traffic.kept;
  step.cost = {moved * elementBytes, 0};
  // The boxes that a rank sends are disjoint parts of what it holds; those that
  // it gets, its own included, are all parts of what it needs.
  int64_t sends = 2 * from.ceiling, gets = (1 + from.partials) * to.ceiling;
  bool meet = source.ranks.firstRank <
                  target.ranks.firstRank + target.ranks.rankCount() &&
              target.ranks.firstRank <
                  source.ranks.firstRank + source.ranks.rankCount();
  step.peakBytes = (meet ? sends + gets : std::max(sends, gets)) * elementBytes;
  if (moved == 0)
    return;

  Link slowest;
  if (onOne) {
    slowest = slowestLink(from.state, to.state, source.ranks);
  } else {
    slowest = {0, std::numeric_limits<double>::infinity()};
    for (const RankMesh *ranks : {&source.ranks, &target.ranks})
      for (size_t axis = 0; axis < ranks->sizes.size(); ++axis)
        slow(slowest, ranks->link(axis));
  }
  int64_t busiest = std::max(traffic.sent, traffic.received) * elementBytes;
  step.cost.seconds = static_cast<double>(mostMessages(from, to, copies)) *
                          slowest.latencySeconds +
                      static_cast<double>(busiest) / slowest.bytesPerSecond;
}

} // namespace oneflow::sbp
