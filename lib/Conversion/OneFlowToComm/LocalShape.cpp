//===- LocalShape.cpp - rank-local shapes ---------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See LocalShape.h.
//
//===----------------------------------------------------------------------===//

#include "LocalShape.h"

using namespace mlir;
using namespace oneflow;
using comm::ScalarAttr;
using comm::ScalarKind;

void LocalShape::getSteps(unsigned dim, SmallVectorImpl<int64_t> &axes,
                          SmallVectorImpl<int64_t> &blocks) const {
  PlacementOp mesh = placement;
  ArrayRef<int64_t> sizes = mesh.getAxisSizes();
  for (auto [axis, state] : llvm::enumerate(sbp)) {
    if (state.isSplit() && state.dim == dim && sizes[axis] > 1) {
      axes.push_back(axis);
      blocks.push_back(state.block);
    }
  }
}

std::optional<int64_t> LocalShape::getStaticExtent(unsigned dim) const {
  PlacementOp mesh = placement;
  SmallVector<int64_t> axes, blocks;
  getSteps(dim, axes, blocks);
  int64_t extent = logical.getDimSize(dim);
  for (auto [axis, block] : llvm::zip(axes, blocks)) {
    int64_t parts = mesh.getAxisSizes()[axis];
    if (extent % (block * parts) != 0)
      return std::nullopt;
    extent /= parts;
  }
  return extent;
}

RankedTensorType LocalShape::getType() const {
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < logical.getRank(); ++dim)
    shape.push_back(getStaticExtent(dim).value_or(ShapedType::kDynamic));
  return logical.clone(shape);
}

ScalarAttr LocalShape::makeScalar(ScalarKind kind, unsigned dim,
                                  unsigned dropLast) const {
  PlacementOp mesh = placement;
  SmallVector<int64_t> axes, blocks;
  getSteps(dim, axes, blocks);
  if (axes.size() <= dropLast)
    return {};
  axes.pop_back_n(dropLast);
  blocks.pop_back_n(dropLast);
  return ScalarAttr::get(logical.getContext(), kind, logical.getDimSize(dim),
                         FlatSymbolRefAttr::get(mesh.getSymNameAttr()), axes,
                         blocks);
}

ScalarAttr LocalShape::getExtent(unsigned dim) const {
  return makeScalar(ScalarKind::Extent, dim, 0);
}

ScalarAttr LocalShape::getOffset(unsigned dim) const {
  return makeScalar(ScalarKind::Offset, dim, 0);
}

ScalarAttr LocalShape::getOffsetBeforeLast(unsigned dim) const {
  return makeScalar(ScalarKind::Offset, dim, 1);
}
