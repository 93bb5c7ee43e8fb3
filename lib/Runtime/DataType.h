//===- DataType.h - element types -------------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes and names of element types, and the conversions of the two 16-bit float
// types, written out because the runtime must not depend on compiler support
// libraries or on the CPU it was built for.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_DATATYPE_H
#define ONEFLOW_RUNTIME_DATATYPE_H

#include "oneflow/Plan/Plan_generated.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace oneflow::runtime {

/// Bytes of one element; 0 for a value that is no DType.
constexpr size_t dtypeBytes(plan::DType dtype) {
  constexpr uint8_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  auto index = static_cast<size_t>(dtype);
  return index < sizeof(sizes) ? sizes[index] : 0;
}

/// "f32", "i64", ...; "?" for a value that is no DType.
const char *dtypeName(plan::DType dtype);

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

inline float bfloatToFloat(uint16_t value) {
  return floatOf(static_cast<uint32_t>(value) << 16);
}

/// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
inline uint16_t floatToBfloat(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

inline float halfToFloat(uint16_t value) {
  uint32_t sign = static_cast<uint32_t>(value & 0x8000u) << 16;
  uint32_t rest = value & 0x7fffu;
  if (rest >= 0x7c00u) // infinity and NaN
    return floatOf(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  if (rest >= 0x400u)
    return floatOf(sign | ((rest << 13) + 0x38000000u));
  // Subnormal: `rest` units of 2^-24, exact in a float.
  float magnitude = static_cast<float>(rest) * 0x1p-24f;
  return floatOf(sign | bitsOf(magnitude));
}

/// Rounds to nearest, ties to even; overflows to infinity; a NaN stays a NaN.
inline uint16_t floatToHalf(float value) {
  uint32_t bits = bitsOf(value);
  auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) // rounds to 2^16 or more
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 leaves units of 2^-24 in the low mantissa bits,
    // rounded by the addition itself.
    uint32_t shifted = bitsOf(floatOf(magnitude) + 0.5f) - bitsOf(0.5f);
    return static_cast<uint16_t>(sign | shifted);
  }
  uint32_t rounded =
      magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_DATATYPE_H
