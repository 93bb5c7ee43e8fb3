//===- Reduce.cpp - reductions across ranks -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "oneflow/Runtime/Reduce.h"

#include "DataType.h"

#include <algorithm>
#include <type_traits>

using namespace oneflow;
using namespace oneflow::runtime;
using plan::DType;
using plan::Reducer;

namespace {

// How a type lies in memory and in what type it is combined.
template <typename T> struct Plain {
  using Stored = T;
  // Signed overflow must wrap, and small types must not be promoted to int.
  using Value = T;
  static Value load(Stored value) { return value; }
  static Stored store(Value value) { return value; }
};
struct Half {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored value) { return halfToFloat(value); }
  static Stored store(Value value) { return floatToHalf(value); }
};
struct Bfloat {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored value) { return bfloatToFloat(value); }
  static Stored store(Value value) { return floatToBfloat(value); }
};

struct SumOp {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) +
                            static_cast<uint64_t>(b));
    else
      return a + b;
  }
};
struct ProdOp {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) *
                            static_cast<uint64_t>(b));
    else
      return a * b;
  }
};
struct MaxOp {
  // A NaN is unequal to itself; keeping `a` when it is one makes NaN stick.
  template <typename T> static T apply(T a, T b) {
    return a > b || a != a ? a : b;
  }
};
struct MinOp {
  template <typename T> static T apply(T a, T b) {
    return a < b || a != a ? a : b;
  }
};
struct OrOp {
  template <typename T> static T apply(T a, T b) { return (a | b) != 0; }
};
struct AndOp {
  template <typename T> static T apply(T a, T b) { return a != 0 && b != 0; }
};

template <typename Type, typename Op>
void reduce(const void *const *parts, int partCount, void *target,
            uint64_t count) {
  using Stored = typename Type::Stored;
  using Value = typename Type::Value;
  // A block at a time in a local array: each part is read in one run, and the
  // target may be one of the parts.
  constexpr uint64_t block = 1024;
  Value sums[block];
  auto *out = static_cast<Stored *>(target);
  for (uint64_t begin = 0; begin < count; begin += block) {
    uint64_t length = std::min(block, count - begin);
    const auto *first = static_cast<const Stored *>(parts[0]) + begin;
    for (uint64_t i = 0; i < length; ++i)
      sums[i] = Type::load(first[i]);
    for (int p = 1; p < partCount; ++p) {
      const auto *part = static_cast<const Stored *>(parts[p]) + begin;
      for (uint64_t i = 0; i < length; ++i)
        sums[i] = Op::apply(sums[i], Type::load(part[i]));
    }
    for (uint64_t i = 0; i < length; ++i)
      out[begin + i] = Type::store(sums[i]);
  }
}

template <typename Type>
void reduceAs(Reducer reducer, const void *const *parts, int partCount,
              void *target, uint64_t count) {
  switch (reducer) {
  case Reducer::Sum:
    return reduce<Type, SumOp>(parts, partCount, target, count);
  case Reducer::Max:
    return reduce<Type, MaxOp>(parts, partCount, target, count);
  case Reducer::Min:
    return reduce<Type, MinOp>(parts, partCount, target, count);
  case Reducer::Prod:
    return reduce<Type, ProdOp>(parts, partCount, target, count);
  }
}

} // namespace

void oneflow::runtime::reduceParts(DType dtype, Reducer reducer,
                                   const void *const *parts, int partCount,
                                   void *target, uint64_t count) {
  switch (dtype) {
  case DType::Bool:
    if (reducer == Reducer::Sum || reducer == Reducer::Max)
      return reduce<Plain<uint8_t>, OrOp>(parts, partCount, target, count);
    return reduce<Plain<uint8_t>, AndOp>(parts, partCount, target, count);
  case DType::I8:
    return reduceAs<Plain<int8_t>>(reducer, parts, partCount, target, count);
  case DType::I16:
    return reduceAs<Plain<int16_t>>(reducer, parts, partCount, target, count);
  case DType::I32:
    return reduceAs<Plain<int32_t>>(reducer, parts, partCount, target, count);
  case DType::I64:
    return reduceAs<Plain<int64_t>>(reducer, parts, partCount, target, count);
  case DType::U8:
    return reduceAs<Plain<uint8_t>>(reducer, parts, partCount, target, count);
  case DType::U16:
    return reduceAs<Plain<uint16_t>>(reducer, parts, partCount, target, count);
  case DType::U32:
    return reduceAs<Plain<uint32_t>>(reducer, parts, partCount, target, count);
  case DType::U64:
    return reduceAs<Plain<uint64_t>>(reducer, parts, partCount, target, count);
  case DType::F16:
    return reduceAs<Half>(reducer, parts, partCount, target, count);
  case DType::BF16:
    return reduceAs<Bfloat>(reducer, parts, partCount, target, count);
  case DType::F32:
    return reduceAs<Plain<float>>(reducer, parts, partCount, target, count);
  case DType::F64:
    return reduceAs<Plain<double>>(reducer, parts, partCount, target, count);
  }
}

void oneflow::runtime::fillNeutral(DType dtype, Reducer reducer, void *target,
                                   uint64_t count) {
  size_t element = dtypeBytes(dtype);
  std::memset(target, 0, count * element);
  if (reducer != Reducer::Prod)
    return;
  uint8_t one[8] = {1};
  if (dtype == DType::F16 || dtype == DType::BF16) {
    uint16_t bits = dtype == DType::F16 ? 0x3c00 : 0x3f80;
    std::memcpy(one, &bits, 2);
  } else if (dtype == DType::F32) {
    float value = 1;
    std::memcpy(one, &value, 4);
  } else if (dtype == DType::F64) {
    double value = 1;
    std::memcpy(one, &value, 8);
  }
  for (uint64_t i = 0; i < count; ++i)
    std::memcpy(static_cast<uint8_t *>(target) + i * element, one, element);
}
