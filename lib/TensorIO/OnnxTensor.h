//===- OnnxTensor.h - between TensorProto and Tensor ------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the readers of TensorProto files and of models share. Private to the
// library, since it exposes protobuf.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_TENSORIO_ONNXTENSOR_H
#define ONEFLOW_LIB_TENSORIO_ONNXTENSOR_H

#include "oneflow/TensorIO/Onnx.h"

#include "onnx-ml.pb.h"

namespace oneflow::tensorio {

/// Nothing for types that have no dtype here (strings, complex numbers, floats
/// of eight bits and fewer).
std::optional<DType> dtypeOfOnnx(int32_t dataType);
int32_t onnxOfDType(DType dtype);

/// `what` names the tensor in messages.
Expected<Tensor> tensorFromProto(const onnx::TensorProto &proto,
                                 const std::string &what);

/// Sets type, extents and raw_data, and clears every other form of the value;
/// name and documentation stay.
void setProto(onnx::TensorProto &proto, const Tensor &tensor);

/// Whether the proto holds a value in any form, external data included.
bool hasValue(const onnx::TensorProto &proto);

} // namespace oneflow::tensorio

#endif // ONEFLOW_LIB_TENSORIO_ONNXTENSOR_H
