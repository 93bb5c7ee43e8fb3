//===- WithoutOnnx.cpp - the build without ONNX ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for OnnxTensor.cpp and OnnxModel.cpp where ONNX support is not
// built.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/Onnx.h"

using namespace oneflow::tensorio;

static Error notBuilt() {
  return {"ONNX support was not built (CMake option ONEFLOW_WITH_ONNX)"};
}

Expected<NamedTensor> oneflow::tensorio::parseTensorProto(const uint8_t *,
                                                          size_t,
                                                          const std::string &) {
  return notBuilt();
}

Expected<NamedTensor> oneflow::tensorio::readTensorProto(const std::string &) {
  return notBuilt();
}

Status oneflow::tensorio::writeTensorProto(const std::string &,
                                           const NamedTensor &) {
  return notBuilt();
}

Expected<std::vector<std::string>>
oneflow::tensorio::listModelTensors(const Bytes &) {
  return notBuilt();
}

Expected<Bytes> oneflow::tensorio::writeTrainedModel(const Bytes &,
                                                     const TensorMap &) {
  return notBuilt();
}
