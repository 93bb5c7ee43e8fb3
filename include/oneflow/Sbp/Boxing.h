//===- oneflow/Sbp/Boxing.h - from one state to another ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What it takes to bring a tensor from one SBP state to another, on the same
// ranks or on others: the steps, the bytes that they move, their time, and the
// memory that a rank needs meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SBP_BOXING_H
#define ONEFLOW_SBP_BOXING_H

#include "oneflow/Sbp/Sbp.h"

#include <map>
#include <memory>

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
  /// S(i) -> S(j) of another dimension.
  AllToAll,
  /// Anything else, several axes at once or other ranks: the exact intersection
  /// exchange. A target rank gets each element that it needs from itself or
  /// else from the first rank that holds it, and of a value that is partial at
  /// the source every part. Where the target is partial, the ranks of
  /// coordinate 0 get the value (max and min: all), the others the neutral
  /// element.
  Exchange,
};

std::string_view toString(StepKind kind);

/// The ranks that a step runs on.
enum class StepPlace : uint8_t {
  Source,
  Target,
  /// From the source's ranks to the target's; an Exchange.
  Across,
};

/// What a boxing costs on all ranks and in time.
struct BoxingCost {
  /// Bytes that cross between ranks, summed over all ranks: exactly what the
  /// runtime's bytesSent() adds up to, also for uneven splits.
  int64_t bytesMoved = 0;
  /// Predicted time: ring formulas for collectives; for an exchange the
  /// messages and bytes of the busiest rank on the slowest link concerned.
  double seconds = 0;
};

/// One step of a boxing. But for Exchange, where `axis` is -1, `from` and `to`
/// differ along `axis` only. Steps on one placement only that are as well the
/// source's as the target's count as Source.
struct BoxingStep {
  StepKind kind = StepKind::Exchange;
  StepPlace place = StepPlace::Source;
  int64_t axis = -1;
  NdSbp from;
  NdSbp to;
  BoxingCost cost;
  /// The most that a rank holds at once: its operand, its result, and the
  /// messages that do not lie in either. Of an exchange every box sent counts
  /// once, however many ranks get it, and every box received counts as if it
  /// had to be unpacked: an upper bound. Padding of messages to cache lines is
  /// left out, and so is the scratch memory of transports.
  int64_t peakBytes = 0;
};

/// The links of one mesh axis: a message of n bytes takes `latency + n /
/// bandwidth` seconds per direction.
struct Link {
  double latencySeconds = 5e-6;
  double bytesPerSecond = 5e9;

  friend bool operator<(const Link &a, const Link &b);
  friend bool operator==(const Link &a, const Link &b) {
    return a.latencySeconds == b.latencySeconds &&
           a.bytesPerSecond == b.bytesPerSecond;
  }
};

/// Consecutive ranks as a mesh.
struct RankMesh {
  Mesh sizes;
  int64_t firstRank = 0;
  /// One per axis; those that are missing are default ones.
  std::vector<Link> links;

  int64_t rankCount() const { return sbp::rankCount(sizes); }
  bool sameRanks(const RankMesh &other) const {
    return firstRank == other.firstRank && sizes == other.sizes;
  }
  Link link(size_t axis) const {
    return axis < links.size() ? links[axis] : Link();
  }
};

/// What is to be brought where.
struct BoxingRequest {
  NdSbp from;
  NdSbp to;
  /// Logical extents.
  Shape shape;
  int64_t elementBytes = 4;
  RankMesh source;
  RankMesh target;

  /// The same mesh on the same ranks. Links between placements are the slowest
  /// of both.
  bool samePlacement() const { return source.sameRanks(target); }
  /// A total order, for use as a key.
  friend bool operator<(const BoxingRequest &a, const BoxingRequest &b);
};

/// A request on one placement that begins at rank 0.
BoxingRequest boxingOn(const Mesh &mesh, NdSbp from, NdSbp to, Shape shape,
                       int64_t elementBytes = 4, std::vector<Link> links = {});

/// A way, and what bounds it: peakBytes <= boundBytes and cost.bytesMoved <=
/// gatherBytes, always.
struct BoxingPlan {
  /// In order; empty when source and target are equal.
  std::vector<BoxingStep> steps;
  /// Sum over the steps.
  BoxingCost cost;
  /// Largest over the steps.
  int64_t peakBytes = 0;
  /// Twice what the fullest rank holds at the source and at the target.
  int64_t boundBytes = 0;
  /// What gathering everything would move: all-gather or all-reduce from the
  /// last axis to the first, then to every target rank outside of the source a
  /// copy, then cutting, which moves nothing.
  int64_t gatherBytes = 0;
};

/// Of the ways within the memory bound the one that takes least time; where
/// that moves more than gathering everything would, the one of fewest bytes. A
/// way is made of steps along one axis, an exchange from any state straight to
/// the target, and between placements one exchange across. An exchange reduces
/// only where no part is sent twice. If neither end holds the whole tensor on
/// every rank, no state in between does.
///
/// nullopt when a state is not legal for this shape and its mesh, with the
/// reason in *error if given. Pure; may be called by several threads at once.
std::optional<BoxingPlan> planBoxing(const BoxingRequest &request,
                                     std::string *error = nullptr);

/// The one step straight from source to target, whether or not a plan would
/// take it: what a single boxing op is carried out as. A Slice without an axis
/// where there is nothing to do. Both states must be legal.
BoxingStep directStep(const BoxingRequest &request);

/// The axis of a step that its groups can do by themselves: the only one that
/// differs, changing neither a reducer nor blocks of one dimension, where no
/// later axis splits a dimension that it touches (on 2x2, [S(0), S(0)] ->
/// [B, S(0)] needs data that no group along the first axis holds). nullopt
/// where it takes an exchange. Sizes of axes do not matter.
std::optional<int64_t> collectiveAxis(const NdSbp &from, const NdSbp &to);

/// Bytes of gathering everything: see BoxingPlan::gatherBytes.
int64_t gatherEverythingBytes(const BoxingRequest &request);

/// Remembers plans, so that a graph with many equal edges plans each once. Not
/// thread-safe.
class BoxingPlans {
public:
  /// As planBoxing; null where that is nullopt. The plan lives as long as this
  /// does.
  const BoxingPlan *find(const BoxingRequest &request,
                         std::string *error = nullptr);

private:
  std::map<BoxingRequest, std::unique_ptr<BoxingPlan>> plans;
};

/// Bytes that cross between ranks on the way from a state on `fromRanks` ranks
/// to one on `toRanks` others, along one axis each: the right column of the
/// table, for tensors that can be split.
int64_t disjointBytes(const Sbp &from, int64_t fromRanks, const Sbp &to,
                      int64_t toRanks, int64_t logicalBytes);

} // namespace oneflow::sbp

#endif // ONEFLOW_SBP_BOXING_H
