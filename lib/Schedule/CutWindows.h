//===- CutWindows.h - where cuts may lie ------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What pins, and parts that hold an item each, leave to the cuts of a sequence.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SCHEDULE_CUTWINDOWS_H
#define ONEFLOW_SCHEDULE_CUTWINDOWS_H

#include "oneflow/Schedule/Balance.h"

#include <cstring>

namespace oneflow::schedule {

/// Part k begins at item `first[k]` at the earliest and `last[k]` at the
/// latest; entry `chunks` is the end. Both ascend strictly.
struct CutWindows {
  std::vector<size_t> first, last;

  unsigned chunks() const { return unsigned(first.size() - 1); }
  size_t size() const { return last.back(); }
};

/// The windows for `n` items, or nothing and why.
std::optional<CutWindows> makeCutWindows(size_t n, const PartPins &pins,
                                         unsigned chunks, std::string *error);

/// The part of each item from where parts begin (`chunks` + 1 entries).
std::vector<unsigned> partsFromCuts(const std::vector<size_t> &begins);

/// The least double in [low, high] that `holds` is true of, where `holds` is
/// monotone and true of `high`; both at least 0. Halves the bit pattern, so
/// that the result is exact after at most 64 steps.
template <typename Predicate>
double leastDouble(double low, double high, Predicate holds) {
  // Patterns of doubles that are not negative are in the order of their values.
  auto toBits = [](double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  };
  auto fromBits = [](uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  };
  uint64_t from = toBits(low), to = toBits(high);
  while (from < to) {
    uint64_t middle = from + (to - from) / 2;
    if (holds(fromBits(middle)))
      to = middle;
    else
      from = middle + 1;
  }
  return fromBits(to);
}

} // namespace oneflow::schedule

#endif // ONEFLOW_SCHEDULE_CUTWINDOWS_H
