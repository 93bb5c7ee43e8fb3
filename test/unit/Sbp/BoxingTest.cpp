//===- BoxingTest.cpp - the ways that boxing takes --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which steps are planned, the boxing table in closed form, and times worked
// out by hand. BoxingPlanTest.cpp carries plans out.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Boxing.h"

#include <gtest/gtest.h>

using namespace oneflow::sbp;

static const Sbp B = Sbp::broadcast();
static const Sbp P = Sbp::partial();
static const Sbp Max = Sbp::partial(Reducer::Max);
static Sbp S(int64_t dim, int64_t block = 1) { return Sbp::split(dim, block); }

using Kinds = std::vector<StepKind>;

static Kinds kindsOf(const BoxingRequest &request) {
  Kinds kinds;
  std::optional<BoxingPlan> plan = planBoxing(request);
  EXPECT_TRUE(plan);
  for (const BoxingStep &step : plan->steps)
    kinds.push_back(step.kind);
  return kinds;
}

static BoxingRequest between(const Mesh &source, const Mesh &target, NdSbp from,
                             NdSbp to, Shape shape, int64_t elementBytes = 4) {
  return {std::move(from), std::move(to),   std::move(shape),
          elementBytes,    {source, 0, {}}, {target, rankCount(source), {}}};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

std::vector<Sbp> statesOf(const Shape &shape) {
  std::vector<Sbp> states{B, P, Max, Sbp::partial(Reducer::Min),
                          Sbp::partial(Reducer::Prod)};
  for (size_t dim = 0; dim < shape.size(); ++dim)
    states.push_back(S(static_cast<int64_t>(dim)));
  return states;
}

/// The left column, for an even split.
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

/// The right column.
int64_t tableBytesAcross(const Sbp &from, int64_t p1, const Sbp &to, int64_t p2,
                         int64_t bytes) {
  if (from.isPartial())
    return (to.isBroadcast() ? p1 + p2 - 1 : p1) * bytes;
  return (to.isBroadcast() ? p2 : 1) * bytes;
}

} // namespace

TEST(Boxing, BytesAreThoseOfTheTable) {
  for (int64_t p = 2; p <= 5; ++p)
    for (const Shape &shape :
         {Shape{2 * p}, Shape{p, 2 * p}, Shape{p, 2 * p, p}, Shape{1}})
      for (int64_t elementBytes : {1, 8})
        for (const Sbp &from : statesOf(shape))
          for (const Sbp &to : statesOf(shape)) {
            std::optional<BoxingPlan> plan =
                planBoxing(boxingOn({p}, {from}, {to}, shape, elementBytes));
            if (!plan) // a vector of one element cannot be split
              continue;
            int64_t bytes = elementBytes;
            for (int64_t extent : shape)
              bytes *= extent;
            EXPECT_EQ(plan->cost.bytesMoved,
                      tableBytes(from, to, p, bytes, shape[0] >= p))
                << toString(from) << " -> " << toString(to) << " over " << p;
          }
}

TEST(Boxing, BytesBetweenPlacementsAreThoseOfTheTable) {
  for (int64_t p1 : {1, 2, 3, 4, 7})
    for (int64_t p2 : {1, 2, 3, 5, 8})
      for (const Shape &shape : {Shape{8}, Shape{13, 9}, Shape{4000, 1000}})
        for (const Sbp &from : statesOf(shape))
          for (const Sbp &to : statesOf(shape)) {
            int64_t bytes = 4;
            for (int64_t extent : shape)
              bytes *= extent;
            std::optional<BoxingPlan> plan =
                planBoxing(between({p1}, {p2}, {from}, {to}, shape));
            ASSERT_TRUE(plan);
            EXPECT_EQ(plan->cost.bytesMoved,
                      tableBytesAcross(from, p1, to, p2, bytes))
                << toString(from) << " over " << p1 << " -> " << toString(to)
                << " over " << p2;
          }
}

TEST(Boxing, OneStepPerRowOfTheTable) {
  auto kinds = [](const Sbp &from, const Sbp &to, const Shape &shape = {8, 8}) {
    return kindsOf(boxingOn({4}, {from}, {to}, shape));
  };
  EXPECT_EQ(kinds(S(0), S(0)), Kinds{});
  EXPECT_EQ(kinds(S(0), S(1)), Kinds{StepKind::AllToAll});
  EXPECT_EQ(kinds(S(0), S(0, 2)), Kinds{StepKind::Exchange});
  EXPECT_EQ(kinds(S(0), B), Kinds{StepKind::AllGather});
  EXPECT_EQ(kinds(S(0), P), Kinds{StepKind::Embed});
  EXPECT_EQ(kinds(B, S(1)), Kinds{StepKind::Slice});
  EXPECT_EQ(kinds(B, P), Kinds{StepKind::Dilute});
  EXPECT_EQ(kinds(P, S(1)), Kinds{StepKind::ReduceScatter});
  EXPECT_EQ(kinds(P, B), Kinds{StepKind::AllReduce});
  std::optional<BoxingPlan> other =
      planBoxing(boxingOn({4}, {P}, {Max}, {2, 8}));
  ASSERT_EQ(other->steps.size(), 2u);
  EXPECT_EQ(other->steps[0].kind, StepKind::ReduceScatter);
  EXPECT_EQ(other->steps[0].to, NdSbp{S(1)}); // dimension 0 is too short
  EXPECT_EQ(other->steps[1].kind, StepKind::Embed);
  EXPECT_EQ(kinds(P, Max, {2, 3}),
            (Kinds{StepKind::AllReduce, StepKind::Dilute}));
}

//===----------------------------------------------------------------------===//
// Several axes
//===----------------------------------------------------------------------===//

TEST(Boxing, LaterSplitOfTheSameDimensionForbidsASingleStep) {
  // Along axis 0 alone, rank (0, 0) never sees elements 4 and 5 of 8 that it
  // needs.
  NdSbp from{S(0), S(0)}, to{B, S(0)};
  EXPECT_FALSE(collectiveAxis(from, to));
  EXPECT_EQ(collectiveAxis({S(0), S(0)}, {S(0), B}), 1);
  EXPECT_EQ(collectiveAxis({S(0), S(1)}, {B, S(1)}), 0);
  EXPECT_FALSE(collectiveAxis({P, B}, {Max, B}));
  EXPECT_FALSE(collectiveAxis({S(0), B}, {S(0, 2), B}));
  EXPECT_FALSE(collectiveAxis({S(0), B}, {B, S(0)}));
  EXPECT_FALSE(collectiveAxis(from, from));

  std::optional<BoxingPlan> plan = planBoxing(boxingOn({2, 2}, from, to, {8}));
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->steps[0].kind, StepKind::Exchange);
  EXPECT_EQ(plan->steps[0].axis, -1);
  // Each rank needs 4 elements; ranks 0 and 3 hold 2 of theirs, 1 and 2 none.
  EXPECT_EQ(plan->cost.bytesMoved, (2 + 4 + 4 + 2) * 4);
}

TEST(Boxing, NoWayOverTheWholeTensorWhereNeitherEndHoldsIt) {
  std::optional<BoxingPlan> plan =
      planBoxing(boxingOn({2, 2}, {S(0), S(1)}, {S(1), S(0)}, {8, 8}));
  ASSERT_TRUE(plan);
  for (const BoxingStep &step : plan->steps)
    EXPECT_NE(step.to, (NdSbp{B, B}));
}

TEST(Boxing, AnExchangeMayFollowACollective) {
  // The first axis cannot be gathered by itself, and an exchange would take all
  // parts of what a rank needs at once.
  std::optional<BoxingPlan> plan = planBoxing(
      boxingOn({2, 2, 2}, {S(0), S(0), P}, {B, S(0), S(1)}, {4096, 300}));
  ASSERT_TRUE(plan);
  ASSERT_GE(plan->steps.size(), 2u);
  bool exchanges = false, reduces = false;
  for (const BoxingStep &step : plan->steps) {
    exchanges |= step.kind == StepKind::Exchange;
    reduces |= step.kind == StepKind::AllReduce ||
               step.kind == StepKind::ReduceScatter;
  }
  EXPECT_TRUE(reduces);
  EXPECT_TRUE(exchanges);
}

TEST(Boxing, SlowLinksAreAvoided) {
  // Gathering along both axes: what the slow one carries is least if it goes
  // first, whichever it is.
  Link slow{5e-6, 1e8}, fast{5e-6, 1e11};
  for (size_t slowAxis : {0, 1}) {
    std::vector<Link> links{fast, fast};
    links[slowAxis] = slow;
    std::optional<BoxingPlan> plan = planBoxing(
        boxingOn({2, 2}, {S(0), S(1)}, {B, B}, {4000, 4000}, 4, links));
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->steps.size(), 2u);
    EXPECT_EQ(plan->steps[0].axis, static_cast<int64_t>(slowAxis));
  }
}

TEST(Boxing, PlansAreNoSlowerThanGatheringAndCutting) {
  std::vector<Sbp> choices{B, P, S(0), S(1), S(2)};
  Mesh mesh{2, 4};
  // Small tensors are bound by latency, large ones by bandwidth.
  for (const Shape &shape : {Shape{8, 9, 10}, Shape{800, 900, 10}}) {
    std::vector<NdSbp> states;
    for (const Sbp &first : choices)
      for (const Sbp &second : choices)
        if (!checkLegal({first, second}, shape, mesh))
          states.push_back({first, second});
    for (const NdSbp &from : states) {
      for (const NdSbp &to : states) {
        std::optional<BoxingPlan> plan =
            planBoxing(boxingOn(mesh, from, to, shape));
        ASSERT_TRUE(plan);
        double gathered = 0;
        int64_t bytes = 0, peak = 0;
        NdSbp state = from;
        for (size_t axis = 2; axis-- > 0;) {
          NdSbp next = state;
          next[axis] = B;
          if (next == state)
            continue;
          BoxingStep step = directStep(boxingOn(mesh, state, next, shape));
          gathered += step.cost.seconds;
          bytes += step.cost.bytesMoved;
          peak = std::max(peak, step.peakBytes);
          state = next;
        }
        EXPECT_EQ(plan->gatherBytes, bytes);
        EXPECT_LE(plan->cost.bytesMoved, bytes);
        bool whole = !to[0].isSplit() && !to[1].isSplit();
        bool inRoom = whole && peak <= plan->boundBytes;
        if (inRoom)
          EXPECT_LE(plan->cost.seconds, gathered + 1e-8)
              << toString(from) << " -> " << toString(to);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Between placements
//===----------------------------------------------------------------------===//

TEST(Boxing, OneStepIsAcross) {
  std::optional<BoxingPlan> plan =
      planBoxing(between({4}, {2, 2}, {P}, {B, B}, {64, 64}));
  ASSERT_TRUE(plan);
  StepPlace place = StepPlace::Source;
  int across = 0;
  for (const BoxingStep &step : plan->steps) {
    EXPECT_GE(step.place == StepPlace::Across ? 1 : int(step.place),
              place == StepPlace::Across ? 1 : int(place));
    if (step.place == StepPlace::Across) {
      ++across;
      EXPECT_EQ(step.kind, StepKind::Exchange);
      EXPECT_EQ(step.axis, -1);
      EXPECT_EQ(step.to.size(), 2u);
    }
    place = step.place;
  }
  EXPECT_EQ(across, 1);
}

TEST(Boxing, TheSameRanksInAnotherShapeKeepWhatTheyHave) {
  BoxingRequest request{{S(0)}, {S(0), S(0)}, {16},
                        4,      {{4}, 0, {}}, {{2, 2}, 0, {}}};
  std::optional<BoxingPlan> plan = planBoxing(request);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(request.samePlacement());
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->cost.bytesMoved, 0);
  EXPECT_EQ(plan->cost.seconds, 0);
}

TEST(Boxing, ThousandsOfRanksArePlanned) {
  // 128 parts to 64 and copies of them on 16 each: every element goes to 16.
  std::optional<BoxingPlan> plan = planBoxing(
      between({128, 8}, {64, 16}, {S(0), S(1)}, {S(0), B}, {4096, 4096}));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cost.bytesMoved, 16ll * 4096 * 4096 * 4);
  EXPECT_LE(plan->peakBytes, plan->boundBytes);
}

//===----------------------------------------------------------------------===//
// Bounds, times, errors
//===----------------------------------------------------------------------===//

TEST(Boxing, MemoryBoundsTheWay) {
  // Of 8x8 ranks each holds a 64th and wants another: nothing may be gathered.
  std::optional<BoxingPlan> plan =
      planBoxing(boxingOn({8, 8}, {S(0), S(0)}, {S(1), S(1)}, {64, 64}));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->boundBytes, 2 * (64 + 64) * 4);
  EXPECT_LE(plan->peakBytes, plan->boundBytes);
  EXPECT_LE(plan->cost.bytesMoved, 2 * 64 * 64 * 4);
  EXPECT_EQ(plan->gatherBytes, 63 * 64 * 64 * 4);
}

TEST(Boxing, PeaksCountOperandResultAndMessages) {
  auto peak = [](const Sbp &from, const Sbp &to, const Shape &shape) {
    return directStep(boxingOn({4}, {from}, {to}, shape, 1)).peakBytes;
  };
  EXPECT_EQ(peak(B, S(0), {8, 8}), 64 + 16);
  EXPECT_EQ(peak(P, B, {8, 8}), 64 + 64);
  EXPECT_EQ(peak(S(0), B, {8, 8}), 16 + 64);      // parts lie in order
  EXPECT_EQ(peak(S(1), B, {8, 8}), 16 + 64 + 64); // and must be interleaved
  EXPECT_EQ(peak(P, S(0), {8, 8}), 64 + 16);
  EXPECT_EQ(peak(P, S(1), {8, 8}), 64 + 16 + 64);
  EXPECT_EQ(peak(S(0), S(1), {8, 8}), 2 * (16 + 16));
  EXPECT_EQ(peak(S(1), S(2), {1, 8, 8}), 2 * (16 + 16));
}

TEST(Boxing, TimeFollowsTheRingFormulas) {
  // Four ranks, 4000 bytes, 1 us latency, 1 GB/s.
  std::vector<Link> links{{1e-6, 1e9}};
  auto seconds = [&](const Sbp &from, const Sbp &to) {
    return directStep(boxingOn({4}, {from}, {to}, {100, 10}, 4, links))
        .cost.seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(S(0), B), 3e-6 + 3e-6);
  EXPECT_DOUBLE_EQ(seconds(P, S(0)), 3e-6 + 3e-6);
  EXPECT_DOUBLE_EQ(seconds(P, B), 2 * (3e-6 + 3e-6));
  // Each rank sends three quarters of its 1000 bytes; S(1) is 3, 3, 2, 2.
  EXPECT_DOUBLE_EQ(seconds(S(0), S(1)), 3e-6 + 0.75e-6);
  EXPECT_EQ(seconds(B, S(0)), 0);
}

TEST(Boxing, TimeOfAnExchangeIsThatOfTheBusiestRank) {
  Link link{1e-6, 1e9};
  BoxingRequest request = between({2}, {4}, {S(0)}, {S(0)}, {1000}, 4);
  request.source.links = request.target.links = {link};
  // A source rank sends its 2000 bytes to two others.
  EXPECT_DOUBLE_EQ(directStep(request).cost.seconds, 2e-6 + 2e-6);
  request.to = {B};
  // Now all of it to four.
  EXPECT_DOUBLE_EQ(directStep(request).cost.seconds, 4e-6 + 8e-6);
  // The slower of the links between them counts.
  request.target.links = {{2e-6, 5e8}};
  EXPECT_DOUBLE_EQ(directStep(request).cost.seconds, 8e-6 + 16e-6);
  // Ranks (0, 1) and (1, 0) swap their quarters of 4000 bytes.
  EXPECT_DOUBLE_EQ(directStep(boxingOn({2, 2}, {S(0), S(1)}, {S(1), S(0)},
                                       {100, 10}, 4, {link, link}))
                       .cost.seconds,
                   1e-6 + 1e-6);
}

TEST(Boxing, RefusesIllegalStatesWithAReason) {
  std::string error;
  EXPECT_FALSE(planBoxing(boxingOn({3}, {S(0)}, {B}, {2}), &error));
  EXPECT_NE(error.find("source: sbp_c3"), std::string::npos) << error;
  EXPECT_FALSE(planBoxing(boxingOn({2}, {B}, {S(4)}, {2}), &error));
  EXPECT_NE(error.find("target: sbp_c2"), std::string::npos) << error;
  EXPECT_FALSE(planBoxing(boxingOn({2}, {B, B}, {B}, {2}), &error));
  EXPECT_NE(error.find("source: sbp_c1"), std::string::npos) << error;
}

TEST(Boxing, EqualRequestsArePlannedOnce) {
  BoxingPlans plans;
  BoxingRequest request = boxingOn({2, 2}, {S(0), P}, {B, B}, {8, 8});
  const BoxingPlan *plan = plans.find(request);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plans.find(boxingOn({2, 2}, {S(0), P}, {B, B}, {8, 8})), plan);
  BoxingRequest other = request;
  other.elementBytes = 8;
  EXPECT_NE(plans.find(other), plan);
  other = request;
  other.target.firstRank = 1;
  EXPECT_NE(plans.find(other), plan);
  other = request;
  other.source.links = {{1, 1}};
  EXPECT_NE(plans.find(other), plan);
  other.from = {S(7), P};
  std::string error;
  EXPECT_EQ(plans.find(other, &error), nullptr);
  EXPECT_FALSE(error.empty());
}

TEST(Boxing, DisjointBytesAreThoseOfTheTable) {
  constexpr int64_t kBytes = 100;
  for (const Sbp &from : {B, P, Max, S(0), S(1)})
    for (const Sbp &to : {B, P, Max, S(0), S(1)})
      EXPECT_EQ(disjointBytes(from, 3, to, 4, kBytes),
                tableBytesAcross(from, 3, to, 4, kBytes));
}
