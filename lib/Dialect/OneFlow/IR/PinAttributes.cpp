//===- PinAttributes.cpp - how users pin ops in the IR --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text form of shardings, and the verification of `oneflow.sbp` and
// `oneflow.sharding`.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/OneFlow/IR/Parts.h"
#include "oneflow/Sbp/Hints.h"

using namespace mlir;
using namespace oneflow;

bool oneflow::isPinned(Operation *op) {
  return op->hasAttr(kSbpAttrName) || op->hasAttr(kShardingAttrName);
}

//===----------------------------------------------------------------------===//
// ShardingAttr
//===----------------------------------------------------------------------===//

ShardingAttr ShardingAttr::get(MLIRContext *context, bool isOperand,
                               unsigned index, const sbp::Sharding &sharding,
                               int64_t devices) {
  SmallVector<Attribute> groups, dims;
  for (const std::vector<int64_t> &group : sharding.groups)
    groups.push_back(DenseI64ArrayAttr::get(context, group));
  for (const sbp::ShardedDim &dim : sharding.dims) {
    SmallVector<int64_t> numbers = {dim.dim, dim.shards};
    if (dim.block != 1)
      numbers.push_back(dim.block);
    dims.push_back(DenseI64ArrayAttr::get(context, numbers));
  }
  return get(context, isOperand, index, ArrayAttr::get(context, groups),
             ArrayAttr::get(context, dims), devices);
}

sbp::Sharding ShardingAttr::toSharding() const {
  sbp::Sharding sharding;
  for (auto group : getGroups().getAsRange<DenseI64ArrayAttr>())
    sharding.groups.emplace_back(group.asArrayRef().begin(),
                                 group.asArrayRef().end());
  for (auto dim : getDims().getAsRange<DenseI64ArrayAttr>()) {
    ArrayRef<int64_t> numbers = dim.asArrayRef();
    sharding.dims.push_back(
        {numbers[0], numbers[1], numbers.size() > 2 ? numbers[2] : 1});
  }
  return sharding;
}

static void printLists(AsmPrinter &printer, ArrayAttr lists) {
  printer << "[";
  llvm::interleaveComma(lists.getAsRange<DenseI64ArrayAttr>(), printer,
                        [&](DenseI64ArrayAttr list) {
                          printer << "[";
                          llvm::interleaveComma(list.asArrayRef(), printer);
                          printer << "]";
                        });
  printer << "]";
}

/// Lists of `least` to `most` numbers.
static ParseResult parseLists(AsmParser &parser, StringRef keyword,
                              size_t least, size_t most, ArrayAttr &lists) {
  SmallVector<Attribute> parsed;
  if (parser.parseKeyword(keyword) || parser.parseEqual() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square, [&]() -> ParseResult {
            SmallVector<int64_t> list;
            SMLoc loc = parser.getCurrentLocation();
            if (parser.parseCommaSeparatedList(
                    AsmParser::Delimiter::Square,
                    [&] { return parser.parseInteger(list.emplace_back()); }))
              return failure();
            if (list.size() < least || list.size() > most)
              return parser.emitError(loc)
                     << "expected at least " << least << " numbers in one of "
                     << keyword << ", got: " << list.size();
            parsed.push_back(DenseI64ArrayAttr::get(parser.getContext(), list));
            return success();
          }))
    return failure();
  lists = ArrayAttr::get(parser.getContext(), parsed);
  return success();
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << (getIsOperand() ? "in " : "out ") << getIndex()
          << ", groups = ";
  printLists(printer, getGroups());
  printer << ", dims = ";
  printLists(printer, getDims());
  printer << ", devices = " << getDevices() << ">";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  unsigned index;
  int64_t devices;
  ArrayAttr groups, dims;
  if (parser.parseLess())
    return {};
  bool isOperand = succeeded(parser.parseOptionalKeyword("in"));
  if ((!isOperand && parser.parseKeyword("out")) ||
      parser.parseInteger(index) || parser.parseComma() ||
      parseLists(parser, "groups", 1, size_t(-1), groups) ||
      parser.parseComma() || parseLists(parser, "dims", 2, 3, dims) ||
      parser.parseComma() || parser.parseKeyword("devices") ||
      parser.parseEqual())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(devices) || parser.parseGreater())
    return {};
  if (devices < 1) {
    parser.emitError(loc) << "expected at least 1 device, got: " << devices;
    return {};
  }
  return get(parser.getContext(), isOperand, index, groups, dims, devices);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// That there is an operand or result of that number.
static LogicalResult verifyEndpoint(Operation *op, StringRef name,
                                    bool isOperand, unsigned index) {
  unsigned count = isOperand ? op->getNumOperands() : op->getNumResults();
  if (index < count)
    return success();
  return op->emitOpError() << "'" << name << "' asks for "
                           << (isOperand ? "in" : "out") << index
                           << ", the op has operands: " << op->getNumOperands()
                           << ", results: " << op->getNumResults();
}

static LogicalResult verifyPins(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (isa<ReadOp, UpdateOp, GradientOp>(op))
    return op->emitOpError()
           << "'" << name
           << "' goes with the variable, as which this op lies, or with the "
              "op that uses the value";
  if (!isa<VariableOp, SpreadOpInterface>(op))
    return op->emitOpError()
           << "'" << name << "' goes with variables and ops of the graph";
  auto texts = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!texts)
    return op->emitOpError() << "'" << name << "': expected a list of texts";
  for (Attribute entry : texts) {
    auto text = dyn_cast<StringAttr>(entry);
    if (!text)
      return op->emitOpError()
             << "'" << name << "': expected a text, got: " << entry;
    std::string reason;
    std::optional<sbp::Hint> pin = sbp::parsePin(text.getValue(), &reason);
    if (!pin)
      return op->emitOpError() << "'" << name << "': " << reason;
    if (pin->endpoint == sbp::Hint::Endpoint::Self)
      continue;
    if (failed(verifyEndpoint(op, name,
                              pin->endpoint == sbp::Hint::Endpoint::Operand,
                              pin->index)))
      return failure();
  }
  return success();
}

static LogicalResult verifyShardings(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  // What a batch norm is decomposed into takes over its own.
  if (!isa<SpreadOpInterface, BatchNormOp>(op) ||
      isa<ReadOp, UpdateOp, GradientOp>(op))
    return op->emitOpError()
           << "'" << name << "' goes with the ops that compute";
  auto shardings = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!shardings)
    return op->emitOpError()
           << "'" << name << "': expected a list of shardings";
  for (Attribute entry : shardings) {
    auto sharding = dyn_cast<ShardingAttr>(entry);
    if (!sharding)
      return op->emitOpError()
             << "'" << name << "': expected a sharding, got: " << entry;
    if (failed(verifyEndpoint(op, name, sharding.getIsOperand(),
                              sharding.getIndex())))
      return failure();
  }
  return success();
}

LogicalResult
OneFlowDialect::verifyOperationAttribute(Operation *op,
                                         NamedAttribute attribute) {
  if (attribute.getName() == kSbpAttrName)
    return verifyPins(op, attribute);
  if (attribute.getName() == kShardingAttrName)
    return verifyShardings(op, attribute);
  if (attribute.getName() == kPerMicroBatchAttrName) {
    if (isa<ReduceOp>(op) && isa<UnitAttr>(attribute.getValue()))
      return success();
    return op->emitOpError() << "'" << kPerMicroBatchAttrName
                             << "' goes with a reduction, without a value";
  }
  if (attribute.getName() == kPackedAttrName &&
      isa<IntegerAttr>(attribute.getValue()))
    return success();
  // Outputs that hold gradients, which are summed over micro-batches.
  if (attribute.getName() == "oneflow.gradient" && isa<OutputOp>(op) &&
      isa<UnitAttr>(attribute.getValue()))
    return success();
  // Kernels carry others.
  if (!isa<VariableOp, SpreadOpInterface>(op))
    return success();
  return op->emitOpError() << "the dialect has no attribute '"
                           << attribute.getName().getValue() << "', it has '"
                           << kSbpAttrName << "' and '" << kShardingAttrName
                           << "'";
}
