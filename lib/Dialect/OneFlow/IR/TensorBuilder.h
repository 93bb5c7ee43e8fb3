//===- TensorBuilder.h - linalg in a line -----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short builders of the linalg ops that rank-local computations are made of.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_IR_TENSORBUILDER_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_IR_TENSORBUILDER_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace oneflow {

enum class ReduceKind : uint32_t;

/// Builds the ops of a kernel at the insertion point of a builder.
class TensorBuilder {
public:
  using Extents = llvm::SmallVector<mlir::OpFoldResult>;
  /// Computes one element; operands are scalars, one per input.
  using MapBody = llvm::function_ref<mlir::Value(
      mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

  TensorBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// Extents of a local tensor.
  Extents extentsOf(mlir::Value tensor);
  mlir::Value empty(llvm::ArrayRef<mlir::OpFoldResult> extents,
                    mlir::Type element);
  mlir::Value filled(llvm::ArrayRef<mlir::OpFoldResult> extents,
                     mlir::Value scalar);

  /// The map of an iteration space of rank `rank` to these of its dimensions.
  mlir::AffineMap dimsMap(int64_t rank, llvm::ArrayRef<int64_t> dims);

  /// A tensor of `extents` whose elements `body` computes from inputs[i] at
  /// maps[i].
  mlir::Value map(llvm::ArrayRef<mlir::OpFoldResult> extents,
                  mlir::Type element, mlir::ValueRange inputs,
                  llvm::ArrayRef<mlir::AffineMap> maps, MapBody body);
  /// Reduces an iteration space of rank `rank` to `extents`, which are those of
  /// the dimensions `kept`, from the neutral element; `body` computes what is
  /// combined, in the type `element`, which is the result's.
  mlir::Value reduce(ReduceKind kind, int64_t rank,
                     llvm::ArrayRef<int64_t> kept,
                     llvm::ArrayRef<mlir::OpFoldResult> extents,
                     mlir::Type element, mlir::ValueRange inputs,
                     llvm::ArrayRef<mlir::AffineMap> maps, MapBody body);
  /// x in another float type; x itself where it has that element type.
  mlir::Value converted(mlir::Value tensor, mlir::Type element);

  /// Merges dimensions: `groups` has one list of dimensions per result
  /// dimension.
  mlir::Value collapse(mlir::Value tensor,
                       llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> groups);
  /// The inverse, to these extents.
  mlir::Value expand(mlir::Value tensor,
                     llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> groups,
                     llvm::ArrayRef<mlir::OpFoldResult> extents);
  /// The same elements, row-major, in other extents; copies nothing.
  mlir::Value reshape(mlir::Value tensor,
                      llvm::ArrayRef<mlir::OpFoldResult> extents);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// The type in which values of `element` are summed: f32 for narrower floats.
mlir::Type accumulatorType(mlir::Type element);

/// A scalar constant; integers are signed.
mlir::Value floatScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type,
                        double value);
mlir::Value intScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type,
                      int64_t value);
/// Between float types, at least one of which holds the other's values.
mlir::Value convertScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                          mlir::Type type);

/// The kernel check that an index lies in [0, extent): execution goes on after
/// a failed check, so what follows must be safe.
void assertInRange(mlir::OpBuilder &b, mlir::Location loc, mlir::Value index,
                   int64_t extent, llvm::StringRef what);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_IR_TENSORBUILDER_H
