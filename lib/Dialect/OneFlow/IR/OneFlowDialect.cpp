//===- OneFlowDialect.cpp - the logical dialect ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration, attributes and their text form.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace oneflow;

#include "oneflow/Dialect/OneFlow/IR/OneFlowDialect.cpp.inc"
#include "oneflow/Dialect/OneFlow/IR/OneFlowEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "oneflow/Dialect/OneFlow/IR/OneFlowAttrs.cpp.inc"

#include "oneflow/Interfaces/GradientOpInterface.cpp.inc"
#include "oneflow/Interfaces/LocalOpInterface.cpp.inc"
#include "oneflow/Interfaces/SpreadOpInterface.cpp.inc"

llvm::hash_code oneflow::sbp::hash_value(const Sbp &sbp) {
  return llvm::hash_combine(static_cast<unsigned>(sbp.kind),
                            static_cast<unsigned>(sbp.reducer), sbp.dim,
                            sbp.block);
}

void OneFlowDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "oneflow/Dialect/OneFlow/IR/OneFlowAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "oneflow/Dialect/OneFlow/IR/OneFlowOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// NdSbpAttr
//===----------------------------------------------------------------------===//

NdSbpAttr NdSbpAttr::get(MLIRContext *context, const sbp::NdSbp &sbp) {
  return get(context, ArrayRef<sbp::Sbp>(sbp));
}

sbp::NdSbp NdSbpAttr::toNdSbp() const {
  return sbp::NdSbp(getAxes().begin(), getAxes().end());
}

bool NdSbpAttr::isBroadcast() const {
  return llvm::all_of(getAxes(),
                      [](const sbp::Sbp &axis) { return axis.isBroadcast(); });
}

void NdSbpAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printNdSbp(printer, *this);
  printer << ">";
}

Attribute NdSbpAttr::parse(AsmParser &parser, Type) {
  NdSbpAttr result;
  if (parser.parseLess() || parseNdSbp(parser, result) || parser.parseGreater())
    return {};
  return result;
}

//===----------------------------------------------------------------------===//
// SignatureAttr
//===----------------------------------------------------------------------===//

SignatureAttr SignatureAttr::get(MLIRContext *context,
                                 const sbp::NdSignature &signature) {
  auto convert = [&](const std::vector<sbp::NdSbp> &states) {
    return llvm::map_to_vector(states, [&](const sbp::NdSbp &state) {
      return NdSbpAttr::get(context, state);
    });
  };
  return get(context, convert(signature.operands), convert(signature.results));
}

sbp::NdSignature SignatureAttr::toNdSignature() const {
  sbp::NdSignature result;
  for (NdSbpAttr operand : getOperands())
    result.operands.push_back(operand.toNdSbp());
  for (NdSbpAttr state : getResults())
    result.results.push_back(state.toNdSbp());
  return result;
}

void SignatureAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printSignature(printer, *this);
  printer << ">";
}

Attribute SignatureAttr::parse(AsmParser &parser, Type) {
  SignatureAttr result;
  if (parser.parseLess() || parseSignature(parser, result) ||
      parser.parseGreater())
    return {};
  return result;
}

//===----------------------------------------------------------------------===//
// Bridges to the algebra
//===----------------------------------------------------------------------===//

sbp::Reducer oneflow::toReducer(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return sbp::Reducer::Sum;
  case ReduceKind::Max:
    return sbp::Reducer::Max;
  case ReduceKind::Min:
    return sbp::Reducer::Min;
  case ReduceKind::Prod:
    return sbp::Reducer::Prod;
  }
  llvm_unreachable("covered switch");
}

sbp::Shape oneflow::shapeOf(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return sbp::Shape(shape.begin(), shape.end());
}

PlacementOp oneflow::lookupPlacement(Operation *op, FlatSymbolRefAttr symbol) {
  if (!symbol)
    return {};
  return SymbolTable::lookupNearestSymbolFrom<PlacementOp>(op, symbol);
}
