//===- BalanceTest.cpp - cuts against all cuts ------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both cutters against every cut there is, with random costs, pins and limits;
// whole numbers, so that sums are exact.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Schedule/Balance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <tuple>

using namespace oneflow::schedule;

namespace {

using Parts = std::vector<unsigned>;

/// Calls `visit` with every way to cut `n` items into `chunks` parts.
void forEachCut(size_t n, unsigned chunks,
                const std::function<void(const Parts &)> &visit) {
  Parts parts(n, 0);
  std::function<void(size_t)> extend = [&](size_t i) {
    if (i == n) {
      if (parts[n - 1] == chunks - 1)
        visit(parts);
      return;
    }
    for (unsigned more : {0, 1}) {
      parts[i] = parts[i - 1] + more;
      if (parts[i] < chunks)
        extend(i + 1);
    }
  };
  if (n > 0)
    extend(1);
}

bool keepsPins(const Parts &parts, const PartPins &pins) {
  for (size_t i = 0; i < pins.size(); ++i)
    if (pins[i] && (i >= parts.size() || parts[i] != *pins[i]))
      return false;
  return true;
}

using Score = std::pair<double, double>;

/// The largest sum and the sum of squares.
Score scoreLayers(const LayerCosts &layers, const Parts &parts,
                  unsigned chunks) {
  std::vector<double> sums(chunks, 0);
  std::vector<uint64_t> bytes(chunks, 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    sums[parts[i]] += layers.seconds[i];
    bytes[parts[i]] += layers.bytes.empty() ? 0 : layers.bytes[i];
  }
  Score score = {0, 0};
  for (unsigned k = 0; k < chunks; ++k) {
    score.first = std::max(score.first, sums[k]);
    score.second += sums[k] * sums[k];
    if (bytes[k] > layers.bytesPerPart)
      score.first = std::numeric_limits<double>::infinity();
  }
  return score;
}

/// The largest cost of a part with what it receives, and the bytes cut.
Score scoreStages(const std::vector<double> &seconds,
                  const std::vector<double> &cutBytes, double secondsPerByte,
                  const Parts &parts, unsigned chunks) {
  std::vector<double> sums(chunks, 0);
  double cut = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    sums[parts[i]] += seconds[i];
    if (i > 0 && parts[i] != parts[i - 1]) {
      sums[parts[i]] += secondsPerByte * cutBytes[i];
      cut += cutBytes[i];
    }
  }
  double most = 0;
  for (double sum : sums)
    most = std::max(most, sum);
  return {most, cut};
}

/// Compares with the best of all cuts; says whether there was one.
bool expectBest(size_t n, unsigned chunks, const PartPins &pins,
                const std::function<Score(const Parts &)> &score,
                const std::optional<Parts> &parts, const std::string &error) {
  Score best = {std::numeric_limits<double>::infinity(), 0};
  forEachCut(n, chunks, [&](const Parts &cut) {
    if (keepsPins(cut, pins))
      best = std::min(best, score(cut));
  });
  bool possible = best.first < std::numeric_limits<double>::infinity();
  EXPECT_EQ(parts.has_value(), possible) << error;
  EXPECT_EQ(error.empty(), possible);
  if (!parts || !possible)
    return false;
  EXPECT_EQ(parts->size(), n);
  EXPECT_TRUE(keepsPins(*parts, pins));
  EXPECT_EQ(parts->front(), 0u);
  EXPECT_EQ(parts->back(), chunks - 1);
  for (size_t i = 1; i < n; ++i)
    EXPECT_LE((*parts)[i] - (*parts)[i - 1], 1u);
  EXPECT_EQ(score(*parts), best);
  return true;
}

/// Pairs of an item and its part.
PartPins pin(const std::vector<std::pair<size_t, unsigned>> &pairs) {
  PartPins pins;
  for (auto [item, part] : pairs) {
    pins.resize(std::max(pins.size(), item + 1));
    pins[item] = part;
  }
  return pins;
}

struct Random {
  std::mt19937 engine;
  unsigned below(unsigned n) { return engine() % n; }
  PartPins pins(size_t n, unsigned chunks) {
    PartPins pins;
    for (unsigned count = below(4); count > 1; --count) {
      size_t item = below(unsigned(n));
      pins.resize(std::max(pins.size(), item + 1));
      pins[item] = below(chunks);
    }
    return pins;
  }
};

} // namespace

TEST(Balance, LayersAgainstAllCuts) {
  Random random;
  unsigned possible = 0, all = 3000;
  for (unsigned round = 0; round < all; ++round) {
    size_t n = 1 + random.below(11);
    unsigned chunks = 1 + random.below(6);
    LayerCosts layers;
    unsigned range = round % 3 ? 10 : 3;
    for (size_t i = 0; i < n; ++i)
      layers.seconds.push_back(random.below(range));
    if (round % 2) {
      for (size_t i = 0; i < n; ++i)
        layers.bytes.push_back(random.below(10));
      layers.bytesPerPart = 5 + random.below(40);
    }
    PartPins pins = random.pins(n, chunks);
    std::string error;
    auto parts = balanceLayers(layers, pins, chunks, &error);
    possible += expectBest(
        n, chunks, pins,
        [&](const Parts &cut) { return scoreLayers(layers, cut, chunks); },
        parts, error);
    if (HasFailure())
      return;
  }
  // The comparison must not be of failures only.
  EXPECT_GT(possible, all / 3);
}

TEST(Balance, StagesAgainstAllCuts) {
  Random random;
  unsigned possible = 0, all = 3000;
  for (unsigned round = 0; round < all; ++round) {
    size_t n = 1 + random.below(11);
    unsigned chunks = 1 + random.below(6);
    std::vector<double> seconds, bytes;
    for (size_t i = 0; i < n; ++i) {
      seconds.push_back(random.below(10));
      bytes.push_back(random.below(8));
    }
    double secondsPerByte = random.below(3) * 0.5;
    PartPins pins = random.pins(n, chunks);
    std::string error;
    auto parts =
        balanceStages(seconds, bytes, secondsPerByte, pins, chunks, &error);
    possible += expectBest(
        n, chunks, pins,
        [&](const Parts &cut) {
          return scoreStages(seconds, bytes, secondsPerByte, cut, chunks);
        },
        parts, error);
    if (HasFailure())
      return;
  }
  EXPECT_GT(possible, all / 3);
}

TEST(Balance, ByHand) {
  EXPECT_EQ(balanceLayers({{1, 2, 3, 4, 5, 6, 7, 8, 9}}, {}, 3, nullptr),
            Parts({0, 0, 0, 0, 0, 1, 1, 2, 2}));
  // The largest is 8 whatever the others do; they are as even as they can be.
  EXPECT_EQ(balanceLayers({{8, 1, 1, 1, 1}}, {}, 3, nullptr),
            Parts({0, 1, 1, 2, 2}));
  // Eight layers of a transformer with a costly head.
  EXPECT_EQ(balanceLayers({{1, 1, 1, 1, 1, 1, 1, 3}}, {}, 4, nullptr),
            Parts({0, 0, 1, 1, 2, 2, 2, 3}));
  // Of two equally quick cuts the one that fewer bytes cross; dearer transfers
  // move it.
  EXPECT_EQ(balanceStages({2, 1, 1, 2}, {0, 9, 9, 1}, 0, {}, 2, nullptr),
            Parts({0, 0, 1, 1}));
  EXPECT_EQ(balanceStages({2, 1, 1, 2}, {0, 9, 9, 1}, 1, {}, 2, nullptr),
            Parts({0, 0, 0, 1}));
  EXPECT_EQ(balanceStages({0, 5, 0}, {0, 7, 3}, 0, {}, 2, nullptr),
            Parts({0, 0, 1}));
}

TEST(Balance, PinsAndMemory) {
  LayerCosts layers = {{1, 1, 1, 1, 1, 1}};
  EXPECT_EQ(balanceLayers(layers, pin({{4, 0}}), 2, nullptr),
            Parts({0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(balanceLayers(layers, pin({{1, 1}, {4, 1}}), 3, nullptr),
            Parts({0, 1, 1, 1, 1, 2}));
  layers.bytes = {9, 1, 1, 1, 1, 1};
  layers.bytesPerPart = 10;
  EXPECT_EQ(balanceLayers(layers, {}, 2, nullptr), Parts({0, 0, 1, 1, 1, 1}));
}

TEST(Balance, Errors) {
  struct {
    size_t n;
    PartPins pins;
    unsigned chunks;
    const char *message;
  } cases[] = {
      {3, {}, 0, "expected at least 1 part, got: 0"},
      {0, {}, 1, "expected at least one item for each of 1 part, got: 0 items"},
      {3,
       {},
       4,
       "expected at least one item for each of 4 parts, got: 3 items"},
      {3, pin({{3, 0}}), 2,
       "item 3 is pinned to part 0, but there are 3 items"},
      {3, pin({{1, 2}}), 2,
       "item 1 is pinned to part 2, but there are 2 parts"},
      {9, pin({{1, 2}}), 4,
       "item 1 is pinned to part 2, but only 1 item before it for 2 parts"},
      {9, pin({{7, 0}}), 3,
       "item 7 is pinned to part 0, but only 1 item behind it for 2 parts"},
      {9, pin({{5, 0}, {3, 1}}), 3,
       "item 3 is pinned to part 1 and item 5 is pinned to part 0, but parts "
       "follow each other"},
      {9, pin({{4, 2}, {3, 0}}), 3,
       "item 3 is pinned to part 0 and item 4 is pinned to part 2, but only 0 "
       "items between them for 1 part"},
  };
  for (auto &[n, pins, chunks, message] : cases) {
    std::string error;
    EXPECT_FALSE(
        balanceLayers({std::vector<double>(n, 1)}, pins, chunks, &error));
    EXPECT_EQ(error, message);
    error.clear();
    EXPECT_FALSE(balanceStages(std::vector<double>(n, 1),
                               std::vector<double>(n, 1), 1, pins, chunks,
                               &error));
    EXPECT_EQ(error, message);
  }
  std::string error;
  EXPECT_FALSE(balanceLayers({{1, 1, 1}, {5, 6, 7}, 10}, {}, 2, &error));
  EXPECT_EQ(error, "expected parts of at most 10 bytes, but the largest part "
                   "holds at least 11");
  EXPECT_FALSE(balanceLayers({{1, 1}, {5}}, {}, 2, &error));
  EXPECT_EQ(error, "expected bytes of 2 layers, got: 1");
  EXPECT_FALSE(balanceLayers({{1, 1}, {~0ull, 1}}, {}, 2, &error));
  EXPECT_EQ(error, "expected bytes that add up to less than 2^64");
  double infinity = std::numeric_limits<double>::infinity();
  for (double bad : {-1.0, infinity, std::nan("")}) {
    EXPECT_FALSE(balanceLayers({{1, bad}}, {}, 2, &error));
    EXPECT_EQ(
        error.rfind("expected finite seconds of at least 0 for layer 1", 0),
        0u);
    EXPECT_FALSE(balanceStages({1, bad}, {1, 1}, 1, {}, 2, &error));
    EXPECT_FALSE(balanceStages({1, 1}, {1, bad}, 1, {}, 2, &error));
    EXPECT_FALSE(balanceStages({1, 1}, {1, 1}, bad, {}, 2, &error));
    EXPECT_EQ(error.rfind("expected finite seconds and bytes of at least 0 "
                          "for op 0",
                          0),
              0u);
  }
  EXPECT_FALSE(balanceStages({1, 1}, {1}, 1, {}, 2, &error));
  EXPECT_EQ(error, "expected the bytes of 2 cuts, one before each op, got: 1");
}

// Large ones end soon, and no part is longer than the even share and the
// longest layer together.
TEST(Balance, HundredThousandLayers) {
  Random random;
  LayerCosts layers;
  std::vector<double> bytes;
  double total = 0, longest = 0;
  for (unsigned i = 0; i < 100000; ++i) {
    layers.seconds.push_back(1 + random.below(1000));
    bytes.push_back(random.below(1000));
    total += layers.seconds.back();
    longest = std::max(longest, layers.seconds.back());
  }
  unsigned chunks = 64;
  auto parts = balanceLayers(layers, pin({{2000, 1}}), chunks, nullptr);
  ASSERT_TRUE(parts);
  auto stages = balanceStages(layers.seconds, bytes, 0, {}, 8, nullptr);
  ASSERT_TRUE(stages);
  EXPECT_LE(scoreStages(layers.seconds, bytes, 0, *stages, 8).first,
            total / 8 + longest);
  EXPECT_LE(scoreLayers(layers, *parts, chunks).first,
            total / chunks + longest);
  EXPECT_EQ((*parts)[2000], 1u);
  // One layer longer than all others leaves the cuts nearly free.
  layers.seconds[50000] = total;
  parts = balanceLayers(layers, {}, chunks, nullptr);
  ASSERT_TRUE(parts);
  EXPECT_EQ(scoreLayers(layers, *parts, chunks).first, total);
}
