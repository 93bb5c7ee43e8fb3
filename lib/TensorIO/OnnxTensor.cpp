//===- OnnxTensor.cpp - ONNX TensorProto files ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After onnx.proto: a value stands either in raw_data, little-endian, or in one
// of the typed fields; int32_data also carries every narrower type, and the
// bits of f16 and bf16.
//
//===----------------------------------------------------------------------===//

#include "OnnxTensor.h"
#include "oneflow/TensorIO/AtomicFile.h"

#include <climits>
#include <cstring>

using namespace oneflow::tensorio;
using onnx::TensorProto;

namespace {

struct TypeRow {
  int32_t onnx;
  DType dtype;
};

constexpr TypeRow kTypes[kDTypeCount] = {
    {TensorProto::BOOL, DType::Bool},     {TensorProto::INT8, DType::I8},
    {TensorProto::INT16, DType::I16},     {TensorProto::INT32, DType::I32},
    {TensorProto::INT64, DType::I64},     {TensorProto::UINT8, DType::U8},
    {TensorProto::UINT16, DType::U16},    {TensorProto::UINT32, DType::U32},
    {TensorProto::UINT64, DType::U64},    {TensorProto::FLOAT16, DType::F16},
    {TensorProto::BFLOAT16, DType::BF16}, {TensorProto::FLOAT, DType::F32},
    {TensorProto::DOUBLE, DType::F64}};

/// Appends each value of a typed field, narrowed to T.
template <typename T, typename Field>
void append(const Field &field, Bytes &bytes) {
  bytes.resize(static_cast<size_t>(field.size()) * sizeof(T));
  uint8_t *cursor = bytes.data();
  for (auto value : field) {
    T narrow = static_cast<T>(value);
    std::memcpy(cursor, &narrow, sizeof(T));
    cursor += sizeof(T);
  }
}

Bytes typedValue(const TensorProto &proto, DType dtype) {
  Bytes bytes;
  switch (dtype) {
  case DType::F32:
    append<float>(proto.float_data(), bytes);
    break;
  case DType::F64:
    append<double>(proto.double_data(), bytes);
    break;
  case DType::I64:
    append<int64_t>(proto.int64_data(), bytes);
    break;
  case DType::U64:
    append<uint64_t>(proto.uint64_data(), bytes);
    break;
  case DType::U32:
    append<uint32_t>(proto.uint64_data(), bytes);
    break;
  case DType::I32:
    append<int32_t>(proto.int32_data(), bytes);
    break;
  case DType::I16:
  case DType::U16:
  case DType::F16:
  case DType::BF16:
    append<uint16_t>(proto.int32_data(), bytes);
    break;
  case DType::Bool:
    append<bool>(proto.int32_data(), bytes);
    break;
  case DType::I8:
  case DType::U8:
    append<uint8_t>(proto.int32_data(), bytes);
    break;
  }
  return bytes;
}

} // namespace

std::optional<DType> oneflow::tensorio::dtypeOfOnnx(int32_t dataType) {
  for (const TypeRow &row : kTypes)
    if (row.onnx == dataType)
      return row.dtype;
  return std::nullopt;
}

int32_t oneflow::tensorio::onnxOfDType(DType dtype) {
  for (const TypeRow &row : kTypes)
    if (row.dtype == dtype)
      return row.onnx;
  return TensorProto::UNDEFINED;
}

bool oneflow::tensorio::hasValue(const TensorProto &proto) {
  return proto.has_raw_data() || proto.float_data_size() ||
         proto.int32_data_size() || proto.int64_data_size() ||
         proto.double_data_size() || proto.uint64_data_size() ||
         proto.string_data_size() || proto.external_data_size();
}

Expected<Tensor> oneflow::tensorio::tensorFromProto(const TensorProto &proto,
                                                    const std::string &what) {
  std::optional<DType> dtype = dtypeOfOnnx(proto.data_type());
  if (!dtype)
    return Error{what + " has an element type that is not supported, number " +
                 std::to_string(proto.data_type()) + " of ONNX"};
  if (proto.data_location() == TensorProto::EXTERNAL ||
      proto.external_data_size())
    return Error{what + " has external data, which is not supported"};
  if (proto.has_segment())
    return Error{what + " is a segment of a tensor, which is not supported"};
  Tensor tensor;
  tensor.dtype = *dtype;
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  if (proto.has_raw_data())
    tensor.bytes.assign(proto.raw_data().begin(), proto.raw_data().end());
  else
    tensor.bytes = typedValue(proto, *dtype);
  if (!isConsistent(tensor))
    return Error{what + " of " + describe(tensor.dtype, tensor.shape) +
                 " holds " + std::to_string(tensor.bytes.size()) +
                 " bytes of data"};
  // Any other byte would be neither true nor false to native code.
  if (*dtype == DType::Bool)
    for (uint8_t &value : tensor.bytes)
      value = value != 0;
  return tensor;
}

void oneflow::tensorio::setProto(TensorProto &proto, const Tensor &tensor) {
  proto.clear_segment();
  proto.clear_float_data();
  proto.clear_int32_data();
  proto.clear_string_data();
  proto.clear_int64_data();
  proto.clear_double_data();
  proto.clear_uint64_data();
  proto.clear_external_data();
  proto.clear_data_location();
  proto.set_data_type(onnxOfDType(tensor.dtype));
  proto.clear_dims();
  for (int64_t extent : tensor.shape)
    proto.add_dims(extent);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
}

Expected<NamedTensor>
oneflow::tensorio::parseTensorProto(const uint8_t *data, size_t bytes,
                                    const std::string &name) {
  TensorProto proto;
  if (bytes > INT_MAX || !proto.ParseFromArray(data, static_cast<int>(bytes)))
    return Error{"'" + name + "' is not a serialised ONNX TensorProto"};
  Expected<Tensor> tensor =
      tensorFromProto(proto, "the tensor in '" + name + "'");
  if (!tensor.ok())
    return tensor.error();
  return NamedTensor{proto.name(), std::move(*tensor)};
}

Expected<NamedTensor>
oneflow::tensorio::readTensorProto(const std::string &path) {
  Expected<Bytes> contents = readFile(path);
  if (!contents.ok())
    return contents.error();
  return parseTensorProto(contents->data(), contents->size(), path);
}

Status oneflow::tensorio::writeTensorProto(const std::string &path,
                                           const NamedTensor &named) {
  auto failed = [&](const std::string &what) {
    return Error{"cannot write '" + path + "': " + what};
  };
  if (!isConsistent(named.tensor))
    return failed("the tensor's bytes are not those of " +
                  describe(named.tensor.dtype, named.tensor.shape));
  // Type, extents and name take less than this behind the data.
  constexpr size_t overhead = 1 << 16;
  if (named.tensor.bytes.size() > size_t(INT_MAX) - overhead)
    return failed("a TensorProto cannot pass 2 GiB");
  TensorProto proto;
  proto.set_name(named.name);
  setProto(proto, named.tensor);
  Bytes contents(proto.ByteSizeLong());
  if (!proto.SerializeToArray(contents.data(),
                              static_cast<int>(contents.size())))
    return failed("it cannot be serialised");
  return writeFile(path, contents);
}
