//===- DecomposeNorms.cpp - norms over split dimensions -------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layer norm and RMS norm from ops that each rank computes on its part of every
// row. Sums are divided by the logical number of elements, so that parts may be
// of any size. Squares are summed of what is left without the mean of the whole
// row: the ranks wait for it, and nothing cancels.
//
//===----------------------------------------------------------------------===//

#include "DecomposeNorms.h"

#include "RowBuilder.h"

using namespace mlir;
using namespace oneflow;

static SmallVector<int64_t> dimsFrom(int64_t axis, Value x) {
  return llvm::to_vector(
      llvm::seq<int64_t>(axis, cast<RankedTensorType>(x.getType()).getRank()));
}

/// Mean over each row.
static Value buildMean(RowBuilder &rows, Value full, ArrayRef<int64_t> dims) {
  double count = 1;
  for (int64_t dim : dims)
    count *= static_cast<double>(
        cast<RankedTensorType>(full.getType()).getDimSize(dim));
  return rows.onRowAndScalar<DivOp>(rows.reduce(ReduceKind::Sum, full), count);
}

/// 1 / √(mean of full² + epsilon).
static Value buildInverse(RowBuilder &rows, Value full, ArrayRef<int64_t> dims,
                          const APFloat &epsilon) {
  Value variance = buildMean(rows, rows.onFulls<MulOp>(full, full), dims);
  Value shifted =
      rows.onRowAndScalar<AddOp>(variance, epsilon.convertToDouble());
  return rows.onScalarAndRow<DivOp>(1, rows.onRow<SqrtOp>(shifted));
}

/// `full` combined with a parameter of the op, if there is one.
template <typename Op>
static Value applyParameter(RowBuilder &rows, Value full, OperandRange operand,
                            SignatureAttr signature) {
  if (operand.empty())
    return full;
  sbp::NdSbp state =
      signature.getOperands()[operand.getBeginOperandIndex()].toNdSbp();
  Type element = cast<RankedTensorType>(full.getType()).getElementType();
  Value parameter = rows.cast(operand.front(), element, state);
  return rows.onFullAnd<Op>(full, parameter, state);
}

SmallVector<Value> oneflow::decompose(LayerNormOp op) {
  SmallVector<int64_t> dims = dimsFrom(op.getAxis(), op.getX());
  RowBuilder rows(cast<SpreadOpInterface>(op.getOperation()), dims);
  SignatureAttr signature = op.getSignatureAttr();
  Value x = rows.castFull(op.getX(), op.getMean().getType().getElementType());
  Value mean = buildMean(rows, x, dims);
  Value centered = rows.onFullAndRow<SubOp>(x, mean);
  Value inverse = buildInverse(rows, centered, dims, op.getEpsilon());
  Value result = rows.onFullAndRow<MulOp>(centered, inverse);
  result = applyParameter<MulOp>(rows, result, op.getODSOperands(1), signature);
  result = applyParameter<AddOp>(rows, result, op.getODSOperands(2), signature);
  return {rows.castFull(result, op.getX().getType().getElementType()), mean,
          inverse};
}

SmallVector<Value> oneflow::decompose(RmsNormOp op) {
  SmallVector<int64_t> dims = dimsFrom(op.getAxis(), op.getX());
  RowBuilder rows(cast<SpreadOpInterface>(op.getOperation()), dims);
  Value x =
      rows.castFull(op.getX(), op.getInverseRms().getType().getElementType());
  Value inverse = buildInverse(rows, x, dims, op.getEpsilon());
  Value result = rows.onFullAndRow<MulOp>(x, inverse);
  result = applyParameter<MulOp>(rows, result, op.getODSOperands(1),
                                 op.getSignatureAttr());
  return {rows.castFull(result, op.getX().getType().getElementType()), inverse};
}
