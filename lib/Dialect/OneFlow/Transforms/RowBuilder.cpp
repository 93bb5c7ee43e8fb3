//===- RowBuilder.cpp - ops on the rows of a split tensor -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops that carry the signatures with which each rank computes on its part of
// every row.
//
//===----------------------------------------------------------------------===//

#include "RowBuilder.h"

using namespace mlir;
using namespace oneflow;

RowBuilder::RowBuilder(SpreadOpInterface op, ArrayRef<int64_t> dims)
    : builder(op), loc(op->getLoc()), placement(op.getPlacementAttr()),
      dims(dims), whole(op.getSignatureAttr().getOperands()[0].toNdSbp()) {}

sbp::NdSbp RowBuilder::rows(sbp::Sbp split) const {
  sbp::NdSbp state = whole;
  for (sbp::Sbp &axis : state)
    if (axis.isSplit() && llvm::is_contained(dims, axis.dim))
      axis = split;
  return state;
}

SignatureAttr RowBuilder::signature(std::vector<sbp::NdSbp> operands,
                                    std::vector<sbp::NdSbp> results) {
  return SignatureAttr::get(
      builder.getContext(),
      sbp::NdSignature{std::move(operands), std::move(results)});
}

Value RowBuilder::scalar(double number, Value like) {
  Type element = llvm::cast<RankedTensorType>(like.getType()).getElementType();
  Attribute value = builder.getFloatAttr(element, number);
  return oneflow::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get({}, element), value),
      placement, signature({}, {everywhere()}));
}

Value RowBuilder::reduce(ReduceKind kind, Value full) {
  return ReduceOp::create(
      builder, loc, full, kind, dims, /*keep_dims=*/true, placement,
      signature({whole}, {rows(sbp::Sbp::partial(toReducer(kind)))}));
}

Value RowBuilder::cast(Value value, Type element, const sbp::NdSbp &state) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return CastOp::create(builder, loc, type.clone(element), value, placement,
                        signature({state}, {state}));
}

Value RowBuilder::flatten(Value row, Type type) {
  return ReshapeOp::create(builder, loc, type, row, placement,
                           signature({rows()}, {rows()}));
}

Value RowBuilder::pick(Value full, Value labels, Type type,
                       const sbp::NdSbp &labelState) {
  return PickOp::create(
      builder, loc, type, full, labels, placement,
      signature({whole, labelState}, {rows(sbp::Sbp::partial())}));
}
