//===- SoftmaxOps.cpp - softmax and log-softmax ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rule, gradient and kernel of the normalisations over a dimension. The maximum
// is taken off first, so that nothing overflows.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "TensorBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

static LogicalResult verifyDim(Operation *op, RankedTensorType type,
                               int64_t dim) {
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError("softmax_c1: expected a dimension of ")
           << type << ", got: " << dim;
  return success();
}

static sbp::OpRule softmaxRule(Value x, int64_t dim) {
  sbp::OpRule rule;
  sbp::TensorFactors factors;
  for (auto [index, extent] : llvm::enumerate(shapeOf(x)))
    factors.push_back({rule.addFactor("d" + std::to_string(index), extent,
                                      static_cast<int64_t>(index) == dim
                                          ? sbp::Factor::Role::Decomposed
                                          : sbp::Factor::Role::Parallel)});
  rule.operands = {factors};
  rule.results = {std::move(factors)};
  return rule;
}

/// The local kernel of either op; sums are in f32 at least.
static SmallVector<Value> buildSoftmax(OpBuilder &b, Location loc, Value x,
                                       int64_t dim,
                                       ArrayRef<OpFoldResult> resultExtents,
                                       bool log) {
  TensorBuilder tensors(b, loc);
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  Type element = getElementTypeOrSelf(x.getType());
  Type accumulator = accumulatorType(element);
  SmallVector<int64_t> kept;
  TensorBuilder::Extents rows;
  for (int64_t index = 0; index < rank; ++index) {
    if (index == dim)
      continue;
    kept.push_back(index);
    rows.push_back(resultExtents[index]);
  }
  AffineMap full = b.getMultiDimIdentityMap(rank),
            row = tensors.dimsMap(rank, kept);
  auto wide = [&](OpBuilder &body, Location at, Value value) {
    return convertScalar(body, at, value, accumulator);
  };
  Value maximum =
      tensors.reduce(ReduceKind::Max, rank, kept, rows, element, x, full,
                     [](OpBuilder &, Location, ValueRange v) { return v[0]; });
  auto shifted = [&](OpBuilder &body, Location at, ValueRange v) -> Value {
    return arith::SubFOp::create(body, at, wide(body, at, v[0]),
                                 wide(body, at, v[1]));
  };

  if (log) {
    Value sum = tensors.reduce(
        ReduceKind::Sum, rank, kept, rows, accumulator, {x, maximum},
        {full, row}, [&](OpBuilder &body, Location at, ValueRange v) -> Value {
          return math::ExpOp::create(body, at, shifted(body, at, v));
        });
    Value logSum =
        tensors.map(rows, accumulator, sum, b.getMultiDimIdentityMap(rank - 1),
                    [](OpBuilder &body, Location at, ValueRange v) -> Value {
                      return math::LogOp::create(body, at, v[0]);
                    });
    return {tensors.map(
        resultExtents, element, {x, maximum, logSum}, {full, row, row},
        [&](OpBuilder &body, Location at, ValueRange v) {
          Value result =
              arith::SubFOp::create(body, at, shifted(body, at, v), v[2]);
          return convertScalar(body, at, result, element);
        })};
  }

  Value exps =
      tensors.map(resultExtents, accumulator, {x, maximum}, {full, row},
                  [&](OpBuilder &body, Location at, ValueRange v) -> Value {
                    return math::ExpOp::create(body, at, shifted(body, at, v));
                  });
  Value sum =
      tensors.reduce(ReduceKind::Sum, rank, kept, rows, accumulator, exps, full,
                     [](OpBuilder &, Location, ValueRange v) { return v[0]; });
  return {tensors.map(resultExtents, element, {exps, sum}, {full, row},
                      [&](OpBuilder &body, Location at, ValueRange v) {
                        Value result =
                            arith::DivFOp::create(body, at, v[0], v[1]);
                        return convertScalar(body, at, result, element);
                      })};
}

//===----------------------------------------------------------------------===//
// SoftmaxOp
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  return verifyDim(*this, getX().getType(), getDim());
}

sbp::OpRule SoftmaxOp::getSbpRule() { return softmaxRule(getX(), getDim()); }

LogicalResult SoftmaxOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                       SmallVectorImpl<Value> &dx) {
  Value y = getResult();
  int64_t dim = getDim();
  Value mean = graph::sum(b, getLoc(), graph::mul(b, getLoc(), dy[0], y), dim,
                          /*keepDims=*/true);
  dx.push_back(
      graph::mul(b, getLoc(), y, graph::sub(b, getLoc(), dy[0], mean)));
  return success();
}

FailureOr<SmallVector<Value>> SoftmaxOp::buildLocal(OpBuilder &b,
                                                    LocalView &view) {
  return buildSoftmax(b, getLoc(), view.getOperand(0), getDim(),
                      view.getResultExtents(0), /*log=*/false);
}

//===----------------------------------------------------------------------===//
// LogSoftmaxOp
//===----------------------------------------------------------------------===//

LogicalResult LogSoftmaxOp::verify() {
  return verifyDim(*this, getX().getType(), getDim());
}

sbp::OpRule LogSoftmaxOp::getSbpRule() { return softmaxRule(getX(), getDim()); }

LogicalResult LogSoftmaxOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                          SmallVectorImpl<Value> &dx) {
  int64_t dim = getDim();
  Value total = graph::sum(b, getLoc(), dy[0], dim, /*keepDims=*/true);
  Value share =
      graph::mul(b, getLoc(), graph::exp(b, getLoc(), getResult()), total);
  dx.push_back(graph::sub(b, getLoc(), dy[0], share));
  return success();
}

FailureOr<SmallVector<Value>> LogSoftmaxOp::buildLocal(OpBuilder &b,
                                                       LocalView &view) {
  return buildSoftmax(b, getLoc(), view.getOperand(0), getDim(),
                      view.getResultExtents(0), /*log=*/true);
}
