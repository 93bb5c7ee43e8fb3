//===- NormOps.cpp - layer norm and RMS norm ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, rules, gradients and kernels of the normalizations by row statistics.
// An RMS norm is a layer norm that takes the mean to be zero. Everything
// between reading x and writing the result is computed in f32 at least.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "TensorBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

/// The types of the result and of `count` statistics.
static LogicalResult inferTypes(std::optional<Location> loc, Value x,
                                int64_t axis, size_t count,
                                SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(x.getType());
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "norm_c1: expected a dimension of ", type,
                             ", got: ", axis);
  SmallVector<int64_t> shape(type.getShape());
  llvm::fill(MutableArrayRef<int64_t>(shape).drop_front(axis), 1);
  types.push_back(type);
  types.append(count, RankedTensorType::get(
                          shape, accumulatorType(type.getElementType())));
  return success();
}

static LogicalResult verifyNorm(Operation *op, RankedTensorType type,
                                int64_t axis, const APFloat &epsilon) {
  auto expected = RankedTensorType::get(type.getShape().drop_front(axis),
                                        type.getElementType());
  for (Value parameter : llvm::drop_begin(op->getOperands())) {
    auto given = cast<RankedTensorType>(parameter.getType());
    if (given.getElementType() != expected.getElementType() ||
        failed(verifyCompatibleShape(given, expected)))
      return op->emitOpError("norm_c2: expected parameters of type ")
             << expected << ", got: " << given;
  }
  if (!epsilon.isFinite() || (epsilon.isNegative() && !epsilon.isZero()))
    return op->emitOpError(
               "norm_c3: expected a finite epsilon of at least 0, got: ")
           << epsilon.convertToDouble();
  return success();
}

static sbp::OpRule normRule(Operation *op, int64_t axis) {
  sbp::OpRule rule;
  sbp::TensorFactors full, row;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(op->getOperand(0)))) {
    bool normalized = static_cast<int64_t>(dim) >= axis;
    full.push_back({rule.addFactor("d" + std::to_string(dim), extent,
                                   normalized ? sbp::Factor::Role::Decomposed
                                              : sbp::Factor::Role::Parallel)});
    row.push_back(normalized ? sbp::DimFactors() : full.back());
  }
  rule.operands.assign(op->getNumOperands(),
                       sbp::TensorFactors(full.begin() + axis, full.end()));
  rule.operands[0] = full;
  rule.results.assign(op->getNumResults(), row);
  rule.results[0] = std::move(full);
  return rule;
}

namespace {

/// Either op, as gradient and kernel see it. Values that it does not have are
/// null.
struct Norm {
  Location loc;
  RankedTensorType type;
  int64_t axis;
  double epsilon;
  Value x, scale, bias, mean, inverse;

  explicit Norm(LayerNormOp op)
      : loc(op.getLoc()), type(op.getX().getType()), axis(op.getAxis()),
        epsilon(op.getEpsilon().convertToDouble()), x(op.getX()),
        scale(op.getScale()), bias(op.getBias()), mean(op.getMean()),
        inverse(op.getInverseDeviation()) {}
  explicit Norm(RmsNormOp op)
      : loc(op.getLoc()), type(op.getX().getType()), axis(op.getAxis()),
        epsilon(op.getEpsilon().convertToDouble()), x(op.getX()),
        scale(op.getScale()), inverse(op.getInverseRms()) {}

  Type wide() const { return accumulatorType(type.getElementType()); }
  /// Elements of a row.
  double count() const {
    double elements = 1;
    for (int64_t extent : type.getShape().drop_front(axis))
      elements *= static_cast<double>(extent);
    return elements;
  }

  void buildGradient(OpBuilder &b, Value dresult, Value dmean, Value dinverse,
                     SmallVectorImpl<Value> &gradients);
  SmallVector<Value> buildLocal(OpBuilder &b, LocalView &view);
};

} // namespace

/// With n = (x - mean) · inverse and g = dresult · scale, over each row
///   dx = inverse · (g - (Σg - dmean / inverse + n · (Σg·n + dinverse ·
///   inverse)) / count).
/// An RMS norm has no mean, so the first sum is not subtracted.
void Norm::buildGradient(OpBuilder &b, Value dresult, Value dmean,
                         Value dinverse, SmallVectorImpl<Value> &gradients) {
  auto widen = [&](Value value) { return graph::cast(b, loc, value, wide()); };
  auto plus = [&](Value sum, Value value) {
    return sum ? graph::add(b, loc, sum, value) : value;
  };
  SmallVector<int64_t> rowDims =
      llvm::to_vector(llvm::seq<int64_t>(axis, type.getRank()));
  auto rowSum = [&](Value value) {
    return graph::sum(b, loc, value, rowDims, /*keepDims=*/true);
  };
  Value centered = mean ? graph::sub(b, loc, widen(x), mean) : widen(x);
  Value normalized = graph::mul(b, loc, centered, inverse);

  Value g, weighted, across, along;
  if (dresult) {
    dresult = widen(dresult);
    weighted = graph::mul(b, loc, dresult, normalized);
    auto scaled = [&](Value value) {
      return scale ? graph::mul(b, loc, value, widen(scale)) : value;
    };
    g = scaled(dresult);
    along = rowSum(scaled(weighted));
    if (mean)
      across = rowSum(g);
  }
  if (dinverse)
    along = plus(along, graph::mul(b, loc, dinverse, inverse));
  if (dmean)
    across =
        plus(across, graph::neg(b, loc, graph::div(b, loc, dmean, inverse)));
  Value elements = graph::scalar(b, loc, inverse, count());
  Value shared;
  if (along)
    shared =
        graph::mul(b, loc, normalized, graph::div(b, loc, along, elements));
  if (across)
    shared = plus(shared, graph::div(b, loc, across, elements));
  Value inner = g ? graph::sub(b, loc, g, shared) : graph::neg(b, loc, shared);
  Value dx = graph::broadcast(b, loc, graph::mul(b, loc, inner, inverse),
                              type.getShape());
  gradients.push_back(graph::cast(b, loc, dx, type.getElementType()));

  auto addParameter = [&](Value value) {
    if (value && axis > 0)
      value = graph::sum(b, loc, value,
                         llvm::to_vector(llvm::seq<int64_t>(0, axis)),
                         /*keepDims=*/false);
    gradients.push_back(
        value ? graph::cast(b, loc, value, type.getElementType()) : Value());
  };
  if (scale)
    addParameter(weighted);
  if (bias)
    addParameter(dresult);
}

SmallVector<Value> Norm::buildLocal(OpBuilder &b, LocalView &view) {
  TensorBuilder tensors(b, loc);
  int64_t rank = type.getRank();
  TensorBuilder::Extents extents = view.getResultExtents(0),
                         rows(extents.begin(), extents.begin() + axis);
  SmallVector<int64_t> kept = llvm::to_vector(llvm::seq<int64_t>(0, axis)),
                       rest = llvm::to_vector(llvm::seq<int64_t>(axis, rank));
  AffineMap full = b.getMultiDimIdentityMap(rank),
            row = tensors.dimsMap(rank, kept),
            column = tensors.dimsMap(rank, rest),
            flat = b.getMultiDimIdentityMap(axis);
  Value localX = view.getOperand(0), localMean;
  // v[0] is an element of x, v[1] the mean of its row, if there is one.
  auto centered = [&](OpBuilder &body, Location at, ValueRange v) -> Value {
    Value element = convertScalar(body, at, v[0], wide());
    return mean ? arith::SubFOp::create(body, at, element, v[1]).getResult()
                : element;
  };
  auto averaged = [&](OpBuilder &body, Location at, Value sum) -> Value {
    return arith::DivFOp::create(body, at, sum,
                                 floatScalar(body, at, wide(), count()));
  };

  SmallVector<Value> inputs = {localX};
  SmallVector<AffineMap> maps = {full};
  if (mean) {
    Value sum =
        tensors.reduce(ReduceKind::Sum, rank, kept, rows, wide(), localX, full,
                       [&](OpBuilder &body, Location at, ValueRange v) {
                         return convertScalar(body, at, v[0], wide());
                       });
    localMean = tensors.map(rows, wide(), sum, flat,
                            [&](OpBuilder &body, Location at, ValueRange v) {
                              return averaged(body, at, v[0]);
                            });
    inputs.push_back(localMean);
    maps.push_back(row);
  }
  Value squares = tensors.reduce(
      ReduceKind::Sum, rank, kept, rows, wide(), inputs, maps,
      [&](OpBuilder &body, Location at, ValueRange v) -> Value {
        Value difference = centered(body, at, v);
        return arith::MulFOp::create(body, at, difference, difference);
      });
  Value localInverse = tensors.map(
      rows, wide(), squares, flat,
      [&](OpBuilder &body, Location at, ValueRange v) -> Value {
        Value shifted =
            arith::AddFOp::create(body, at, averaged(body, at, v[0]),
                                  floatScalar(body, at, wide(), epsilon));
        return arith::DivFOp::create(body, at, floatScalar(body, at, wide(), 1),
                                     math::SqrtOp::create(body, at, shifted));
      });

  size_t inverseIndex = inputs.size();
  inputs.push_back(localInverse);
  maps.push_back(row);
  unsigned parameters = (scale ? 1u : 0u) + (bias ? 1u : 0u);
  for (unsigned index = 1; index <= parameters; ++index) {
    inputs.push_back(view.getOperand(index));
    maps.push_back(column);
  }
  Value result = tensors.map(
      extents, type.getElementType(), inputs, maps,
      [&](OpBuilder &body, Location at, ValueRange v) {
        Value value = arith::MulFOp::create(body, at, centered(body, at, v),
                                            v[inverseIndex]);
        if (scale)
          value = arith::MulFOp::create(
              body, at, value,
              convertScalar(body, at, v[inverseIndex + 1], wide()));
        if (bias)
          value = arith::AddFOp::create(
              body, at, value, convertScalar(body, at, v.back(), wide()));
        return convertScalar(body, at, value, type.getElementType());
      });

  // The statistics keep the normalized dimensions, with extent 1.
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < axis; ++dim)
    groups.push_back({dim});
  if (!groups.empty())
    llvm::append_range(groups.back(), rest);
  auto keepDims = [&](Value value) {
    return tensors.expand(value, groups, view.getResultExtents(1));
  };
  SmallVector<Value> results = {result};
  if (mean)
    results.push_back(keepDims(localMean));
  results.push_back(keepDims(localInverse));
  return results;
}

//===----------------------------------------------------------------------===//
// LayerNormOp
//===----------------------------------------------------------------------===//

LogicalResult
LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  return inferTypes(loc, op.getX(), op.getAxis(), 2, types);
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, getX().getType(), getAxis(), getEpsilon());
}

sbp::OpRule LayerNormOp::getSbpRule() { return normRule(*this, getAxis()); }

LogicalResult LayerNormOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                         SmallVectorImpl<Value> &dx) {
  Norm(*this).buildGradient(b, dy[0], dy[1], dy[2], dx);
  return success();
}

FailureOr<SmallVector<Value>> LayerNormOp::buildLocal(OpBuilder &b,
                                                      LocalView &view) {
  return Norm(*this).buildLocal(b, view);
}

//===----------------------------------------------------------------------===//
// RmsNormOp
//===----------------------------------------------------------------------===//

LogicalResult
RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                            ValueRange operands, DictionaryAttr attributes,
                            OpaqueProperties properties, RegionRange regions,
                            SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  return inferTypes(loc, op.getX(), op.getAxis(), 1, types);
}

LogicalResult RmsNormOp::verify() {
  return verifyNorm(*this, getX().getType(), getAxis(), getEpsilon());
}

sbp::OpRule RmsNormOp::getSbpRule() { return normRule(*this, getAxis()); }

LogicalResult RmsNormOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                       SmallVectorImpl<Value> &dx) {
  Norm(*this).buildGradient(b, dy[0], Value(), dy[1], dx);
  return success();
}

FailureOr<SmallVector<Value>> RmsNormOp::buildLocal(OpBuilder &b,
                                                    LocalView &view) {
  return Norm(*this).buildLocal(b, view);
}
