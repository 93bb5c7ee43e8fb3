//===- KernelClass.h - what loop nest computes a kernel ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pure classification of kernel bodies. Fusion merges kernels exactly when
// the merged one is of a class that one loop nest computes.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_COMM_TRANSFORMS_KERNELCLASS_H
#define ONEFLOW_LIB_DIALECT_COMM_TRANSFORMS_KERNELCLASS_H

#include "oneflow/Dialect/Comm/IR/Comm.h"

namespace oneflow::comm {

/// What a kernel is, and how much of it there is.
struct KernelClass {
  enum class Kind {
    /// Yields constants: from no tensor, by ops as cheap as a read.
    Constant,
    /// Yields its arguments in other shapes, or slices of them: a reader finds
    /// their
    /// elements itself.
    View,
    /// Elementwise ops over one iteration space; results may be permuted,
    /// arguments may
    /// be read anywhere.
    Elementwise,
    /// Reductions whose parallel loops are the rows, and elementwise ops over
    /// the rows
    /// and over more behind them. Where the rows do not come first: one
    /// reduction, what
    /// feeds it only, and elementwise ops over the rows.
    Rows,
    /// One matrix product of arguments, and elementwise ops over the product's
    /// space.
    Product,
    Other,
  };
  Kind kind = Kind::Other;
  /// Number of linalg ops, fills and constants left out.
  unsigned numOps = 0;

  /// True if one loop nest computes the kernel.
  bool isOneNest() const {
    return kind == Kind::Elementwise || kind == Kind::Rows ||
           kind == Kind::Product;
  }
  /// True if a reader may compute it again at no cost.
  bool isFree() const { return kind == Kind::Constant || kind == Kind::View; }
};

/// Classifies the body of a kernel; changes nothing.
KernelClass classifyKernel(KernelOp kernel);

} // namespace oneflow::comm

#endif // ONEFLOW_LIB_DIALECT_COMM_TRANSFORMS_KERNELCLASS_H
