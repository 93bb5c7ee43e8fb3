//===- HostTensor.cpp - tensors known at import ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element access for every type that the importer reads, and the way into
// attributes.
//
//===----------------------------------------------------------------------===//

#include "HostTensor.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/APFloat.h"

#include <cstring>

using namespace mlir;
using namespace oneflow::importer;

size_t oneflow::importer::elementBytes(Type elementType) {
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return bits == 1 ? 1 : bits / 8;
}

std::optional<int64_t>
oneflow::importer::countElements(ArrayRef<int64_t> shape) {
  if (shape.size() > kMaxRank)
    return std::nullopt;
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    empty |= extent == 0;
    // The other extents count even where one is 0: what follows multiplies
    // them.
    if (extent && __builtin_mul_overflow(count, extent, &count))
      return std::nullopt;
  }
  // Room for eight bytes each.
  if (count > (int64_t(1) << 59))
    return std::nullopt;
  return empty ? 0 : count;
}

HostTensor::HostTensor(RankedTensorType type, std::vector<char> data,
                       bool splat)
    : tensorType(type), bytes(std::move(data)), splatted(splat) {}

HostTensor::HostTensor(RankedTensorType type, std::vector<char> data)
    : HostTensor(type, std::move(data), false) {
  assert(bytes.size() == size() * elementBytes(elementType()));
}

HostTensor HostTensor::zeros(RankedTensorType type) {
  return HostTensor(type,
                    std::vector<char>(type.getNumElements() *
                                      elementBytes(type.getElementType())));
}

HostTensor HostTensor::splat(RankedTensorType type, ArrayRef<char> element) {
  return HostTensor(type, element.vec(), true);
}

HostTensor HostTensor::vector(MLIRContext *context, ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())},
                                    IntegerType::get(context, 64));
  const char *data = reinterpret_cast<const char *>(values.data());
  return HostTensor(
      type, std::vector<char>(data, data + values.size() * sizeof(int64_t)));
}

ArrayRef<char> HostTensor::rawAt(int64_t index) const {
  size_t width = elementBytes(elementType());
  return ArrayRef<char>(bytes).slice(splatted ? 0 : index * width, width);
}

int64_t HostTensor::intAt(int64_t index) const {
  ArrayRef<char> raw = rawAt(index);
  // Booleans are one byte of 0 or 1; everything else is signed.
  int64_t value = 0;
  std::memcpy(&value, raw.data(), raw.size());
  unsigned unused = 64 - 8 * raw.size();
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

double HostTensor::floatAt(int64_t index) const {
  auto type = dyn_cast<FloatType>(elementType());
  if (!type)
    return static_cast<double>(intAt(index));
  ArrayRef<char> raw = rawAt(index);
  uint64_t bits = 0;
  std::memcpy(&bits, raw.data(), raw.size());
  llvm::APFloat value(type.getFloatSemantics(), APInt(type.getWidth(), bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

void HostTensor::setRaw(int64_t index, ArrayRef<char> element) {
  assert(!splatted && "a splat has one element only");
  std::memcpy(bytes.data() + index * element.size(), element.data(),
              element.size());
}

void HostTensor::setInt(int64_t index, int64_t value) {
  size_t width = elementBytes(elementType());
  if (elementType().isInteger(1))
    value = value != 0;
  setRaw(index, ArrayRef<char>(reinterpret_cast<char *>(&value), width));
}

void HostTensor::setFloat(int64_t index, double value) {
  llvm::APFloat rounded(value);
  bool losesInfo;
  rounded.convert(cast<FloatType>(elementType()).getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  uint64_t bits = rounded.bitcastToAPInt().getZExtValue();
  setRaw(index, ArrayRef<char>(reinterpret_cast<char *>(&bits),
                               elementBytes(elementType())));
}

std::vector<int64_t> HostTensor::ints() const {
  std::vector<int64_t> values(size());
  for (int64_t i = 0, e = size(); i < e; ++i)
    values[i] = intAt(i);
  return values;
}

HostTensor HostTensor::reshaped(ArrayRef<int64_t> shape) const {
  return HostTensor(RankedTensorType::get(shape, elementType()), bytes,
                    splatted);
}

DenseElementsAttr HostTensor::toDenseAttribute() const {
  if (elementType().isInteger(1)) {
    // MLIR packs booleans into bits, in its own order.
    SmallVector<bool> values;
    for (int64_t i = 0, e = splatted ? 1 : size(); i < e; ++i)
      values.push_back(intAt(i) != 0);
    return DenseElementsAttr::get(tensorType, values);
  }
  return DenseElementsAttr::getFromRawBuffer(tensorType, bytes);
}

ElementsAttr HostTensor::toAttribute(StringRef name) const {
  if (splatted || bytes.size() <= 1024 || elementType().isInteger(1))
    return toDenseAttribute();
  return DenseResourceElementsAttr::get(
      tensorType, name,
      HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 64,
                                                    /*dataIsMutable=*/false));
}
