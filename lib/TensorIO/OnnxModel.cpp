//===- OnnxModel.cpp - new weights for an ONNX model ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces values in a serialised model and leaves its graph alone. Only the
// main graph is looked at: names in the bodies of If and Loop shadow its own.
//
//===----------------------------------------------------------------------===//

#include "OnnxTensor.h"

#include <climits>
#include <set>

using namespace oneflow::tensorio;

namespace {

/// The tensor of a Constant node that a weight can replace, or null.
onnx::TensorProto *constantValue(onnx::NodeProto &node) {
  if (node.op_type() != "Constant" || node.output_size() != 1)
    return nullptr;
  for (onnx::AttributeProto &attribute : *node.mutable_attribute())
    if (attribute.name() == "value" && attribute.has_t())
      return attribute.mutable_t();
  return nullptr;
}

using Slots = std::map<std::string, onnx::TensorProto *>;

/// Every tensor that can be replaced, by the name that the graph calls it by.
Slots findSlots(onnx::GraphProto &graph) {
  Slots slots;
  for (onnx::TensorProto &initializer : *graph.mutable_initializer())
    slots.emplace(initializer.name(), &initializer);
  for (onnx::NodeProto &node : *graph.mutable_node())
    if (onnx::TensorProto *value = constantValue(node))
      slots.emplace(node.output(0), value);
  return slots;
}

Status parseModel(const Bytes &bytes, onnx::ModelProto &model) {
  if (bytes.size() > INT_MAX ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      !model.has_graph())
    return Error{"the model is not a serialised ONNX ModelProto"};
  return {};
}

Status replace(onnx::TensorProto &slot, const std::string &name,
               const Tensor &weight) {
  std::optional<DType> dtype = dtypeOfOnnx(slot.data_type());
  Shape shape(slot.dims().begin(), slot.dims().end());
  if (!isConsistent(weight))
    return Error{"the bytes of '" + name + "' are not those of " +
                 describe(weight.dtype, weight.shape)};
  if (dtype != weight.dtype || shape != weight.shape)
    return Error{"the model's '" + name + "' is " +
                 (dtype ? describe(*dtype, shape) : "of another type") +
                 ", got: " + describe(weight.dtype, weight.shape)};
  setProto(slot, weight);
  return {};
}

/// Whether a tensor without a value has no element and so is complete.
bool isEmpty(const onnx::TensorProto &proto) {
  for (int64_t extent : proto.dims())
    if (extent == 0)
      return true;
  return false;
}

} // namespace

Expected<std::vector<std::string>>
oneflow::tensorio::listModelTensors(const Bytes &bytes) {
  onnx::ModelProto model;
  if (Status status = parseModel(bytes, model); !status.ok())
    return status.error();
  std::vector<std::string> names;
  for (const auto &[name, slot] : findSlots(*model.mutable_graph()))
    names.push_back(name);
  return names;
}

Expected<Bytes> oneflow::tensorio::writeTrainedModel(const Bytes &bytes,
                                                     const TensorMap &weights) {
  onnx::ModelProto model;
  if (Status status = parseModel(bytes, model); !status.ok())
    return status.error();
  // Before anything is copied: what is not replaced only makes it larger.
  uint64_t weightBytes = 0;
  for (const auto &[name, weight] : weights)
    weightBytes += weight.bytes.size();
  auto tooLarge = [](uint64_t size) {
    return Error{"the model would take " + std::to_string(size) +
                 " bytes, more than the 2 GiB that one ONNX file can hold, and "
                 "writing weights as external data is not supported"};
  };
  if (weightBytes > INT_MAX)
    return tooLarge(weightBytes);

  Slots slots = findSlots(*model.mutable_graph());
  for (const auto &[name, weight] : weights) {
    auto found = slots.find(name);
    if (found == slots.end())
      return Error{"the model has no initializer or constant '" + name + "'"};
    if (Status status = replace(*found->second, name, weight); !status.ok())
      return status.error();
  }
  for (const auto &[name, slot] : slots) {
    if (!hasValue(*slot) && !isEmpty(*slot))
      return Error{"no value is given for the model's initializer '" + name +
                   "'"};
    if (slot->data_location() == onnx::TensorProto::EXTERNAL)
      return Error{"the model's '" + name +
                   "' has external data, which is not supported"};
  }
  uint64_t size = model.ByteSizeLong();
  if (size > INT_MAX)
    return tooLarge(size);
  Bytes result(size);
  if (!model.SerializeToArray(result.data(), static_cast<int>(size)))
    return Error{"the model cannot be serialised"};
  return result;
}
