//===- Actor/Transforms/OffsetPacking.h - arena offsets ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Places blocks in an arena so that blocks which conflict do not overlap. Pure
// algorithm, no IR.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ACTOR_TRANSFORMS_OFFSETPACKING_H
#define ONEFLOW_DIALECT_ACTOR_TRANSFORMS_OFFSETPACKING_H

#include <cstdint>
#include <functional>
#include <vector>

namespace oneflow::actor {

struct Packing {
  /// Byte offset of each block, a multiple of the alignment.
  std::vector<int64_t> offsets;
  /// Size of the arena, a multiple of the alignment.
  int64_t bytes = 0;
};

/// Packs blocks of `sizes` bytes. `conflict(a, b)` says whether a and b may not
/// share bytes; it is symmetric. Largest first, each into the smallest gap
/// between the placed blocks it conflicts with that holds it (after Pisarchyk
/// and Lee, Efficient Memory Management for Deep Neural Net Inference, arXiv
/// 2001.03288, greedy by size); deterministic.
Packing packOffsets(const std::vector<int64_t> &sizes,
                    const std::function<bool(size_t, size_t)> &conflict,
                    int64_t alignment);

} // namespace oneflow::actor

#endif // ONEFLOW_DIALECT_ACTOR_TRANSFORMS_OFFSETPACKING_H
