//===- Spread.cpp - how values lie between ops ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Placements, states and signatures of ops in the logical graph.
//
//===----------------------------------------------------------------------===//

#include "Spread.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace oneflow;

StringRef oneflow::nodeNameOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  return {};
}

static FailureOr<PlacementOp> resolvePlacement(Operation *op,
                                               FlatSymbolRefAttr symbol) {
  if (!symbol)
    return op->emitOpError("expected a placement, got none; "
                           "oneflow-place gives every op one");
  PlacementOp placement = lookupPlacement(op, symbol);
  if (!placement)
    return op->emitOpError("expected the symbol of a placement, got: ")
           << symbol;
  return placement;
}

FailureOr<PlacementOp> oneflow::requirePlacement(SpreadOpInterface op) {
  return resolvePlacement(op, op.getPlacementAttr());
}

FailureOr<PlacementOp> oneflow::requireOperandPlacement(SpreadOpInterface op) {
  if (auto boxing = dyn_cast<BoxingOp>(op.getOperation()))
    if (boxing.getSourceAttr())
      return resolvePlacement(op, boxing.getSourceAttr());
  return requirePlacement(op);
}

FailureOr<SpreadOpInterface> oneflow::requireProducer(OpOperand &operand) {
  if (auto producer = operand.get().getDefiningOp<SpreadOpInterface>())
    return producer;
  return operand.getOwner()->emitOpError("expected operand ")
         << operand.getOperandNumber()
         << " to come from an op of the logical graph, got: " << operand.get();
}

LogicalResult oneflow::requireStaticShapes(Operation *op) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  for (auto types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (!isStatic(type))
        return op->emitOpError("expected static shapes, got: ")
               << type << "; oneflow-infer-shapes fills them in";
  return success();
}

std::vector<sbp::Shape> oneflow::shapesOf(ValueRange values) {
  std::vector<sbp::Shape> shapes;
  for (Value value : values)
    shapes.push_back(shapeOf(value));
  return shapes;
}

int64_t oneflow::elementBytesOf(Value value) {
  unsigned bits = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  return std::max(1u, bits / 8);
}

sbp::CostModel oneflow::costModelOf(PlacementOp placement) {
  return placement.getDevice() == Device::Cuda ? sbp::CostModel::cuda()
                                               : sbp::CostModel::cpu();
}

StringRef oneflow::axisName(PlacementOp placement, size_t axis) {
  return cast<StringAttr>(placement.getAxisNames()[axis]).getValue();
}

LogicalResult oneflow::verifySignatureForm(SpreadOpInterface op) {
  FailureOr<PlacementOp> placement = requirePlacement(op);
  FailureOr<PlacementOp> source = requireOperandPlacement(op);
  if (failed(placement) || failed(source))
    return failure();
  SignatureAttr signature = op.getSignatureAttr();
  if (signature.getOperands().size() != op->getNumOperands() ||
      signature.getResults().size() != op->getNumResults())
    return op->emitOpError("expected a signature of ")
           << op->getNumOperands() << " operands and " << op->getNumResults()
           << " results, got: " << sbp::toString(signature.toNdSignature());
  auto check = [&](ArrayRef<NdSbpAttr> states,
                   PlacementOp where) -> LogicalResult {
    for (NdSbpAttr state : states)
      if (state.getAxes().size() != where.getAxisSizes().size())
        return op->emitOpError("sbp_c1: expected one Sbp for each of the ")
               << where.getAxisSizes().size() << " axes of @"
               << where.getSymName()
               << ", got: " << sbp::toString(state.toNdSbp());
    return success();
  };
  return failure(failed(check(signature.getOperands(), *source)) ||
                 failed(check(signature.getResults(), *placement)));
}

LogicalResult oneflow::verifySignature(SpreadOpInterface op) {
  if (failed(requireStaticShapes(op)) || failed(verifySignatureForm(op)))
    return failure();
  sbp::NdSignature signature = op.getSignatureAttr().toNdSignature();
  sbp::Mesh mesh = requirePlacement(op)->getMesh();
  if (isa<BoxingOp>(op.getOperation())) {
    sbp::Shape shape = shapeOf(op->getResult(0));
    sbp::Mesh source = requireOperandPlacement(op)->getMesh();
    if (auto reason = sbp::checkLegal(signature.operands[0], shape, source))
      return op->emitOpError("operand 0: ") << *reason;
    if (auto reason = sbp::checkLegal(signature.results[0], shape, mesh))
      return op->emitOpError("result 0: ") << *reason;
    return success();
  }
  // An output takes its parts along time as they come.
  if (isa<OutputOp>(op.getOperation()) && requirePlacement(op)->hasTimeAxis() &&
      signature.operands[0][0].isSplit())
    signature.operands[0][0] = sbp::Sbp::broadcast();
  if (auto reason = sbp::checkSignature(op.getSbpRule(), signature,
                                        shapesOf(op->getOperands()),
                                        shapesOf(op->getResults()), mesh))
    return op->emitOpError() << *reason;
  return success();
}

bool oneflow::feeds(const SpreadState &from, const SpreadState &to,
                    Value value) {
  if (from.placement != to.placement)
    return false;
  if (from.sbp == to.sbp)
    return true;
  sbp::NdSbp first = from.sbp.toNdSbp(), second = to.sbp.toNdSbp();
  sbp::Shape shape = shapeOf(value);
  sbp::Mesh mesh = PlacementOp(from.placement).getMesh();
  return !sbp::checkLegal(first, shape, mesh) &&
         !sbp::checkLegal(second, shape, mesh) &&
         sbp::sameLayout(first, second, shape, mesh);
}

sbp::Signature oneflow::axisOf(const sbp::NdSignature &signature, size_t axis) {
  sbp::Signature result;
  for (const sbp::NdSbp &state : signature.operands)
    result.operands.push_back(axis < state.size() ? state[axis]
                                                  : sbp::Sbp::broadcast());
  for (const sbp::NdSbp &state : signature.results)
    result.results.push_back(axis < state.size() ? state[axis]
                                                 : sbp::Sbp::broadcast());
  return result;
}

SmallVector<size_t> oneflow::decomposedAxes(const sbp::OpRule &rule,
                                            const sbp::NdSignature &signature) {
  SmallVector<size_t> axes;
  std::vector<sbp::Signature> allowed = sbp::enumerateSignatures(rule);
  size_t count = signature.results.empty() ? 0 : signature.results[0].size();
  for (size_t axis = 0; axis < count; ++axis) {
    const sbp::Signature *known =
        sbp::findAllowed(allowed, axisOf(signature, axis));
    if (known && known->decomposed)
      axes.push_back(axis);
  }
  return axes;
}
