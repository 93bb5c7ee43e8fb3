//===- BoxingPlanTest.cpp - every pair of states ----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Carries out the plan of every ordered pair of legal states on small meshes,
// and of a sample between placements. The result must be right, the bytes those
// that the messages add up to, and memory and bytes within the bounds.
//
//===----------------------------------------------------------------------===//

#include "LegalStates.h"
#include "SimulatedBoxing.h"

#include <gtest/gtest.h>

using namespace oneflow::sbp;
using namespace oneflow::sbp::test;

static const Sbp B = Sbp::broadcast();

namespace {

constexpr int64_t kElementBytes = 4;

std::string describe(const BoxingRequest &request) {
  return toString(request.from) + " -> " + toString(request.to) + " of " +
         ::testing::PrintToString(request.shape) + " from " +
         ::testing::PrintToString(request.source.sizes) + " at " +
         std::to_string(request.source.firstRank) + " to " +
         ::testing::PrintToString(request.target.sizes) + " at " +
         std::to_string(request.target.firstRank);
}

/// All legal states: splits of every dimension, of the first also in blocks of
/// two, and all reducers.
std::vector<NdSbp> legalStates(const Shape &shape, const Mesh &mesh) {
  std::vector<Sbp> choices{B};
  for (Reducer reducer :
       {Reducer::Sum, Reducer::Max, Reducer::Min, Reducer::Prod})
    choices.push_back(Sbp::partial(reducer));
  for (size_t dim = 0; dim < shape.size(); ++dim)
    choices.push_back(Sbp::split(static_cast<int64_t>(dim)));
  if (!shape.empty())
    choices.push_back(Sbp::split(0, 2));
  return legalStatesOf(choices, shape, mesh);
}

/// Carries out plans of one tensor between two meshes.
class PlanRunner {
public:
  PlanRunner(const Shape &shape, const RankMesh &source, const RankMesh &target,
             Random &random)
      : random(random), global(randomTensor(shape, random)),
        onSource(shape, source.sizes), onTarget(shape, target.sizes) {
    request.shape = shape;
    request.elementBytes = kElementBytes;
    request.source = source;
    request.target = target;
  }

  /// False, with a message in `failure`, where something is not as planned.
  bool check(const NdSbp &from, const NdSbp &to) {
    request.from = from;
    request.to = to;
    std::optional<BoxingPlan> plan = planBoxing(request, &failure);
    if (!plan)
      return false;
    if (!begin(from))
      return fail("gatherEverythingBytes is not what gathering moves");
    SpreadTensor tensor = start;
    NdSbp state = from;
    bool across = request.samePlacement();
    BoxingCost sum;
    int64_t peak = 0;
    for (const BoxingStep &step : plan->steps) {
      std::string name = std::string(toString(step.kind)) + " from " +
                         toString(step.from) + " to " + toString(step.to) +
                         ": ";
      if (step.from != state)
        return fail(name + "does not go on from " + toString(state));
      bool crosses = step.place == StepPlace::Across;
      if (crosses && across)
        return fail(name + "crosses again");
      across |= crosses;
      bool later = across && !request.samePlacement();
      if (step.place == StepPlace::Source ? later : !later)
        return fail(name + "is on the wrong ranks");
      HeldCache &cache = later ? onTarget : onSource;
      if (checkLegal(step.to, cache.shape, cache.mesh))
        return fail(name + "is not legal");
      Observed observed = run(step, tensor, cache[step.to], cache.mesh);
      if (!observed.failure.empty())
        return fail(name + observed.failure);
      if (!tensor.isSpread(global))
        return fail(name + "gives a wrong tensor");
      if (step.cost.bytesMoved != observed.moved * kElementBytes)
        return fail(name + "was to move " +
                    std::to_string(step.cost.bytesMoved) + " bytes, moved " +
                    std::to_string(observed.moved * kElementBytes));
      if (step.peakBytes < observed.peak * kElementBytes)
        return fail(name + "takes more memory than predicted");
      if ((step.cost.seconds == 0) != (observed.moved == 0))
        return fail(name + "takes time for nothing, or none");
      sum.bytesMoved += step.cost.bytesMoved;
      sum.seconds += step.cost.seconds;
      peak = std::max(peak, step.peakBytes);
      state = step.to;
    }
    if (state != to || !across)
      return fail("does not end at the target");
    if (sum.bytesMoved != plan->cost.bytesMoved ||
        sum.seconds != plan->cost.seconds || peak != plan->peakBytes)
      return fail("does not add up");
    if (plan->boundBytes != fullest(onSource[from]) + fullest(onTarget[to]))
      return fail("has the wrong bound");
    if (plan->peakBytes > plan->boundBytes)
      return fail("peak of " + std::to_string(plan->peakBytes) +
                  " above the bound of " + std::to_string(plan->boundBytes));
    if (plan->gatherBytes != gathered)
      return fail("gathering moves " + std::to_string(gathered) +
                  " bytes, predicted " + std::to_string(plan->gatherBytes));
    if (plan->cost.bytesMoved > plan->gatherBytes)
      return fail("moves " + std::to_string(plan->cost.bytesMoved) +
                  " bytes, gathering " + std::to_string(plan->gatherBytes));
    return true;
  }

  std::string failure;

private:
  bool fail(const std::string &what) {
    failure = describe(request) + ": " + what;
    return false;
  }

  static int64_t fullest(const HeldByRanks &held) {
    int64_t most = 0;
    for (Elements elements : held.elements)
      most = std::max(most, countOf(elements));
    return 2 * most * kElementBytes;
  }

  Observed run(const BoxingStep &step, SpreadTensor &tensor,
               const HeldByRanks &next, const Mesh &mesh) {
    if (step.axis >= 0)
      return runCollective(step, tensor, next, mesh);
    FirstRanks first{request.source.firstRank, request.target.firstRank};
    if (step.place == StepPlace::Source)
      first.target = first.source;
    if (step.place == StepPlace::Target)
      first.source = first.target;
    return runExchange(tensor, next, first);
  }

  /// Spreads the tensor, and counts what gathering it from there would move.
  bool begin(const NdSbp &from) {
    if (start.held && start.held->state == from)
      return true;
    start = SpreadTensor::of(global, onSource[from], random);
    SpreadTensor tensor = start;
    NdSbp state = from;
    gathered = 0;
    for (size_t axis = state.size(); axis-- > 0;) {
      if (state[axis].isBroadcast())
        continue;
      BoxingStep step;
      step.kind =
          state[axis].isSplit() ? StepKind::AllGather : StepKind::AllReduce;
      step.axis = static_cast<int64_t>(axis);
      step.from = state;
      state[axis] = B;
      step.to = state;
      Observed observed =
          runCollective(step, tensor, onSource[state], onSource.mesh);
      gathered += observed.moved * kElementBytes;
      if (!observed.failure.empty() || !tensor.isSpread(global))
        return false;
    }
    for (int64_t i = 0; i < request.target.rankCount(); ++i) {
      int64_t index = request.target.firstRank + i - request.source.firstRank;
      if (index < 0 || index >= request.source.rankCount())
        gathered += static_cast<int64_t>(global.values.size()) * kElementBytes;
    }
    return true;
  }

  Random &random;
  Tensor global;
  HeldCache onSource, onTarget;
  BoxingRequest request;
  SpreadTensor start;
  int64_t gathered = 0;
};

/// Number of pairs that were checked.
size_t checkAllPairs(const Mesh &mesh, const std::vector<Shape> &shapes) {
  Random random(11);
  size_t pairs = 0, failures = 0;
  for (const Shape &shape : shapes) {
    PlanRunner runner(shape, {mesh, 0, {}}, {mesh, 0, {}}, random);
    std::vector<NdSbp> states = legalStates(shape, mesh);
    for (const NdSbp &from : states)
      for (const NdSbp &to : states) {
        ++pairs;
        if (!runner.check(from, to) && ++failures < 10)
          ADD_FAILURE() << runner.failure;
      }
  }
  EXPECT_EQ(failures, 0u);
  return pairs;
}

} // namespace

TEST(BoxingPlan, EveryPairOnOneAxis) {
  size_t pairs = 0;
  for (int64_t p = 2; p <= 4; ++p)
    pairs += checkAllPairs({p}, {{2 * p},
                                 {2 * p + 1},
                                 {4 * p + 2},
                                 {p, 2 * p},
                                 {p + 1, 3 * p},
                                 {3, 2 * p + 2},
                                 {p, 2, p + 1},
                                 {2 * p, 3, 2},
                                 {1},
                                 {}});
  EXPECT_GT(pairs, 1200u);
}

TEST(BoxingPlan, EveryPairOnTwoAxes) {
  EXPECT_GT(
      checkAllPairs(
          {2, 2},
          {{13}, {8}, {4, 8}, {7, 5}, {3, 2}, {6, 5, 2}, {4, 4, 4}, {2, 1, 3}}),
      10000u);
  EXPECT_GT(checkAllPairs(
                {2, 3},
                {{13}, {12}, {6, 6}, {7, 5}, {6, 5, 2}, {4, 3, 4}, {2, 1, 3}}),
            10000u);
}

TEST(BoxingPlan, EveryPairOnThreeAxesOfAVector) {
  EXPECT_GT(checkAllPairs({2, 2, 2}, {{16}, {11}}), 30000u);
}
TEST(BoxingPlan, EveryPairOnThreeAxesOfAMatrix) {
  EXPECT_GT(checkAllPairs({2, 2, 2}, {{4, 5}}), 30000u);
}
TEST(BoxingPlan, EveryPairOnThreeAxesOfACube) {
  EXPECT_GT(checkAllPairs({2, 2, 2}, {{2, 3, 3}}), 30000u);
}

namespace {

/// A way that is always there: partial axes all-reduced in place, then one
/// step to the target.
BoxingPlan reduceThenExchange(BoxingRequest request) {
  BoxingPlan plan;
  auto add = [&](const BoxingRequest &next) {
    BoxingStep step = directStep(next);
    plan.peakBytes = std::max(plan.peakBytes, step.peakBytes);
    plan.cost.bytesMoved += step.cost.bytesMoved;
  };
  for (size_t axis = 0; axis < request.from.size(); ++axis) {
    if (!request.from[axis].isPartial())
      continue;
    BoxingRequest reduction = request;
    reduction.target = request.source;
    reduction.to = request.from;
    reduction.to[axis] = B;
    add(reduction);
    request.from = reduction.to;
  }
  if (!request.samePlacement() || request.from != request.to)
    add(request);
  return plan;
}

/// Where the meshes of a pair lie: apart, overlapping, the same ranks in
/// another shape, and one within the other.
struct MeshPair {
  RankMesh source, target;
};

/// Some change of state of a tensor.
BoxingRequest pick(const std::vector<NdSbp> &from, const std::vector<NdSbp> &to,
                   const Shape &shape, const MeshPair &meshes, Random &random) {
  return {from[random() % from.size()],
          to[random() % to.size()],
          shape,
          kElementBytes,
          meshes.source,
          meshes.target};
}

const std::vector<MeshPair> &meshPairs() {
  static const std::vector<MeshPair> pairs{
      {{{2}, 0, {}}, {{3}, 2, {}}},
      {{{3}, 4, {}}, {{2}, 0, {}}},
      {{{4}, 0, {}}, {{4}, 4, {}}},
      {{{1}, 0, {}}, {{4}, 1, {}}},
      {{{4}, 0, {}}, {{1}, 4, {}}},
      {{{2, 2}, 0, {}}, {{4}, 4, {}}},
      {{{2, 2}, 0, {}}, {{2, 3}, 4, {}}},
      {{{2, 2, 2}, 0, {}}, {{2, 2}, 8, {}}},
      {{{3}, 0, {}}, {{3}, 1, {}}},
      {{{4}, 2, {}}, {{2, 2}, 0, {}}},
      {{{2, 3}, 0, {}}, {{2, 2}, 3, {}}},
      {{{4}, 0, {}}, {{2, 2}, 0, {}}},
      {{{2, 3}, 0, {}}, {{3, 2}, 0, {}}},
      {{{2, 2, 2}, 0, {}}, {{8}, 0, {}}},
      {{{8}, 0, {}}, {{2, 4}, 0, {}}},
      {{{4}, 0, {}}, {{2}, 1, {}}},
      {{{2}, 2, {}}, {{2, 3}, 0, {}}},
      {{{2, 1}, 0, {}}, {{2}, 0, {}}},
      {{{2, 2}, 0, {}}, {{2, 2, 2}, 0, {}}}};
  return pairs;
}

} // namespace

TEST(BoxingPlan, ASampleOfPlacements) {
  Random random(12);
  size_t failures = 0;
  for (const MeshPair &meshes : meshPairs())
    for (const Shape &shape :
         {Shape{8}, Shape{11}, Shape{4, 9}, Shape{8, 2, 3}, Shape{3, 4, 5},
          Shape{2, 3}, Shape{1}, Shape{}}) {
      PlanRunner runner(shape, meshes.source, meshes.target, random);
      std::vector<NdSbp> from = legalStates(shape, meshes.source.sizes);
      std::vector<NdSbp> to = legalStates(shape, meshes.target.sizes);
      for (int i = 0; i < 60; ++i)
        if (!runner.check(from[random() % from.size()],
                          to[random() % to.size()]) &&
            ++failures < 10)
          ADD_FAILURE() << runner.failure;
    }
  EXPECT_EQ(failures, 0u);
}

TEST(BoxingPlan, SomeWayIsAlwaysWithinTheBounds) {
  std::vector<MeshPair> pairs = meshPairs();
  for (const Mesh &mesh : {Mesh{4}, Mesh{2, 3}, Mesh{2, 2, 2}})
    pairs.push_back({{mesh, 0, {}}, {mesh, 0, {}}});
  Random random(13);
  for (const MeshPair &meshes : pairs)
    for (const Shape &shape : {Shape{13}, Shape{5, 8}, Shape{3, 4, 5}}) {
      std::vector<NdSbp> from = legalStates(shape, meshes.source.sizes);
      std::vector<NdSbp> to = legalStates(shape, meshes.target.sizes);
      for (int i = 0; i < 200; ++i) {
        BoxingRequest request = pick(from, to, shape, meshes, random);
        BoxingPlan way = reduceThenExchange(request);
        std::optional<BoxingPlan> plan = planBoxing(request);
        ASSERT_TRUE(plan);
        EXPECT_LE(way.peakBytes, plan->boundBytes) << describe(request);
        EXPECT_LE(way.cost.bytesMoved, plan->gatherBytes) << describe(request);
      }
    }
}

/// The exchange must be right where planning prefers steps, too.
TEST(BoxingPlan, ExchangeBetweenAllStates) {
  Random random(6);
  std::vector<MeshPair> pairs = meshPairs();
  pairs.push_back({{{2, 3}, 0, {}}, {{2, 3}, 0, {}}});
  pairs.push_back({{{2, 2, 2}, 0, {}}, {{2, 2, 2}, 0, {}}});
  for (const MeshPair &meshes : pairs) {
    Shape shape{7, 6};
    Tensor global = randomTensor(shape, random);
    HeldCache source(shape, meshes.source.sizes);
    HeldCache target(shape, meshes.target.sizes);
    std::vector<NdSbp> from = legalStates(shape, meshes.source.sizes);
    std::vector<NdSbp> to = legalStates(shape, meshes.target.sizes);
    for (int i = 0; i < 300; ++i) {
      BoxingRequest request = pick(from, to, shape, meshes, random);
      BoxingStep step = directStep(request);
      if (step.kind != StepKind::Exchange)
        continue;
      SpreadTensor tensor =
          SpreadTensor::of(global, source[request.from], random);
      Observed observed =
          runExchange(tensor, target[request.to],
                      {meshes.source.firstRank, meshes.target.firstRank});
      EXPECT_EQ(observed.failure, "") << describe(request);
      EXPECT_TRUE(tensor.isSpread(global)) << describe(request);
      EXPECT_EQ(step.cost.bytesMoved, observed.moved * kElementBytes)
          << describe(request);
      EXPECT_GE(step.peakBytes, observed.peak * kElementBytes)
          << describe(request);
    }
  }
}
