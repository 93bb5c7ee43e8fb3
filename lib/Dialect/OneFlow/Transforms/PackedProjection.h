//===- PackedProjection.h - several projections in one matmul ---*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds matrix products whose last dimension is several projections side by
// side: all that is done with the result ends in cuts that separate them.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_PACKEDPROJECTION_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_PACKEDPROJECTION_H

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "llvm/ADT/DenseMap.h"

#include <tuple>

namespace oneflow {

/// [begin, end) of the packed dimension.
struct Interval {
  int64_t begin, end;

  bool operator==(const Interval &other) const {
    return begin == other.begin && end == other.end;
  }
  bool operator<(const Interval &other) const {
    return std::tie(begin, end) < std::tie(other.begin, other.end);
  }
};

/// Where the packed dimension is in a tensor: index i of dimension `dim` holds
/// `unit` elements of it from i * unit on. A reshape moves the rest of it to
/// the dimensions behind.
struct PackedDim {
  int64_t dim, unit;
};

/// One matmul whose result is only cut apart.
struct PackedProjection {
  /// An operand that carries the packed dimension from outside: the weight, a
  /// bias. Its producer is an oneflow.read or an oneflow.constant.
  struct Operand {
    mlir::OpOperand *use;
    PackedDim packed;
  };
  /// A slice, or a gather at one known index, that separates one interval from
  /// the others. A gather drops the dimension that it cuts.
  struct Cut {
    mlir::OpOperand *use;
    Interval interval;
  };

  MatmulOp matmul;
  /// The matmul's result and all that is computed of it before the cuts.
  llvm::DenseMap<mlir::Value, PackedDim> values;
  llvm::SmallVector<Operand> operands;
  llvm::SmallVector<Cut> cuts;
  /// What the cuts separate: at least two, in order, without gaps or overlaps,
  /// from 0 to the packed extent.
  llvm::SmallVector<Interval> intervals;

  /// Nothing where the matmul is not such a one: its right operand is no read
  /// of a matrix, something else is done with the result, the cuts overlap or
  /// leave gaps, or an op carries a signature, a pin, or a sharding of the
  /// packed dimension, which says how the whole is to lie.
  static std::optional<PackedProjection> match(MatmulOp matmul);
};

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_PACKEDPROJECTION_H
