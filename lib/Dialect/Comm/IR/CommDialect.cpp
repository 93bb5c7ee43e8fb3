//===- CommDialect.cpp - the per-rank dialect -----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration, and the text form and verifier of kernels.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Comm/IR/Comm.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace oneflow;
using namespace oneflow::comm;

#include "oneflow/Dialect/Comm/IR/CommDialect.cpp.inc"
#include "oneflow/Dialect/Comm/IR/CommEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "oneflow/Dialect/Comm/IR/CommAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "oneflow/Dialect/Comm/IR/CommOps.cpp.inc"

void CommDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "oneflow/Dialect/Comm/IR/CommAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "oneflow/Dialect/Comm/IR/CommOps.cpp.inc"
      >();
}

SmallVector<Value> comm::getExtents(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.hasStaticShape())
    return {};
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return {};
  if (auto kernel = dyn_cast<KernelOp>(op)) {
    // A kernel's extents are those of all its results, one after the other.
    unsigned first = 0;
    for (Value result : kernel.getResults()) {
      if (result == tensor)
        break;
      first += cast<RankedTensorType>(result.getType()).getNumDynamicDims();
    }
    return SmallVector<Value>(
        kernel.getExtents().slice(first, type.getNumDynamicDims()));
  }
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case<InputOp, ReadOp, AllReduceOp, AllGatherOp, ReduceScatterOp,
            AllToAllOp, ExchangeOp, AccumulateOp>(
          [](auto maker) { return SmallVector<Value>(maker.getExtents()); })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

SmallVector<int64_t> comm::getBounds(Value tensor) {
  SmallVector<int64_t> bounds;
  SmallVector<Value> extents = getExtents(tensor);
  unsigned next = 0;
  for (int64_t bound : cast<RankedTensorType>(tensor.getType()).getShape()) {
    if (ShapedType::isDynamic(bound)) {
      auto op = extents[next++].getDefiningOp<ScalarOp>();
      ScalarAttr scalar = op.getValueAttr();
      PlacementOp placement = lookupPlacement(op, scalar.getPlacement());
      bound = scalar.getSize();
      // Coordinate 0 holds the largest part of every balanced split.
      for (auto [axis, block] : llvm::zip(scalar.getAxes(), scalar.getBlocks()))
        bound =
            plan::balancedSplit(bound, placement.getAxisSizes()[axis], 0, block)
                .extent;
    }
    bounds.push_back(bound);
  }
  return bounds;
}

bool comm::isCommunication(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, ExchangeOp>(
      op);
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  FlatSymbolRefAttr placement;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, extents;
  SmallVector<Type> inputTypes, resultTypes;
  SMLoc inputsLoc;
  if (parser.parseAttribute(name, getNameAttrName(result.name),
                            result.attributes) ||
      parser.parseKeyword("on") ||
      parser.parseAttribute(placement, getPlacementAttrName(result.name),
                            result.attributes) ||
      parser.getCurrentLocation(&inputsLoc) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        OpAsmParser::Argument &argument = arguments.emplace_back();
        if (parser.parseArgument(argument) || parser.parseEqual() ||
            parser.parseOperand(inputs.emplace_back()) ||
            parser.parseColonType(argument.type))
          return failure();
        inputTypes.push_back(argument.type);
        return success();
      }))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("extents")) &&
      parser.parseOperandList(extents, AsmParser::Delimiter::Paren))
    return failure();
  if (parser.parseArrow() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Paren,
          [&] { return parser.parseType(resultTypes.emplace_back()); }) ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.resolveOperands(inputs, inputTypes, inputsLoc, result.operands) ||
      parser.resolveOperands(extents, parser.getBuilder().getIndexType(),
                             result.operands))
    return failure();
  result.addTypes(resultTypes);
  result.addAttribute(getOperandSegmentSizesAttrName(result.name),
                      parser.getBuilder().getDenseI32ArrayAttr(
                          {static_cast<int32_t>(inputs.size()),
                           static_cast<int32_t>(extents.size())}));
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getNameAttr() << " on " << getPlacementAttr() << " (";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInputs()),
                        printer, [&](auto pair) {
                          auto [argument, input] = pair;
                          printer << argument << " = " << input << " : "
                                  << input.getType();
                        });
  printer << ")";
  if (!getExtents().empty())
    printer << " extents(" << getExtents() << ")";
  printer << " -> (" << getResultTypes() << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getNameAttrName(), getPlacementAttrName(),
                                 getOperandSegmentSizesAttrName()});
}

LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getInputs().size())
    return emitOpError("kernel_c1: expected ")
           << getInputs().size()
           << " region arguments, got: " << body.getNumArguments();
  bool sawScalar = false;
  for (auto [argument, input] : llvm::zip(body.getArguments(), getInputs())) {
    if (argument.getType() != input.getType())
      return emitOpError("kernel_c1: expected a region argument of type ")
             << input.getType() << ", got: " << argument.getType();
    bool scalar = input.getType().isIndex();
    if (!scalar && !isa<RankedTensorType>(input.getType()))
      return emitOpError("kernel_c1: expected tensors and index values, got: ")
             << input.getType();
    if (sawScalar && !scalar)
      return emitOpError("kernel_c1: expected all tensors before the scalars");
    sawScalar |= scalar;
  }
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return emitOpError("kernel_c2: expected a comm.yield at the end");
  if (TypeRange(yield.getValues().getTypes()) != TypeRange(getResultTypes()))
    return emitOpError("kernel_c2: expected to yield ")
           << getResultTypes() << ", got: " << yield.getValues().getTypes();
  int64_t dynamic = 0;
  for (Type type : getResultTypes())
    dynamic += cast<RankedTensorType>(type).getNumDynamicDims();
  if (dynamic != static_cast<int64_t>(getExtents().size()))
    return emitOpError("kernel_c3: expected ")
           << dynamic << " extents, got: " << getExtents().size();
  return success();
}
