//===- CrossEntropyOps.cpp - cross-entropy and pick -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, rules, gradients and kernels of the loss over classes and of the
// choice of one element per row. An element is chosen by comparing column
// numbers, so that a rank which holds a part of the columns answers for those
// and gives zero otherwise.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "TensorBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;
using sbp::Factor;

/// The type of one value per row of `matrix`; fails where `indices` has not one
/// index per row.
static LogicalResult inferRowType(std::optional<Location> loc,
                                  StringRef constraint, Value matrix,
                                  Value indices, RankedTensorType &result) {
  auto type = cast<RankedTensorType>(matrix.getType());
  auto indexType = cast<RankedTensorType>(indices.getType());
  if (type.getRank() != 2 || indexType.getRank() != 1 ||
      failed(verifyCompatibleShape(type.getShape().take_front(),
                                   indexType.getShape())))
    return emitOptionalError(
        loc, constraint, ": expected rank 2 and one index per row, got: ", type,
        " and ", indexType);
  int64_t rows =
      type.isDynamicDim(0) ? indexType.getDimSize(0) : type.getDimSize(0);
  result = RankedTensorType::get(rows, type.getElementType());
  return success();
}

/// True where column `linalg.index 1` of a part that begins at `offset` is
/// `wanted`.
static Value isColumn(OpBuilder &b, Location loc, OpFoldResult offset,
                      Value wanted) {
  Value column = linalg::IndexOp::create(b, loc, 1);
  if (!isZeroInteger(offset)) {
    Value start = getValueOrCreateConstantIndexOp(b, loc, offset);
    column = arith::AddIOp::create(b, loc, column, start);
  }
  column = arith::IndexCastOp::create(b, loc, wanted.getType(), column);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, column,
                               wanted);
}

/// matrix[i, indices[i]] in `element`, zero where the part does not hold it.
static Value buildPick(OpBuilder &b, Location loc, Value matrix, Value indices,
                       OpFoldResult offset, ArrayRef<OpFoldResult> rows,
                       Type element) {
  TensorBuilder tensors(b, loc);
  return tensors.reduce(
      ReduceKind::Sum, 2, 0, rows, element, {matrix, indices},
      {b.getMultiDimIdentityMap(2), tensors.dimsMap(2, 0)},
      [&](OpBuilder &body, Location at, ValueRange v) -> Value {
        return arith::SelectOp::create(body, at,
                                       isColumn(body, at, offset, v[1]),
                                       convertScalar(body, at, v[0], element),
                                       floatScalar(body, at, element, 0));
      });
}

/// logits {n, c}, per-row values {n}.
static sbp::OpRule rowsRule(Value matrix, Factor::Role classRole,
                            size_t numResults) {
  sbp::OpRule rule;
  sbp::Shape shape = shapeOf(matrix);
  sbp::DimFactors n = {rule.addFactor("n", shape[0])};
  sbp::DimFactors c = {rule.addFactor("c", shape[1], classRole)};
  rule.operands = {{n, c}, {n}};
  rule.results.assign(numResults, {n});
  return rule;
}

//===----------------------------------------------------------------------===//
// CrossEntropyOp
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *,
                                               std::optional<Location> loc,
                                               ValueRange operands,
                                               DictionaryAttr, OpaqueProperties,
                                               RegionRange,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType type;
  if (failed(inferRowType(loc, "cross_entropy_c1", operands[0], operands[1],
                          type)))
    return failure();
  types.assign(2, type);
  return success();
}

sbp::OpRule CrossEntropyOp::getSbpRule() {
  return rowsRule(getLogits(), Factor::Role::Decomposed, 2);
}

LogicalResult CrossEntropyOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                            SmallVectorImpl<Value> &dx) {
  Location loc = getLoc();
  Value gradient;
  if (dy[0])
    gradient = CrossEntropyGradOp::create(
        b, loc, dy[0], getLogits(), getLabels(), getLogSum(), nullptr, nullptr);
  if (dy[1]) {
    // The gradient of log_sum is the softmax.
    int64_t rows = getLogSum().getType().getDimSize(0);
    auto column = [&](Value x) { return graph::reshape(b, loc, x, {rows, 1}); };
    Value softmax = graph::exp(
        b, loc, graph::sub(b, loc, getLogits(), column(getLogSum())));
    Value through = graph::mul(b, loc, column(dy[1]), softmax);
    gradient = gradient ? graph::add(b, loc, gradient, through) : through;
  }
  dx.append({gradient, Value()});
  return success();
}

FailureOr<SmallVector<Value>> CrossEntropyOp::buildLocal(OpBuilder &b,
                                                         LocalView &view) {
  Location loc = getLoc();
  TensorBuilder tensors(b, loc);
  Value logits = view.getOperand(0), labels = view.getOperand(1);
  TensorBuilder::Extents rows = view.getResultExtents(0);
  Type element = getElementTypeOrSelf(getLogits().getType());
  Type accumulator = accumulatorType(element);
  int64_t classes = getLogits().getType().getDimSize(1);
  AffineMap full = b.getMultiDimIdentityMap(2), row = tensors.dimsMap(2, 0);
  AffineMap flat = b.getMultiDimIdentityMap(1);

  Value maximum =
      tensors.reduce(ReduceKind::Max, 2, 0, rows, accumulator, logits, full,
                     [&](OpBuilder &body, Location at, ValueRange v) {
                       return convertScalar(body, at, v[0], accumulator);
                     });
  Value sum = tensors.reduce(
      ReduceKind::Sum, 2, 0, rows, accumulator, {logits, maximum}, {full, row},
      [&](OpBuilder &body, Location at, ValueRange v) -> Value {
        Value x = convertScalar(body, at, v[0], accumulator);
        return math::ExpOp::create(body, at,
                                   arith::SubFOp::create(body, at, x, v[1]));
      });
  Value logSum =
      tensors.map(rows, accumulator, {maximum, sum}, {flat, flat},
                  [](OpBuilder &body, Location at, ValueRange v) -> Value {
                    return arith::AddFOp::create(
                        body, at, v[0], math::LogOp::create(body, at, v[1]));
                  });
  Value picked =
      buildPick(b, loc, logits, labels, b.getIndexAttr(0), rows, accumulator);
  Value loss =
      tensors.map(rows, element, {logSum, picked, labels}, {flat, flat, flat},
                  [&](OpBuilder &body, Location at, ValueRange v) {
                    assertInRange(body, at, v[2], classes, "a label");
                    Value value = arith::SubFOp::create(body, at, v[0], v[1]);
                    return convertScalar(body, at, value, element);
                  });
  return SmallVector<Value>{loss, tensors.converted(logSum, element)};
}

//===----------------------------------------------------------------------===//
// CrossEntropyGradOp
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyGradOp::verify() {
  RankedTensorType rows;
  if (failed(inferRowType(getLoc(), "cross_entropy_grad_c1", getLogits(),
                          getLabels(), rows)))
    return failure();
  for (Type type : {getDloss().getType(), getLogSum().getType()})
    if (failed(verifyCompatibleShape(rows, type)) ||
        getElementTypeOrSelf(type) != rows.getElementType())
      return emitOpError(
                 "cross_entropy_grad_c1: expected dloss and log_sum of type ")
             << rows << ", got: " << type;
  return success();
}

sbp::OpRule CrossEntropyGradOp::getSbpRule() {
  sbp::OpRule rule = rowsRule(getLogits(), Factor::Role::Parallel, 1);
  sbp::TensorFactors matrix = rule.operands[0], row = rule.operands[1];
  rule.operands = {row, matrix, row, row};
  rule.results = {matrix};
  rule.partials = {linearIn(0)};
  return rule;
}

FailureOr<SmallVector<Value>> CrossEntropyGradOp::buildLocal(OpBuilder &b,
                                                             LocalView &view) {
  TensorBuilder tensors(b, getLoc());
  Type element = getElementTypeOrSelf(getType());
  Type accumulator = accumulatorType(element);
  OpFoldResult offset = view.getOperandOffset(1, 1);
  AffineMap full = b.getMultiDimIdentityMap(2), row = tensors.dimsMap(2, 0);
  return SmallVector<Value>{tensors.map(
      view.getResultExtents(0), element,
      {view.getOperand(0), view.getOperand(1), view.getOperand(2),
       view.getOperand(3)},
      {row, full, row, row}, [&](OpBuilder &body, Location at, ValueRange v) {
        auto wide = [&](Value x) {
          return convertScalar(body, at, x, accumulator);
        };
        Value softmax = math::ExpOp::create(
            body, at, arith::SubFOp::create(body, at, wide(v[1]), wide(v[3])));
        Value target =
            arith::SelectOp::create(body, at, isColumn(body, at, offset, v[2]),
                                    floatScalar(body, at, accumulator, 1),
                                    floatScalar(body, at, accumulator, 0));
        Value slope = arith::SubFOp::create(body, at, softmax, target);
        return convertScalar(body, at,
                             arith::MulFOp::create(body, at, wide(v[0]), slope),
                             element);
      })};
}

//===----------------------------------------------------------------------===//
// PickOp
//===----------------------------------------------------------------------===//

LogicalResult PickOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> loc,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType type;
  if (failed(inferRowType(loc, "pick_c1", operands[0], operands[1], type)))
    return failure();
  types.push_back(type);
  return success();
}

sbp::OpRule PickOp::getSbpRule() {
  sbp::OpRule rule = rowsRule(getX(), Factor::Role::Reduced, 1);
  rule.partials = {linearIn(0)};
  return rule;
}

LogicalResult PickOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                    SmallVectorImpl<Value> &dx) {
  Location loc = getLoc();
  ArrayRef<int64_t> shape = getX().getType().getShape();
  SmallVector<int64_t> numbers =
      llvm::to_vector(llvm::seq<int64_t>(0, shape[1]));
  auto columnType = RankedTensorType::get(shape[1], b.getI64Type());
  Value columns = oneflow::ConstantOp::create(
      b, loc, DenseElementsAttr::get(columnType, ArrayRef<int64_t>(numbers)),
      nullptr, nullptr);
  Value indices = graph::reshape(b, loc, getIndices(), {shape[0], 1});
  Value chosen = graph::mask(b, loc, CompareKind::Eq, indices, columns, getX());
  Value gradient = graph::reshape(b, loc, dy[0], {shape[0], 1});
  dx.append({graph::mul(b, loc, gradient, chosen), Value()});
  return success();
}

FailureOr<SmallVector<Value>> PickOp::buildLocal(OpBuilder &b,
                                                 LocalView &view) {
  TensorBuilder tensors(b, getLoc());
  Value indices = view.getOperand(1);
  TensorBuilder::Extents rows = view.getResultExtents(0);
  Type element = getElementTypeOrSelf(getType());
  // Indices are checked against the logical extent, whatever this rank holds.
  int64_t columns = getX().getType().getDimSize(1);
  AffineMap flat = b.getMultiDimIdentityMap(1);
  Value checked =
      tensors.map(rows, b.getI64Type(), indices, flat,
                  [&](OpBuilder &body, Location at, ValueRange v) {
                    assertInRange(body, at, v[0], columns, "an index");
                    return v[0];
                  });
  return SmallVector<Value>{buildPick(b, getLoc(), view.getOperand(0), checked,
                                      view.getOperandOffset(0, 1), rows,
                                      element)};
}
