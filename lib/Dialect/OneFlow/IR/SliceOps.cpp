//===- SliceOps.cpp - slice and pad ---------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, rules, gradients and kernels of slice and pad, which are adjoint to
// each other. A dimension that either leaves alone may be split; of one that it
// touches, each rank needs all.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "TensorBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;
using sbp::Factor;

static bool isFloatTensor(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// The rule of an op that leaves the dimensions `isWhole` alone and needs all
/// of the others.
static sbp::OpRule partsRule(Value x, Value result,
                             llvm::function_ref<bool(unsigned)> isWhole) {
  sbp::OpRule rule;
  sbp::TensorFactors from, to;
  sbp::Shape before = shapeOf(x), after = shapeOf(result);
  for (unsigned dim = 0; dim < before.size(); ++dim) {
    std::string name = "d" + std::to_string(dim);
    if (isWhole(dim)) {
      from.push_back({rule.addFactor(name, before[dim])});
      to.push_back(from.back());
      continue;
    }
    from.push_back({rule.addFactor(name, before[dim], Factor::Role::Whole)});
    to.push_back({rule.addFactor(name + "'", after[dim], Factor::Role::Whole)});
  }
  rule.operands = {std::move(from)};
  rule.results = {std::move(to)};
  return rule;
}

static SmallVector<OpFoldResult> indexAttrs(OpBuilder &b,
                                            ArrayRef<int64_t> values) {
  return llvm::map_to_vector(values, [&](int64_t value) -> OpFoldResult {
    return b.getIndexAttr(value);
  });
}

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

LogicalResult
SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                          ValueRange operands, DictionaryAttr attributes,
                          OpaqueProperties properties, RegionRange regions,
                          SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto type = cast<RankedTensorType>(op.getX().getType());
  ArrayRef<int64_t> offsets = op.getOffsets(), sizes = op.getSizes(),
                    strides = op.getStrides();
  size_t rank = type.getRank();
  if (offsets.size() != rank || sizes.size() != rank || strides.size() != rank)
    return emitOptionalError(
        loc, "slice_c1: expected ", rank,
        " offsets, sizes and strides, got: ", offsets.size(), ", ",
        sizes.size(), " and ", strides.size());
  for (auto [dim, offset, size, stride, extent] :
       llvm::enumerate(offsets, sizes, strides, type.getShape())) {
    if (offset < 0 || size < 0 || stride < 1)
      return emitOptionalError(
          loc,
          "slice_c2: expected an offset and a size of at least 0 and a stride "
          "of at least 1, got: ",
          offset, ", ", size, " and ", stride, " of dimension ", dim);
    // Written so that nothing overflows.
    bool inside = size == 0 ? offset <= extent
                            : offset < extent &&
                                  size - 1 <= (extent - 1 - offset) / stride;
    if (!ShapedType::isDynamic(extent) && !inside)
      return emitOptionalError(loc, "slice_c3: expected ", size,
                               " elements from ", offset, " by ", stride,
                               " to lie in dimension ", dim, " of ", type);
  }
  types.push_back(type.clone(sizes));
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool same = getX().getType() == getType() && getType().hasStaticShape() &&
              !isPinned(*this);
  return same ? OpFoldResult(getX()) : OpFoldResult();
}

sbp::OpRule SliceOp::getSbpRule() {
  ArrayRef<int64_t> shape = getX().getType().getShape();
  sbp::OpRule rule = partsRule(getX(), getResult(), [&](unsigned dim) {
    // All of an extent: then offset and stride say nothing.
    return getSizes()[dim] == shape[dim];
  });
  rule.partials = passesEvery({0});
  return rule;
}

LogicalResult SliceOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                     SmallVectorImpl<Value> &dx) {
  if (!isFloatTensor(getX())) {
    dx.push_back({});
    return success();
  }
  SmallVector<int64_t> high, interior;
  for (auto [extent, offset, size, stride] :
       llvm::zip(getX().getType().getShape(), getOffsets(), getSizes(),
                 getStrides())) {
    // The gap behind a single element is all `high`.
    bool stepped = size > 1;
    interior.push_back(stepped ? stride - 1 : 0);
    int64_t used = size == 0 ? 0 : (size - 1) * (stepped ? stride : 1) + 1;
    high.push_back(extent - offset - used);
  }
  auto zero = b.getZeroAttr(getElementTypeOrSelf(getX().getType()));
  dx.push_back(PadOp::create(b, getLoc(), dy[0], getOffsets(), high, interior,
                             zero, nullptr, nullptr));
  return success();
}

FailureOr<SmallVector<Value>> SliceOp::buildLocal(OpBuilder &b,
                                                  LocalView &view) {
  // Dimensions that are split are whole, so offset 0 is theirs on every rank.
  return SmallVector<Value>{tensor::ExtractSliceOp::create(
      b, getLoc(), view.getOperand(0), indexAttrs(b, getOffsets()),
      view.getResultExtents(0), indexAttrs(b, getStrides()))};
}

//===----------------------------------------------------------------------===//
// PadOp
//===----------------------------------------------------------------------===//

LogicalResult
PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                        ValueRange operands, DictionaryAttr attributes,
                        OpaqueProperties properties, RegionRange regions,
                        SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto type = cast<RankedTensorType>(op.getX().getType());
  size_t rank = type.getRank();
  if (op.getLow().size() != rank || op.getHigh().size() != rank ||
      op.getInterior().size() != rank)
    return emitOptionalError(
        loc, "pad_c1: expected ", rank,
        " numbers of low, high and interior elements, got: ",
        op.getLow().size(), ", ", op.getHigh().size(), " and ",
        op.getInterior().size());
  SmallVector<int64_t> shape;
  for (auto [dim, low, high, interior, extent] : llvm::enumerate(
           op.getLow(), op.getHigh(), op.getInterior(), type.getShape())) {
    if (low < 0 || high < 0 || interior < 0)
      return emitOptionalError(
          loc, "pad_c1: expected no negative number, got: ", low, ", ", high,
          " and ", interior, " of dimension ", dim);
    if (ShapedType::isDynamic(extent)) {
      shape.push_back(extent);
      continue;
    }
    int64_t size = 0;
    if (__builtin_mul_overflow(std::max<int64_t>(extent - 1, 0), interior,
                               &size) ||
        __builtin_add_overflow(size, extent, &size) ||
        __builtin_add_overflow(size, low, &size) ||
        __builtin_add_overflow(size, high, &size))
      return emitOptionalError(loc, "pad_c1: dimension ", dim,
                               " gets more elements than an extent can count");
    shape.push_back(size);
  }
  types.push_back(type.clone(shape));
  return success();
}

LogicalResult PadOp::verify() {
  Type element = getElementTypeOrSelf(getX().getType());
  if (getValue().getType() != element ||
      !isa<FloatAttr, IntegerAttr>(getValue()))
    return emitOpError("pad_c2: expected a value of type ")
           << element << ", got: " << getValue();
  return success();
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  bool same = getX().getType() == getType() && getType().hasStaticShape() &&
              !isPinned(*this);
  return same ? OpFoldResult(getX()) : OpFoldResult();
}

sbp::OpRule PadOp::getSbpRule() {
  sbp::OpRule rule = partsRule(getX(), getResult(),
                               [&](unsigned dim) { return isWhole(dim); });
  bool isZero = matchPattern(getValue(), m_AnyZeroFloat()) ||
                matchPattern(getValue(), m_Zero());
  bool isOne = matchPattern(getValue(), m_OneFloat()) ||
               matchPattern(getValue(), m_One());
  // The padding of each part is combined too: it must stay what it is.
  if (isZero)
    rule.partials.push_back(linearIn(0));
  rule.partials.push_back(passes({0}, sbp::Reducer::Max));
  rule.partials.push_back(passes({0}, sbp::Reducer::Min));
  if (isZero || isOne)
    rule.partials.push_back(passes({0}, sbp::Reducer::Prod));
  return rule;
}

LogicalResult PadOp::buildGradient(OpBuilder &b, ArrayRef<Value> dy,
                                   SmallVectorImpl<Value> &dx) {
  if (!isFloatTensor(getX())) {
    dx.push_back({});
    return success();
  }
  SmallVector<int64_t> strides;
  for (int64_t interior : getInterior())
    strides.push_back(interior + 1);
  dx.push_back(SliceOp::create(b, getLoc(), dy[0], getLow(),
                               getX().getType().getShape(), strides, nullptr,
                               nullptr));
  return success();
}

FailureOr<SmallVector<Value>> PadOp::buildLocal(OpBuilder &b, LocalView &view) {
  TensorBuilder tensors(b, getLoc());
  Value value = arith::ConstantOp::create(b, getLoc(), getValue());
  Value around = tensors.filled(view.getResultExtents(0), value);
  SmallVector<int64_t> strides;
  for (int64_t interior : getInterior())
    strides.push_back(interior + 1);
  return SmallVector<Value>{tensor::InsertSliceOp::create(
      b, getLoc(), view.getOperand(0), around, indexAttrs(b, getLow()),
      tensors.extentsOf(view.getOperand(0)), indexAttrs(b, strides))};
}
