//===- Inputs.cpp - graph inputs and symbolic dimensions ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every extent must be known: a symbolic one is bound by an option, by its name
// or by where it stands.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "TensorData.h"
#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

using namespace mlir;
using namespace oneflow::importer;

/// The option that binds an extent without a name.
static std::string positionKey(const ::onnx::ValueInfoProto &info, int axis) {
  return info.name() + ":" + std::to_string(axis);
}

LogicalResult GraphImporter::checkDims() {
  // Sorted, so that messages do not depend on hashing.
  std::vector<std::string> known;
  for (const ::onnx::ValueInfoProto &input : model.graph().input())
    for (auto [axis, dim] :
         llvm::enumerate(input.type().tensor_type().shape().dim())) {
      if (dim.has_dim_value())
        continue;
      known.push_back(dim.dim_param().empty() ? positionKey(input, axis)
                                              : dim.dim_param());
    }
  llvm::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::vector<StringRef> given;
  for (const auto &entry : options.dims)
    given.push_back(entry.getKey());
  llvm::sort(given);
  for (StringRef name : given) {
    int64_t extent = options.dims.lookup(name);
    if (extent < 1)
      return emitError(model.location(builder.getContext()))
             << "--dim " << name << "=" << extent << ": expected at least 1";
    if (llvm::is_contained(known, name))
      continue;
    auto diagnostic = emitError(model.location(builder.getContext()))
                      << "--dim " << name << "=" << extent
                      << ": the model has no such symbolic dimension";
    if (known.empty())
      diagnostic << ", nor any other";
    else
      diagnostic << "; it has: " << llvm::join(known, ", ");
    return diagnostic;
  }
  return success();
}

FailureOr<RankedTensorType>
GraphImporter::bindType(Location loc, const ::onnx::ValueInfoProto &info) {
  std::string what = "input '" + info.name() + "'";
  if (!info.has_type())
    return emitError(loc) << what << ": the model declares no type";
  if (!info.type().has_tensor_type())
    return emitError(loc) << what
                          << ": only tensors are supported, not sequences, "
                             "maps, optional or sparse values";
  const ::onnx::TypeProto::Tensor &tensor = info.type().tensor_type();
  Type element = convertElementType(builder.getContext(), tensor.elem_type());
  if (!element)
    return emitError(loc) << what << ": element type "
                          << elementTypeName(tensor.elem_type())
                          << " is not supported, expected one of "
                          << supportedElementTypes();
  if (!tensor.has_shape())
    return emitError(loc) << what
                          << ": the model declares no shape, not even a rank";
  SmallVector<int64_t> shape;
  for (auto [axis, dim] : llvm::enumerate(tensor.shape().dim())) {
    if (dim.has_dim_value()) {
      if (dim.dim_value() < 0)
        return emitError(loc) << what << ": dimension " << axis
                              << " is negative: " << dim.dim_value();
      shape.push_back(dim.dim_value());
      continue;
    }
    std::string position = positionKey(info, axis);
    const std::string &key =
        dim.dim_param().empty() ? position : dim.dim_param();
    auto bound = options.dims.find(key);
    if (bound == options.dims.end()) {
      auto diagnostic = emitError(loc) << what << ": dimension " << axis;
      if (dim.dim_param().empty())
        diagnostic << " is unknown";
      else
        diagnostic << " is symbolic, '" << key << "'";
      return diagnostic << "; bind it with --dim " << key << "=<extent>";
    }
    shape.push_back(bound->second);
  }
  if (!countElements(shape))
    return emitError(loc) << what
                          << ": its extents make more elements than memory "
                             "can hold";
  return RankedTensorType::get(shape, element);
}

LogicalResult GraphImporter::importInput(const ::onnx::ValueInfoProto &input) {
  Location loc = location(input.name());
  // An input with an initializer is a variable: the initializer is its value.
  auto found = values.find(input.name());
  if (found != values.end()) {
    FailureOr<RankedTensorType> type = bindType(loc, input);
    if (failed(type))
      return failure();
    if (*type != found->second->type)
      return emitError(loc)
             << "input '" << input.name() << "' is declared as " << *type
             << ", its initializer is " << found->second->type;
    return success();
  }
  if (initializers.contains(input.name()))
    return success(); // unused
  FailureOr<RankedTensorType> type = bindType(loc, input);
  if (failed(type))
    return failure();
  GraphValue value;
  value.type = *type;
  value.value =
      InputOp::create(builder, loc, *type, builder.getStringAttr(input.name()),
                      FlatSymbolRefAttr(), SignatureAttr());
  define(input.name(), std::move(value));
  return success();
}
