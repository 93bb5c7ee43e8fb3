//===- Elementwise.cpp - what elementwise ops share -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Factor rule, broadcasting and kernels of elementwise ops.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/Elementwise.h"
#include "TensorBuilder.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;
using sbp::Reducer;

PartialRules oneflow::increasing() {
  return {{{0}, Reducer::Max, Reducer::Max}, {{0}, Reducer::Min, Reducer::Min}};
}

PartialRules oneflow::decreasing() {
  return {{{0}, Reducer::Max, Reducer::Min}, {{0}, Reducer::Min, Reducer::Max}};
}

PartialRules oneflow::negation() {
  PartialRules rules = decreasing();
  rules.push_back(linearIn(0));
  return rules;
}

sbp::PartialRule oneflow::linearIn(unsigned operand) {
  return {{operand}, Reducer::Sum, Reducer::Sum};
}

sbp::PartialRule oneflow::linearIn(std::vector<unsigned> operands) {
  return {std::move(operands), Reducer::Sum, Reducer::Sum};
}

sbp::PartialRule oneflow::passes(std::vector<unsigned> operands,
                                 Reducer reducer) {
  return {std::move(operands), reducer, reducer};
}

PartialRules oneflow::passesEvery(std::vector<unsigned> operands) {
  PartialRules rules;
  for (Reducer reducer :
       {Reducer::Sum, Reducer::Max, Reducer::Min, Reducer::Prod})
    rules.push_back(passes(operands, reducer));
  return rules;
}

PartialRules oneflow::selectPartials() { return passesEvery({1, 2}); }

PartialRules oneflow::dividend(Operation *op) {
  if (isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return {linearIn(0)};
  return {};
}

PartialRules oneflow::castPartials(Operation *op) {
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  if (!isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())) ||
      from.isInteger(1))
    return {};
  // Rounding keeps order. To integers it does too, but takes NaN to a number.
  PartialRules rules = increasing();
  if (isa<FloatType>(from))
    rules.push_back(linearIn(0));
  return rules;
}

sbp::OpRule oneflow::elementwiseRule(Operation *op, PartialRules partials) {
  sbp::OpRule rule;
  sbp::Shape shape = shapeOf(op->getResult(0));
  sbp::TensorFactors factors;
  for (auto [dim, extent] : llvm::enumerate(shape))
    factors.push_back({rule.addFactor("d" + std::to_string(dim), extent)});
  for (Value operand : op->getOperands()) {
    sbp::Shape operandShape = shapeOf(operand);
    size_t lead = shape.size() - operandShape.size();
    sbp::TensorFactors operandFactors;
    for (auto [dim, extent] : llvm::enumerate(operandShape))
      operandFactors.push_back(extent == shape[lead + dim] ? factors[lead + dim]
                                                           : sbp::DimFactors{});
    rule.operands.push_back(std::move(operandFactors));
  }
  rule.results.assign(op->getNumResults(), factors);
  rule.partials = std::move(partials);
  return rule;
}

LogicalResult oneflow::inferBroadcastType(std::optional<Location> loc,
                                          ValueRange operands,
                                          SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  for (Value operand : operands) {
    ArrayRef<int64_t> extents =
        cast<RankedTensorType>(operand.getType()).getShape();
    if (extents.size() > shape.size())
      shape.insert(shape.begin(), extents.size() - shape.size(), 1);
    size_t lead = shape.size() - extents.size();
    for (auto [dim, extent] : llvm::enumerate(extents)) {
      int64_t &merged = shape[lead + dim];
      if (merged == 1 || (ShapedType::isDynamic(merged) && extent != 1))
        merged = extent;
      else if (extent != 1 && !ShapedType::isDynamic(extent) &&
               extent != merged)
        return emitOptionalError(
            loc, "expected shapes that broadcast, got: ", operands[0].getType(),
            " and ", operand.getType());
    }
  }
  types.push_back(RankedTensorType::get(
      shape, getElementTypeOrSelf(operands[0].getType())));
  return success();
}

/// An op of several steps in f16 or bf16 is computed in f32 and rounded once.
static Value buildWide(OpBuilder &b, Location loc, ValueRange operands,
                       Type element, ScalarBuilder scalar) {
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(
        isa<FloatType>(operand.getType())
            ? convertScalar(b, loc, operand, accumulatorType(operand.getType()))
            : operand);
  Value result = scalar(b, loc, wide);
  return isa<FloatType>(element) ? convertScalar(b, loc, result, element)
                                 : result;
}

FailureOr<SmallVector<Value>> oneflow::buildElementwise(Operation *op,
                                                        OpBuilder &builder,
                                                        LocalView &view,
                                                        ScalarBuilder scalar) {
  Type element = view.getResultType(0).getElementType();
  // These compute nothing.
  bool moves = isa<CastOp, SelectOp>(op);
  return buildElementwiseResults(
      op, builder, view,
      [&](OpBuilder &body, Location loc, ValueRange operands) {
        return SmallVector<Value>{
            moves ? scalar(body, loc, operands)
                  : buildWide(body, loc, operands, element, scalar)};
      });
}

FailureOr<SmallVector<Value>>
oneflow::buildElementwiseResults(Operation *op, OpBuilder &builder,
                                 LocalView &view, ScalarsBuilder scalars) {
  Location loc = op->getLoc();
  MLIRContext *context = op->getContext();
  int64_t rank = view.getResultType(0).getRank();
  ArrayRef<int64_t> logical =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();

  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    // Broadcasting follows the logical extents: a local extent of 1 may be a
    // part.
    ArrayRef<int64_t> extents =
        cast<RankedTensorType>(operand.getType()).getShape();
    int64_t lead = rank - static_cast<int64_t>(extents.size());
    SmallVector<AffineExpr> exprs;
    for (auto [dim, extent] : llvm::enumerate(extents))
      exprs.push_back(extent == logical[lead + dim]
                          ? getAffineDimExpr(lead + dim, context)
                          : getAffineConstantExpr(0, context));
    maps.push_back(AffineMap::get(rank, 0, exprs, context));
    inputs.push_back(view.getOperand(index));
  }
  SmallVector<Value> outputs;
  SmallVector<Type> types;
  for (unsigned result = 0; result < op->getNumResults(); ++result) {
    maps.push_back(AffineMap::getMultiDimIdentityMap(rank, context));
    types.push_back(view.getResultType(result));
    outputs.push_back(
        tensor::EmptyOp::create(builder, loc, view.getResultExtents(result),
                                view.getResultType(result).getElementType()));
  }
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, types, inputs, outputs, maps, iterators,
      [&](OpBuilder &body, Location bodyLoc, ValueRange arguments) {
        linalg::YieldOp::create(
            body, bodyLoc,
            scalars(body, bodyLoc, arguments.take_front(inputs.size())));
      });
  return SmallVector<Value>(generic.getResults());
}
