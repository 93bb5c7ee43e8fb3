//===- Window.h - windows that slide over a dimension -----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic of strided, dilated windows over an extended dimension, which
// convolution and pooling share. All numbers are in elements.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_IR_WINDOW_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_IR_WINDOW_H

#include "TensorBuilder.h"

#include <optional>
#include <string>

namespace oneflow {

/// Windows over one dimension: window `o` holds the elements
/// `o · stride + k · dilation - low` for k in [0, size).
struct Window {
  int64_t size = 1, stride = 1, low = 0, high = 0, dilation = 1;

  /// From its first element to its last, both included.
  int64_t reach() const { return (size - 1) * dilation + 1; }
  /// How many windows there are in `extent` elements; nullopt where not one
  /// fits. Dynamic where the extent or the size is.
  std::optional<int64_t> count(int64_t extent) const;
};

/// Windows by their attributes, one number per dimension in each list.
llvm::SmallVector<Window> windowsOf(llvm::ArrayRef<int64_t> sizes,
                                    llvm::ArrayRef<int64_t> strides,
                                    llvm::ArrayRef<int64_t> low,
                                    llvm::ArrayRef<int64_t> high,
                                    llvm::ArrayRef<int64_t> dilations);

/// Why these are no windows, or nullopt. Numbers below 2^31 keep all of the
/// above from overflowing.
std::optional<std::string> checkNumbers(llvm::ArrayRef<Window> windows);

/// The local tensor `x` with what the logical type says of the dimensions from
/// `whole` on, which no rank splits: static extents.
mlir::Value refine(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                   mlir::RankedTensorType logical, int64_t whole);
/// The same for the extents of a local tensor.
TensorBuilder::Extents refine(mlir::OpBuilder &b,
                              TensorBuilder::Extents extents,
                              mlir::RankedTensorType logical, int64_t whole);
/// `x` as the local type that the rank knows it by.
mlir::Value coarsen(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                    mlir::RankedTensorType local);

/// `x` with `value` around its last dimensions as the windows' `low` and `high`
/// say; x itself where they say nothing. Those dimensions are static.
mlir::Value extend(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                   llvm::ArrayRef<Window> windows, mlir::Value value);

/// What element i of a dimension is in, from the windows' side: `y`, with one
/// element per window along its last dimensions, spread so that element i is in
/// the windows at `i + reach - 1 - k · dilation`, for k in [0, size), of the
/// result, as far as there are any; elsewhere the result holds `value`. Its
/// last dimensions have `extents[i] + reach - 1` elements. Those of y are
/// static.
mlir::Value spreadWindows(mlir::OpBuilder &b, mlir::Location loc, mlir::Value y,
                          llvm::ArrayRef<Window> windows,
                          llvm::ArrayRef<int64_t> extents, mlir::Value value);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_IR_WINDOW_H
