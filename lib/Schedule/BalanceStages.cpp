//===- BalanceStages.cpp - cutting a graph by cost and transfer -*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part [i, j) costs the seconds between i and j and the transfer of the cut
// at i. That is a sum of something of j and something of i, so a part up to j
// under a bound can begin wherever what belongs to i is large enough: a running
// maximum says whether there is such a place, a tree of minima where the fewest
// bytes have been cut before.
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

/// The least value, and the place it is at, of those inserted with a rank below
/// a bound. Of equal values the first inserted.
class LeastBelow {
public:
  struct Entry {
    double value = infinity;
    size_t place = SIZE_MAX;
  };

  explicit LeastBelow(size_t ranks) : tree(ranks + 1) {}
  void clear() { std::fill(tree.begin(), tree.end(), Entry()); }
  void insert(size_t rank, Entry entry) {
    for (size_t i = rank + 1; i < tree.size(); i += i & -i)
      if (entry.value < tree[i].value)
        tree[i] = entry;
  }
  Entry query(size_t rankEnd) const {
    Entry least;
    for (size_t i = rankEnd; i > 0; i -= i & -i)
      if (tree[i].value < least.value ||
          (tree[i].value == least.value && tree[i].place < least.place))
        least = tree[i];
    return least;
  }

private:
  std::vector<Entry> tree;
};

class StageCutter {
public:
  StageCutter(const std::vector<double> &seconds,
              const std::vector<double> &cutBytes, double secondsPerByte,
              const CutWindows &windows)
      : windows(windows), cuts(cutBytes) {
    size_t n = seconds.size();
    // Nothing crosses the two ends.
    cuts.front() = 0;
    cuts.push_back(0);
    double before = 0;
    for (size_t i = 0; i <= n; ++i) {
      atBegin.push_back(before - secondsPerByte * cuts[i]);
      atEnd.push_back(before);
      before += i < n ? seconds[i] : 0;
    }
  }

  double leastCost() const {
    // What some cut costs, to begin with.
    double high = 0;
    for (unsigned k = 0; k < windows.chunks(); ++k)
      high = std::max(high, cost(windows.first[k], windows.first[k + 1]));
    return leastDouble(0, high, [&](double bound) { return reaches(bound); });
  }
  /// The cut of the fewest bytes whose parts cost at most `bound`, which one
  /// does.
  std::vector<size_t> lightest(double bound) const;

private:
  double cost(size_t begin, size_t end) const {
    return atEnd[end] - atBegin[begin];
  }
  bool reaches(double bound) const;

  const CutWindows &windows;
  std::vector<double> cuts;
  /// cost(i, j) = atEnd[j] - atBegin[i].
  std::vector<double> atBegin, atEnd;
};

bool StageCutter::reaches(double bound) const {
  // Whether part k can begin at first[k] + i.
  std::vector<char> reached = {1}, next;
  for (unsigned k = 0; k < windows.chunks(); ++k) {
    size_t low = windows.first[k], begin = windows.first[k + 1];
    next.assign(windows.last[k + 1] - begin + 1, 0);
    double best = -infinity;
    size_t i = low;
    for (size_t end = begin; end <= windows.last[k + 1]; ++end) {
      for (; i < end && i <= windows.last[k]; ++i)
        if (reached[i - low])
          best = std::max(best, atBegin[i]);
      next[end - begin] = atEnd[end] - best <= bound;
    }
    reached.swap(next);
  }
  return reached[0];
}

std::vector<size_t> StageCutter::lightest(double bound) const {
  size_t n = windows.size();
  unsigned chunks = windows.chunks();
  // Ranks from the largest atBegin down: the begins that an end allows are
  // those of a rank below some bound.
  std::vector<size_t> order(n + 1), rank(n + 1);
  for (size_t i = 0; i <= n; ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return atBegin[a] != atBegin[b] ? atBegin[a] > atBegin[b] : a < b;
  });
  for (size_t i = 0; i <= n; ++i)
    rank[order[i]] = i;
  // How many ranks the part up to j allows.
  std::vector<size_t> allowed(n + 1);
  for (size_t end = 0; end <= n; ++end)
    allowed[end] =
        std::partition_point(order.begin(), order.end(),
                             [&](size_t i) { return cost(i, end) <= bound; }) -
        order.begin();

  // best[j - first[k]]: the fewest bytes of the cuts up to j, the k-th.
  std::vector<double> best = {0}, next;
  std::vector<std::vector<unsigned>> from(chunks + 1);
  LeastBelow least(n + 1);
  for (unsigned k = 0; k < chunks; ++k) {
    size_t low = windows.first[k], begin = windows.first[k + 1];
    size_t count = windows.last[k + 1] - begin + 1;
    next.assign(count, infinity);
    from[k + 1].assign(count, 0);
    least.clear();
    size_t i = low;
    for (size_t end = begin; end <= windows.last[k + 1]; ++end) {
      for (; i < end && i <= windows.last[k]; ++i)
        least.insert(rank[i], {best[i - low], i});
      LeastBelow::Entry entry = least.query(allowed[end]);
      if (entry.place == SIZE_MAX)
        continue;
      next[end - begin] = entry.value + cuts[end];
      from[k + 1][end - begin] = unsigned(entry.place - low);
    }
    best.swap(next);
  }
  std::vector<size_t> begins(chunks + 1, n);
  for (unsigned k = chunks; k > 0; --k)
    begins[k - 1] =
        windows.first[k - 1] + from[k][begins[k] - windows.first[k]];
  return begins;
}

} // namespace

std::optional<std::vector<unsigned>>
balanceStages(const std::vector<double> &seconds,
              const std::vector<double> &cutBytes, double secondsPerByte,
              const PartPins &pins, unsigned chunks, std::string *error) {
  auto fail = [&](const std::string &message) {
    if (error)
      *error = message;
    return std::nullopt;
  };
  if (cutBytes.size() != seconds.size())
    return fail(
        "expected the bytes of " + std::to_string(seconds.size()) +
        " cuts, one before each op, got: " + std::to_string(cutBytes.size()));
  double total = 0;
  for (size_t i = 0; i < seconds.size(); ++i)
    for (double value :
         {seconds[i], cutBytes[i], secondsPerByte * cutBytes[i]}) {
      total += value;
      if (!(value >= 0) || !std::isfinite(total))
        return fail("expected finite seconds and bytes of at least 0 for op " +
                    std::to_string(i) + ", got: " + std::to_string(seconds[i]) +
                    " s, " + std::to_string(cutBytes[i]) + " bytes at " +
                    std::to_string(secondsPerByte) + " s each");
    }
  auto windows = makeCutWindows(seconds.size(), pins, chunks, error);
  if (!windows)
    return std::nullopt;
  uint64_t places = 0;
  for (unsigned k = 0; k <= chunks; ++k)
    places += windows->last[k] - windows->first[k] + 1;
  if (places > maxPlaces)
    return fail("expected at most " + std::to_string(maxPlaces) +
                " places for cuts, got: " + std::to_string(places) + " (" +
                std::to_string(seconds.size()) + " ops, " +
                std::to_string(chunks) + " parts)");
  StageCutter cutter(seconds, cutBytes, secondsPerByte, *windows);
  return partsFromCuts(cutter.lightest(cutter.leastCost()));
}

} // namespace oneflow::schedule
