//===- TensorBuilder.cpp - linalg in a line -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short builders of the linalg ops that rank-local computations are made of.
//
//===----------------------------------------------------------------------===//

#include "TensorBuilder.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

Type oneflow::accumulatorType(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32 ? Float32Type::get(element.getContext())
                                      : element;
}

Value oneflow::floatScalar(OpBuilder &b, Location loc, Type type,
                           double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

Value oneflow::intScalar(OpBuilder &b, Location loc, Type type, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

Value oneflow::convertScalar(OpBuilder &b, Location loc, Value x, Type type) {
  if (x.getType() == type)
    return x;
  if (x.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, loc, type, x);
  return arith::TruncFOp::create(b, loc, type, x);
}

void oneflow::assertInRange(OpBuilder &b, Location loc, Value index,
                            int64_t extent, StringRef what) {
  // One unsigned comparison tests both ends.
  Value inside =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index,
                            intScalar(b, loc, index.getType(), extent));
  cf::AssertOp::create(
      b, loc, inside,
      (Twine("expected ") + what + " in [0, " + Twine(extent) + ")").str());
}

TensorBuilder::Extents TensorBuilder::extentsOf(Value value) {
  return tensor::getMixedSizes(builder, loc, value);
}

Value TensorBuilder::empty(ArrayRef<OpFoldResult> extents, Type element) {
  return tensor::EmptyOp::create(builder, loc, extents, element);
}

Value TensorBuilder::filled(ArrayRef<OpFoldResult> extents, Value scalar) {
  return linalg::FillOp::create(builder, loc, scalar,
                                empty(extents, scalar.getType()))
      .getResult(0);
}

AffineMap TensorBuilder::dimsMap(int64_t rank, ArrayRef<int64_t> dims) {
  return AffineMap::getMultiDimMapWithTargets(
      rank, llvm::to_vector_of<unsigned>(dims), builder.getContext());
}

Value TensorBuilder::map(ArrayRef<OpFoldResult> extents, Type element,
                         ValueRange inputs, ArrayRef<AffineMap> maps,
                         MapBody body) {
  Value output = empty(extents, element);
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(builder.getMultiDimIdentityMap(extents.size()));
  SmallVector<utils::IteratorType> iterators(extents.size(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, output.getType(), inputs, output, allMaps, iterators,
             [&](OpBuilder &b, Location bodyLoc, ValueRange arguments) {
               linalg::YieldOp::create(b, bodyLoc,
                                       body(b, bodyLoc, arguments.drop_back()));
             })
      .getResult(0);
}

/// The neutral element of a reduction. Booleans are unsigned.
static TypedAttr neutralAttr(Builder &b, ReduceKind kind, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return b.getFloatAttr(floatType, sbp::neutralElement(toReducer(kind)));
  unsigned width = type.getIntOrFloatBitWidth();
  bool isBoolean = width == 1;
  switch (kind) {
  case ReduceKind::Sum:
    return b.getIntegerAttr(type, 0);
  case ReduceKind::Prod:
    return b.getIntegerAttr(type, APInt(width, 1));
  case ReduceKind::Max:
    return b.getIntegerAttr(type, isBoolean ? APInt::getMinValue(width)
                                            : APInt::getSignedMinValue(width));
  case ReduceKind::Min:
    return b.getIntegerAttr(type, isBoolean ? APInt::getMaxValue(width)
                                            : APInt::getSignedMaxValue(width));
  }
  llvm_unreachable("covered switch");
}

static Value combine(OpBuilder &b, Location loc, ReduceKind kind, Value l,
                     Value r) {
  bool isFloat = isa<FloatType>(l.getType()),
       isBoolean = l.getType().isInteger(1);
  switch (kind) {
  case ReduceKind::Sum:
    if (isFloat)
      return arith::AddFOp::create(b, loc, l, r);
    // "Any", as between ranks: one bit would count modulo two.
    return isBoolean ? arith::OrIOp::create(b, loc, l, r).getResult()
                     : arith::AddIOp::create(b, loc, l, r).getResult();
  case ReduceKind::Prod:
    return isFloat ? arith::MulFOp::create(b, loc, l, r).getResult()
                   : arith::MulIOp::create(b, loc, l, r).getResult();
  case ReduceKind::Max:
    if (isFloat)
      return arith::MaximumFOp::create(b, loc, l, r);
    return isBoolean ? arith::MaxUIOp::create(b, loc, l, r).getResult()
                     : arith::MaxSIOp::create(b, loc, l, r).getResult();
  case ReduceKind::Min:
    if (isFloat)
      return arith::MinimumFOp::create(b, loc, l, r);
    return isBoolean ? arith::MinUIOp::create(b, loc, l, r).getResult()
                     : arith::MinSIOp::create(b, loc, l, r).getResult();
  }
  llvm_unreachable("covered switch");
}

Value TensorBuilder::reduce(ReduceKind kind, int64_t rank,
                            ArrayRef<int64_t> kept,
                            ArrayRef<OpFoldResult> extents, Type element,
                            ValueRange inputs, ArrayRef<AffineMap> maps,
                            MapBody body) {
  Value neutral = arith::ConstantOp::create(
      builder, loc, neutralAttr(builder, kind, element));
  Value output = filled(extents, neutral);
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(dimsMap(rank, kept));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::reduction);
  for (int64_t dim : kept)
    iterators[dim] = utils::IteratorType::parallel;
  return linalg::GenericOp::create(
             builder, loc, output.getType(), inputs, output, allMaps, iterators,
             [&](OpBuilder &b, Location bodyLoc, ValueRange arguments) {
               Value part = body(b, bodyLoc, arguments.drop_back());
               linalg::YieldOp::create(
                   b, bodyLoc,
                   combine(b, bodyLoc, kind, arguments.back(), part));
             })
      .getResult(0);
}

Value TensorBuilder::converted(Value x, Type element) {
  if (getElementTypeOrSelf(x.getType()) == element)
    return x;
  Extents extents = extentsOf(x);
  return map(extents, element, x,
             builder.getMultiDimIdentityMap(extents.size()),
             [&](OpBuilder &b, Location bodyLoc, ValueRange arguments) {
               return convertScalar(b, bodyLoc, arguments[0], element);
             });
}

/// The static extents; dynamic where the extent is a value, be it a constant:
/// the type must be the one that was asked for.
static SmallVector<int64_t> staticShape(ArrayRef<OpFoldResult> extents) {
  return llvm::map_to_vector(extents, [](OpFoldResult extent) {
    auto attr = dyn_cast<Attribute>(extent);
    return attr ? cast<IntegerAttr>(attr).getInt() : ShapedType::kDynamic;
  });
}

Value TensorBuilder::collapse(Value x, ArrayRef<ReassociationIndices> groups) {
  return tensor::CollapseShapeOp::create(builder, loc, x, groups);
}

Value TensorBuilder::expand(Value x, ArrayRef<ReassociationIndices> groups,
                            ArrayRef<OpFoldResult> extents) {
  auto type = cast<RankedTensorType>(x.getType()).clone(staticShape(extents));
  return tensor::ExpandShapeOp::create(builder, loc, type, x, groups, extents);
}

Value TensorBuilder::reshape(Value x, ArrayRef<OpFoldResult> extents) {
  auto from = cast<RankedTensorType>(x.getType());
  RankedTensorType to = from.clone(staticShape(extents));
  if (from.hasStaticShape() && to.hasStaticShape()) {
    if (from == to)
      return x;
    if (auto groups = getReassociationIndicesForReshape(from, to))
      return from.getRank() > to.getRank() ? collapse(x, *groups)
                                           : expand(x, *groups, extents);
  }
  auto all = [](int64_t rank) {
    return ReassociationIndices(
        llvm::to_vector<2>(llvm::seq<int64_t>(0, rank)));
  };
  if (from.getRank() != 1) {
    if (from.getRank() == 0)
      return expand(x, {}, extents);
    x = to.getRank() == 0 ? collapse(x, {}) : collapse(x, all(from.getRank()));
  }
  return to.getRank() <= 1 ? x : expand(x, all(to.getRank()), extents);
}
