//===- BoxingLayout.cpp - a state with its numbers --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Partitions of dimensions, each worked out once.
//
//===----------------------------------------------------------------------===//

#include "BoxingLayout.h"

namespace oneflow::sbp {

static int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

LayoutMaker::LayoutMaker(const Shape &shape, const RankMesh &ranks)
    : shape(shape), ranks(ranks), elements(elementCount(shape)),
      known(shape.size()), key(ranks.sizes.size()) {}

const Partition &LayoutMaker::partition(size_t dim, const NdSbp &state) {
  for (size_t axis = 0; axis < state.size(); ++axis) {
    bool splits =
        state[axis].isSplit() && state[axis].dim == static_cast<int64_t>(dim);
    key[axis] = splits ? state[axis].block : 0;
  }
  for (const Known &each : known[dim])
    if (each.key == key)
      return each.partition;

  known[dim].push_back({key, {}});
  Partition &partition = known[dim].back().partition;
  NdSbp alone(state.size());
  for (size_t axis = 0; axis < state.size(); ++axis)
    if (key[axis] > 0)
      alone[axis] = Sbp::split(0, key[axis]);
  partition.legal = !checkLegal(alone, {shape[dim]}, ranks.sizes);
  partition.parts = {{0, shape[dim]}};
  for (size_t axis = 0; axis < state.size() && partition.legal; ++axis) {
    if (key[axis] == 0)
      continue;
    partition.axes.push_back(axis);
    std::vector<Interval> divided;
    divided.reserve(partition.parts.size() * ranks.sizes[axis]);
    for (const Interval &part : partition.parts)
      for (int64_t index = 0; index < ranks.sizes[axis]; ++index) {
        Interval piece = plan::balancedSplit(part.extent, ranks.sizes[axis],
                                             index, key[axis]);
        divided.push_back({part.offset + piece.offset, piece.extent});
      }
    partition.parts = std::move(divided);
  }
  return partition;
}

Layout LayoutMaker::layout(NdSbp state) {
  Layout layout;
  layout.legal = true;
  layout.ceiling = 1;
  const Sbp *parts = nullptr;
  for (size_t axis = 0; axis < state.size(); ++axis) {
    const Sbp &sbp = state[axis];
    layout.splits |= sbp.isSplit() && ranks.sizes[axis] > 1;
    if (sbp.isSplit() && sbp.dim >= static_cast<int64_t>(shape.size()))
      layout.legal = false;
    if (!sbp.isPartial())
      continue;
    layout.legal &= !parts || parts->reducer == sbp.reducer;
    parts = &sbp;
    layout.partials *= ranks.sizes[axis];
  }
  for (size_t dim = 0; dim < shape.size() && layout.legal; ++dim) {
    layout.dims.push_back(&partition(dim, state));
    layout.legal &= layout.dims.back()->legal;
    layout.ceiling *= layout.dims.back()->parts.front().extent;
  }
  layout.state = std::move(state);
  return layout;
}

int64_t LayoutMaker::groupElements(const Layout &layout, size_t axis) const {
  int64_t all = elements;
  for (size_t other = 0; other < layout.state.size(); ++other)
    if (other != axis && !layout.state[other].isSplit())
      all *= ranks.sizes[other];
  return all;
}

} // namespace oneflow::sbp
