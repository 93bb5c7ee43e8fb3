//===- DropoutOp.cpp - random zeroing -------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifier, rule, gradient and kernel of dropout. Draws are counted by the
// logical element, so that they do not depend on the mesh.
//
//===----------------------------------------------------------------------===//

#include "Philox.h"
#include "TensorBuilder.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace oneflow;

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1))
    return emitOpError("dropout_c1: expected a ratio in [0, 1), got: ")
           << ratio;
  if (getStep() && getStep().getType().getRank() != 0)
    return emitOpError("dropout_c2: expected a scalar step, got: ")
           << getStep().getType();
  if (getOffset() &&
      (getOffset().getType().getRank() != 0 || getType().getRank() == 0))
    return emitOpError("dropout_c3: expected a scalar offset and an x with a "
                       "dimension 0, got: ")
           << getOffset().getType() << " and " << getType();
  return success();
}

sbp::OpRule DropoutOp::getSbpRule() {
  return elementwiseRule(*this, {linearIn(0)});
}

LogicalResult DropoutOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                       SmallVectorImpl<Value> &dx) {
  // The same draw again: cheaper than keeping the mask.
  dx.push_back(DropoutOp::create(b, getLoc(), dy[0], getStep(), getOffset(),
                                 getRatioAttr(), getSeedAttr(), getIdAttr(),
                                 nullptr, nullptr));
  dx.resize(getNumOperands());
  return success();
}

/// The row-major number of the element of the logical tensor that a linalg body
/// is at, as i64 whatever the width of an index is. `offsets` are i64.
static Value logicalIndex(OpBuilder &b, Location loc, ArrayRef<int64_t> shape,
                          ArrayRef<Value> offsets) {
  Type i64 = b.getI64Type();
  Value index = intScalar(b, loc, i64, 0);
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    Value local = arith::IndexCastOp::create(
        b, loc, i64, linalg::IndexOp::create(b, loc, dim));
    Value position = arith::AddIOp::create(b, loc, local, offsets[dim]);
    Value scaled =
        arith::MulIOp::create(b, loc, index, intScalar(b, loc, i64, extent));
    index = arith::AddIOp::create(b, loc, scaled, position);
  }
  return index;
}

FailureOr<SmallVector<Value>> DropoutOp::buildLocal(OpBuilder &b,
                                                    LocalView &view) {
  double ratio = getRatio().convertToDouble();
  if (!getStep() || ratio == 0)
    return SmallVector<Value>{view.getOperand(0)};
  Location at = getLoc();
  TensorBuilder tensors(b, at);
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  ArrayRef<int64_t> shape = getType().getShape();
  auto scalarOperand = [&](unsigned index) -> Value {
    return tensor::ExtractOp::create(b, at, view.getOperand(index),
                                     ValueRange{});
  };
  SmallVector<Value> offsets;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    offsets.push_back(arith::IndexCastOp::create(
        b, at, i64,
        getValueOrCreateConstantIndexOp(b, at, view.getOperandOffset(0, dim))));
  if (getOffset())
    offsets[0] = arith::AddIOp::create(b, at, offsets[0], scalarOperand(2));
  Value step = arith::TruncIOp::create(b, at, i32, scalarOperand(1));
  auto word = [&](uint64_t value) {
    return intScalar(b, at, i32, static_cast<int32_t>(value));
  };
  Value id = word(getId());
  std::array<Value, 2> key = {word(getSeed()), word(getSeed() >> 32)};
  // Dropped where the draw is below ratio · 2^32.
  Value threshold =
      word(std::min<uint64_t>(std::llround(std::ldexp(ratio, 32)), UINT32_MAX));
  Type element = getElementTypeOrSelf(getType());
  return SmallVector<Value>{tensors.map(
      view.getResultExtents(0), element, view.getOperand(0),
      b.getMultiDimIdentityMap(shape.size()),
      [&](OpBuilder &body, Location loc, ValueRange v) -> Value {
        Value index = logicalIndex(body, loc, shape, offsets);
        Value high = arith::ShRUIOp::create(body, loc, index,
                                            intScalar(body, loc, i64, 32));
        std::array<Value, 4> draw = buildPhilox(
            body, loc,
            {arith::TruncIOp::create(body, loc, i32, index),
             arith::TruncIOp::create(body, loc, i32, high), step, id},
            key);
        Value kept = arith::CmpIOp::create(body, loc, arith::CmpIPredicate::uge,
                                           draw[0], threshold);
        Value scaled = arith::DivFOp::create(
            body, loc, v[0], floatScalar(body, loc, element, 1 - ratio));
        return arith::SelectOp::create(body, loc, kept, scaled,
                                       floatScalar(body, loc, element, 0));
      })};
}
