//===- Attributes.cpp - attributes of a node ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Typed reading of attributes, and axes in ONNX's way of counting.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

using namespace mlir;
using namespace oneflow::importer;
using ::onnx::AttributeProto;

const AttributeProto *NodeImporter::attribute(StringRef name) const {
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

FailureOr<const AttributeProto *>
NodeImporter::typedAttribute(StringRef name,
                             AttributeProto::AttributeType type) {
  knownAttributes.insert(name);
  const AttributeProto *found = attribute(name);
  if (!found || found->type() == type)
    return found;
  return error() << "attribute '" << name << "' must be of type "
                 << AttributeProto::AttributeType_Name(type) << ", got "
                 << AttributeProto::AttributeType_Name(found->type());
}

FailureOr<int64_t> NodeImporter::intAttribute(StringRef name,
                                              int64_t otherwise) {
  auto found = typedAttribute(name, AttributeProto::INT);
  if (failed(found))
    return failure();
  return *found ? (*found)->i() : otherwise;
}

FailureOr<double> NodeImporter::floatAttribute(StringRef name,
                                               double otherwise) {
  auto found = typedAttribute(name, AttributeProto::FLOAT);
  if (failed(found))
    return failure();
  return *found ? static_cast<double>((*found)->f()) : otherwise;
}

FailureOr<std::string> NodeImporter::stringAttribute(StringRef name,
                                                     StringRef otherwise) {
  auto found = typedAttribute(name, AttributeProto::STRING);
  if (failed(found))
    return failure();
  return *found ? (*found)->s() : otherwise.str();
}

FailureOr<std::optional<std::vector<int64_t>>>
NodeImporter::intsAttribute(StringRef name) {
  auto found = typedAttribute(name, AttributeProto::INTS);
  if (failed(found))
    return failure();
  if (!*found)
    return std::optional<std::vector<int64_t>>();
  return std::optional(
      std::vector<int64_t>((*found)->ints().begin(), (*found)->ints().end()));
}

LogicalResult NodeImporter::checkAttributes() {
  llvm::StringSet<> seen;
  for (const AttributeProto &attribute : node.attribute()) {
    if (!seen.insert(attribute.name()).second)
      return error() << "duplicate attribute '" << attribute.name() << "'";
    if (!knownAttributes.contains(attribute.name()))
      return error() << "attribute '" << attribute.name()
                     << "' is not one of this version of the operator";
  }
  return success();
}

FailureOr<int64_t> NodeImporter::normalizeAxis(int64_t axis, int64_t rank,
                                               bool end) {
  int64_t last = end ? rank : rank - 1;
  if (axis < -rank || axis > last)
    return error() << "axis " << axis << " is not one of a tensor of rank "
                   << rank;
  return axis < 0 ? axis + rank : axis;
}

FailureOr<std::vector<int64_t>>
NodeImporter::normalizeAxes(ArrayRef<int64_t> axes, int64_t rank) {
  std::vector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> normalized = normalizeAxis(axis, rank);
    if (failed(normalized))
      return failure();
    result.push_back(*normalized);
  }
  llvm::sort(result);
  for (size_t i = 1; i < result.size(); ++i)
    if (result[i] == result[i - 1])
      return error() << "axis " << result[i] << " is given twice";
  return result;
}
