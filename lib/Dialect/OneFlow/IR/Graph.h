//===- Graph.h - ops of the logical graph in a line -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short builders of this dialect's own ops, without placement and signature:
// what gradients are written with.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_IR_GRAPH_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_IR_GRAPH_H

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

namespace oneflow::graph {

using mlir::Location;
using mlir::OpBuilder;
using mlir::Value;

/// A rank-0 constant of the element type of `like`: broadcasts to any shape.
Value scalar(OpBuilder &b, Location loc, Value like, double value);

Value add(OpBuilder &b, Location loc, Value lhs, Value rhs);
Value sub(OpBuilder &b, Location loc, Value lhs, Value rhs);
Value mul(OpBuilder &b, Location loc, Value lhs, Value rhs);
Value div(OpBuilder &b, Location loc, Value lhs, Value rhs);
Value neg(OpBuilder &b, Location loc, Value x);
Value exp(OpBuilder &b, Location loc, Value x);
/// x itself where it has that element type already.
Value cast(OpBuilder &b, Location loc, Value x, mlir::Type element);

/// Sum over `dims`.
Value sum(OpBuilder &b, Location loc, Value x, llvm::ArrayRef<int64_t> dims,
          bool keepDims);
/// x itself where it has that shape already.
Value reshape(OpBuilder &b, Location loc, Value x,
              llvm::ArrayRef<int64_t> shape);
/// x itself where it has that shape already.
Value broadcast(OpBuilder &b, Location loc, Value x,
                llvm::ArrayRef<int64_t> shape);
/// 1 where the comparison holds and 0 elsewhere, in the element type of `like`.
Value mask(OpBuilder &b, Location loc, CompareKind kind, Value lhs, Value rhs,
           Value like);
/// The gradient of an operand that was broadcast: summed over what it was
/// repeated along. Shapes are static.
Value reduceTo(OpBuilder &b, Location loc, Value gradient, Value operand);

} // namespace oneflow::graph

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_IR_GRAPH_H
