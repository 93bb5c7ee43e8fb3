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
#include <vector>

namespace oneflow::actor {

struct PackingProblem {
  /// In bytes; blocks of 0 bytes lie at 0 and conflict with none.
  std::vector<int64_t> sizes;
  /// Of each block those that it may not share bytes with; symmetric, each
  /// once.
  std::vector<std::vector<uint32_t>> conflicts;
  /// Of each block, in any unit; a hint. May be empty.
  std::vector<double> lifetimes;
  int64_t alignment = 1;

  int64_t getAlignedSize(uint32_t block) const {
    return (sizes[block] + alignment - 1) / alignment * alignment;
  }
};

struct Packing {
  /// Byte offset of each block, a multiple of the alignment.
  std::vector<int64_t> offsets;
  /// Size of the arena, a multiple of the alignment.
  int64_t bytes = 0;
};

/// Blocks of which all conflict with each other: `seed`, of which that holds,
/// and as many more as fit, the largest first. No arena is smaller than their
/// aligned sizes together.
std::vector<uint32_t> growClique(const PackingProblem &problem,
                                 std::vector<uint32_t> seed);

/// The heaviest of the cliques that grow from single blocks, the heaviest
/// neighborhoods first, within a bounded amount of work.
std::vector<uint32_t> findHeavyClique(const PackingProblem &problem);

/// Aligned sizes together.
int64_t sumSizes(const PackingProblem &problem,
                 const std::vector<uint32_t> &blocks);

/// Packs the blocks. Each of several orders (by size, by lifetime, by their
/// product, by what a block conflicts with, the blocks of `clique` first)
/// places one block after the other, into the lowest or the tightest gap
/// between the placed ones that it conflicts with (after Pisarchyk and Lee,
/// Efficient Memory Management for Deep Neural Net Inference, arXiv
/// 2001.03288). The best is then improved by moving the blocks that reach to
/// the arena's end forward in its order. It ends as soon as the arena is as
/// small as `clique`, blocks that all conflict with each other. Up to 8 blocks
/// the result is the optimum. Deterministic.
Packing packOffsets(const PackingProblem &problem,
                    const std::vector<uint32_t> &clique = {});

} // namespace oneflow::actor

#endif // ONEFLOW_DIALECT_ACTOR_TRANSFORMS_OFFSETPACKING_H
