//===- Model.cpp - reading a model ----------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files and bytes to a ModelProto, and the locations of what is in it.
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"

#include <climits>

using namespace mlir;
using namespace oneflow::importer;

Location Model::location(MLIRContext *context) const {
  return FileLineColLoc::get(context, path, 0, 0);
}

Location Model::location(MLIRContext *context, StringRef name,
                         unsigned line) const {
  return NameLoc::get(StringAttr::get(context, name),
                      FileLineColLoc::get(context, path, line, 0));
}

std::string oneflow::importer::nodeName(const ::onnx::NodeProto &node,
                                        int index) {
  if (!node.name().empty())
    return node.name();
  return node.op_type() + "_" + std::to_string(index);
}

FailureOr<std::unique_ptr<Model>>
oneflow::importer::parseModel(MLIRContext *context, StringRef bytes,
                              StringRef path) {
  auto model = std::make_unique<Model>();
  model->path = path.str();
  if (bytes.size() > INT_MAX)
    return emitError(model->location(context))
           << "an ONNX file can hold 2 GiB at most, got " << bytes.size()
           << " bytes; larger models store their weights as external data";
  // protobuf's own messages would go to stderr beside the diagnostics.
  google::protobuf::LogSilencer silence;
  if (!model->proto.ParsePartialFromArray(bytes.data(),
                                          static_cast<int>(bytes.size())))
    return emitError(model->location(context))
           << "not a serialized ONNX model (protobuf cannot parse it)";
  return model;
}

FailureOr<std::unique_ptr<Model>>
oneflow::importer::readModel(MLIRContext *context, StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(FileLineColLoc::get(context, path, 0, 0))
           << "cannot read the model: " << buffer.getError().message();
  return parseModel(context, (*buffer)->getBuffer(), path);
}
