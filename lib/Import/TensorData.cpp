//===- TensorData.cpp - values of TensorProtos ----------------------------===//
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

#include "TensorData.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace oneflow::importer;
using ::onnx::TensorProto;

Type oneflow::importer::convertElementType(MLIRContext *context,
                                           int32_t onnxType) {
  Builder builder(context);
  switch (onnxType) {
  case TensorProto::FLOAT:
    return builder.getF32Type();
  case TensorProto::DOUBLE:
    return builder.getF64Type();
  case TensorProto::FLOAT16:
    return builder.getF16Type();
  case TensorProto::BFLOAT16:
    return builder.getBF16Type();
  case TensorProto::INT8:
    return builder.getI8Type();
  case TensorProto::INT16:
    return builder.getI16Type();
  case TensorProto::INT32:
    return builder.getI32Type();
  case TensorProto::INT64:
    return builder.getI64Type();
  case TensorProto::BOOL:
    return builder.getI1Type();
  default:
    return {};
  }
}

StringRef oneflow::importer::supportedElementTypes() {
  return "FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT8, INT16, INT32, INT64, BOOL";
}

std::string oneflow::importer::elementTypeName(int32_t onnxType) {
  if (TensorProto::DataType_IsValid(onnxType))
    return TensorProto::DataType_Name(
        static_cast<TensorProto::DataType>(onnxType));
  return "number " + std::to_string(onnxType);
}

bool oneflow::importer::isExternal(const TensorProto &tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

FailureOr<RankedTensorType>
oneflow::importer::tensorTypeOf(Location loc, StringRef what,
                                const TensorProto &tensor) {
  Type element = convertElementType(loc.getContext(), tensor.data_type());
  if (!element)
    return emitError(loc) << what << ": element type "
                          << elementTypeName(tensor.data_type())
                          << " is not supported, expected one of "
                          << supportedElementTypes();
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  for (int64_t extent : shape)
    if (extent < 0)
      return emitError(loc) << what << ": negative extent " << extent;
  if (!countElements(shape))
    return emitError(loc) << what << ": its " << shape.size()
                          << " extents make more elements than memory can hold";
  return RankedTensorType::get(shape, element);
}

namespace {

/// Elements in the typed field of the tensor's type.
int64_t typedCount(const TensorProto &tensor) {
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return tensor.float_data_size();
  case TensorProto::DOUBLE:
    return tensor.double_data_size();
  case TensorProto::INT64:
    return tensor.int64_data_size();
  default:
    return tensor.int32_data_size();
  }
}

template <typename T, typename Field>
void append(const Field &field, std::vector<char> &bytes) {
  bytes.reserve(field.size() * sizeof(T));
  for (auto value : field) {
    T narrow = static_cast<T>(value);
    const char *data = reinterpret_cast<const char *>(&narrow);
    bytes.insert(bytes.end(), data, data + sizeof(T));
  }
}

void appendTyped(const TensorProto &tensor, std::vector<char> &bytes) {
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return append<float>(tensor.float_data(), bytes);
  case TensorProto::DOUBLE:
    return append<double>(tensor.double_data(), bytes);
  case TensorProto::INT64:
    return append<int64_t>(tensor.int64_data(), bytes);
  case TensorProto::INT32:
    return append<int32_t>(tensor.int32_data(), bytes);
  case TensorProto::INT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return append<uint16_t>(tensor.int32_data(), bytes);
  default:
    return append<uint8_t>(tensor.int32_data(), bytes);
  }
}

} // namespace

LogicalResult oneflow::importer::checkTensor(Location loc, StringRef what,
                                             const TensorProto &tensor,
                                             StringRef modelPath) {
  FailureOr<RankedTensorType> type = tensorTypeOf(loc, what, tensor);
  if (failed(type))
    return failure();
  if (tensor.has_segment())
    return emitError(loc) << what << ": segments of tensors are not supported";
  int64_t count = type->getNumElements();
  uint64_t expected = count * elementBytes(type->getElementType());
  if (isExternal(tensor))
    return readExternalData(loc, what, tensor, modelPath, expected, nullptr);
  if (tensor.has_raw_data()) {
    if (tensor.raw_data().size() != expected)
      return emitError(loc)
             << what << " of type " << *type << " needs " << expected
             << " bytes of raw_data, got " << tensor.raw_data().size();
    return success();
  }
  if (typedCount(tensor) != count)
    return emitError(loc) << what << " of type " << *type << " needs " << count
                          << " elements, got " << typedCount(tensor);
  return success();
}

FailureOr<HostTensor> oneflow::importer::loadTensor(Location loc,
                                                    StringRef what,
                                                    const TensorProto &tensor,
                                                    StringRef modelPath) {
  if (failed(checkTensor(loc, what, tensor, modelPath)))
    return failure();
  RankedTensorType type = *tensorTypeOf(loc, what, tensor);
  Type element = type.getElementType();
  std::vector<char> bytes;
  if (isExternal(tensor)) {
    uint64_t expected = type.getNumElements() * elementBytes(element);
    if (failed(
            readExternalData(loc, what, tensor, modelPath, expected, &bytes)))
      return failure();
  } else if (tensor.has_raw_data()) {
    bytes.assign(tensor.raw_data().begin(), tensor.raw_data().end());
  } else {
    appendTyped(tensor, bytes);
  }
  // Any other byte would be neither true nor false to native code.
  if (element.isInteger(1))
    for (char &value : bytes)
      value = value != 0;
  return HostTensor(type, std::move(bytes));
}
