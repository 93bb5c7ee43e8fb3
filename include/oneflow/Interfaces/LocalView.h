//===- oneflow/Interfaces/LocalView.h - an op on one rank -------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an op sees of its rank-local operands and results while it is lowered
// into a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_INTERFACES_LOCALVIEW_H
#define ONEFLOW_INTERFACES_LOCALVIEW_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"

namespace oneflow {

/// Local types have a dynamic extent where a dimension is split unevenly. All
/// positions are in elements.
class LocalView {
public:
  virtual ~LocalView() = default;

  /// The local operands, inside the kernel.
  virtual mlir::Value getOperand(unsigned index) = 0;
  /// Local type of a result.
  virtual mlir::RankedTensorType getResultType(unsigned index) = 0;
  /// Local extents of a result, static or a value inside the kernel.
  virtual mlir::SmallVector<mlir::OpFoldResult>
  getResultExtents(unsigned index) = 0;
  /// Logical position of the local tensor's first element along `dim`.
  virtual mlir::OpFoldResult getOperandOffset(unsigned index, unsigned dim) = 0;
  virtual mlir::OpFoldResult getResultOffset(unsigned index, unsigned dim) = 0;
};

} // namespace oneflow

#endif // ONEFLOW_INTERFACES_LOCALVIEW_H
