//===- Graph.cpp - ops of the logical graph in a line ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short builders of this dialect's own ops.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

Value graph::scalar(OpBuilder &b, Location loc, Value like, double value) {
  auto type = RankedTensorType::get({}, getElementTypeOrSelf(like.getType()));
  Attribute element = b.getFloatAttr(type.getElementType(), value);
  return oneflow::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, element), nullptr, nullptr);
}

Value graph::add(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return AddOp::create(b, loc, lhs, rhs, nullptr, nullptr);
}
Value graph::sub(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return SubOp::create(b, loc, lhs, rhs, nullptr, nullptr);
}
Value graph::mul(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return MulOp::create(b, loc, lhs, rhs, nullptr, nullptr);
}
Value graph::div(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return DivOp::create(b, loc, lhs, rhs, nullptr, nullptr);
}
Value graph::neg(OpBuilder &b, Location loc, Value x) {
  return NegOp::create(b, loc, x, nullptr, nullptr);
}
Value graph::exp(OpBuilder &b, Location loc, Value x) {
  return ExpOp::create(b, loc, x, nullptr, nullptr);
}

Value graph::cast(OpBuilder &b, Location loc, Value x, Type element) {
  auto type = llvm::cast<RankedTensorType>(x.getType());
  if (type.getElementType() == element)
    return x;
  return CastOp::create(b, loc, type.clone(element), x, nullptr, nullptr);
}

Value graph::sum(OpBuilder &b, Location loc, Value x, ArrayRef<int64_t> dims,
                 bool keepDims) {
  return ReduceOp::create(b, loc, x, ReduceKind::Sum, dims, keepDims, nullptr,
                          nullptr);
}

Value graph::reshape(OpBuilder &b, Location loc, Value x,
                     ArrayRef<int64_t> shape) {
  auto type = llvm::cast<RankedTensorType>(x.getType());
  if (type.getShape() == shape)
    return x;
  return ReshapeOp::create(b, loc, type.clone(shape), x, nullptr, nullptr);
}

Value graph::broadcast(OpBuilder &b, Location loc, Value x,
                       ArrayRef<int64_t> shape) {
  auto type = llvm::cast<RankedTensorType>(x.getType());
  if (type.getShape() == shape)
    return x;
  return BroadcastOp::create(b, loc, type.clone(shape), x, nullptr, nullptr);
}

Value graph::mask(OpBuilder &b, Location loc, CompareKind kind, Value lhs,
                  Value rhs, Value like) {
  Value test = CompareOp::create(b, loc, lhs, rhs, kind, nullptr, nullptr);
  return cast(b, loc, test, getElementTypeOrSelf(like.getType()));
}

Value graph::reduceTo(OpBuilder &b, Location loc, Value gradient,
                      Value operand) {
  auto from = llvm::cast<RankedTensorType>(gradient.getType());
  auto to = llvm::cast<RankedTensorType>(operand.getType());
  if (from == to)
    return gradient;
  int64_t lead = from.getRank() - to.getRank();
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (dim < lead ||
        (to.getDimSize(dim - lead) == 1 && from.getDimSize(dim) != 1))
      dims.push_back(dim);
  return reshape(b, loc, sum(b, loc, gradient, dims, /*keepDims=*/false),
                 to.getShape());
}
