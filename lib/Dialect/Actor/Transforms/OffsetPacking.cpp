//===- OffsetPacking.cpp - arena offsets ----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See OffsetPacking.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/OffsetPacking.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace oneflow::actor;

Packing
oneflow::actor::packOffsets(const std::vector<int64_t> &sizes,
                            const std::function<bool(size_t, size_t)> &conflict,
                            int64_t alignment) {
  auto align = [&](int64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b;
  });

  Packing packing;
  packing.offsets.assign(sizes.size(), 0);
  std::vector<size_t> placed;
  for (size_t block : order) {
    int64_t size = align(sizes[block]);
    if (size == 0)
      continue;
    // Conflicting blocks by offset; the gaps between them are candidates.
    std::vector<size_t> fixed;
    for (size_t other : placed)
      if (conflict(block, other))
        fixed.push_back(other);
    std::sort(fixed.begin(), fixed.end(), [&](size_t a, size_t b) {
      return packing.offsets[a] < packing.offsets[b];
    });
    int64_t end = 0, best = -1;
    int64_t bestGap = std::numeric_limits<int64_t>::max();
    for (size_t other : fixed) {
      int64_t gap = packing.offsets[other] - end;
      if (gap >= size && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, packing.offsets[other] + align(sizes[other]));
    }
    packing.offsets[block] = best >= 0 ? best : end;
    packing.bytes = std::max(packing.bytes, packing.offsets[block] + size);
    placed.push_back(block);
  }
  return packing;
}
