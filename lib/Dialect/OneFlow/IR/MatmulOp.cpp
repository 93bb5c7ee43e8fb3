//===- MatmulOp.cpp - matrix product --------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, rule, gradient and kernel of the matrix product. Leading dimensions
// are flattened before the product: one large product is faster than many small
// ones.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "TensorBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

/// Whether two extents may turn out to be equal.
static bool mayBeEqual(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

LogicalResult
MatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  auto rhs = cast<RankedTensorType>(op.getRhs().getType());
  int64_t rank = lhs.getRank(), rhsRank = rhs.getRank();
  if (rank < 2 || rhsRank < 2 || (rhsRank != 2 && rhsRank != rank))
    return emitOptionalError(
        loc,
        "matmul_c1: expected ranks of at least 2, rhs of rank 2 "
        "or lhs's, got: ",
        lhs, " and ", rhs);
  if (op.getTransposeLhs() && rank != rhsRank)
    return emitOptionalError(
        loc,
        "matmul_c4: expected rhs of lhs's rank where lhs is "
        "transposed, got: ",
        lhs, " and ", rhs);
  SmallVector<int64_t> shape(lhs.getShape().drop_back(2));
  if (rhsRank == rank) {
    for (auto [extent, other] : llvm::zip(shape, rhs.getShape())) {
      if (!mayBeEqual(extent, other))
        return emitOptionalError(
            loc, "matmul_c2: expected equal batch extents, got: ", lhs, " and ",
            rhs);
      if (ShapedType::isDynamic(extent))
        extent = other;
    }
  }
  bool tl = op.getTransposeLhs(), tr = op.getTransposeRhs();
  int64_t m = lhs.getDimSize(rank - (tl ? 1 : 2));
  int64_t k = lhs.getDimSize(rank - (tl ? 2 : 1));
  int64_t n = rhs.getDimSize(rhsRank - (tr ? 2 : 1));
  int64_t rhsK = rhs.getDimSize(rhsRank - (tr ? 1 : 2));
  if (!mayBeEqual(k, rhsK))
    return emitOptionalError(
        loc, "matmul_c3: expected equal contracted extents, got: ", k, " and ",
        rhsK);
  shape.append({m, n});
  types.push_back(lhs.clone(shape));
  return success();
}

sbp::OpRule MatmulOp::getSbpRule() {
  sbp::OpRule rule;
  sbp::Shape lhs = shapeOf(getLhs()), result = shapeOf(getResult());
  sbp::TensorFactors batch;
  for (size_t dim = 0; dim + 2 < result.size(); ++dim)
    batch.push_back({rule.addFactor("b" + std::to_string(dim), result[dim])});
  unsigned m = rule.addFactor("m", result[result.size() - 2]);
  unsigned n = rule.addFactor("n", result.back());
  unsigned k =
      rule.addFactor("k", lhs[lhs.size() - (getTransposeLhs() ? 2 : 1)],
                     sbp::Factor::Role::Reduced, sbp::Reducer::Sum);
  auto matrix = [&](bool batched, unsigned rows, unsigned columns,
                    bool transposed) {
    sbp::TensorFactors factors;
    if (batched)
      factors = batch;
    factors.push_back({transposed ? columns : rows});
    factors.push_back({transposed ? rows : columns});
    return factors;
  };
  bool rhsBatched = getRhs().getType().getRank() != 2;
  rule.operands = {matrix(true, m, k, getTransposeLhs()),
                   matrix(rhsBatched, k, n, getTransposeRhs())};
  rule.results = {matrix(true, m, n, false)};
  rule.partials = {linearIn(0), linearIn(1)};
  return rule;
}

LogicalResult MatmulOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                      SmallVectorImpl<Value> &dx) {
  Location loc = getLoc();
  auto product = [&](Value l, Value r, bool tl, bool tr) -> Value {
    return MatmulOp::create(b, loc, l, r, tl, tr, nullptr, nullptr);
  };
  Value lhs = getLhs(), rhs = getRhs();
  bool tl = getTransposeLhs(), tr = getTransposeRhs();
  // C = op(A) op(B): d op(A) = dC op(B)^T, d op(B) = op(A)^T dC, each
  // transposed back where op does.
  dx.push_back(tl ? product(rhs, dy[0], tr, true)
                  : product(dy[0], rhs, false, !tr));

  Value dResult = dy[0];
  auto lhsType = cast<RankedTensorType>(lhs.getType());
  if (lhsType.getRank() != getRhs().getType().getRank()) {
    // One matrix serves all batches: the sum over them is a longer contraction.
    auto flatten = [&](Value x) {
      auto type = cast<RankedTensorType>(x.getType());
      int64_t columns = type.getShape().back(), rows = 1;
      for (int64_t extent : type.getShape().drop_back())
        rows *= extent;
      return graph::reshape(b, loc, x, {rows, columns});
    };
    lhs = flatten(lhs);
    dResult = flatten(dResult);
  }
  dx.push_back(tr ? product(dResult, lhs, true, tl)
                  : product(lhs, dResult, !tl, false));
  return success();
}

/// Keeps the last `tail` dimensions and merges those before into one.
static SmallVector<ReassociationIndices> mergeLeading(int64_t rank,
                                                      int64_t tail) {
  SmallVector<ReassociationIndices> groups(1);
  for (int64_t dim = 0; dim < rank - tail; ++dim)
    groups[0].push_back(dim);
  for (int64_t dim = rank - tail; dim < rank; ++dim)
    groups.push_back({dim});
  return groups;
}

/// Affine maps of (b) m n k with the operands transposed as given.
static ArrayAttr contractionMaps(Builder &b, bool batched, bool tl, bool tr) {
  unsigned lead = batched ? 1 : 0;
  AffineExpr m = b.getAffineDimExpr(lead), n = b.getAffineDimExpr(lead + 1),
             k = b.getAffineDimExpr(lead + 2);
  auto map = [&](AffineExpr rows, AffineExpr columns, bool transposed) {
    SmallVector<AffineExpr> exprs;
    if (batched)
      exprs.push_back(b.getAffineDimExpr(0));
    exprs.push_back(transposed ? columns : rows);
    exprs.push_back(transposed ? rows : columns);
    return AffineMap::get(lead + 3, 0, exprs, b.getContext());
  };
  return b.getAffineMapArrayAttr(
      {map(m, k, tl), map(k, n, tr), map(m, n, false)});
}

FailureOr<SmallVector<Value>> MatmulOp::buildLocal(OpBuilder &b,
                                                   LocalView &view) {
  Location loc = getLoc();
  TensorBuilder tensors(b, loc);
  Value lhs = view.getOperand(0), rhs = view.getOperand(1);
  TensorBuilder::Extents resultExtents = view.getResultExtents(0);
  int64_t rank = getLhs().getType().getRank(),
          rhsRank = getRhs().getType().getRank();
  bool tl = getTransposeLhs(), tr = getTransposeRhs();
  bool batched = rhsRank > 2;

  // To (m k)(k n) or (b m k)(b k n).
  int64_t tail = batched ? 2 : 1;
  bool flattened = rank > tail + 1;
  if (flattened) {
    lhs = tensors.collapse(lhs, mergeLeading(rank, tail));
    if (batched)
      rhs = tensors.collapse(rhs, mergeLeading(rank, tail));
  }
  TensorBuilder::Extents lhsExtents = tensors.extentsOf(lhs),
                         rhsExtents = tensors.extentsOf(rhs), extents;
  if (batched)
    extents.push_back(lhsExtents.front());
  extents.push_back(lhsExtents[lhsExtents.size() - (tl ? 1 : 2)]);
  extents.push_back(rhsExtents[rhsExtents.size() - (tr ? 2 : 1)]);
  if (!flattened)
    extents = resultExtents;

  Type element = getElementTypeOrSelf(getType());
  Type accumulator = accumulatorType(element);
  Value init = tensors.filled(extents, floatScalar(b, loc, accumulator, 0));
  ArrayAttr maps = contractionMaps(b, batched, tl, tr);
  Value result;
  if (batched) {
    auto product = linalg::BatchMatmulOp::create(b, loc, init.getType(),
                                                 ValueRange{lhs, rhs}, init);
    product.setIndexingMapsAttr(maps);
    result = product.getResult(0);
  } else {
    auto product =
        linalg::MatmulOp::create(b, loc, TypeRange{init.getType()},
                                 ValueRange{lhs, rhs}, ValueRange{init});
    product.setIndexingMapsAttr(maps);
    result = product.getResult(0);
  }
  result = tensors.converted(result, element);
  if (flattened)
    result = tensors.expand(result, mergeLeading(rank, tail), resultExtents);
  return SmallVector<Value>{result};
}
