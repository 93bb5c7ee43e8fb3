//===- Tensor.cpp - a tensor in host memory -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element types, sizes and element access.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/Tensor.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

using namespace oneflow::tensorio;

namespace {

struct DTypeRow {
  const char *name;
  size_t size;
};

// In the order of DType.
constexpr DTypeRow kDTypes[kDTypeCount] = {
    {"bool", 1}, {"i8", 1},  {"i16", 2}, {"i32", 4}, {"i64", 8},
    {"u8", 1},   {"u16", 2}, {"u32", 4}, {"u64", 8}, {"f16", 2},
    {"bf16", 2}, {"f32", 4}, {"f64", 8}};

template <typename T> T load(const uint8_t *address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

double halfToDouble(uint16_t bits) {
  int exponent = (bits >> 10) & 0x1f;
  int mantissa = bits & 0x3ff;
  double magnitude;
  if (exponent == 0x1f)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, -24);
  else
    magnitude = std::ldexp(mantissa + 0x400, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double bfloatToDouble(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

} // namespace

size_t oneflow::tensorio::dtypeSize(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)].size;
}

const char *oneflow::tensorio::dtypeName(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)].name;
}

std::optional<TensorSize> oneflow::tensorio::tensorSize(DType dtype,
                                                        const Shape &shape) {
  constexpr uint64_t limit = std::numeric_limits<int64_t>::max();
  // Zero extents are left out of the bound, so that no product of some of the
  // extents can overflow later either.
  uint64_t bound = dtypeSize(dtype);
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (bound > limit / static_cast<uint64_t>(extent))
      return std::nullopt;
    bound *= static_cast<uint64_t>(extent);
  }
  uint64_t bytes = empty ? 0 : bound;
  return TensorSize{bytes / dtypeSize(dtype), bytes};
}

std::string oneflow::tensorio::describe(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string oneflow::tensorio::describe(DType dtype, const Shape &shape) {
  return std::string(dtypeName(dtype)) + " " + describe(shape);
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  std::optional<TensorSize> size = tensorSize(dtype, shape);
  assert(size && "the shape must have a size");
  return {dtype, std::move(shape), Bytes(size->bytes)};
}

bool oneflow::tensorio::isConsistent(const Tensor &tensor) {
  std::optional<TensorSize> size = tensorSize(tensor.dtype, tensor.shape);
  return size && size->bytes == tensor.bytes.size();
}

double oneflow::tensorio::elementAsDouble(const Tensor &tensor,
                                          uint64_t index) {
  const uint8_t *address =
      tensor.bytes.data() + index * dtypeSize(tensor.dtype);
  switch (tensor.dtype) {
  case DType::Bool:
    return load<uint8_t>(address) != 0;
  case DType::I8:
    return load<int8_t>(address);
  case DType::I16:
    return load<int16_t>(address);
  case DType::I32:
    return load<int32_t>(address);
  case DType::I64:
    return static_cast<double>(load<int64_t>(address));
  case DType::U8:
    return load<uint8_t>(address);
  case DType::U16:
    return load<uint16_t>(address);
  case DType::U32:
    return load<uint32_t>(address);
  case DType::U64:
    return static_cast<double>(load<uint64_t>(address));
  case DType::F16:
    return halfToDouble(load<uint16_t>(address));
  case DType::BF16:
    return bfloatToDouble(load<uint16_t>(address));
  case DType::F32:
    return load<float>(address);
  case DType::F64:
    return load<double>(address);
  }
  return std::numeric_limits<double>::quiet_NaN();
}
