//===- StructuralOps.cpp - placements, variables, boxing ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers, folders and rules of the ops in StructuralOps.td, and the checks
// that every op with a signature shares.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Sbp/Hints.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace oneflow;

//===----------------------------------------------------------------------===//
// PlacementOp
//===----------------------------------------------------------------------===//

LogicalResult PlacementOp::verify() {
  ArrayRef<int64_t> sizes = getAxisSizes();
  if (sizes.empty() || sizes.size() != getAxisNames().size())
    return emitOpError(
               "placement_c1: expected at least one axis and one size per "
               "name, got: ")
           << getAxisNames().size() << " names and " << sizes.size()
           << " sizes";
  int64_t ranks = 1;
  for (int64_t size : sizes) {
    if (size < 1 || size > sbp::kMaxRanks || (ranks *= size) > sbp::kMaxRanks)
      return emitOpError(
                 "placement_c2: expected positive sizes whose product is "
                 "at most ")
             << sbp::kMaxRanks << ", got: " << sizes;
  }
  llvm::StringSet<> names;
  for (auto name : getAxisNames().getAsRange<StringAttr>())
    if (!names.insert(name.getValue()).second)
      return emitOpError("placement_c3: expected distinct axis names, got ")
             << name << " twice";
  if (findAxis("time") > 0)
    return emitOpError("placement_c4: expected the axis 'time' to be the "
                       "first, got it at place ")
           << findAxis("time");
  if (static_cast<int64_t>(getFirstRank()) < 0)
    return emitOpError("expected a first rank of at least 0, got: ")
           << static_cast<int64_t>(getFirstRank());
  if (static_cast<int64_t>(getFirstRank()) > sbp::kMaxRanks - ranks)
    return emitOpError("expected ranks below ")
           << sbp::kMaxRanks << ", got " << ranks << " from "
           << static_cast<int64_t>(getFirstRank()) << " on";
  return success();
}

sbp::Mesh PlacementOp::getMesh() {
  return sbp::Mesh(getAxisSizes().begin(), getAxisSizes().end());
}

int64_t PlacementOp::getRankCount() {
  return sbp::rankCount(getMesh()) / getMicroBatches();
}

bool PlacementOp::hasTimeAxis() { return findAxis("time") == 0; }

int64_t PlacementOp::findAxis(StringRef name) {
  for (auto [index, axis] :
       llvm::enumerate(getAxisNames().getAsRange<StringAttr>()))
    if (axis.getValue() == name)
      return index;
  return -1;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

LogicalResult VariableOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError(
               "variable_c1: expected a tensor type with static shape, got: ")
           << getType();
  if (auto initial = getInitialAttr();
      initial && initial.getType() != getType())
    return emitOpError("variable_c2: expected an initial value of type ")
           << getType() << ", got: " << initial.getType();
  PartAttr part = getPartAttr();
  if (!part)
    return success();
  ArrayRef<int64_t> shape = type.getShape(), whole = part.getShape();
  int64_t dim = part.getDim();
  if (dim < 0 || dim >= type.getRank() || whole.size() != shape.size())
    return emitOpError("variable_c3: expected a dimension of the part and a "
                       "whole of its rank, ")
           << type.getRank() << ", got: dim " << dim << " of [" << whole << "]";
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (d != dim && shape[d] != whole[d])
      return emitOpError("variable_c3: expected the whole's extent ")
             << whole[d] << " in dimension " << d << ", got: " << shape[d];
  // Written so that no sum can overflow.
  if (part.getOffset() < 0 || shape[dim] > whole[dim] ||
      part.getOffset() > whole[dim] - shape[dim])
    return emitOpError("variable_c3: expected an interval of the whole's "
                       "extent ")
           << whole[dim] << " in dimension " << dim << ", got: " << shape[dim]
           << " elements from " << part.getOffset();
  return success();
}

static LogicalResult verifyVariable(Operation *op, StringRef constraint,
                                    SymbolTableCollection &symbols,
                                    FlatSymbolRefAttr symbol, Type type) {
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, symbol);
  if (!variable)
    return op->emitOpError()
           << constraint
           << ": expected the symbol of a variable, got: " << symbol;
  if (variable.getType() != type)
    return op->emitOpError() << constraint << ": expected the variable's type "
                             << variable.getType() << ", got: " << type;
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariable(*this, "read_c1", symbols, getVariableAttr(),
                        getResult().getType());
}
LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariable(*this, "update_c1", symbols, getVariableAttr(),
                        getValue().getType());
}
LogicalResult GradientOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariable(*this, "gradient_c1", symbols, getVariableAttr(),
                        getValue().getType());
}

/// One parallel factor per dimension of the only tensor of an op that has
/// either an operand or a result: it may be split anywhere, and is never
/// partial.
static sbp::OpRule anySplitRule(Operation *op) {
  sbp::OpRule rule;
  Value value = op->getNumResults() ? op->getResult(0) : op->getOperand(0);
  sbp::TensorFactors factors;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(value)))
    factors.push_back({rule.addFactor("d" + std::to_string(dim), extent)});
  if (op->getNumResults())
    rule.results.push_back(factors);
  else
    rule.operands.push_back(factors);
  return rule;
}

sbp::OpRule ReadOp::getSbpRule() { return anySplitRule(*this); }
sbp::OpRule UpdateOp::getSbpRule() { return anySplitRule(*this); }
sbp::OpRule GradientOp::getSbpRule() { return anySplitRule(*this); }
sbp::OpRule InputOp::getSbpRule() { return anySplitRule(*this); }

sbp::OpRule OutputOp::getSbpRule() {
  sbp::OpRule rule;
  rule.operands.push_back(
      sbp::TensorFactors(shapeOf(getValue()).size(), sbp::DimFactors{}));
  return rule;
}

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

sbp::OpRule ConstantOp::getSbpRule() {
  // Each rank makes its part of a splat; other constants are held whole.
  if (getValue().isSplat())
    return anySplitRule(*this);
  sbp::OpRule rule;
  rule.results.push_back(
      sbp::TensorFactors(shapeOf(getResult()).size(), sbp::DimFactors{}));
  return rule;
}

FailureOr<SmallVector<Value>> ConstantOp::buildLocal(OpBuilder &builder,
                                                     LocalView &view) {
  RankedTensorType type = view.getResultType(0);
  if (!getValue().isSplat())
    return SmallVector<Value>{arith::ConstantOp::create(
        builder, getLoc(), type, cast<TypedAttr>(getValue()))};
  auto splat = dyn_cast<DenseElementsAttr>(getValue());
  if (!splat)
    return emitOpError("expected a dense constant, got: ") << getValue();
  Value scalar = arith::ConstantOp::create(
      builder, getLoc(), cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  Value empty = tensor::EmptyOp::create(
      builder, getLoc(), view.getResultExtents(0), type.getElementType());
  return SmallVector<Value>{
      linalg::FillOp::create(builder, getLoc(), scalar, empty).getResult(0)};
}

//===----------------------------------------------------------------------===//
// BoxingOp
//===----------------------------------------------------------------------===//

LogicalResult BoxingOp::verify() {
  SignatureAttr signature = getSignatureAttr();
  if (signature && (signature.getOperands().size() != 1 ||
                    signature.getResults().size() != 1))
    return emitOpError("boxing_c1: expected a signature of one operand and one "
                       "result, got: ")
           << sbp::toString(signature.toNdSignature());
  return success();
}

sbp::OpRule BoxingOp::getSbpRule() {
  // Boxing takes any state to any other; it is inserted where signatures differ
  // and never chosen by them.
  sbp::OpRule rule;
  sbp::TensorFactors whole(shapeOf(getValue()).size(), sbp::DimFactors{});
  rule.operands.push_back(whole);
  rule.results.push_back(whole);
  return rule;
}

LogicalResult
BoxingOp::buildGradient(OpBuilder &, ArrayRef<Value> resultGradients,
                        SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(resultGradients[0]);
  return success();
}

#define GET_OP_CLASSES
#include "oneflow/Dialect/OneFlow/IR/OneFlowOps.cpp.inc"
