//===- BatchNormOp.cpp - batch normalization ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, gradient and decomposition. Both are written with the same ops on the
// same shapes, so that what the gradient computes again is found to be there.
// The gradient is the op's own: that of the decomposition would reduce over the
// batch once more, and wait for it. Everything is in f32 at least.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "TensorBuilder.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

LogicalResult
BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto x = cast<RankedTensorType>(op.getX().getType());
  if (x.getRank() < 2)
    return emitOptionalError(
        loc, "batch_norm_c1: expected at least 2 dimensions, got: ", x);
  auto statistic = RankedTensorType::get({x.getDimSize(1)},
                                         accumulatorType(x.getElementType()));
  types.append({x, statistic, statistic});
  return success();
}

LogicalResult BatchNormOp::verify() {
  if (getX().getType().getRank() < 2)
    return emitOpError("batch_norm_c1: expected at least 2 dimensions, got: ")
           << getX().getType();
  int64_t channels = getX().getType().getDimSize(1);
  for (Value parameter : llvm::drop_begin(getOperands())) {
    auto type = cast<RankedTensorType>(parameter.getType());
    if (failed(verifyCompatibleShape(type.getShape(), {channels})))
      return emitOpError("batch_norm_c2: expected parameters of shape [")
             << channels << "], got: " << type;
  }
  const APFloat &epsilon = getEpsilon();
  if (!epsilon.isFinite() || (epsilon.isNegative() && !epsilon.isZero()))
    return emitOpError(
               "batch_norm_c3: expected a finite epsilon of at least 0, got: ")
           << epsilon.convertToDouble();
  double momentum = getMomentum().convertToDouble();
  if (!(momentum >= 0 && momentum <= 1))
    return emitOpError("batch_norm_c3: expected a momentum in [0, 1], got: ")
           << momentum;
  return success();
}

namespace {

/// Builds ops on tensors of x's shape, in the type for sums, and on tensors
/// with one element per channel that broadcast to it.
class ChannelBuilder {
public:
  ChannelBuilder(OpBuilder &b, BatchNormOp op)
      : b(b), loc(op.getLoc()), op(op), type(op.getX().getType()) {
    wide = accumulatorType(type.getElementType());
    kept.assign(type.getRank(), 1);
    kept[1] = type.getDimSize(1);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != 1) {
        dims.push_back(dim);
        elements *= static_cast<double>(type.getDimSize(dim));
      }
  }

  Value widened(Value value) { return graph::cast(b, loc, value, wide); }
  /// Of a parameter.
  Value column(Value value) {
    return graph::reshape(b, loc, widened(value), kept);
  }
  /// The other way round.
  Value flat(Value column, Type element) {
    return graph::cast(b, loc, graph::reshape(b, loc, column, {kept[1]}),
                       element);
  }
  Value sum(Value full) {
    Value result = graph::sum(b, loc, full, dims, /*keepDims=*/true);
    if (op.getPerMicroBatch())
      result.getDefiningOp()->setAttr(kPerMicroBatchAttrName, b.getUnitAttr());
    return result;
  }
  Value mean(Value full) { return div(sum(full), number(elements)); }
  /// 1 / √(variance + epsilon).
  Value inverse(Value variance) {
    Value shifted = add(variance, number(op.getEpsilon().convertToDouble()));
    Value root = SqrtOp::create(b, loc, shifted, nullptr, nullptr);
    return div(number(1), root);
  }

  Value number(double value) {
    auto scalar = RankedTensorType::get({}, wide);
    return oneflow::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(scalar, Attribute(b.getFloatAttr(wide, value))),
        nullptr, nullptr);
  }
  Value add(Value l, Value r) { return graph::add(b, loc, l, r); }
  Value sub(Value l, Value r) { return graph::sub(b, loc, l, r); }
  Value mul(Value l, Value r) { return graph::mul(b, loc, l, r); }
  Value div(Value l, Value r) { return graph::div(b, loc, l, r); }
  Value narrowed(Value full) {
    return graph::cast(b, loc, graph::broadcast(b, loc, full, type.getShape()),
                       type.getElementType());
  }

  /// Elements per channel.
  double elements = 1;

private:
  OpBuilder &b;
  Location loc;
  BatchNormOp op;
  RankedTensorType type;
  Type wide;
  SmallVector<int64_t> dims, kept;
};

} // namespace

SmallVector<Value> BatchNormOp::decompose(OpBuilder &b) {
  ChannelBuilder k(b, *this);
  Value x = k.widened(getX());
  Value mean = getTraining() ? k.mean(x) : k.column(getMean());
  Value centered = k.sub(x, mean);
  Value variance = getTraining() ? k.mean(k.mul(centered, centered))
                                 : k.column(getVariance());
  Value slope = k.mul(k.inverse(variance), k.column(getScale()));
  Value result = k.add(k.mul(centered, slope), k.column(getBias()));
  Type statistic = getElementTypeOrSelf(getBatchMean());
  return {k.narrowed(result), k.flat(mean, statistic),
          k.flat(variance, statistic)};
}

LogicalResult BatchNormOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                         SmallVectorImpl<Value> &dx) {
  ChannelBuilder k(b, *this);
  dx.resize(getNumOperands());
  auto elementOf = [](Value value) {
    return getElementTypeOrSelf(value.getType());
  };
  auto plus = [&](Value lhs, Value rhs) {
    return lhs && rhs ? k.add(lhs, rhs) : lhs ? lhs : rhs;
  };
  Value inverse = k.inverse(k.column(getBatchVariance()));
  Value centered = k.sub(k.widened(getX()), k.column(getBatchMean()));
  Value dmean = dy[1] ? k.column(dy[1]) : Value();
  Value dvariance = dy[2] ? k.column(dy[2]) : Value();
  Value full;
  if (dy[0]) {
    Value g = k.widened(dy[0]);
    Value normalized = k.mul(centered, inverse);
    Value along = k.sum(k.mul(g, normalized)), across = k.sum(g);
    dx[1] = k.flat(along, elementOf(getScale()));
    dx[2] = k.flat(across, elementOf(getBias()));
    Value slope = k.mul(inverse, k.column(getScale()));
    if (getTraining()) {
      // Less what moves the statistics: no reduction but those above.
      Value n = k.number(k.elements);
      Value shared =
          k.add(k.div(across, n), k.mul(normalized, k.div(along, n)));
      full = k.mul(k.sub(g, shared), slope);
    } else {
      full = k.mul(g, slope);
      // d(-mean · slope), and d(variance + epsilon)^(-1/2).
      dmean = plus(dmean, k.mul(across, k.mul(slope, k.number(-1))));
      dvariance = plus(dvariance, k.mul(k.mul(along, k.number(-0.5)),
                                        k.mul(slope, inverse)));
    }
  }
  if (getTraining()) {
    Value n = k.number(k.elements);
    if (dmean)
      full = plus(full, k.div(dmean, n));
    if (dvariance)
      full =
          plus(full, k.mul(centered, k.div(k.mul(dvariance, k.number(2)), n)));
  } else {
    if (dmean)
      dx[3] = k.flat(dmean, elementOf(getMean()));
    if (dvariance)
      dx[4] = k.flat(dvariance, elementOf(getVariance()));
  }
  if (full)
    dx[0] = k.narrowed(full);
  return success();
}
