//===- CutElements.cpp - intervals of constant tensors --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See CutElements.h.
//
//===----------------------------------------------------------------------===//

#include "CutElements.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace oneflow;

/// The bytes of all elements, or of the only one of a splat; nothing where they
/// are not at hand.
static std::optional<ArrayRef<char>> bytesOf(ElementsAttr value) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return blob->getData();
    return std::nullopt;
  }
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense.getRawData();
  return std::nullopt;
}

/// Of one element as MLIR stores it; 0 where it does not take whole bytes.
static int64_t elementBytes(ElementsAttr value) {
  Type element = value.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return 0;
  return element.getIntOrFloatBitWidth() / 8;
}

bool oneflow::canCutElements(ElementsAttr value) {
  if (!isa<RankedTensorType>(value.getShapedType()))
    return false;
  std::optional<ArrayRef<char>> bytes = bytesOf(value);
  int64_t element = elementBytes(value);
  if (!bytes || element == 0)
    return false;
  bool splat = isa<DenseElementsAttr>(value) && value.isSplat();
  return static_cast<int64_t>(bytes->size()) ==
         element * (splat ? 1 : value.getNumElements());
}

ElementsAttr oneflow::cutElements(ElementsAttr value, int64_t dim,
                                  int64_t begin, int64_t end, StringRef name) {
  auto type = cast<RankedTensorType>(value.getShapedType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t extent = shape[dim];
  shape[dim] = end - begin;
  RankedTensorType partType = type.clone(shape);
  ArrayRef<char> bytes = *bytesOf(value);
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return DenseElementsAttr::getFromRawBuffer(partType, bytes);

  int64_t outer = 1, inner = elementBytes(value);
  for (int64_t d = 0; d < type.getRank(); ++d)
    (d < dim ? outer : inner) *= d == dim ? 1 : shape[d];
  SmallVector<char, 0> part;
  part.reserve(outer * (end - begin) * inner);
  for (int64_t row = 0; row < outer; ++row) {
    ArrayRef<char> run =
        bytes.slice((row * extent + begin) * inner, (end - begin) * inner);
    part.append(run.begin(), run.end());
  }
  if (isa<DenseElementsAttr>(value))
    return DenseElementsAttr::getFromRawBuffer(partType, part);
  return DenseResourceElementsAttr::get(
      partType, name,
      HeapAsmResourceBlob::allocateAndCopyWithAlign(part, 64,
                                                    /*dataIsMutable=*/false));
}
