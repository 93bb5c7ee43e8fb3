//===- Layout.h - where the parts of a tensor lie ---------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Meshes of ranks, and which box of a global tensor each rank of a mesh holds.
// Box arithmetic only; nothing here touches tensor data. Assumes a plan that
// passed validatePlan.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_LAYOUT_H
#define ONEFLOW_RUNTIME_LAYOUT_H

#include "oneflow/Plan/Plan_generated.h"
#include "oneflow/Plan/Split.h"

#include <cstdint>
#include <vector>

namespace oneflow::runtime {

/// The ranks of a placement: [first, first + product of sizes), row-major. A
/// time axis, which has no ranks of its own, stays as an axis of size 1, so
/// that axes keep their numbers.
struct Mesh {
  int64_t firstRank = 0;
  std::vector<int64_t> sizes;

  static Mesh of(const plan::Placement &placement);
  int64_t rankCount() const;
  bool contains(int64_t rank) const {
    return rank >= firstRank && rank - firstRank < rankCount();
  }
  /// One coordinate per axis. Requires contains(rank).
  std::vector<int64_t> coordinates(int64_t rank) const;
  int64_t rankAt(const std::vector<int64_t> &coordinates) const;
  /// The ranks that differ only in `axes`, in row order: one group per
  /// combination of the other coordinates.
  std::vector<std::vector<int>> groups(const std::vector<uint32_t> &axes) const;
};

/// The size of the placement's time axis, which is axis 0; 0 without one.
int64_t timeAxisSize(const plan::Placement &placement);
/// How `layout` lies along the time axis; null without one.
const plan::Sbp *timeSbp(const plan::Layout &layout, const plan::Plan &plan);
/// Whether what actions work on are parts of the tensor.
bool isSplitAlongTime(const plan::Layout &layout, const plan::Plan &plan);

/// A box of elements: one interval per dimension.
using Box = std::vector<plan::Interval>;

/// Elements in `box`; 1 for rank 0.
int64_t elementCount(const Box &box);
/// [0, extent) in every dimension.
Box wholeBox(const std::vector<int64_t> &shape);
/// Disjoint boxes give an empty box (some extent 0).
Box intersect(const Box &a, const Box &b);

/// What one rank holds of a global tensor.
struct Holding {
  /// The box in logical coordinates; local memory is this box, dense.
  Box box;
  /// Some Broadcast coordinate is not 0: a lower rank holds the same.
  bool replica = false;
  /// Some Partial coordinate is not 0.
  bool laterPart = false;
};

/// A global tensor spread over a mesh.
struct TensorLayout {
  plan::DType dtype = plan::DType::F32;
  Mesh mesh;
  std::vector<int64_t> shape;
  std::vector<plan::Sbp> sbp;
  /// The dimension that is split along time, -1 if there is none, and where the
  /// part at hand begins in the whole.
  int32_t timeDim = -1;
  int64_t timeOffset = 0;

  /// The whole tensor, of all coordinates of time. Where it lies does not
  /// depend on time: the axis counts as one of Broadcast.
  static TensorLayout of(const plan::Layout &layout, const plan::Plan &plan);
  /// What lies at coordinate `action` of time: `shape` is that of the part,
  /// where the layout is split along time.
  static TensorLayout at(const plan::Layout &layout, const plan::Plan &plan,
                         uint64_t action);
  /// A layout of the whole tensor on `rank` alone.
  TensorLayout wholeOn(int64_t rank) const;

  /// Requires mesh.contains(rank).
  Holding holding(int64_t rank) const;
  bool isPartial() const;
  /// Of the Partial axes; Sum when there are none.
  plan::Reducer reducer() const;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_LAYOUT_H
