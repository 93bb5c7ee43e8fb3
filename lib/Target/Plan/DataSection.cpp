//===- DataSection.cpp - initial values -----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See DataSection.h.
//
//===----------------------------------------------------------------------===//

#include "DataSection.h"

#include "oneflow/Plan/KernelAbi.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace oneflow;

FailureOr<uint64_t> DataSection::add(ElementsAttr value) {
  size_t alignment = ONEFLOW_BUFFER_ALIGNMENT;
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
  uint64_t offset = bytes.size();
  Type element = value.getElementType();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return failure();
    ArrayRef<char> data = blob->getData();
    size_t expected =
        value.getNumElements() *
        (element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8);
    if (data.size() != expected)
      return failure();
    bytes.append(data.begin(), data.end());
  } else if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (element.isInteger(1)) {
      for (bool bit : dense.getValues<bool>())
        bytes.push_back(bit);
    } else if (dense.isSplat()) {
      ArrayRef<char> one = dense.getRawData();
      for (int64_t i = 0; i < dense.getNumElements(); ++i)
        bytes.append(one.begin(), one.end());
    } else {
      ArrayRef<char> data = dense.getRawData();
      bytes.append(data.begin(), data.end());
    }
  } else {
    return failure();
  }
  lastBytes = bytes.size() - offset;
  return offset;
}
