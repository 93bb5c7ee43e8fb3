//===- Assembly.cpp - text forms shared by ops ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing and printing of SBP states, signatures, spreads and meshes.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/Assembly.h"
#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

using namespace mlir;
using namespace oneflow;

static ParseResult parseReducer(AsmParser &parser, sbp::Reducer &reducer) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  for (sbp::Reducer candidate : {sbp::Reducer::Sum, sbp::Reducer::Max,
                                 sbp::Reducer::Min, sbp::Reducer::Prod}) {
    if (keyword == StringRef(sbp::toString(candidate))) {
      reducer = candidate;
      return success();
    }
  }
  return parser.emitError(loc)
         << "expected a reducer (sum, max, min or prod), got: " << keyword;
}

static ParseResult parseAxis(AsmParser &parser, sbp::Sbp &axis) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  if (keyword == "B") {
    axis = sbp::Sbp::broadcast();
    return success();
  }
  if (keyword == "P") {
    axis = sbp::Sbp::partial();
    return failure(parser.parseLParen() || parseReducer(parser, axis.reducer) ||
                   parser.parseRParen());
  }
  if (keyword == "S") {
    axis = sbp::Sbp::split(0);
    if (parser.parseLParen() || parser.parseInteger(axis.dim))
      return failure();
    if (axis.dim < 0)
      return parser.emitError(loc)
             << "expected a split dimension of at least 0, got: " << axis.dim;
    if (succeeded(parser.parseOptionalComma())) {
      if (parser.parseKeyword("block") || parser.parseEqual() ||
          parser.parseInteger(axis.block))
        return failure();
      if (axis.block < 1)
        return parser.emitError(loc)
               << "expected a block of at least 1, got: " << axis.block;
    }
    return parser.parseRParen();
  }
  return parser.emitError(loc)
         << "expected S(dim), B or P(reducer), got: " << keyword;
}

ParseResult oneflow::parseNdSbp(AsmParser &parser, NdSbpAttr &result) {
  sbp::NdSbp axes;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parseAxis(parser, axes.emplace_back());
      }))
    return failure();
  result = NdSbpAttr::get(parser.getContext(), axes);
  return success();
}

void oneflow::printNdSbp(AsmPrinter &printer, NdSbpAttr attr) {
  printer << sbp::toString(attr.toNdSbp());
}

void oneflow::printNdSbp(AsmPrinter &printer, Operation *, NdSbpAttr attr) {
  if (attr)
    printNdSbp(printer, attr);
}

static ParseResult parseStates(AsmParser &parser,
                               SmallVectorImpl<NdSbpAttr> &states) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
    return parseNdSbp(parser, states.emplace_back());
  });
}

ParseResult oneflow::parseSignature(AsmParser &parser, SignatureAttr &result) {
  SmallVector<NdSbpAttr> operands, results;
  if (parseStates(parser, operands) || parser.parseArrow() ||
      parseStates(parser, results))
    return failure();
  result = SignatureAttr::get(parser.getContext(), operands, results);
  return success();
}

void oneflow::printSignature(AsmPrinter &printer, SignatureAttr attr) {
  printer << sbp::toString(attr.toNdSignature());
}

ParseResult oneflow::parseSpread(OpAsmParser &parser,
                                 FlatSymbolRefAttr &placement,
                                 SignatureAttr &signature) {
  if (succeeded(parser.parseOptionalKeyword("on")) &&
      parser.parseAttribute(placement))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("sbp")) &&
      parseSignature(parser, signature))
    return failure();
  return success();
}

void oneflow::printSpread(OpAsmPrinter &printer, Operation *,
                          FlatSymbolRefAttr placement,
                          SignatureAttr signature) {
  if (placement)
    printer << " on " << placement;
  if (signature) {
    printer << " sbp ";
    printSignature(printer, signature);
  }
}

ParseResult oneflow::parseMeshAxes(OpAsmParser &parser, ArrayAttr &names,
                                   DenseI64ArrayAttr &sizes) {
  SmallVector<Attribute> axisNames;
  SmallVector<int64_t> axisSizes;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        StringRef name;
        if (parser.parseKeyword(&name) || parser.parseEqual() ||
            parser.parseInteger(axisSizes.emplace_back()))
          return failure();
        axisNames.push_back(parser.getBuilder().getStringAttr(name));
        return success();
      }))
    return failure();
  names = parser.getBuilder().getArrayAttr(axisNames);
  sizes = parser.getBuilder().getDenseI64ArrayAttr(axisSizes);
  return success();
}

void oneflow::printMeshAxes(OpAsmPrinter &printer, Operation *, ArrayAttr names,
                            DenseI64ArrayAttr sizes) {
  printer << "[";
  llvm::interleaveComma(
      llvm::zip(names.getAsRange<StringAttr>(), sizes.asArrayRef()), printer,
      [&](auto axis) {
        printer << std::get<0>(axis).getValue() << " = " << std::get<1>(axis);
      });
  printer << "]";
}
