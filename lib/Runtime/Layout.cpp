//===- Layout.cpp - where the parts of a tensor lie -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

#include <algorithm>

using namespace oneflow;
using namespace oneflow::runtime;
using plan::Interval;
using plan::SbpKind;

Mesh Mesh::of(const plan::Placement &placement) {
  Mesh mesh;
  mesh.firstRank = placement.first_rank();
  for (const plan::MeshAxis *axis : *placement.axes())
    mesh.sizes.push_back(axis->is_time() ? 1 : axis->size());
  return mesh;
}

int64_t oneflow::runtime::timeAxisSize(const plan::Placement &placement) {
  const auto &axes = *placement.axes();
  return axes.size() > 0 && axes.Get(0)->is_time() ? axes.Get(0)->size() : 0;
}

const plan::Sbp *oneflow::runtime::timeSbp(const plan::Layout &layout,
                                           const plan::Plan &plan) {
  return timeAxisSize(*plan.placements()->Get(layout.placement())) > 0
             ? layout.sbp()->Get(0)
             : nullptr;
}

bool oneflow::runtime::isSplitAlongTime(const plan::Layout &layout,
                                        const plan::Plan &plan) {
  const plan::Sbp *sbp = timeSbp(layout, plan);
  return sbp && sbp->kind() == SbpKind::Split;
}

int64_t Mesh::rankCount() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

std::vector<int64_t> Mesh::coordinates(int64_t rank) const {
  std::vector<int64_t> result(sizes.size());
  int64_t rest = rank - firstRank;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    result[axis] = rest % sizes[axis];
    rest /= sizes[axis];
  }
  return result;
}

int64_t Mesh::rankAt(const std::vector<int64_t> &coordinates) const {
  int64_t index = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    index = index * sizes[axis] + coordinates[axis];
  return firstRank + index;
}

std::vector<std::vector<int>>
Mesh::groups(const std::vector<uint32_t> &axes) const {
  std::vector<std::vector<int>> result;
  std::vector<int64_t> groupOfFirst(rankCount(), -1);
  for (int64_t index = 0; index < rankCount(); ++index) {
    // The group's first member has coordinate 0 on each of its axes. Ranks come
    // in ascending order, so members arrive in row order.
    std::vector<int64_t> first = coordinates(firstRank + index);
    for (uint32_t axis : axes)
      first[axis] = 0;
    int64_t &group = groupOfFirst[rankAt(first) - firstRank];
    if (group < 0) {
      group = static_cast<int64_t>(result.size());
      result.emplace_back();
    }
    result[group].push_back(static_cast<int>(firstRank + index));
  }
  return result;
}

int64_t oneflow::runtime::elementCount(const Box &box) {
  int64_t count = 1;
  for (const Interval &interval : box)
    count *= interval.extent;
  return count;
}

Box oneflow::runtime::wholeBox(const std::vector<int64_t> &shape) {
  Box box;
  for (int64_t extent : shape)
    box.push_back({0, extent});
  return box;
}

Box oneflow::runtime::intersect(const Box &a, const Box &b) {
  Box result(a.size());
  for (size_t d = 0; d < a.size(); ++d) {
    int64_t begin = std::max(a[d].offset, b[d].offset);
    int64_t end =
        std::min(a[d].offset + a[d].extent, b[d].offset + b[d].extent);
    result[d] = {begin, std::max<int64_t>(end - begin, 0)};
  }
  return result;
}

TensorLayout TensorLayout::of(const plan::Layout &layout,
                              const plan::Plan &plan) {
  TensorLayout result;
  result.dtype = layout.dtype();
  result.mesh = Mesh::of(*plan.placements()->Get(layout.placement()));
  if (layout.shape())
    result.shape.assign(layout.shape()->begin(), layout.shape()->end());
  if (layout.sbp())
    for (const plan::Sbp *sbp : *layout.sbp())
      result.sbp.push_back(*sbp);
  if (timeSbp(layout, plan))
    result.sbp.front() =
        plan::Sbp(0, 1, SbpKind::Broadcast, plan::Reducer::Sum);
  return result;
}

TensorLayout TensorLayout::at(const plan::Layout &layout,
                              const plan::Plan &plan, uint64_t action) {
  TensorLayout result = of(layout, plan);
  if (!isSplitAlongTime(layout, plan))
    return result;
  const plan::Sbp &sbp = *timeSbp(layout, plan);
  result.timeDim = static_cast<int32_t>(sbp.dim());
  Interval part = plan::balancedSplit(
      result.shape[sbp.dim()],
      timeAxisSize(*plan.placements()->Get(layout.placement())),
      static_cast<int64_t>(action), sbp.block());
  result.shape[sbp.dim()] = part.extent;
  result.timeOffset = part.offset;
  return result;
}

TensorLayout TensorLayout::wholeOn(int64_t rank) const {
  TensorLayout result;
  result.dtype = dtype;
  result.mesh.firstRank = rank;
  result.mesh.sizes = {1};
  result.shape = shape;
  result.sbp = {plan::Sbp(0, 1, SbpKind::Broadcast, plan::Reducer::Sum)};
  return result;
}

Holding TensorLayout::holding(int64_t rank) const {
  Holding result;
  result.box = wholeBox(shape);
  std::vector<int64_t> coordinates = mesh.coordinates(rank);
  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    switch (sbp[axis].kind()) {
    case SbpKind::Split: {
      Interval &interval = result.box[sbp[axis].dim()];
      Interval part = plan::balancedSplit(interval.extent, mesh.sizes[axis],
                                          coordinates[axis], sbp[axis].block());
      interval = {interval.offset + part.offset, part.extent};
      break;
    }
    case SbpKind::Broadcast:
      result.replica |= coordinates[axis] != 0;
      break;
    case SbpKind::Partial:
      result.laterPart |= coordinates[axis] != 0;
      break;
    }
  }
  return result;
}

bool TensorLayout::isPartial() const {
  return std::any_of(sbp.begin(), sbp.end(), [](const plan::Sbp &each) {
    return each.kind() == SbpKind::Partial;
  });
}

plan::Reducer TensorLayout::reducer() const {
  for (const plan::Sbp &each : sbp)
    if (each.kind() == SbpKind::Partial)
      return each.reducer();
  return plan::Reducer::Sum;
}
