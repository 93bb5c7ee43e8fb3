//===- HostTensor.h - tensors known at import -------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor whose elements the importer knows, in host memory: what initializers
// and constants are read into, and what shape computations are folded on.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_IMPORT_HOSTTENSOR_H
#define ONEFLOW_LIB_IMPORT_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <memory>
#include <optional>
#include <vector>

namespace oneflow::importer {

/// Bytes that one element takes in a file and in a HostTensor: booleans one.
size_t elementBytes(mlir::Type elementType);

/// Real models stay far below; it bounds what a hostile one can make us do.
inline constexpr size_t kMaxRank = 64;

/// Elements of a shape; nothing where an extent is negative, the rank is above
/// kMaxRank, or the bytes would not fit in 62 bits.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

class HostTensor {
public:
  /// Zeros. The shape must have a count (see countElements).
  static HostTensor zeros(mlir::RankedTensorType type);
  /// One value everywhere, stored once.
  static HostTensor splat(mlir::RankedTensorType type,
                          llvm::ArrayRef<char> element);
  /// Row-major, little-endian; the size must be that of the type.
  HostTensor(mlir::RankedTensorType type, std::vector<char> bytes);
  /// An i64 tensor of rank 1.
  static HostTensor vector(mlir::MLIRContext *context,
                           llvm::ArrayRef<int64_t> values);

  mlir::RankedTensorType type() const { return tensorType; }
  mlir::Type elementType() const { return tensorType.getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return tensorType.getShape(); }
  int64_t size() const { return tensorType.getNumElements(); }
  bool isSplat() const { return splatted; }

  /// Elements by row-major index, which must be below size().
  int64_t intAt(int64_t index) const;
  double floatAt(int64_t index) const;
  llvm::ArrayRef<char> rawAt(int64_t index) const;
  /// Not on a splat. Rounds to nearest even; integers wrap.
  void setInt(int64_t index, int64_t value);
  void setFloat(int64_t index, double value);
  void setRaw(int64_t index, llvm::ArrayRef<char> element);

  /// All elements as integers; only of integer types.
  std::vector<int64_t> ints() const;

  /// The same elements under another shape of as many.
  HostTensor reshaped(llvm::ArrayRef<int64_t> shape) const;

  /// Dense, as constants of a kernel must be.
  mlir::DenseElementsAttr toDenseAttribute() const;
  /// Dense, or a resource named after `name` where it takes more than 1 KB.
  mlir::ElementsAttr toAttribute(llvm::StringRef name) const;

private:
  HostTensor(mlir::RankedTensorType type, std::vector<char> bytes, bool splat);

  mlir::RankedTensorType tensorType;
  std::vector<char> bytes;
  bool splatted = false;
};

using HostTensorRef = std::shared_ptr<const HostTensor>;

} // namespace oneflow::importer

#endif // ONEFLOW_LIB_IMPORT_HOSTTENSOR_H
