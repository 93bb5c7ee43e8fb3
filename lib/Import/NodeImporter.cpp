//===- NodeImporter.cpp - one node, as its handler sees it ----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs, results and the building blocks that operators share.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

using namespace mlir;
using namespace oneflow::importer;

NodeImporter::NodeImporter(GraphImporter &graph, const ::onnx::NodeProto &node,
                           int index)
    : graph(graph), node(node), nodeIndex(index),
      location(graph.getModel().location(graph.getBuilder().getContext(),
                                         nodeName(node, index), index)) {}

std::string NodeImporter::operatorName() const {
  std::string domain = node.domain().empty() ? "ai.onnx" : node.domain();
  return domain + "::" + node.op_type() + "-" + std::to_string(opset());
}

InFlightDiagnostic NodeImporter::error() const {
  return emitError(location) << "node '" << nodeName(node, nodeIndex) << "' ("
                             << operatorName() << "): ";
}

bool NodeImporter::hasInput(unsigned i) const {
  return i < inputCount() && !node.input(i).empty();
}

RankedTensorType NodeImporter::inputType(unsigned i) {
  return graph.find(node.input(i)).type;
}

Value NodeImporter::input(unsigned i) {
  return graph.materialize(graph.find(node.input(i)));
}

FailureOr<HostTensorRef> NodeImporter::knownInput(unsigned i) {
  return graph.load(graph.find(node.input(i)));
}

FailureOr<HostTensorRef> NodeImporter::constantInput(unsigned i,
                                                     StringRef role) {
  FailureOr<HostTensorRef> data = knownInput(i);
  if (succeeded(data) && !*data)
    return error()
           << "its " << role << ", '" << node.input(i)
           << "', must be known at import: an initializer, a constant, or "
              "computed from shapes";
  return data;
}

FailureOr<std::vector<int64_t>> NodeImporter::constantInts(unsigned i,
                                                           StringRef role) {
  RankedTensorType type = inputType(i);
  if (!isa<IntegerType>(type.getElementType()) || type.getRank() > 1 ||
      type.getNumElements() > kFoldLimit)
    return error() << "its " << role << ", '" << node.input(i)
                   << "', must be integers of rank 1, got " << type;
  FailureOr<HostTensorRef> data = constantInput(i, role);
  if (failed(data))
    return failure();
  return (*data)->ints();
}

FailureOr<bool> NodeImporter::canFold() {
  for (const std::string &name : node.input()) {
    if (name.empty())
      continue;
    GraphValue &value = graph.find(name);
    if (value.isWeight() || value.type.getNumElements() > kFoldLimit)
      return false;
    FailureOr<HostTensorRef> data = graph.load(value);
    if (failed(data))
      return failure();
    if (!*data)
      return false;
  }
  return true;
}

bool NodeImporter::isUsed(unsigned output) const {
  return static_cast<int>(output) < node.output_size() &&
         !node.output(output).empty() && graph.isUsed(node.output(output));
}

LogicalResult NodeImporter::setResult(Value value, unsigned output) {
  if (!value)
    return failure();
  auto type = llvm::cast<RankedTensorType>(value.getType());
  if (!countElements(type.getShape()))
    return error() << "its result has more elements than memory can hold: "
                   << type;
  if (static_cast<int>(output) < node.output_size() &&
      !node.output(output).empty()) {
    GraphValue result;
    result.type = type;
    result.value = value;
    graph.define(node.output(output), std::move(result));
  }
  return success();
}

LogicalResult NodeImporter::setData(HostTensor data, unsigned output) {
  GraphValue result;
  result.type = data.type();
  result.data = std::make_shared<const HostTensor>(std::move(data));
  if (static_cast<int>(output) < node.output_size() &&
      !node.output(output).empty())
    graph.define(node.output(output), std::move(result));
  return success();
}

LogicalResult NodeImporter::forwardInput(unsigned input, unsigned output) {
  if (static_cast<int>(output) < node.output_size() &&
      !node.output(output).empty())
    graph.alias(node.output(output), node.input(input));
  return success();
}

Value NodeImporter::scalar(double value, Type elementType) {
  HostTensor data = HostTensor::zeros(RankedTensorType::get({}, elementType));
  if (isa<FloatType>(elementType))
    data.setFloat(0, value);
  else
    data.setInt(0, static_cast<int64_t>(value));
  return ConstantOp::create(builder(), location, data.type(),
                            data.toAttribute(""), FlatSymbolRefAttr(),
                            SignatureAttr());
}

Value NodeImporter::reshape(Value x, ArrayRef<int64_t> shape) {
  auto type = llvm::cast<RankedTensorType>(x.getType());
  if (type.getShape() == shape)
    return x;
  return ReshapeOp::create(builder(), location,
                           RankedTensorType::get(shape, type.getElementType()),
                           x, FlatSymbolRefAttr(), SignatureAttr());
}

Value NodeImporter::broadcast(Value x, ArrayRef<int64_t> shape) {
  auto type = llvm::cast<RankedTensorType>(x.getType());
  if (type.getShape() == shape)
    return x;
  return BroadcastOp::create(
      builder(), location, RankedTensorType::get(shape, type.getElementType()),
      x, FlatSymbolRefAttr(), SignatureAttr());
}

Value NodeImporter::cast(Value x, Type elementType) {
  auto type = llvm::cast<RankedTensorType>(x.getType());
  if (type.getElementType() == elementType)
    return x;
  return CastOp::create(builder(), location,
                        RankedTensorType::get(type.getShape(), elementType), x,
                        FlatSymbolRefAttr(), SignatureAttr());
}

FailureOr<SmallVector<int64_t>>
NodeImporter::broadcastShapes(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  size_t rank = std::max(lhs.size(), rhs.size());
  SmallVector<int64_t> shape(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    int64_t a = i < rank - lhs.size() ? 1 : lhs[i - (rank - lhs.size())];
    int64_t b = i < rank - rhs.size() ? 1 : rhs[i - (rank - rhs.size())];
    if (a != b && a != 1 && b != 1)
      return error() << "shapes [" << lhs << "] and [" << rhs
                     << "] do not broadcast";
    shape[i] = a == 1 ? b : a;
  }
  if (!countElements(shape))
    return error() << "shapes [" << lhs << "] and [" << rhs
                   << "] broadcast to more elements than memory can hold";
  return shape;
}

Type NodeImporter::binaryType(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return {};
  auto lhsType = llvm::cast<RankedTensorType>(lhs.getType());
  auto rhsType = llvm::cast<RankedTensorType>(rhs.getType());
  if (lhsType.getElementType() != rhsType.getElementType()) {
    error() << "its operands must have one element type, got " << lhsType
            << " and " << rhsType;
    return {};
  }
  auto shape = broadcastShapes(lhsType.getShape(), rhsType.getShape());
  if (failed(shape))
    return {};
  return RankedTensorType::get(*shape, lhsType.getElementType());
}

LogicalResult NodeImporter::requireFloat(unsigned input) {
  RankedTensorType type = inputType(input);
  if (isa<FloatType>(type.getElementType()))
    return success();
  return error() << "only floats are supported, got '" << node.input(input)
                 << "' of " << type;
}

LogicalResult NodeImporter::requireNumber(unsigned input) {
  RankedTensorType type = inputType(input);
  if (!type.getElementType().isInteger(1))
    return success();
  return error() << "expected numbers, got '" << node.input(input) << "' of "
                 << type;
}

LogicalResult NodeImporter::requireBoolean(unsigned input) {
  RankedTensorType type = inputType(input);
  if (type.getElementType().isInteger(1))
    return success();
  return error() << "expected booleans, got '" << node.input(input) << "' of "
                 << type;
}
