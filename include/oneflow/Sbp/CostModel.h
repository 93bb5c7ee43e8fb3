//===- oneflow/Sbp/CostModel.h - the time of spread work --------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What SBP inference weighs: the time of computation on one rank, the time of
// boxing along one mesh axis, and how much undoing a split is disliked.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SBP_COSTMODEL_H
#define ONEFLOW_SBP_COSTMODEL_H

#include "oneflow/Sbp/Boxing.h"

namespace oneflow::sbp {

/// Constants of one kind of device. They need to be right in proportion only:
/// the choice is between ways to do the same work on the same ranks.
struct CostModel {
  /// Peak of matrix products of one rank.
  double flopsPerSecond = 1e11;
  /// Memory bandwidth of one rank.
  double memoryBytesPerSecond = 5e10;
  /// Links between ranks, the same along every axis.
  Link link;

  /// Charged, in seconds, where a split value is wanted otherwise and must stay
  /// so until an op cannot take it, however small the model: they outweigh
  /// every time. Without them, gathering a small batch once would be cheaper
  /// than the all-reduces of data parallelism, and `dp` would be an idle axis.
  ///
  /// Along an axis that splits inputs of the step the batch is firm, and
  /// variables stored in parts are gathered for it (soft). Along any other axis
  /// the variables are firm: each rank works with its part, and it is
  /// activations that move.
  double firmPenalty = 100;
  double softPenalty = 1;

  /// Along an axis that splits no input, a split activation that is wanted
  /// otherwise costs this much more than its time, so that a partial value is
  /// all-reduced rather than scattered and gathered again, until a hint asks
  /// for one of the two: then the other goes along. Below 1, or nothing would
  /// go along; above what elementwise work on parts saves in between. Messages
  /// along such an axis are weighed by their bytes alone, as those of a large
  /// model would be: the user asked for the axis to be used.
  double regroupingShare = 0.9;
  /// What an elementwise op costs of the time that its operands and results
  /// take in memory: it is fused with its neighbors.
  double fusedShare = 0.1;

  /// One rank on a few cores of a CPU, messages over MPI.
  static CostModel cpu() { return {}; }
  /// One rank per GPU, links inside a node.
  static CostModel cuda() {
    CostModel model;
    model.flopsPerSecond = 5e13;
    model.memoryBytesPerSecond = 2e12;
    model.link = {1e-5, 2e11};
    return model;
  }

  /// Time in which one rank does that many floating-point operations and
  /// touches that many bytes.
  double computeSeconds(double flops, double bytes) const;

  /// Time to bring a tensor of shape `shape`, what the axes before leave, from
  /// one state to another along one axis of `ranks` ranks. 0 where both lie
  /// alike.
  double boxingSeconds(const Sbp &from, const Sbp &to, const Shape &shape,
                       int64_t elementBytes, int64_t ranks) const;

  /// The same to other ranks.
  double disjointSeconds(const Sbp &from, int64_t fromRanks, const Sbp &to,
                         int64_t toRanks, int64_t logicalBytes) const;
};

/// True when every rank holds the same under both states: they are equal, or
/// splits of the same dimensions whose blocks make no difference to these
/// extents. Both must be legal.
bool sameLayout(const NdSbp &a, const NdSbp &b, const Shape &shape,
                const Mesh &mesh);

} // namespace oneflow::sbp

#endif // ONEFLOW_SBP_COSTMODEL_H
