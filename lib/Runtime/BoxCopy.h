//===- BoxCopy.h - copies between dense boxes -------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves a box of elements from one dense local buffer to another. All index
// arithmetic is done when the copy is built, at load; running it only copies.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_BOXCOPY_H
#define ONEFLOW_RUNTIME_BOXCOPY_H

#include "Layout.h"

#include <cstdint>
#include <vector>

namespace oneflow::runtime {

class BoxCopy {
public:
  /// Copies nothing.
  BoxCopy() = default;
  /// Copies the elements of `box` from a buffer that holds `source` densely to
  /// one that holds `target` densely; both contain `box`. Dimensions that are
  /// contiguous on both sides are merged into runs.
  BoxCopy(int64_t elementBytes, const Box &box, const Box &source,
          const Box &target);

  /// The buffers must not overlap.
  void run(const void *source, void *target) const;

  /// One run of bytes: run() is a single memcpy.
  bool isContiguous() const { return dims.empty(); }
  int64_t sourceOffset() const { return sourceStart; }
  int64_t targetOffset() const { return targetStart; }
  int64_t bytes() const { return totalBytes; }

private:
  struct Dim {
    int64_t extent, sourceStride, targetStride;
  };
  void runFrom(size_t dim, const uint8_t *source, uint8_t *target) const;

  std::vector<Dim> dims;
  int64_t runBytes = 0, sourceStart = 0, targetStart = 0, totalBytes = 0;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_BOXCOPY_H
