//===- SelectOp.cpp - choice by a condition -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Type, value and gradient of an elementwise choice; its rule and kernel are
// those of elementwise ops.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

LogicalResult SelectOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         ValueRange operands, DictionaryAttr,
                                         OpaqueProperties, RegionRange,
                                         SmallVectorImpl<Type> &types) {
  Value condition = operands[0], lhs = operands[1], rhs = operands[2];
  if (getElementTypeOrSelf(lhs) != getElementTypeOrSelf(rhs))
    return emitOptionalError(loc, "select_c1: expected one element type, got: ",
                             lhs.getType(), " and ", rhs.getType());
  return inferBroadcastType(loc, {lhs, rhs, condition}, types);
}

Value SelectOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return arith::SelectOp::create(b, loc, x[0], x[1], x[2]);
}

LogicalResult SelectOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                      SmallVectorImpl<Value> &dx) {
  if (!isa<FloatType>(getElementTypeOrSelf(getType()))) {
    dx.append(3, Value());
    return success();
  }
  Value zero = graph::scalar(b, getLoc(), dy[0], 0);
  auto where = [&](Value lhs, Value rhs, Value operand) {
    Value chosen = SelectOp::create(b, getLoc(), getCondition(), lhs, rhs,
                                    nullptr, nullptr);
    return graph::reduceTo(b, getLoc(), chosen, operand);
  };
  dx.append(
      {Value(), where(dy[0], zero, getLhs()), where(zero, dy[0], getRhs())});
  return success();
}
