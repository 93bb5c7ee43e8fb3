//===- oneflow/TensorIO/Tensor.h - a tensor in host memory ------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensor that all file formats are read into and written from: dense,
// row-major, little-endian, owning its bytes.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TENSORIO_TENSOR_H
#define ONEFLOW_TENSORIO_TENSOR_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oneflow::tensorio {

using Bytes = std::vector<uint8_t>;
using Shape = std::vector<int64_t>;

/// Values match of_dtype of the runtime's C API.
enum class DType : uint8_t {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64
};

inline constexpr int kDTypeCount = 13;

/// Bytes of one element.
size_t dtypeSize(DType dtype);
/// "bool", "i8", ... "f32", "f64": as the C API and the plan name them.
const char *dtypeName(DType dtype);

/// Elements and bytes of a tensor of this shape; nothing when an extent is
/// negative or either number does not fit in 63 bits.
struct TensorSize {
  uint64_t elements;
  uint64_t bytes;
};
std::optional<TensorSize> tensorSize(DType dtype, const Shape &shape);

/// "f32 [32, 10]", for messages.
std::string describe(DType dtype, const Shape &shape);
/// "[32, 10]".
std::string describe(const Shape &shape);

struct Tensor {
  DType dtype = DType::F32;
  Shape shape;
  /// Row-major; its size is that of dtype and shape. f16 and bf16 are kept as
  /// their 16 bits.
  Bytes bytes;

  /// A tensor of zeros. The shape must have a size (see tensorSize).
  static Tensor zeros(DType dtype, Shape shape);

  uint64_t elementCount() const { return bytes.size() / dtypeSize(dtype); }
};

/// Whether shape, dtype and byte count agree, which every writer demands.
bool isConsistent(const Tensor &tensor);

/// By name, in the order of the names, so that what is written does not depend
/// on the order in which it was collected.
using TensorMap = std::map<std::string, Tensor>;

/// Element `index` as a double, of any dtype (i64 and u64 rounded). `index`
/// must be below elementCount().
double elementAsDouble(const Tensor &tensor, uint64_t index);

} // namespace oneflow::tensorio

#endif // ONEFLOW_TENSORIO_TENSOR_H
