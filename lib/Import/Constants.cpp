//===- Constants.cpp - operators that make constants ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constant in all its forms, ConstantOfShape and Range.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "TensorData.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace oneflow;
using namespace oneflow::importer;
using ::onnx::AttributeProto;

namespace {

template <typename T, typename Values>
HostTensor makeVector(Type element, const Values &values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  char *cursor = bytes.data();
  for (T value : values) {
    std::memcpy(cursor, &value, sizeof(T));
    cursor += sizeof(T);
  }
  return HostTensor(
      RankedTensorType::get({static_cast<int64_t>(values.size())}, element),
      std::move(bytes));
}

/// The tensor that one attribute of a Constant holds.
FailureOr<HostTensor> readValue(NodeImporter &node,
                                const AttributeProto &attribute) {
  StringRef name = attribute.name();
  Builder &builder = node.builder();
  struct Form {
    StringRef name;
    AttributeProto::AttributeType type;
    int64_t since;
  };
  static constexpr Form kForms[] = {
      {"value", AttributeProto::TENSOR, 1},
      {"value_float", AttributeProto::FLOAT, 12},
      {"value_floats", AttributeProto::FLOATS, 12},
      {"value_int", AttributeProto::INT, 12},
      {"value_ints", AttributeProto::INTS, 12}};
  const Form *form = llvm::find_if(
      kForms, [&](const Form &candidate) { return candidate.name == name; });
  if (form == std::end(kForms) || node.opset() < form->since)
    return node.error() << "attribute '" << name
                        << "' is not supported, expected one of value, "
                           "value_float, value_floats, value_int, value_ints";
  if (failed(node.typedAttribute(name, form->type)))
    return failure();
  Type f32 = builder.getF32Type(), i64 = builder.getI64Type();
  switch (form->type) {
  case AttributeProto::TENSOR:
    return loadTensor(node.loc(),
                      "the value of node '" +
                          nodeName(node.proto(), node.index()) + "'",
                      attribute.t(), node.importer().getModel().path);
  case AttributeProto::FLOAT:
    return makeVector<float>(f32, std::vector<float>{attribute.f()})
        .reshaped({});
  case AttributeProto::FLOATS:
    return makeVector<float>(f32, attribute.floats());
  case AttributeProto::INT:
    return makeVector<int64_t>(i64, std::vector<int64_t>{attribute.i()})
        .reshaped({});
  default:
    return makeVector<int64_t>(i64, attribute.ints());
  }
}

} // namespace

LogicalResult importer::importConstant(NodeImporter &node) {
  if (node.proto().attribute_size() != 1)
    return node.error() << "expected one attribute, its value, got "
                        << node.proto().attribute_size();
  FailureOr<HostTensor> value = readValue(node, node.proto().attribute(0));
  return succeeded(value) ? node.setData(std::move(*value)) : failure();
}

FailureOr<bool> importer::foldConstantOfShape(NodeImporter &node) {
  FailureOr<std::vector<int64_t>> shape = node.constantInts(0, "shape");
  auto attribute = node.typedAttribute("value", AttributeProto::TENSOR);
  if (failed(shape) || failed(attribute))
    return failure();
  if (!countElements(*shape))
    return node.error() << "cannot make a tensor of shape ["
                        << ArrayRef<int64_t>(*shape) << "]";
  HostTensor element =
      HostTensor::zeros(RankedTensorType::get({}, node.builder().getF32Type()));
  if (*attribute) {
    FailureOr<HostTensor> value = loadTensor(
        node.loc(),
        "the value of node '" + nodeName(node.proto(), node.index()) + "'",
        (*attribute)->t(), node.importer().getModel().path);
    if (failed(value))
      return failure();
    if (value->size() != 1)
      return node.error() << "its value must have one element, got "
                          << value->type();
    element = *value;
  }
  auto type = RankedTensorType::get(*shape, element.elementType());
  HostTensor result = type.getNumElements()
                          ? HostTensor::splat(type, element.rawAt(0))
                          : HostTensor::zeros(type);
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}

FailureOr<bool> importer::foldRange(NodeImporter &node) {
  HostTensorRef parts[3];
  for (unsigned i = 0; i < 3; ++i) {
    FailureOr<HostTensorRef> part = node.knownInput(i);
    if (failed(part))
      return failure();
    parts[i] = *part;
    if (parts[i]->size() != 1)
      return node.error() << "its operands must be scalars, got "
                          << parts[i]->type();
    if (parts[i]->elementType() != parts[0]->elementType())
      return node.error() << "its operands must have one element type, got "
                          << parts[0]->type() << " and " << parts[i]->type();
  }
  Type element = parts[0]->elementType();
  bool isFloat = isa<FloatType>(element);
  double start = parts[0]->floatAt(0), limit = parts[1]->floatAt(0);
  double delta = parts[2]->floatAt(0);
  double count = std::ceil((limit - start) / delta);
  if (delta == 0 || !std::isfinite(count))
    return node.error() << "cannot count from " << start << " to " << limit
                        << " by " << delta;
  if (count > kFoldLimit)
    return node.error() << "a range of " << count
                        << " elements is not supported, expected " << kFoldLimit
                        << " at most";
  int64_t size = std::max<int64_t>(0, static_cast<int64_t>(count));
  HostTensor result = HostTensor::zeros(RankedTensorType::get({size}, element));
  for (int64_t i = 0; i < size; ++i) {
    if (isFloat)
      result.setFloat(i, start + static_cast<double>(i) * delta);
    else
      result.setInt(i, static_cast<int64_t>(
                           static_cast<uint64_t>(parts[0]->intAt(0)) +
                           static_cast<uint64_t>(i) *
                               static_cast<uint64_t>(parts[2]->intAt(0))));
  }
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}
