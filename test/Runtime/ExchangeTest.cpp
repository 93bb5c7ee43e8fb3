//===- ExchangeTest.cpp - exchanges against brute force -------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From every layout to every layout on the same, disjoint and overlapping
// ranks. Each rank knows the whole logical tensor and checks its box of it.
//
//===----------------------------------------------------------------------===//

#include "Exchange.h"
#include "RankHarness.h"

#include <mutex>

using namespace oneflow;
using namespace oneflow::runtime;
using namespace oneflow::test;
using plan::Reducer;
using plan::SbpKind;

static plan::Sbp sbp(SbpKind kind, int64_t dim = 0,
                     Reducer reducer = Reducer::Sum) {
  return plan::Sbp(dim, 1, kind, reducer);
}

static std::vector<TensorLayout> layoutsOn(int64_t first,
                                           const std::vector<int64_t> &sizes,
                                           const std::vector<int64_t> &shape) {
  std::vector<plan::Sbp> choices = {sbp(SbpKind::Split, 0),
                                    sbp(SbpKind::Split, 1),
                                    sbp(SbpKind::Broadcast),
                                    sbp(SbpKind::Partial),
                                    sbp(SbpKind::Partial, 0, Reducer::Max),
                                    sbp(SbpKind::Partial, 0, Reducer::Prod)};
  std::vector<std::vector<plan::Sbp>> all = {{}};
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    std::vector<std::vector<plan::Sbp>> longer;
    for (const auto &prefix : all)
      for (const plan::Sbp &choice : choices) {
        bool mixed = false;
        for (const plan::Sbp &each : prefix)
          mixed |= each.kind() == SbpKind::Partial &&
                   choice.kind() == SbpKind::Partial &&
                   each.reducer() != choice.reducer();
        if (mixed)
          continue;
        longer.push_back(prefix);
        longer.back().push_back(choice);
      }
    all = std::move(longer);
  }
  std::vector<TensorLayout> result;
  for (auto &each : all) {
    TensorLayout layout;
    layout.mesh.firstRank = first;
    layout.mesh.sizes = sizes;
    layout.shape = shape;
    layout.sbp = each;
    result.push_back(layout);
  }
  return result;
}

static double logicalValue(int64_t i) {
  return static_cast<double>(i % 23 + 1);
}

// The number of a rank among the parts of a Partial tensor.
static int partIndex(const TensorLayout &layout, int64_t rank) {
  std::vector<int64_t> at = layout.mesh.coordinates(rank);
  int index = 0;
  for (size_t axis = 0; axis < at.size(); ++axis)
    if (layout.sbp[axis].kind() == SbpKind::Partial)
      index = static_cast<int>(index * layout.mesh.sizes[axis] + at[axis]);
  return index;
}

static int partCount(const TensorLayout &layout) {
  int count = 1;
  for (size_t axis = 0; axis < layout.sbp.size(); ++axis)
    if (layout.sbp[axis].kind() == SbpKind::Partial)
      count *= static_cast<int>(layout.mesh.sizes[axis]);
  return count;
}

// One part of a value: the parts' sum, maximum or product is the value.
static double partValue(const TensorLayout &layout, int64_t rank,
                        double value) {
  int index = partIndex(layout, rank), count = partCount(layout);
  if (count == 1)
    return value;
  switch (layout.reducer()) {
  case Reducer::Sum:
    return index == 0 ? value - 2 * (count - 1) : 2;
  case Reducer::Prod:
    return index == 0 ? value / (1 << (count - 1)) : 2;
  default:
    return index == count - 1 ? value : value - 1 - index;
  }
}

// What the target layout promises a rank.
static double targetValue(const TensorLayout &layout, const Holding &holding,
                          double value) {
  if (!holding.laterPart)
    return value;
  if (layout.reducer() == Reducer::Sum)
    return 0;
  return layout.reducer() == Reducer::Prod ? 1 : value;
}

template <typename Value>
static std::vector<float> fill(const TensorLayout &layout, int64_t rank,
                               Value value) {
  Holding holding = layout.holding(rank);
  std::vector<float> result;
  for (int64_t i = 0; i < holding.box[0].extent; ++i)
    for (int64_t j = 0; j < holding.box[1].extent; ++j)
      result.push_back(static_cast<float>(value(
          holding, logicalValue((holding.box[0].offset + i) * layout.shape[1] +
                                holding.box[1].offset + j))));
  return result;
}

static std::string describe(const TensorLayout &layout) {
  std::string text;
  for (const plan::Sbp &each : layout.sbp)
    text += each.kind() == SbpKind::Split ? "S" + std::to_string(each.dim())
            : each.kind() == SbpKind::Broadcast
                ? "B"
                : "P" + std::to_string(static_cast<int>(each.reducer()));
  return text + "@" + std::to_string(layout.mesh.firstRank);
}

static void checkAll(int64_t firstFrom, const std::vector<int64_t> &from,
                     int64_t firstTo, const std::vector<int64_t> &to,
                     const std::vector<int64_t> &shape) {
  int64_t end = 0;
  std::vector<TensorLayout> sources = layoutsOn(firstFrom, from, shape);
  std::vector<TensorLayout> targets = layoutsOn(firstTo, to, shape);
  end = std::max(sources[0].mesh.firstRank + sources[0].mesh.rankCount(),
                 targets[0].mesh.firstRank + targets[0].mesh.rankCount());
  if (end > transportUnderTest().rankCount())
    GTEST_SKIP() << "needs " << end << " ranks";
  std::vector<int> everyone(transportUnderTest().rankCount());
  std::iota(everyone.begin(), everyone.end(), 0);
  onGroups({everyone}, [&](int rank, Communicator &world) {
    for (const TensorLayout &source : sources)
      for (const TensorLayout &target : targets) {
        bool sends = source.mesh.contains(rank);
        bool receives = target.mesh.contains(rank);
        if (!sends && !receives)
          continue;
        std::vector<float> in, out, expected;
        if (sends)
          in = fill(source, rank, [&](const Holding &, double value) {
            return partValue(source, rank, value);
          });
        if (receives) {
          expected =
              fill(target, rank, [&](const Holding &holding, double value) {
                return targetValue(target, holding, value);
              });
          out.assign(expected.size(), -99);
        }
        Exchange exchange;
        exchange.bind(source, target, rank);
        // At most a copy of each box that is sent, and of each part that is
        // got.
        EXPECT_LE(exchange.stagingBytes(),
                  sizeof(float) * (in.size() + partCount(source) * out.size()))
            << describe(source) << " -> " << describe(target) << " on " << rank;
        std::vector<double> staging(exchange.stagingBytes() / 8 + 1);
        TransportResult result =
            exchange.run(world, in.data(), out.data(), staging.data());
        ASSERT_TRUE(result.ok) << result.message;
        EXPECT_EQ(out, expected)
            << describe(source) << " -> " << describe(target) << " on " << rank;
      }
  });
}

TEST(Exchange, SameRanks) {
  checkAll(0, {2}, 0, {2}, {4, 6});
  checkAll(0, {3}, 0, {3}, {4, 5});
}
TEST(Exchange, SameMeshOfTwoAxes) { checkAll(0, {2, 2}, 0, {2, 2}, {5, 7}); }
TEST(Exchange, AnotherHierarchyOfTheSameRanks) {
  checkAll(0, {4}, 0, {2, 2}, {5, 3});
  checkAll(0, {2, 2}, 0, {4}, {5, 3});
}
TEST(Exchange, DisjointRanks) {
  checkAll(0, {2}, 2, {3}, {5, 4});
  checkAll(2, {3}, 0, {2}, {5, 4});
}
TEST(Exchange, OverlappingRanks) { checkAll(0, {3}, 1, {2, 2}, {4, 6}); }
TEST(Exchange, FewerElementsThanRanks) { checkAll(0, {3}, 0, {3}, {2, 1}); }

// What one rank's side of an exchange sends and stages.
static std::pair<uint64_t, uint64_t>
costOf(const TensorLayout &source, const TensorLayout &target, int rank) {
  Exchange exchange;
  exchange.bind(source, target, rank);
  return {exchange.bytesSent(), exchange.stagingBytes()};
}

static TensorLayout layoutOn(int64_t first, const std::vector<int64_t> &sizes,
                             const std::vector<int64_t> &shape,
                             const std::vector<plan::Sbp> &states) {
  TensorLayout layout;
  layout.mesh.firstRank = first;
  layout.mesh.sizes = sizes;
  layout.shape = shape;
  layout.sbp = states;
  return layout;
}

using Cost = std::pair<uint64_t, uint64_t>;
static const plan::Sbp kRows = sbp(SbpKind::Split, 0);
static const plan::Sbp kColumns = sbp(SbpKind::Split, 1);
static const plan::Sbp kWhole = sbp(SbpKind::Broadcast);
static const plan::Sbp kParts = sbp(SbpKind::Partial);

TEST(Exchange, PacksABoxOnceHoweverManyRanksGetIt) {
  // Two rows of six on each of two ranks; three columns of them to each of two
  // times three ranks: two boxes of 2 x 3, each sent three times.
  TensorLayout rows = layoutOn(0, {2}, {4, 6}, {kRows});
  TensorLayout columns = layoutOn(2, {2, 3}, {4, 6}, {kColumns, kWhole});
  EXPECT_EQ(costOf(rows, columns, 0), Cost(6 * 24, 2 * 24));
  // What arrives are two rows of three, which is one run of 4 x 3.
  EXPECT_EQ(costOf(rows, columns, 2), Cost(0, 0));
}

TEST(Exchange, PacksNothingThatIsOneRun) {
  // From columns, whole operands go out as they are and are unpacked.
  TensorLayout columns = layoutOn(0, {2}, {4, 6}, {kColumns});
  TensorLayout whole = layoutOn(2, {2}, {4, 6}, {kWhole});
  EXPECT_EQ(costOf(columns, whole, 0), Cost(2 * 48, 0));
  EXPECT_EQ(costOf(columns, whole, 2), Cost(0, 96));
  // From rows, neither.
  TensorLayout rows = layoutOn(0, {2}, {4, 6}, {kRows});
  EXPECT_EQ(costOf(rows, whole, 0), Cost(2 * 48, 0));
  EXPECT_EQ(costOf(rows, whole, 2), Cost(0, 0));
  // On the same ranks the own part goes from buffer to buffer.
  EXPECT_EQ(costOf(columns, layoutOn(0, {2}, {4, 6}, {kWhole}), 0),
            Cost(48, 48));
}

TEST(Exchange, StagesThePartsButOneAndTheOwn) {
  // Three parts of the own row, which is one run of source and target: the own
  // part is read in place, and one more lies where the sum will.
  TensorLayout parts = layoutOn(0, {3}, {3, 5}, {kParts});
  EXPECT_EQ(costOf(parts, layoutOn(0, {3}, {3, 5}, {kRows}), 1),
            Cost(2 * 20, 20));
  // Columns are runs of the target only: two are packed for others, and of the
  // three parts of the own one two are staged.
  TensorLayout wide = layoutOn(0, {3}, {3, 6}, {kParts});
  EXPECT_EQ(costOf(wide, layoutOn(0, {3}, {3, 6}, {kColumns}), 1),
            Cost(2 * 24, 4 * 24));
}

TEST(Exchange, MovesNothingWhereEachHasItsOwn) {
  std::vector<TensorLayout> layouts = layoutsOn(0, {2}, {4, 6});
  for (const TensorLayout &to : layouts) {
    // Broadcast to anything: every rank has all it needs.
    Exchange exchange;
    exchange.bind(layouts[2], to, 1);
    EXPECT_EQ(exchange.bytesSent(), 0u);
  }
  // S0 to S1 on two ranks: half of the own half goes away.
  Exchange exchange;
  exchange.bind(layouts[0], layouts[1], 0);
  EXPECT_EQ(exchange.bytesSent(), 4u * 6 * 4 / 4);
}
