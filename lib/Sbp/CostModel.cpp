//===- CostModel.cpp - the time of spread work ------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times of computation and of boxing along one axis.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/CostModel.h"

#include <algorithm>

namespace oneflow::sbp {

bool sameLayout(const NdSbp &a, const NdSbp &b, const Shape &shape,
                const Mesh &mesh) {
  if (a == b)
    return true;
  if (a.size() != b.size() || a.size() != mesh.size())
    return false;
  for (size_t axis = 0; axis < a.size(); ++axis)
    if (a[axis].kind != b[axis].kind || a[axis].reducer != b[axis].reducer ||
        a[axis].dim != b[axis].dim)
      return false;
  for (int64_t rank = 0, ranks = rankCount(mesh); rank < ranks; ++rank) {
    std::vector<int64_t> coords = coordinates(mesh, rank);
    if (localIntervals(a, shape, mesh, coords) !=
        localIntervals(b, shape, mesh, coords))
      return false;
  }
  return true;
}

double CostModel::computeSeconds(double flops, double bytes) const {
  return flops / flopsPerSecond + bytes / memoryBytesPerSecond;
}

double CostModel::boxingSeconds(const Sbp &from, const Sbp &to,
                                const Shape &shape, int64_t elementBytes,
                                int64_t ranks) const {
  Mesh mesh{ranks};
  if (checkLegal({from}, shape, mesh) || checkLegal({to}, shape, mesh)) {
    // What earlier axes leave of an uneven split need not be whole blocks; the
    // whole tensor is an upper bound.
    int64_t bytes = elementBytes;
    for (int64_t extent : shape)
      bytes *= extent;
    return from == to ? 0
                      : link.latencySeconds +
                            static_cast<double>(bytes) / link.bytesPerSecond;
  }
  if (sameLayout({from}, {to}, shape, mesh))
    return 0;
  std::optional<BoxingPlan> plan =
      planBoxing(boxingOn(mesh, {from}, {to}, shape, elementBytes, {link}));
  return plan ? plan->cost.seconds : 0;
}

double CostModel::disjointSeconds(const Sbp &from, int64_t fromRanks,
                                  const Sbp &to, int64_t toRanks,
                                  int64_t logicalBytes) const {
  double bytes = static_cast<double>(
      disjointBytes(from, fromRanks, to, toRanks, logicalBytes));
  return link.latencySeconds +
         bytes / (link.bytesPerSecond *
                  static_cast<double>(std::min(fromRanks, toRanks)));
}

} // namespace oneflow::sbp
