//===- BalanceLayers.cpp - cutting layers by cost ---------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First the least bound on the parts' costs, by halving: under a bound, the
// parts that each reach as far as they can show whether there is a cut. Then,
// among the cuts under that bound, the one with the least sum of squares by
// dynamic programming, whose best places ascend with the end of the part.
//
//===----------------------------------------------------------------------===//

#include "CutWindows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace oneflow::schedule {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr uint64_t maxPlaces = uint64_t(1) << 26;

class LayerCutter {
public:
  LayerCutter(const LayerCosts &layers, const CutWindows &windows)
      : windows(windows), seconds(layers.seconds.size() + 1, 0),
        bytes(layers.seconds.size() + 1, 0) {
    for (size_t i = 0; i < layers.seconds.size(); ++i) {
      seconds[i + 1] = seconds[i] + layers.seconds[i];
      bytes[i + 1] = bytes[i] + (layers.bytes.empty() ? 0 : layers.bytes[i]);
    }
  }

  /// The begins of parts that each reach as far as they may, or nothing.
  std::optional<std::vector<size_t>> reach(double bound,
                                           uint64_t byteBound) const {
    std::vector<size_t> begins = {0};
    for (unsigned k = 0; k < windows.chunks(); ++k) {
      size_t end =
          std::min(endOf(begins[k], bound, byteBound), windows.last[k + 1]);
      if (end < windows.first[k + 1] || end <= begins[k])
        return std::nullopt;
      begins.push_back(end);
    }
    return begins;
  }
  double leastSeconds(uint64_t byteBound) const {
    return leastDouble(0, seconds.back(), [&](double bound) {
      return reach(bound, byteBound).has_value();
    });
  }
  uint64_t leastBytes() const {
    uint64_t from = 0, to = bytes.back();
    while (from < to) {
      uint64_t middle = from + (to - from) / 2;
      if (reach(infinity, middle))
        to = middle;
      else
        from = middle + 1;
    }
    return to;
  }
  /// The cut with the least sum of squares under the bounds, which `latest`
  /// keeps.
  std::vector<size_t> smoothest(double bound, uint64_t byteBound,
                                const std::vector<size_t> &latest) const;

private:
  bool fits(size_t begin, size_t end, double bound, uint64_t byteBound) const {
    return seconds[end] - seconds[begin] <= bound &&
           bytes[end] - bytes[begin] <= byteBound;
  }
  /// The furthest end of a part from `begin`.
  size_t endOf(size_t begin, double bound, uint64_t byteBound) const {
    size_t from = begin, to = windows.size();
    while (from < to) {
      size_t middle = to - (to - from) / 2;
      if (fits(begin, middle, bound, byteBound))
        from = middle;
      else
        to = middle - 1;
    }
    return from;
  }
  /// The least begin of a part up to `end`.
  size_t beginOf(size_t end, double bound, uint64_t byteBound) const {
    size_t from = 0, to = end;
    while (from < to) {
      size_t middle = from + (to - from) / 2;
      if (fits(middle, end, bound, byteBound))
        to = middle;
      else
        from = middle + 1;
    }
    return from;
  }

  const CutWindows &windows;
  /// Of the layers before i.
  std::vector<double> seconds;
  std::vector<uint64_t> bytes;
};

std::vector<size_t>
LayerCutter::smoothest(double bound, uint64_t byteBound,
                       const std::vector<size_t> &latest) const {
  unsigned chunks = windows.chunks();
  // From the end: how early each cut may lie.
  std::vector<size_t> earliest(chunks + 1, windows.size());
  for (unsigned k = chunks; k-- > 0;)
    earliest[k] =
        std::max(beginOf(earliest[k + 1], bound, byteBound), windows.first[k]);
  uint64_t places = 0;
  for (unsigned k = 0; k <= chunks; ++k)
    places += latest[k] - earliest[k] + 1;
  if (places > maxPlaces)
    return latest;

  // best[j - earliest[k]]: least sum of squares of the first k parts, the last
  // of which ends at j.
  std::vector<double> best = {0};
  std::vector<std::vector<unsigned>> from(chunks + 1);
  for (unsigned k = 1; k <= chunks; ++k) {
    size_t low = earliest[k - 1], high = latest[k - 1];
    size_t begin = earliest[k], count = latest[k] - begin + 1;
    std::vector<double> next(count, infinity);
    from[k].assign(count, unsigned(high - low));
    // The squares fulfil the quadrangle inequality, and the places that a part
    // may begin at ascend with its end: so does the best one.
    struct Range {
      size_t firstEnd, lastEnd, firstBegin, lastBegin;
    };
    std::vector<Range> open = {{0, count - 1, low, high}};
    while (!open.empty()) {
      Range range = open.back();
      open.pop_back();
      size_t middle = (range.firstEnd + range.lastEnd) / 2;
      size_t end = begin + middle, chosen = SIZE_MAX;
      size_t last = std::min(range.lastBegin, end - 1);
      for (size_t i =
               std::max(range.firstBegin, beginOf(end, bound, byteBound));
           i <= last; ++i) {
        double length = seconds[end] - seconds[i];
        double sum = best[i - low] + length * length;
        if (sum < next[middle]) {
          next[middle] = sum;
          chosen = i;
        }
      }
      // An end that no part reaches bounds nothing.
      if (chosen != SIZE_MAX)
        from[k][middle] = unsigned(chosen - low);
      if (middle > range.firstEnd)
        open.push_back({range.firstEnd, middle - 1, range.firstBegin,
                        chosen == SIZE_MAX ? range.lastBegin : chosen});
      if (middle < range.lastEnd)
        open.push_back({middle + 1, range.lastEnd,
                        chosen == SIZE_MAX ? range.firstBegin : chosen,
                        range.lastBegin});
    }
    best = std::move(next);
  }
  std::vector<size_t> begins(chunks + 1, windows.size());
  for (unsigned k = chunks; k > 0; --k)
    begins[k - 1] = earliest[k - 1] + from[k][begins[k] - earliest[k]];
  return begins;
}

std::string checkLayers(const LayerCosts &layers) {
  if (!layers.bytes.empty() && layers.bytes.size() != layers.seconds.size())
    return "expected bytes of " + std::to_string(layers.seconds.size()) +
           " layers, got: " + std::to_string(layers.bytes.size());
  double total = 0;
  for (size_t i = 0; i < layers.seconds.size(); ++i) {
    double value = layers.seconds[i];
    total += value;
    // The sum too, or parts could not be told from each other.
    if (!(value >= 0) || !std::isfinite(total))
      return "expected finite seconds of at least 0 for layer " +
             std::to_string(i) + ", got: " + std::to_string(value);
  }
  uint64_t bytes = 0;
  for (uint64_t value : layers.bytes) {
    if (value > UINT64_MAX - bytes)
      return "expected bytes that add up to less than 2^64";
    bytes += value;
  }
  return "";
}

} // namespace

std::optional<std::vector<unsigned>> balanceLayers(const LayerCosts &layers,
                                                   const PartPins &pins,
                                                   unsigned chunks,
                                                   std::string *error) {
  auto fail = [&](const std::string &message) {
    if (error)
      *error = message;
    return std::nullopt;
  };
  std::string wrong = checkLayers(layers);
  if (!wrong.empty())
    return fail(wrong);
  auto windows = makeCutWindows(layers.seconds.size(), pins, chunks, error);
  if (!windows)
    return std::nullopt;
  LayerCutter cutter(layers, *windows);
  if (!cutter.reach(infinity, layers.bytesPerPart))
    return fail("expected parts of at most " +
                std::to_string(layers.bytesPerPart) +
                " bytes, but the largest part holds at least " +
                std::to_string(cutter.leastBytes()));
  double bound = cutter.leastSeconds(layers.bytesPerPart);
  std::vector<size_t> latest = *cutter.reach(bound, layers.bytesPerPart);
  return partsFromCuts(cutter.smoothest(bound, layers.bytesPerPart, latest));
}

} // namespace oneflow::schedule
