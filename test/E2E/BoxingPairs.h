//===- BoxingPairs.h - which pairs of states to test ------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerates the states that the algebra allows for a tensor on a mesh and the
// ordered pairs of them, so that no row of the boxing table can be forgotten,
// and draws from what is too much to run.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_E2E_BOXINGPAIRS_H
#define ONEFLOW_TEST_E2E_BOXINGPAIRS_H

#include "oneflow/Sbp/Sbp.h"

#include <string>
#include <vector>

namespace oneflow::test {

/// Consecutive ranks as a mesh.
struct Placement {
  sbp::Mesh mesh;
  int64_t first = 0;

  int64_t end() const { return first + sbp::rankCount(mesh); }
  friend bool operator==(const Placement &a, const Placement &b) {
    return a.mesh == b.mesh && a.first == b.first;
  }
};
/// "2x3@4".
std::string toString(const Placement &placement);

struct Tensor {
  /// "f32" or another element type of MLIR.
  std::string element;
  sbp::Shape shape;
};
/// "f32_5_7".
std::string toString(const Tensor &tensor);
/// "tensor<5x7xf32>", with `leading` as one more dimension in front if not 0.
std::string typeOf(const Tensor &tensor, int64_t leading = 0);

/// Tensors of zero to four dimensions, even and uneven on two to five ranks,
/// and smaller than they are.
std::vector<Tensor> manyTensors();

/// A change of state, perhaps to other ranks.
struct Pair {
  Tensor tensor;
  Placement source, target;
  sbp::NdSbp from, to;
};

enum class Reducers {
  Sum,
  All,
  /// Pairs in which some state is partial by another reducer than sum.
  OtherThanSum
};

/// Every legal state: splits of each dimension, whole, and partial by each
/// reducer; along the axis of a mesh of one, also splits in blocks of two.
std::vector<sbp::NdSbp> legalStates(const sbp::Shape &shape,
                                    const sbp::Mesh &mesh, bool onlySum);

/// Every ordered pair of states, but for equal ones on one placement; grouped
/// by source.
std::vector<Pair> allPairs(const Tensor &tensor, const Placement &source,
                           const Placement &target, Reducers reducers);

/// `count` of `pairs`, or all if there are not so many; the same ones every
/// time, in their order.
std::vector<Pair> sample(std::vector<Pair> pairs, size_t count);

/// `count` pairs of different placements among `ranks` ranks, two changes of
/// state for each, the same ones every time: in turn disjoint, overlapping, and
/// the same ranks as another mesh.
std::vector<Pair> pairsOfPlacements(size_t count, int64_t ranks);

bool hasPartial(const sbp::NdSbp &state);
bool hasBlocks(const sbp::NdSbp &state);

/// From `state` to one that splits where it has whole copies, axis by axis;
/// only `state` where there is none. Where each rank hands in a part of its
/// own, every copy counts.
std::vector<sbp::NdSbp> waySplittingCopies(const sbp::NdSbp &state,
                                           const sbp::Shape &shape,
                                           const sbp::Mesh &mesh);

} // namespace oneflow::test

#endif // ONEFLOW_TEST_E2E_BOXINGPAIRS_H
