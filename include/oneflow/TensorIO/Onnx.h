//===- oneflow/TensorIO/Onnx.h - tensors of ONNX ----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes serialised ONNX TensorProto files, and writes new weights
// into an ONNX model. The header exposes no protobuf; in a build without ONNX
// support every function returns an error that says so.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TENSORIO_ONNX_H
#define ONEFLOW_TENSORIO_ONNX_H

#include "oneflow/TensorIO/Status.h"
#include "oneflow/TensorIO/Tensor.h"

namespace oneflow::tensorio {

struct NamedTensor {
  /// Empty where the file gives none.
  std::string name;
  Tensor tensor;
};

/// Parses a serialised TensorProto, with raw_data or typed fields. External
/// data is refused. `name` stands in messages.
Expected<NamedTensor> parseTensorProto(const uint8_t *data, size_t bytes,
                                       const std::string &name);
Expected<NamedTensor> readTensorProto(const std::string &path);

Status writeTensorProto(const std::string &path, const NamedTensor &tensor);

/// Names of the tensors that writeTrainedModel can replace in a serialised
/// ModelProto: initializers of the main graph and outputs of its Constant nodes
/// with a dense value.
Expected<std::vector<std::string>> listModelTensors(const Bytes &model);

/// The serialised ModelProto `model` with the values of `weights` in place of
/// the initializers or Constant values of these names, all else unchanged. An
/// error when the model has no tensor of a name, when dtype or shape differ,
/// when an initializer would be left without any value (source models are kept
/// without their weights), or when the result would pass protobuf's 2 GiB.
Expected<Bytes> writeTrainedModel(const Bytes &model, const TensorMap &weights);

} // namespace oneflow::tensorio

#endif // ONEFLOW_TENSORIO_ONNX_H
