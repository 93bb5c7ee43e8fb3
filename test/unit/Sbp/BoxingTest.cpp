//===- BoxingTest.cpp - boxing by simulation --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Carries out every boxing step on simulated ranks, each seeing its group only,
// counts the elements it receives, and compares with the plan and its costs.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Boxing.h"
#include "Simulate.h"

#include <gtest/gtest.h>

using namespace oneflow::sbp;
using namespace oneflow::sbp::test;

static const Sbp B = Sbp::broadcast();
static const Sbp P = Sbp::partial();
static Sbp S(int64_t dim, int64_t block = 1) { return Sbp::split(dim, block); }

namespace {

/// The ranks of a mesh while a boxing is carried out on them.
class Cluster {
public:
  Cluster(const Tensor &global, const NdSbp &sbp, const Mesh &mesh,
          Random &random)
      : shape(global.shape), mesh(mesh), state(sbp),
        ranks(scatter(global, sbp, mesh, random)) {
    locate();
  }

  /// Elements that crossed between ranks; nullopt if a rank needs what its
  /// group does not hold.
  std::optional<int64_t> apply(const BoxingStep &step) {
    if (step.from != state)
      return std::nullopt;
    received = 0;
    failed = false;
    std::vector<Tensor> next;
    for (int64_t rank = 0; rank < rankCount(mesh); ++rank) {
      std::vector<Interval> box =
          localIntervals(step.to, shape, mesh, coordinates(mesh, rank));
      Tensor local(extentsOf(box));
      forEachIndex(box, [&](const Index &index) {
        local.values[flatten(index, box)] = step.axis < 0
                                                ? exchange(step, rank, index)
                                                : alongAxis(step, rank, index);
      });
      next.push_back(std::move(local));
    }
    ranks = std::move(next);
    state = step.to;
    locate();
    if (failed)
      return std::nullopt;
    return received;
  }

  std::optional<Tensor> whole() const {
    return assemble(ranks, state, shape, mesh);
  }

private:
  /// Notes what each rank holds in the present state.
  void locate() {
    boxes.clear();
    for (int64_t rank = 0; rank < rankCount(mesh); ++rank)
      boxes.push_back(
          localIntervals(state, shape, mesh, coordinates(mesh, rank)));
  }

  std::optional<double> valueOn(int64_t rank, const Index &index) const {
    const std::vector<Interval> &box = boxes[static_cast<size_t>(rank)];
    if (!contains(box, index))
      return std::nullopt;
    return ranks[static_cast<size_t>(rank)].values[flatten(index, box)];
  }

  std::vector<int64_t> groupOf(int64_t rank, int64_t axis) const {
    std::vector<int64_t> group, own = coordinates(mesh, rank);
    for (int64_t other = 0; other < rankCount(mesh); ++other) {
      std::vector<int64_t> coords = coordinates(mesh, other);
      coords[static_cast<size_t>(axis)] = own[static_cast<size_t>(axis)];
      if (coords == own)
        group.push_back(other);
    }
    return group;
  }

  double alongAxis(const BoxingStep &step, int64_t rank, const Index &index) {
    size_t axis = static_cast<size_t>(step.axis);
    const Sbp &from = step.from[axis], &to = step.to[axis];
    int64_t coordinate = coordinates(mesh, rank)[axis];
    std::optional<double> own = valueOn(rank, index);
    if (to.isPartial()) {
      double neutral = neutralElement(to.reducer);
      if (from.isSplit())
        return own.value_or(neutral);
      bool idempotent =
          to.reducer == Reducer::Max || to.reducer == Reducer::Min;
      failed |= !own || from.isPartial();
      return coordinate == 0 || idempotent ? own.value_or(0) : neutral;
    }
    std::vector<int64_t> group = groupOf(rank, step.axis);
    int64_t parts = static_cast<int64_t>(group.size());
    if (from.isPartial()) {
      std::optional<double> sum;
      for (int64_t other : group) {
        std::optional<double> part = valueOn(other, index);
        failed |= !part;
        if (part)
          sum = sum ? reduce(from.reducer, *sum, *part) : *part;
      }
      // All-reduce: one rank of the group gathers the parts of an element and
      // the others get the result. Which one does not change the sum.
      received += to.isSplit() || coordinate == 0 ? parts - 1 : 1;
      return sum.value_or(0);
    }
    if (own)
      return *own;
    ++received;
    for (int64_t other : group)
      if (std::optional<double> value = valueOn(other, index))
        return *value;
    failed = true;
    return 0;
  }

  double exchange(const BoxingStep &step, int64_t rank, const Index &index) {
    std::vector<int64_t> own = coordinates(mesh, rank);
    for (size_t axis = 0; axis < mesh.size(); ++axis)
      if (step.to[axis].isPartial() && !step.from[axis].isSplit() &&
          step.from[axis] != step.to[axis] && own[axis] != 0)
        return neutralElement(step.to[axis].reducer);
    // One rank for each part of the element, this one if it can be.
    std::map<int64_t, int64_t> holders;
    for (int64_t other = 0; other < rankCount(mesh); ++other) {
      std::vector<int64_t> coords = coordinates(mesh, other);
      bool admitted = valueOn(other, index).has_value();
      for (size_t axis = 0; axis < mesh.size(); ++axis)
        if (step.to[axis].isPartial() &&
            (step.from[axis].isSplit() || step.from[axis] == step.to[axis]))
          admitted &= coords[axis] == own[axis];
      if (!admitted)
        continue;
      int64_t part = partIndex(step.from, mesh, coords);
      if (other == rank || !holders.count(part))
        holders[part] = other;
    }
    std::optional<double> sum;
    for (auto [part, holder] : holders) {
      double value = *valueOn(holder, index);
      sum = sum ? reduce(reducerOf(step.from), *sum, value) : value;
      received += holder != rank;
    }
    if (!sum)
      return neutralElement(reducerOf(step.to));
    return *sum;
  }

  Shape shape;
  Mesh mesh;
  NdSbp state;
  std::vector<Tensor> ranks;
  std::vector<std::vector<Interval>> boxes;
  int64_t received = 0;
  bool failed = false;
};

constexpr int64_t kElementBytes = 4;

/// Carries out the boxing, checks every step, and returns the bytes it moved.
int64_t checkBoxing(const NdSbp &from, const NdSbp &to, const Shape &shape,
                    const Mesh &mesh, Random &random) {
  std::string error;
  auto steps = planBoxing(from, to, shape, mesh, &error);
  EXPECT_TRUE(steps) << error;
  if (!steps)
    return -1;
  std::string what = toString(from) + " -> " + toString(to) + " shape " +
                     ::testing::PrintToString(shape) + " mesh " +
                     ::testing::PrintToString(mesh);
  EXPECT_EQ(steps->empty(), from == to) << what;
  std::vector<Link> links(mesh.size());
  Tensor global = randomTensor(shape, random);
  Cluster cluster(global, from, mesh, random);
  int64_t bytes = 0;
  double seconds = 0;
  NdSbp state = from;
  for (const BoxingStep &step : *steps) {
    EXPECT_EQ(step.from, state) << what;
    EXPECT_FALSE(checkLegal(step.to, shape, mesh)) << what;
    std::optional<int64_t> elements = cluster.apply(step);
    BoxingCost cost = stepCost(step, shape, kElementBytes, mesh, links);
    std::string stepText = what + " step " + std::string(toString(step.kind)) +
                           " to " + toString(step.to);
    EXPECT_TRUE(elements) << stepText << " needs data outside its group";
    EXPECT_EQ(elements.value_or(-1) * kElementBytes, cost.bytesMoved)
        << stepText;
    EXPECT_EQ(cost.bytesMoved == 0, cost.seconds == 0) << stepText;
    std::optional<Tensor> whole = cluster.whole();
    EXPECT_TRUE(whole && *whole == global) << stepText << " is wrong";
    bytes += cost.bytesMoved;
    seconds += cost.seconds;
    state = step.to;
  }
  EXPECT_EQ(state, to) << what;
  auto total = boxingCost(from, to, shape, kElementBytes, mesh, links);
  EXPECT_TRUE(total);
  EXPECT_EQ(total->bytesMoved, bytes) << what;
  EXPECT_DOUBLE_EQ(total->seconds, seconds) << what;
  return bytes;
}

std::vector<Sbp> statesFor(size_t rank, bool withBlocks) {
  std::vector<Sbp> states{B, P, Sbp::partial(Reducer::Max),
                          Sbp::partial(Reducer::Min),
                          Sbp::partial(Reducer::Prod)};
  for (size_t dim = 0; dim < rank; ++dim) {
    states.push_back(S(static_cast<int64_t>(dim)));
    if (withBlocks)
      states.push_back(S(static_cast<int64_t>(dim), 2));
  }
  return states;
}

/// The left column of the boxing table, for an even split.
int64_t tableBytes(const Sbp &from, const Sbp &to, int64_t p, int64_t bytes,
                   bool splittable) {
  if (from == to || from.isBroadcast())
    return 0;
  if (from.isSplit()) {
    if (to.isSplit())
      return (p - 1) * bytes / p;
    return to.isBroadcast() ? (p - 1) * bytes : 0;
  }
  if (to.isSplit() || (to.isPartial() && splittable))
    return (p - 1) * bytes;
  return 2 * (p - 1) * bytes;
}

} // namespace

TEST(Boxing, EveryPairOnOneAxis) {
  Random random(2);
  size_t pairs = 0;
  for (int64_t p = 2; p <= 5; ++p) {
    Mesh mesh{p};
    for (const Shape &shape :
         {Shape{2 * p}, Shape{2 * p + 1}, Shape{p, 2 * p}, Shape{p + 1, 4 * p},
          Shape{3, 2 * p + 2}, Shape{p, 2, p + 1}, Shape{2, p, 1, 2 * p},
          Shape{2 * p + 1, p + 1}, Shape{1}, Shape{}}) {
      for (const Sbp &from : statesFor(shape.size(), true)) {
        for (const Sbp &to : statesFor(shape.size(), true)) {
          if (checkLegal({from}, shape, mesh) || checkLegal({to}, shape, mesh))
            continue;
          checkBoxing({from}, {to}, shape, mesh, random);
          ++pairs;
        }
      }
    }
  }
  EXPECT_GT(pairs, 1900u);
}

TEST(Boxing, BytesAreThoseOfTheTable) {
  Random random(3);
  for (int64_t p = 2; p <= 5; ++p) {
    Mesh mesh{p};
    for (const Shape &shape :
         {Shape{2 * p}, Shape{p, 2 * p}, Shape{p, 2 * p, p}, Shape{1}}) {
      int64_t bytes =
          static_cast<int64_t>(Tensor::count(shape)) * kElementBytes;
      for (const Sbp &from : statesFor(shape.size(), false))
        for (const Sbp &to : statesFor(shape.size(), false))
          if (!checkLegal({from}, shape, mesh) &&
              !checkLegal({to}, shape, mesh))
            EXPECT_EQ(checkBoxing({from}, {to}, shape, mesh, random),
                      tableBytes(from, to, p, bytes, shape[0] >= p))
                << toString(from) << " -> " << toString(to) << " over " << p;
    }
  }
}

TEST(Boxing, OneStepPerRowOfTheTable) {
  auto kinds = [](const Sbp &from, const Sbp &to) {
    std::vector<StepKind> kinds;
    auto steps = planBoxing({from}, {to}, {8, 8}, {4});
    for (const BoxingStep &step : *steps)
      kinds.push_back(step.kind);
    return kinds;
  };
  using Kinds = std::vector<StepKind>;
  EXPECT_EQ(kinds(S(0), S(0)), Kinds{});
  EXPECT_EQ(kinds(S(0), S(1)), Kinds{StepKind::AllToAll});
  EXPECT_EQ(kinds(S(0), S(0, 2)), Kinds{StepKind::AllToAll});
  EXPECT_EQ(kinds(S(0), B), Kinds{StepKind::AllGather});
  EXPECT_EQ(kinds(S(0), P), Kinds{StepKind::Embed});
  EXPECT_EQ(kinds(B, S(1)), Kinds{StepKind::Slice});
  EXPECT_EQ(kinds(B, P), Kinds{StepKind::Dilute});
  EXPECT_EQ(kinds(P, S(1)), Kinds{StepKind::ReduceScatter});
  EXPECT_EQ(kinds(P, B), Kinds{StepKind::AllReduce});
  auto other = planBoxing({P}, {Sbp::partial(Reducer::Max)}, {2, 8}, {4});
  ASSERT_EQ(other->size(), 2u);
  EXPECT_EQ(other->front().kind, StepKind::ReduceScatter);
  EXPECT_EQ(other->front().to, NdSbp{S(1)}); // dimension 0 is too short
  EXPECT_EQ(other->back().kind, StepKind::Embed);
  other = planBoxing({P}, {Sbp::partial(Reducer::Max)}, {2, 3}, {4});
  ASSERT_EQ(other->size(), 2u);
  EXPECT_EQ(other->front().kind, StepKind::AllReduce);
  EXPECT_EQ(other->back().kind, StepKind::Dilute);
}

TEST(Boxing, EveryPairOnTwoAxes) {
  Random random(4);
  size_t pairs = 0, exchanges = 0;
  for (const Mesh &mesh : {Mesh{2, 2}, Mesh{2, 3}, Mesh{3, 1}}) {
    for (const Shape &shape : {Shape{6, 4}, Shape{7, 5}, Shape{6, 1}}) {
      std::vector<NdSbp> states;
      for (const Sbp &first :
           {B, P, Sbp::partial(Reducer::Max), S(0), S(1), S(0, 2)})
        for (const Sbp &second : {B, P, Sbp::partial(Reducer::Max), S(0), S(1)})
          if (!checkLegal({first, second}, shape, mesh))
            states.push_back({first, second});
      for (const NdSbp &from : states) {
        for (const NdSbp &to : states) {
          checkBoxing(from, to, shape, mesh, random);
          ++pairs;
          auto steps = planBoxing(from, to, shape, mesh);
          for (const BoxingStep &step : *steps)
            exchanges += step.kind == StepKind::Exchange;
        }
      }
    }
  }
  EXPECT_GT(pairs, 3000u);
  EXPECT_GT(exchanges, 100u);
}

TEST(Boxing, RandomPairsOnThreeAxes) {
  Random random(5);
  Mesh mesh{2, 2, 2};
  Shape shape{5, 4, 2};
  std::vector<Sbp> choices{B, P, S(0), S(1), S(2), Sbp::partial(Reducer::Prod)};
  auto draw = [&] {
    NdSbp sbp;
    do {
      sbp.clear();
      for (size_t axis = 0; axis < mesh.size(); ++axis)
        sbp.push_back(choices[random() % choices.size()]);
    } while (checkLegal(sbp, shape, mesh));
    return sbp;
  };
  for (int i = 0; i < 120; ++i) {
    NdSbp from = draw(), to = draw();
    checkBoxing(from, to, shape, mesh, random);
  }
}

/// The exchange must be right where planning prefers steps, too.
TEST(Boxing, ExchangeBetweenAllStates) {
  Random random(6);
  for (const Mesh &mesh : {Mesh{2, 2}, Mesh{2, 3}}) {
    Shape shape{7, 6};
    std::vector<NdSbp> states;
    for (const Sbp &first : {B, P, S(0), S(1)})
      for (const Sbp &second : {B, P, S(0), S(1)})
        if (!checkLegal({first, second}, shape, mesh))
          states.push_back({first, second});
    for (const NdSbp &from : states) {
      for (const NdSbp &to : states) {
        BoxingStep step{StepKind::Exchange, -1, from, to};
        Tensor global = randomTensor(shape, random);
        Cluster cluster(global, from, mesh, random);
        std::optional<int64_t> elements = cluster.apply(step);
        ASSERT_TRUE(elements);
        EXPECT_EQ(*elements, stepCost(step, shape, 1, mesh, {}).bytesMoved)
            << toString(from) << " -> " << toString(to);
        std::optional<Tensor> whole = cluster.whole();
        EXPECT_TRUE(whole && *whole == global)
            << toString(from) << " -> " << toString(to);
      }
    }
  }
}

/// No plan that copies is slower than the exchange, and no plan at all is
/// slower than gathering everything and slicing it again where that is allowed.
TEST(Boxing, PlansAreNoSlowerThanTheObviousWays) {
  std::vector<Sbp> choices{B, P, S(0), S(1), S(2)};
  Mesh mesh{2, 4};
  std::vector<Link> links(mesh.size());
  // Small tensors are bound by latency, large ones by bandwidth.
  for (const Shape &shape : {Shape{8, 9, 10}, Shape{800, 900, 10}}) {
    std::vector<NdSbp> states;
    for (const Sbp &first : choices)
      for (const Sbp &second : choices)
        if (!checkLegal({first, second}, shape, mesh))
          states.push_back({first, second});
    auto seconds = [&](std::optional<StepKind> kind, int64_t axis,
                       const NdSbp &from, const NdSbp &to) {
      if (kind)
        return stepCost({*kind, axis, from, to}, shape, 4, mesh, links).seconds;
      return boxingCost(from, to, shape, 4, mesh, links)->seconds;
    };
    auto isWhole = [](const NdSbp &sbp) {
      return !sbp[0].isSplit() && !sbp[1].isSplit();
    };
    for (const NdSbp &from : states) {
      for (const NdSbp &to : states) {
        double planned = seconds(std::nullopt, 0, from, to);
        constexpr double kRounding = 1e-8;
        // One changed axis takes its row of the table, and partial values are
        // reduced by collectives, whatever an exchange would take.
        bool reduces = (from[0].isPartial() && from[0] != to[0]) ||
                       (from[1].isPartial() && from[1] != to[1]);
        if (!reduces && from[0] != to[0] && from[1] != to[1])
          EXPECT_LE(planned,
                    seconds(StepKind::Exchange, -1, from, to) + kRounding)
              << toString(from) << " -> " << toString(to);
        if (!isWhole(from) && !isWhole(to))
          continue;
        double gathered = 0;
        NdSbp state = from;
        for (int64_t axis = 1; axis >= 0; --axis) {
          const Sbp &sbp = from[static_cast<size_t>(axis)];
          NdSbp next = state;
          next[static_cast<size_t>(axis)] = B;
          if (!sbp.isBroadcast())
            gathered += seconds(sbp.isSplit() ? StepKind::AllGather
                                              : StepKind::AllReduce,
                                axis, state, next);
          state = next;
        }
        EXPECT_LE(planned, gathered + kRounding)
            << toString(from) << " -> " << toString(to);
      }
    }
  }
}

TEST(Boxing, LaterSplitOfTheSameDimensionForbidsASingleStep) {
  // Along axis 0 alone, rank (0, 0) never sees elements 4 and 5 of 8 that it
  // needs.
  NdSbp from{S(0), S(0)}, to{B, S(0)};
  Random random(7);
  Tensor global = randomTensor({8}, random);
  Cluster cluster(global, from, {2, 2}, random);
  EXPECT_FALSE(cluster.apply({StepKind::AllGather, 0, from, to}));

  auto steps = planBoxing(from, to, {8}, {2, 2});
  ASSERT_EQ(steps->size(), 1u);
  EXPECT_EQ(steps->front().kind, StepKind::Exchange);
  EXPECT_EQ(steps->front().axis, -1);
  // Each rank needs 4 elements; ranks 0 and 3 hold 2 of theirs, 1 and 2 none.
  EXPECT_EQ(stepCost(steps->front(), {8}, 4, {2, 2}, {}).bytesMoved,
            (2 + 4 + 4 + 2) * 4);
}

TEST(Boxing, NoWayOverTheWholeTensorWhereNeitherEndHoldsIt) {
  auto steps = planBoxing({S(0), S(1)}, {S(1), S(0)}, {8, 8}, {2, 2});
  ASSERT_TRUE(steps);
  for (const BoxingStep &step : *steps)
    EXPECT_NE(step.to, (NdSbp{B, B}));
}

TEST(Boxing, TimeFollowsTheRingFormulas) {
  // Four ranks, 4000 bytes, 1 us latency, 1 GB/s.
  std::vector<Link> links{{1e-6, 1e9}};
  auto seconds = [&](StepKind kind, const Sbp &from, const Sbp &to) {
    return stepCost({kind, 0, {from}, {to}}, {100, 10}, 4, {4}, links).seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(StepKind::AllGather, S(0), B), 3e-6 + 3e-6);
  EXPECT_DOUBLE_EQ(seconds(StepKind::ReduceScatter, P, S(0)), 3e-6 + 3e-6);
  EXPECT_DOUBLE_EQ(seconds(StepKind::AllReduce, P, B), 2 * (3e-6 + 3e-6));
  // Each rank sends three quarters of its 1000 bytes; S(1) is 3, 3, 2, 2.
  EXPECT_DOUBLE_EQ(seconds(StepKind::AllToAll, S(0), S(1)), 3e-6 + 0.75e-6);
  EXPECT_EQ(seconds(StepKind::Slice, B, S(0)), 0);
}

TEST(Boxing, RefusesIllegalStatesWithAReason) {
  std::string error;
  EXPECT_FALSE(planBoxing({S(0)}, {B}, {2}, {3}, &error));
  EXPECT_NE(error.find("source: sbp_c3"), std::string::npos) << error;
  EXPECT_FALSE(planBoxing({B}, {S(4)}, {2}, {2}, &error));
  EXPECT_NE(error.find("target: sbp_c2"), std::string::npos) << error;
  EXPECT_FALSE(planBoxing({B, B}, {B}, {2}, {2}, &error));
  EXPECT_NE(error.find("source: sbp_c1"), std::string::npos) << error;
  EXPECT_FALSE(boxingCost({B}, {S(4)}, {2}, 4, {2}, {}));
}

TEST(Boxing, DisjointPlacements) {
  constexpr int64_t kBytes = 100, kFrom = 3, kTo = 4;
  auto bytes = [&](const Sbp &from, const Sbp &to) {
    return disjointBytes(from, kFrom, to, kTo, kBytes);
  };
  EXPECT_EQ(bytes(S(0), S(0)), kBytes);
  EXPECT_EQ(bytes(S(0), S(1)), kBytes);
  EXPECT_EQ(bytes(S(0), B), 400);
  EXPECT_EQ(bytes(S(0), P), kBytes);
  EXPECT_EQ(bytes(B, S(0)), kBytes);
  EXPECT_EQ(bytes(B, B), 400);
  EXPECT_EQ(bytes(B, P), kBytes);
  EXPECT_EQ(bytes(P, S(0)), 300);
  EXPECT_EQ(bytes(P, B), 600);
  EXPECT_EQ(bytes(P, P), 300);
  EXPECT_EQ(bytes(P, Sbp::partial(Reducer::Max)), 300);
}
