//===- OneFlow/IR/Elementwise.h - what elementwise ops share ----*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The factor rule, type inference and kernel of ops that compute each element
// from the elements at the same place, with NumPy's broadcasting.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_ELEMENTWISE_H
#define ONEFLOW_DIALECT_ONEFLOW_IR_ELEMENTWISE_H

#include "oneflow/Interfaces/LocalView.h"
#include "oneflow/Sbp/Rule.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace oneflow {

using PartialRules = std::vector<sbp::PartialRule>;

/// P(max) and P(min) pass a function that does not decrease.
PartialRules increasing();
/// P(max) becomes P(min) and the reverse.
PartialRules decreasing();
/// Linear and decreasing.
PartialRules negation();
/// P(sum) on these operands, the others whole, gives P(sum).
sbp::PartialRule linearIn(unsigned operand);
sbp::PartialRule linearIn(std::vector<unsigned> operands);
/// P(reducer) on these operands gives P(reducer).
sbp::PartialRule passes(std::vector<unsigned> operands, sbp::Reducer reducer);
/// Every partial value passes these operands together, as it does where
/// elements are moved but not computed.
PartialRules passesEvery(std::vector<unsigned> operands);
/// With a whole condition, partial values pass lhs and rhs together.
PartialRules selectPartials();
/// A quotient is linear in its dividend, but not where integers truncate.
PartialRules dividend(mlir::Operation *op);
/// A cast between floats is linear up to rounding; no other is.
PartialRules castPartials(mlir::Operation *op);

/// One factor per dimension of the result; operands are aligned at the last
/// dimension and have none where their extent is 1 and the result's is not.
sbp::OpRule elementwiseRule(mlir::Operation *op, PartialRules partials);

/// The broadcast of the operands' shapes with the first operand's element type;
/// fails with an error at `loc` where they do not broadcast.
mlir::LogicalResult
inferBroadcastType(std::optional<mlir::Location> loc, mlir::ValueRange operands,
                   mlir::SmallVectorImpl<mlir::Type> &types);

using ScalarBuilder = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// A linalg.generic over the first result's local shape whose body is `scalar`.
mlir::FailureOr<mlir::SmallVector<mlir::Value>>
buildElementwise(mlir::Operation *op, mlir::OpBuilder &builder, LocalView &view,
                 ScalarBuilder scalar);

/// The same with one value per result, for ops with several results of one
/// shape.
using ScalarsBuilder = llvm::function_ref<mlir::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
mlir::FailureOr<mlir::SmallVector<mlir::Value>>
buildElementwiseResults(mlir::Operation *op, mlir::OpBuilder &builder,
                        LocalView &view, ScalarsBuilder scalars);

} // namespace oneflow

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_ELEMENTWISE_H
