//===- BoxingLayout.h - a state with its numbers ----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner weighs hundreds of states and thousands of steps. What their costs
// have in common is worked out once: how each dimension is divided, which the
// axes that do not split it have no say in, and the sizes that follow.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_SBP_BOXINGLAYOUT_H
#define ONEFLOW_LIB_SBP_BOXINGLAYOUT_H

#include "oneflow/Sbp/Boxing.h"

#include <deque>

namespace oneflow::sbp {

/// How one dimension is divided by the axes that split it.
struct Partition {
  /// In mesh order.
  std::vector<size_t> axes;
  /// For every combination of their coordinates, the last axis fastest. They
  /// are disjoint, cover the dimension in ascending order, and the first is a
  /// largest.
  std::vector<Interval> parts;
  bool legal = false;

  /// Index of the part at the coordinates of a rank.
  size_t indexAt(const int64_t *coords, const Mesh &mesh) const {
    int64_t index = 0;
    for (size_t axis : axes)
      index = index * mesh[axis] + coords[axis];
    return static_cast<size_t>(index);
  }
};

/// A state of one tensor on one mesh.
struct Layout {
  NdSbp state;
  /// One per dimension.
  std::vector<const Partition *> dims;
  bool legal = false;
  /// Elements that the fullest rank holds: the one of coordinate 0 everywhere.
  int64_t ceiling = 0;
  /// Sizes of the partial axes multiplied: values that make up each element.
  int64_t partials = 1;
  /// True when some axis of more than one rank splits.
  bool splits = false;
};

/// Makes layouts of one tensor on one mesh. Layouts point into it.
class LayoutMaker {
public:
  LayoutMaker(const Shape &shape, const RankMesh &ranks);

  Layout layout(NdSbp state);

  /// Elements that all ranks together hold of `layout`, were `axis` not there:
  /// the tensors of all groups along that axis. Splits partition a tensor,
  /// copies and parts repeat it.
  int64_t groupElements(const Layout &layout, size_t axis) const;

  const Shape shape;
  const RankMesh ranks;
  const int64_t elements;

private:
  struct Known {
    /// Blocks by axis, 0 where an axis does not split the dimension.
    std::vector<int64_t> key;
    Partition partition;
  };

  const Partition &partition(size_t dim, const NdSbp &state);

  std::vector<std::deque<Known>> known;
  std::vector<int64_t> key;
};

/// Cost and peak of a step along one axis, whose kind and axis are set.
void costAxisStep(BoxingStep &step, const Layout &from, const Layout &to,
                  const LayoutMaker &maker, int64_t elementBytes);

/// Cost and peak of an exchange. The makers are the same where the placements
/// are.
void costExchange(BoxingStep &step, const Layout &from,
                  const LayoutMaker &source, const Layout &to,
                  const LayoutMaker &target, int64_t elementBytes);

/// How many ranks an exchange gives each element, of which a rank may be the
/// source itself.
int64_t exchangeCopies(const NdSbp &to, const Mesh &mesh);

/// The kind of a step along `axis` that takes the state to `next` there, or
/// nullopt where collectiveAxis would have none.
std::optional<StepKind> axisStepKind(const NdSbp &state, size_t axis,
                                     const Sbp &next);

/// True where some element of a state of `to` must be neutral on all but
/// coordinate 0: the reducer is not idempotent.
inline bool needsNeutral(const Sbp &to) {
  return to.isPartial() &&
         (to.reducer == Reducer::Sum || to.reducer == Reducer::Prod);
}

} // namespace oneflow::sbp

#endif // ONEFLOW_LIB_SBP_BOXINGLAYOUT_H
