//===- ReduceOp.cpp - reductions over dimensions --------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, rule, gradient and kernel of sums, maxima, minima and products.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "TensorBuilder.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

LogicalResult
ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto type = cast<RankedTensorType>(op.getX().getType());
  int64_t previous = -1;
  for (int64_t dim : op.getDims()) {
    if (dim <= previous || dim >= type.getRank())
      return emitOptionalError(
          loc, "reduce_c1: expected distinct, increasing dimensions of ", type,
          ", got: ", op.getDims());
    previous = dim;
  }
  SmallVector<int64_t> shape;
  for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
      shape.push_back(extent);
    else if (op.getKeepDims())
      shape.push_back(1);
  }
  types.push_back(type.clone(shape));
  return success();
}

sbp::OpRule ReduceOp::getSbpRule() {
  sbp::OpRule rule;
  sbp::Reducer reducer = toReducer(getKind());
  sbp::TensorFactors x, result;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(getX()))) {
    bool reduced = llvm::is_contained(getDims(), static_cast<int64_t>(dim));
    std::string name = "d" + std::to_string(dim);
    x.push_back({reduced ? rule.addFactor(name, extent,
                                          sbp::Factor::Role::Reduced, reducer)
                         : rule.addFactor(name, extent)});
    if (!reduced)
      result.push_back(x.back());
    else if (getKeepDims())
      result.push_back({});
  }
  rule.operands = {std::move(x)};
  rule.results = {std::move(result)};
  rule.partials = {passes({0}, reducer)};
  return rule;
}

/// Gradient of a product: the product of the other elements. Zeros are replaced
/// by ones in the product and told apart by their number: with one zero, only
/// it has a gradient; with more, nothing has.
static Value productGradient(OpBuilder &b, Location loc, ReduceOp op,
                             Value dy) {
  Value x = op.getX();
  Value zero = graph::scalar(b, loc, x, 0), one = graph::scalar(b, loc, x, 1);
  Value isZero = graph::mask(b, loc, CompareKind::Eq, x, zero, x);
  Value zeros = graph::sum(b, loc, isZero, op.getDims(), /*keepDims=*/true);
  Value factors = graph::add(b, loc, x, isZero);
  Value product =
      ReduceOp::create(b, loc, factors, ReduceKind::Prod, op.getDims(),
                       /*keep_dims=*/true, nullptr, nullptr);
  Value others = graph::div(b, loc, graph::mul(b, loc, dy, product), factors);
  Value none = graph::mask(b, loc, CompareKind::Eq, zeros, zero, x);
  Value single = graph::mask(b, loc, CompareKind::Eq, zeros, one, x);
  Value share = graph::add(b, loc, none, graph::mul(b, loc, single, isZero));
  return graph::mul(b, loc, others, share);
}

LogicalResult ReduceOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                      SmallVectorImpl<Value> &dx) {
  Location loc = getLoc();
  RankedTensorType type = getX().getType();
  if (!isa<FloatType>(type.getElementType())) {
    dx.push_back({});
    return success();
  }
  SmallVector<int64_t> kept(type.getShape());
  for (int64_t dim : getDims())
    kept[dim] = 1;
  // Where the leading dimensions are reduced, broadcasting aligns what is left.
  bool leading =
      llvm::equal(getDims(), llvm::seq<int64_t>(0, getDims().size()));
  auto align = [&](Value x) {
    return leading && !getKeepDims() ? x : graph::reshape(b, loc, x, kept);
  };
  Value gradient = align(dy[0]);
  switch (getKind()) {
  case ReduceKind::Sum:
    dx.push_back(graph::broadcast(b, loc, gradient, type.getShape()));
    return success();
  case ReduceKind::Prod:
    dx.push_back(productGradient(b, loc, *this, gradient));
    return success();
  case ReduceKind::Max:
  case ReduceKind::Min: {
    Value best = align(getResult());
    Value attains = graph::mask(b, loc, CompareKind::Eq, getX(), best, getX());
    Value ties = graph::sum(b, loc, attains, getDims(), /*keepDims=*/true);
    dx.push_back(
        graph::mul(b, loc, attains, graph::div(b, loc, gradient, ties)));
    return success();
  }
  }
  llvm_unreachable("covered switch");
}

FailureOr<SmallVector<Value>> ReduceOp::buildLocal(OpBuilder &b,
                                                   LocalView &view) {
  TensorBuilder tensors(b, getLoc());
  int64_t rank = getX().getType().getRank();
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(getDims(), dim))
      kept.push_back(dim);
  // The reduction proper is without kept dimensions of extent 1.
  TensorBuilder::Extents resultExtents = view.getResultExtents(0), extents;
  for (auto [index, dim] : llvm::enumerate(kept))
    extents.push_back(resultExtents[getKeepDims() ? dim : index]);
  Type element = getElementTypeOrSelf(getType());
  Type accumulator = accumulatorType(element);
  Value result =
      tensors.reduce(getKind(), rank, kept, extents, accumulator,
                     view.getOperand(0), b.getMultiDimIdentityMap(rank),
                     [&](OpBuilder &body, Location loc, ValueRange x) {
                       return convertScalar(body, loc, x[0], accumulator);
                     });
  result = tensors.converted(result, element);
  return SmallVector<Value>{tensors.reshape(result, resultExtents)};
}
