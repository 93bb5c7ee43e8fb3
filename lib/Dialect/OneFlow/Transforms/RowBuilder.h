//===- RowBuilder.h - ops on the rows of a split tensor ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a decomposition over split dimensions is written with: ops that carry
// the signatures with which each rank computes on its part of every row.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_ROWBUILDER_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_ROWBUILDER_H

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

namespace oneflow {

/// Builds ops on tensors of the shape of one operand, `full` below, and on
/// tensors with one element per row, `row` below. A row is all of the
/// dimensions `dims`, some of which are split on some axes. Row tensors keep
/// `dims` with extent 1, so that they broadcast against the others; they are
/// whole along the axes that split `dims`, but for what `reduce` gives.
class RowBuilder {
public:
  /// Places the ops before `op`, whose operand 0 has the shape; its signature
  /// must exist.
  RowBuilder(SpreadOpInterface op, llvm::ArrayRef<int64_t> dims);

  /// Row values that are still to be combined over the axes that split `dims`.
  mlir::Value reduce(ReduceKind kind, mlir::Value full);

  template <typename Op> mlir::Value onFull(mlir::Value full) {
    return Op::create(builder, loc, full, placement,
                      signature({whole}, {whole}));
  }
  template <typename Op> mlir::Value onRow(mlir::Value row) {
    return Op::create(builder, loc, row, placement,
                      signature({rows()}, {rows()}));
  }
  template <typename Op>
  mlir::Value onFullAndRow(mlir::Value full, mlir::Value row) {
    return Op::create(builder, loc, full, row, placement,
                      signature({whole, rows()}, {whole}));
  }
  template <typename Op> mlir::Value onFulls(mlir::Value lhs, mlir::Value rhs) {
    return Op::create(builder, loc, lhs, rhs, placement,
                      signature({whole, whole}, {whole}));
  }
  template <typename Op> mlir::Value onRows(mlir::Value lhs, mlir::Value rhs) {
    return Op::create(builder, loc, lhs, rhs, placement,
                      signature({rows(), rows()}, {rows()}));
  }
  /// `other` broadcasts against the tensor, and lies as `state` says.
  template <typename Op>
  mlir::Value onFullAnd(mlir::Value full, mlir::Value other,
                        const sbp::NdSbp &state) {
    return Op::create(builder, loc, full, other, placement,
                      signature({whole, state}, {whole}));
  }
  template <typename Op>
  mlir::Value onRowAndScalar(mlir::Value row, double number) {
    return Op::create(builder, loc, row, scalar(number, row), placement,
                      signature({rows(), everywhere()}, {rows()}));
  }
  template <typename Op>
  mlir::Value onScalarAndRow(double number, mlir::Value row) {
    return Op::create(builder, loc, scalar(number, row), row, placement,
                      signature({everywhere(), rows()}, {rows()}));
  }
  /// A tensor that lies as `state` says in another element type; itself where
  /// it has that one.
  mlir::Value cast(mlir::Value value, mlir::Type element,
                   const sbp::NdSbp &state);
  mlir::Value castFull(mlir::Value full, mlir::Type element) {
    return cast(full, element, whole);
  }
  /// Rows of a matrix as a vector, `type`. The row dimension is the first, so
  /// states stay.
  mlir::Value flatten(mlir::Value row, mlir::Type type);
  /// What the labels, which lie as `labelState` says, choose of each row of a
  /// matrix: each rank answers for its own columns.
  mlir::Value pick(mlir::Value full, mlir::Value labels, mlir::Type type,
                   const sbp::NdSbp &labelState);

private:
  /// The state of something with one element per row: `split` along the axes
  /// that split `dims`, else as the tensor.
  sbp::NdSbp rows(sbp::Sbp split = sbp::Sbp::broadcast()) const;
  sbp::NdSbp everywhere() const {
    return sbp::NdSbp(whole.size(), sbp::Sbp::broadcast());
  }
  SignatureAttr signature(std::vector<sbp::NdSbp> operands,
                          std::vector<sbp::NdSbp> results);
  /// A constant of rank 0 in the element type of `like`.
  mlir::Value scalar(double number, mlir::Value like);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::FlatSymbolRefAttr placement;
  llvm::SmallVector<int64_t> dims;
  sbp::NdSbp whole;
};

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_ROWBUILDER_H
