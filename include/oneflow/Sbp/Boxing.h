//===- oneflow/Sbp/Boxing.h - from one state to another ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What it takes to bring a tensor from one SBP state to another: steps along
// one mesh axis each, their bytes and their time.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SBP_BOXING_H
#define ONEFLOW_SBP_BOXING_H

#include "oneflow/Sbp/Sbp.h"

namespace oneflow::sbp {

/// What a boxing step does. The first group moves nothing between ranks.
enum class StepKind : uint8_t {
  /// B -> S: keep the own part.
  Slice,
  /// S -> P: own part in place, the neutral element elsewhere.
  Embed,
  /// B -> P: coordinate 0 keeps the value, the others hold the neutral element;
  /// for max and min all keep it.
  Dilute,
  /// S -> B.
  AllGather,
  /// P -> B.
  AllReduce,
  /// P -> S.
  ReduceScatter,
  /// S(i) -> S(j), or to other blocks of the same dimension.
  AllToAll,
  /// Several axes at once or other ranks: the exact intersection exchange. A
  /// rank
  /// receives each element that it needs and does not hold once, and of a value
  /// that is partial at the source every part. Along an axis whose target is
  /// partial, parts of the same reducer stay at their coordinate, splits are
  /// embedded where they are, and coordinate 0 takes everything else; the rest
  /// is
  /// the neutral element. The reducers of source and target are never
  /// different.
  Exchange,
};

std::string_view toString(StepKind kind);

/// One step of a boxing: `from` and `to` differ along `axis` only, but for
/// Exchange, where `axis` is -1.
struct BoxingStep {
  StepKind kind;
  int64_t axis;
  NdSbp from;
  NdSbp to;
};

/// The links of one mesh axis: a message of n bytes takes `latency + n /
/// bandwidth` seconds per direction.
struct Link {
  double latencySeconds = 5e-6;
  double bytesPerSecond = 5e9;
};

/// What a boxing costs on the whole mesh and in time.
struct BoxingCost {
  /// Bytes that cross between ranks, summed over all ranks: the boxing table of
  /// docs/sbp.md, exact for uneven splits.
  int64_t bytesMoved = 0;
  /// Predicted time by the alpha-beta formulas of ring collectives.
  double seconds = 0;
};

/// The steps from `from` to `to` on one placement, in order; empty when equal.
/// Partial to another reducer goes by way of Split, or of Broadcast where the
/// tensor cannot be split. nullopt when a state is not legal for this shape and
/// mesh, with the reason in *error if given.
///
/// Of several ways the one is taken that is fastest on default links; none
/// holds the whole tensor on every rank where neither end does. An Exchange is
/// taken for its speed only where it need not reduce.
///
/// A step along an axis that touches S(d) is legal only where no later axis
/// splits d in its source or target; where no order of one-axis steps is legal,
/// one Exchange step does it.
std::optional<std::vector<BoxingStep>>
planBoxing(const NdSbp &from, const NdSbp &to, const Shape &shape,
           const Mesh &mesh, std::string *error = nullptr);

/// Bytes and time of one step for a tensor of logical shape `shape`. `links`
/// has one entry per mesh axis.
BoxingCost stepCost(const BoxingStep &step, const Shape &shape,
                    int64_t elementBytes, const Mesh &mesh,
                    const std::vector<Link> &links);

/// Sum over the steps of planBoxing; nullopt where that is.
std::optional<BoxingCost> boxingCost(const NdSbp &from, const NdSbp &to,
                                     const Shape &shape, int64_t elementBytes,
                                     const Mesh &mesh,
                                     const std::vector<Link> &links);

/// Bytes that cross between ranks on the way from a state on `fromRanks` ranks
/// to one on `toRanks` others, along one axis each: the right column of the
/// table.
int64_t disjointBytes(const Sbp &from, int64_t fromRanks, const Sbp &to,
                      int64_t toRanks, int64_t logicalBytes);

} // namespace oneflow::sbp

#endif // ONEFLOW_SBP_BOXING_H
