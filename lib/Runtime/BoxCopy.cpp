//===- BoxCopy.cpp - copies between dense boxes ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoxCopy.h"

#include <cstring>

using namespace oneflow::runtime;

BoxCopy::BoxCopy(int64_t elementBytes, const Box &box, const Box &source,
                 const Box &target) {
  runBytes = elementBytes;
  totalBytes = elementBytes * elementCount(box);
  if (totalBytes == 0)
    return;
  // From the innermost dimension outwards: as long as everything inside is one
  // run on both sides, a dimension only lengthens the run.
  int64_t sourceStride = elementBytes, targetStride = elementBytes;
  for (size_t d = box.size(); d-- > 0;) {
    sourceStart += (box[d].offset - source[d].offset) * sourceStride;
    targetStart += (box[d].offset - target[d].offset) * targetStride;
    if (box[d].extent != 1) {
      bool inner =
          dims.empty() && sourceStride == runBytes && targetStride == runBytes;
      if (inner)
        runBytes *= box[d].extent;
      else
        dims.insert(dims.begin(), {box[d].extent, sourceStride, targetStride});
    }
    sourceStride *= source[d].extent;
    targetStride *= target[d].extent;
  }
}

void BoxCopy::run(const void *source, void *target) const {
  if (totalBytes > 0)
    runFrom(0, static_cast<const uint8_t *>(source) + sourceStart,
            static_cast<uint8_t *>(target) + targetStart);
}

void BoxCopy::runFrom(size_t dim, const uint8_t *source,
                      uint8_t *target) const {
  if (dim == dims.size()) {
    std::memcpy(target, source, runBytes);
    return;
  }
  const Dim &level = dims[dim];
  if (dim + 1 == dims.size() && runBytes <= 8) {
    // A transposing copy of single elements: fixed sizes become plain moves.
    auto elements = [&](auto unit) {
      for (int64_t i = 0; i < level.extent; ++i)
        std::memcpy(target + i * level.targetStride,
                    source + i * level.sourceStride, sizeof(unit));
    };
    if (runBytes == 4)
      return elements(uint32_t());
    if (runBytes == 8)
      return elements(uint64_t());
    if (runBytes == 2)
      return elements(uint16_t());
    if (runBytes == 1)
      return elements(uint8_t());
  }
  for (int64_t i = 0; i < level.extent; ++i)
    runFrom(dim + 1, source + i * level.sourceStride,
            target + i * level.targetStride);
}
