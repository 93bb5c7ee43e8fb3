//===- oneflow-run/Shuffle.cpp - the order of training samples ------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounded numbers come from rejection, so that every permutation is as likely
// as the generator allows.
//
//===----------------------------------------------------------------------===//

#include "Shuffle.h"

#include <cstddef>
#include <numeric>
#include <utility>

using namespace oneflow::run;

namespace {

uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

class SplitMix64 {
public:
  explicit SplitMix64(uint64_t state) : state(state) {}

  uint64_t next() { return mix(state += 0x9e3779b97f4a7c15ull); }

  /// Uniform in 0 .. bound - 1.
  uint64_t below(uint64_t bound) {
    uint64_t rejected = (0 - bound) % bound;
    uint64_t value;
    do
      value = next();
    while (value < rejected);
    return value % bound;
  }

private:
  uint64_t state;
};

} // namespace

std::vector<int64_t> oneflow::run::epochOrder(int64_t count, uint64_t seed,
                                              uint64_t epoch) {
  std::vector<int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  // Mixing both keeps seed 1, epoch 2 apart from seed 2, epoch 1.
  SplitMix64 random(mix(mix(seed + 1) + epoch));
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  return order;
}
