//===- oneflow/Schedule/Balance.h - cutting into stages ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a sequence into contiguous parts whose largest cost is least: the layers
// of a model into the chunks of a pipeline. The slowest chunk sets the pace of
// all, so nothing else counts before it.
//
// Parts hold at least one item each. All functions are deterministic and
// without state.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SCHEDULE_BALANCE_H
#define ONEFLOW_SCHEDULE_BALANCE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace oneflow::schedule {

/// Entry i, where there is one, is the part that item i must be in. May be
/// shorter than the sequence.
using PartPins = std::vector<std::optional<unsigned>>;

/// What balanceLayers cuts.
struct LayerCosts {
  /// Per layer; finite and at least 0.
  std::vector<double> seconds;
  /// Per layer, or empty.
  std::vector<uint64_t> bytes = {};
  /// What the bytes of one part may add up to.
  uint64_t bytesPerPart = UINT64_MAX;
};

/// The part of each layer, in `chunks` contiguous parts. The largest sum of
/// seconds of a part is least, and among those cuts the sum of the squares of
/// the parts' sums. O(n + chunks log n) for the first and O(w log n) for the
/// second, where w, at most n x chunks, is the number of places that cuts may
/// lie at; beyond 2^26 of them, any of the first is taken.
///
/// Sums are differences of prefix sums in double precision. Nothing when the
/// pins contradict each other, there are fewer layers than chunks, or the bytes
/// do not fit; `error` then says why.
std::optional<std::vector<unsigned>> balanceLayers(const LayerCosts &layers,
                                                   const PartPins &pins,
                                                   unsigned chunks,
                                                   std::string *error);

/// The part of each op of a graph in topological order. `cutBytes[i]` is what
/// crosses a cut before op i (values made before it and used at or behind it);
/// cutBytes[0] does not count. A part costs its seconds and, at
/// `secondsPerByte`, what it receives through the cut before it. The largest
/// cost is least, and among those cuts the bytes of all cuts together.
/// O(64 w) for the first, O(w log n) for the second, with w as above.
///
/// Nothing on contradicting pins, fewer ops than chunks, more than 2^26 places
/// for cuts, or costs that are not finite and at least 0; `error` then says
/// why.
std::optional<std::vector<unsigned>>
balanceStages(const std::vector<double> &seconds,
              const std::vector<double> &cutBytes, double secondsPerByte,
              const PartPins &pins, unsigned chunks, std::string *error);

} // namespace oneflow::schedule

#endif // ONEFLOW_SCHEDULE_BALANCE_H
