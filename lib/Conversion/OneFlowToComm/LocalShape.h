//===- LocalShape.h - rank-local shapes -------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The local form of a global tensor's shape: static extents where all ranks
// hold the same, scalars where they do not.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_CONVERSION_ONEFLOWTOCOMM_LOCALSHAPE_H
#define ONEFLOW_LIB_CONVERSION_ONEFLOWTOCOMM_LOCALSHAPE_H

#include "oneflow/Dialect/Comm/IR/Comm.h"

namespace oneflow {

/// A global tensor's state on a mesh, as one rank sees it.
class LocalShape {
public:
  LocalShape(mlir::RankedTensorType logical, sbp::NdSbp sbp,
             PlacementOp placement)
      : logical(logical), sbp(std::move(sbp)), placement(placement) {}

  /// Local type, dynamic where the extent depends on the rank.
  mlir::RankedTensorType getType() const;
  /// The scalar of a dynamic dimension's extent.
  comm::ScalarAttr getExtent(unsigned dim) const;
  /// The scalar of the dimension's logical offset; null when it is always 0.
  comm::ScalarAttr getOffset(unsigned dim) const;
  /// The same counted within what all splits before the last leave: the offset
  /// of a part in the tensor that was split last.
  comm::ScalarAttr getOffsetBeforeLast(unsigned dim) const;

private:
  /// Axes of more than one rank that split `dim`, with their blocks.
  void getSteps(unsigned dim, mlir::SmallVectorImpl<int64_t> &axes,
                mlir::SmallVectorImpl<int64_t> &blocks) const;
  /// The extent when it is the same on every rank.
  std::optional<int64_t> getStaticExtent(unsigned dim) const;
  comm::ScalarAttr makeScalar(comm::ScalarKind kind, unsigned dim,
                              unsigned dropLast) const;

  mlir::RankedTensorType logical;
  sbp::NdSbp sbp;
  PlacementOp placement;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_CONVERSION_ONEFLOWTOCOMM_LOCALSHAPE_H
