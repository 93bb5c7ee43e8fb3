//===- oneflow-run/Shuffle.h - the order of training samples ----*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order in which an epoch visits its samples: a function of the seed and
// the epoch alone, so that every rank, any number of ranks, and a resumed
// training see the same one. The standard library's shuffle is not used, since
// its result differs between implementations.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_SHUFFLE_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_SHUFFLE_H

#include <cstdint>
#include <vector>

namespace oneflow::run {

/// A permutation of 0 .. count - 1: Fisher-Yates on splitmix64 (Steele, Lea,
/// Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
std::vector<int64_t> epochOrder(int64_t count, uint64_t seed, uint64_t epoch);

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_SHUFFLE_H
