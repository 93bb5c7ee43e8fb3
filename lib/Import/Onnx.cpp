//===- Onnx.cpp - the importer's entry points -----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a file or bytes to a module.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Import/Onnx.h"
#include "GraphImporter.h"

#include <climits>

using namespace mlir;
using namespace oneflow;
using namespace oneflow::importer;

static FailureOr<OwningOpRef<ModuleOp>>
importModel(MLIRContext *context, FailureOr<std::unique_ptr<Model>> model,
            const OnnxImportOptions &options) {
  if (failed(model) || failed(validateModel(context, **model)))
    return failure();
  return GraphImporter(context, **model, options).run();
}

std::vector<OnnxNodeNames> oneflow::listOnnxNodes(StringRef bytes) {
  google::protobuf::LogSilencer silence;
  ::onnx::ModelProto proto;
  std::vector<OnnxNodeNames> nodes;
  if (bytes.size() > INT_MAX ||
      !proto.ParsePartialFromArray(bytes.data(),
                                   static_cast<int>(bytes.size())))
    return nodes;
  for (auto [index, node] : llvm::enumerate(proto.graph().node()))
    nodes.push_back({nodeName(node, static_cast<int>(index)),
                     node.op_type(),
                     {node.input().begin(), node.input().end()},
                     {node.output().begin(), node.output().end()}});
  return nodes;
}

FailureOr<OwningOpRef<ModuleOp>>
oneflow::importOnnx(MLIRContext *context, StringRef path,
                    const OnnxImportOptions &options) {
  return importModel(context, readModel(context, path), options);
}

FailureOr<OwningOpRef<ModuleOp>>
oneflow::importOnnxBytes(MLIRContext *context, StringRef bytes, StringRef path,
                         const OnnxImportOptions &options) {
  return importModel(context, parseModel(context, bytes, path), options);
}
