//===- GatherOps.cpp - slices at indices, and back ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, rules, gradients and kernels of gather and of its gradient, which adds
// at indices. Indices are made positions of the logical table, and checked,
// before a rank asks which of them are its own. So a table split by rows, as a
// vocabulary is, never moves: forward every rank gives zero for rows that it
// does not hold, backward it adds up those that it does.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "TensorBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;
using sbp::Factor;

/// The position, of type index, that a scalar index stands for in a part of a
/// table of `rows` rows that begins at row `offset`. Outside of the part it is
/// any number that is none of the part's.
static Value buildPosition(OpBuilder &b, Location loc, Value id, int64_t rows,
                           OpFoldResult offset) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value extent = arith::ConstantIndexOp::create(b, loc, rows);
  id = arith::IndexCastOp::create(b, loc, b.getIndexType(), id);
  Value negative =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, id, zero);
  Value fromEnd = arith::AddIOp::create(b, loc, id, extent);
  id = arith::SelectOp::create(b, loc, negative, fromEnd, id);
  // One unsigned comparison tests both ends.
  Value inside =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, id, extent);
  cf::AssertOp::create(
      b, loc, inside,
      ("expected an index in [-" + Twine(rows) + ", " + Twine(rows) + ")")
          .str());
  if (isZeroInteger(offset))
    return id;
  return arith::SubIOp::create(b, loc, id,
                               getValueOrCreateConstantIndexOp(b, loc, offset));
}

//===----------------------------------------------------------------------===//
// GatherOp
//===----------------------------------------------------------------------===//

LogicalResult
GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto table = cast<RankedTensorType>(op.getTable().getType());
  auto indices = cast<RankedTensorType>(op.getIndices().getType());
  int64_t dim = op.getDim();
  if (dim < 0 || dim >= table.getRank())
    return emitOptionalError(loc, "gather_c1: expected a dimension of ", table,
                             ", got: ", dim);
  SmallVector<int64_t> shape(table.getShape().take_front(dim));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, table.getShape().drop_front(dim + 1));
  types.push_back(table.clone(shape));
  return success();
}

namespace {
/// The factors of a table {a.., v, b..}, of indices {i..}, and of what is
/// gathered {a.., i.., b..}.
struct GatherFactors {
  GatherFactors(sbp::OpRule &rule, const sbp::Shape &tableShape,
                const sbp::Shape &indexShape, size_t dim, Factor::Role rowRole,
                Factor::Role indexRole) {
    for (auto [i, extent] : llvm::enumerate(tableShape))
      table.push_back(
          {rule.addFactor(i == dim ? "v" : "d" + std::to_string(i), extent,
                          i == dim ? rowRole : Factor::Role::Parallel)});
    for (auto [i, extent] : llvm::enumerate(indexShape))
      indices.push_back(
          {rule.addFactor("i" + std::to_string(i), extent, indexRole)});
    gathered = table;
    gathered.erase(gathered.begin() + dim);
    gathered.insert(gathered.begin() + dim, indices.begin(), indices.end());
  }

  sbp::TensorFactors table, indices, gathered;
};
} // namespace

sbp::OpRule GatherOp::getSbpRule() {
  sbp::OpRule rule;
  // Zero for the rows of other ranks: the sum of booleans is no number.
  bool canAdd = !getElementTypeOrSelf(getType()).isInteger(1);
  GatherFactors factors(rule, shapeOf(getTable()), shapeOf(getIndices()),
                        getDim(),
                        canAdd ? Factor::Role::Reduced : Factor::Role::Whole,
                        Factor::Role::Parallel);
  rule.operands = {factors.table, factors.indices};
  rule.results = {factors.gathered};
  rule.partials = passesEvery({0});
  return rule;
}

LogicalResult GatherOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                      SmallVectorImpl<Value> &dx) {
  RankedTensorType table = getTable().getType();
  Value gradient;
  if (isa<FloatType>(table.getElementType()))
    gradient =
        GatherGradOp::create(b, getLoc(), dy[0], getIndices(), getDim(),
                             table.getDimSize(getDim()), nullptr, nullptr);
  dx.append({gradient, Value()});
  return success();
}

FailureOr<SmallVector<Value>> GatherOp::buildLocal(OpBuilder &b,
                                                   LocalView &view) {
  Location loc = getLoc();
  TensorBuilder tensors(b, loc);
  Value table = view.getOperand(0);
  TensorBuilder::Extents extents = view.getResultExtents(0);
  auto dim = static_cast<int64_t>(getDim());
  int64_t rank = extents.size(), indexRank = getIndices().getType().getRank();
  int64_t rows = getTable().getType().getDimSize(dim);
  OpFoldResult offset = view.getOperandOffset(0, dim);
  OpFoldResult localRows = tensors.extentsOf(table)[dim];
  bool hasAll = isConstantIntValue(localRows, rows);
  Value localExtent =
      hasAll ? Value() : getValueOrCreateConstantIndexOp(b, loc, localRows);
  Type element = getElementTypeOrSelf(getType());
  AffineMap indexMap = tensors.dimsMap(
      rank, llvm::to_vector(llvm::seq<int64_t>(dim, dim + indexRank)));
  return SmallVector<Value>{tensors.map(
      extents, element, view.getOperand(1), indexMap,
      [&](OpBuilder &body, Location at, ValueRange v) -> Value {
        Value row = buildPosition(body, at, v[0], rows, offset), mine;
        if (!hasAll) {
          mine = arith::CmpIOp::create(body, at, arith::CmpIPredicate::ult, row,
                                       localExtent);
          Value first = arith::ConstantIndexOp::create(body, at, 0);
          row = arith::SelectOp::create(body, at, mine, row, first);
        }
        SmallVector<Value> place;
        for (int64_t i = 0; i < dim; ++i)
          place.push_back(linalg::IndexOp::create(body, at, i));
        place.push_back(row);
        for (int64_t i = dim + indexRank; i < rank; ++i)
          place.push_back(linalg::IndexOp::create(body, at, i));
        Value found = tensor::ExtractOp::create(body, at, table, place);
        if (hasAll)
          return found;
        Value zero =
            arith::ConstantOp::create(body, at, body.getZeroAttr(element));
        return arith::SelectOp::create(body, at, mine, found, zero);
      })};
}

//===----------------------------------------------------------------------===//
// GatherGradOp
//===----------------------------------------------------------------------===//

LogicalResult
GatherGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                               ValueRange operands, DictionaryAttr attributes,
                               OpaqueProperties properties, RegionRange regions,
                               SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto dy = cast<RankedTensorType>(op.getDy().getType());
  auto indices = cast<RankedTensorType>(op.getIndices().getType());
  int64_t dim = op.getDim(), extent = op.getExtent(), count = indices.getRank();
  if (dim < 0 || dim + count > dy.getRank() ||
      failed(verifyCompatibleShape(dy.getShape().slice(dim, count),
                                   indices.getShape())))
    return emitOptionalError(loc, "gather_grad_c1: expected the extents of ",
                             indices, " from dimension ", dim,
                             " of dy on, got: ", dy);
  if (extent < 0)
    return emitOptionalError(
        loc, "gather_grad_c2: expected an extent of at least 0, got: ", extent);
  SmallVector<int64_t> shape(dy.getShape().take_front(dim));
  shape.push_back(extent);
  llvm::append_range(shape, dy.getShape().drop_front(dim + count));
  types.push_back(dy.clone(shape));
  return success();
}

sbp::OpRule GatherGradOp::getSbpRule() {
  sbp::OpRule rule;
  GatherFactors factors(rule, shapeOf(getResult()), shapeOf(getIndices()),
                        getDim(), Factor::Role::Parallel,
                        Factor::Role::Reduced);
  rule.operands = {factors.gathered, factors.indices};
  rule.results = {factors.table};
  rule.partials = {linearIn(0)};
  return rule;
}

LogicalResult GatherGradOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                          SmallVectorImpl<Value> &dx) {
  dx.append({GatherOp::create(b, getLoc(), dy[0], getIndices(), getDim(),
                              nullptr, nullptr),
             Value()});
  return success();
}

FailureOr<SmallVector<Value>> GatherGradOp::buildLocal(OpBuilder &b,
                                                       LocalView &view) {
  TensorBuilder tensors(b, getLoc());
  Value dy = view.getOperand(0), indices = view.getOperand(1);
  TensorBuilder::Extents extents = view.getResultExtents(0);
  auto dim = static_cast<int64_t>(getDim());
  int64_t rank = extents.size(), indexRank = getIndices().getType().getRank();
  Type element = getElementTypeOrSelf(getType());
  Type accumulator = accumulatorType(element);
  OpFoldResult offset = view.getResultOffset(0, dim);
  Value positions = tensors.map(
      tensors.extentsOf(indices), b.getI64Type(), indices,
      b.getMultiDimIdentityMap(indexRank),
      [&](OpBuilder &body, Location at, ValueRange v) -> Value {
        Value position = buildPosition(body, at, v[0], getExtent(), offset);
        return arith::IndexCastOp::create(body, at, body.getI64Type(),
                                          position);
      });
  // Said as a sum over all indices of what is added to each row, zero mostly;
  // the lowering of kernels knows this form and goes to the rows instead.
  auto kept = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  auto indexDims = llvm::to_vector(llvm::seq<int64_t>(rank, rank + indexRank));
  SmallVector<int64_t> dyDims(kept.begin(), kept.begin() + dim);
  llvm::append_range(dyDims, indexDims);
  dyDims.append(kept.begin() + dim + 1, kept.end());
  int64_t loops = rank + indexRank;
  Value sum = tensors.reduce(
      ReduceKind::Sum, loops, kept, extents, accumulator, {dy, positions},
      {tensors.dimsMap(loops, dyDims), tensors.dimsMap(loops, indexDims)},
      [&](OpBuilder &body, Location at, ValueRange v) -> Value {
        Value row =
            arith::IndexCastOp::create(body, at, body.getI64Type(),
                                       linalg::IndexOp::create(body, at, dim));
        Value here = arith::CmpIOp::create(body, at, arith::CmpIPredicate::eq,
                                           row, v[1]);
        return arith::SelectOp::create(
            body, at, here, convertScalar(body, at, v[0], accumulator),
            floatScalar(body, at, accumulator, 0));
      });
  return SmallVector<Value>{tensors.converted(sum, element)};
}
