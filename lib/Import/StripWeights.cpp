//===- StripWeights.cpp - a model without its weights ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan keeps of the model that it was compiled from, so that trained
// weights can be written back into it.
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "TensorData.h"
#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Import/Onnx.h"

#include "llvm/ADT/StringSet.h"

#include <climits>

using namespace mlir;
using namespace oneflow;
using namespace oneflow::importer;

static void clearValue(::onnx::TensorProto &tensor) {
  tensor.clear_raw_data();
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_string_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
}

/// Moves external data into the model.
static LogicalResult embed(Location loc, ::onnx::TensorProto &tensor,
                           StringRef path) {
  FailureOr<HostTensor> data =
      loadTensor(loc, "initializer '" + tensor.name() + "'", tensor, path);
  if (failed(data))
    return failure();
  clearValue(tensor);
  std::string *raw = tensor.mutable_raw_data();
  for (int64_t i = 0, e = data->size(); i < e; ++i)
    raw->append(data->rawAt(i).data(), data->rawAt(i).size());
  return success();
}

FailureOr<std::string> oneflow::stripWeights(StringRef bytes, StringRef path,
                                             ModuleOp module) {
  MLIRContext *context = module.getContext();
  FailureOr<std::unique_ptr<Model>> model = parseModel(context, bytes, path);
  if (failed(model))
    return failure();
  llvm::StringSet<> variables;
  for (VariableOp variable : module.getOps<VariableOp>())
    variables.insert(variable.getSymName());
  ::onnx::ModelProto &proto = (*model)->proto;
  for (::onnx::TensorProto &initializer :
       *proto.mutable_graph()->mutable_initializer()) {
    if (variables.contains(initializer.name()))
      clearValue(initializer);
    else if (isExternal(initializer) &&
             failed(embed((*model)->location(context, initializer.name()),
                          initializer, path)))
      return failure();
  }
  if (proto.ByteSizeLong() > INT_MAX)
    return emitError((*model)->location(context))
           << "the model without its weights takes " << proto.ByteSizeLong()
           << " bytes, an ONNX file can hold 2 GiB at most";
  std::string result;
  if (!proto.SerializePartialToString(&result))
    return emitError((*model)->location(context))
           << "the model cannot be serialized";
  return result;
}
