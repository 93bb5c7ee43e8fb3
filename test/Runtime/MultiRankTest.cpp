//===- MultiRankTest.cpp - plans of several ranks -------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace oneflow;
using namespace oneflow::test;

static std::vector<float> iota(int64_t count, float first = 1) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

// Every rank adds its number to x; y is the sum over the ranks.
static PlanBuilder allReducePlan(uint32_t ranks, int64_t count) {
  PlanBuilder builder;
  uint32_t mesh = builder.placement({ranks});
  builder.scalar(plan::ScalarKind::Constant, count);
  builder.scalar(plan::ScalarKind::Coordinate, 0, mesh, {{0, 1}});
  auto whole = [&] {
    return PlanBuilder::layout(mesh, {count}, {broadcast()});
  };
  uint64_t bytes = 4 * count;
  uint32_t x = builder.input("x", whole(), bytes);
  uint32_t part = builder.reg(bytes), y = builder.reg(bytes);
  builder.chain("chain_add_rank", mesh,
                {builder.inRegister(x), builder.inRegister(part)}, {x}, {part});
  plan::CollectiveBodyT body;
  body.kind = plan::CollectiveKind::AllReduce;
  body.dtype = plan::DType::F32;
  body.placement = mesh;
  body.axes = {0};
  body.shape = {plan::Extent(-1, count)};
  builder.collective(std::move(body), part, y);
  builder.output("y", whole(), y);
  return builder;
}

TEST(MultiRank, AllReduces) {
  for (uint32_t ranks : {1u, 2u, 5u}) {
    LoadedTestPlan plan(allReducePlan(ranks, 3));
    ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
    EXPECT_EQ(of_plan_get_rank_count(plan.plan), static_cast<int32_t>(ranks));
    TestSession session(plan);
    ASSERT_EQ(session.code, OF_STATUS_OK) << session.message;
    Tensor x({3}, {1, 2, 3}), y({3});
    for (int step = 0; step < 20; ++step) {
      Outcome outcome = session.run({&x}, {&y});
      ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
    }
    auto p = static_cast<float>(ranks);
    float extra = p * (p - 1) / 2;
    EXPECT_EQ(y.values,
              (std::vector<float>{p + extra, 2 * p + extra, 3 * p + extra}));
    of_counters_t counters = {};
    counters.struct_size = sizeof(counters);
    of_session_get_counters(session.session, &counters);
    EXPECT_EQ(counters.actions, 20u * 4 * ranks);
    EXPECT_EQ(counters.kernels, 20u * ranks);
    EXPECT_EQ(counters.bytes_moved, 20u * 2 * (ranks - 1) * 12);
  }
}

// The input split unevenly over the ranks, its extent a scalar; gathered again.
TEST(MultiRank, GathersUnevenParts) {
  constexpr int64_t count = 7;
  for (uint32_t ranks : {2u, 3u, 5u}) {
    PlanBuilder builder;
    uint32_t mesh = builder.placement({ranks});
    builder.scalar(plan::ScalarKind::Extent, count, mesh, {{0, 1}});
    uint64_t local = 4 * ((count + ranks - 1) / ranks);
    uint32_t x = builder.input(
        "x", PlanBuilder::layout(mesh, {count}, {split(0)}), local);
    uint32_t part = builder.reg(local), y = builder.reg(4 * count);
    builder.chain("chain_add_one", mesh,
                  {builder.inRegister(x), builder.inRegister(part)}, {x},
                  {part});
    plan::CollectiveBodyT body;
    body.kind = plan::CollectiveKind::AllGather;
    body.dtype = plan::DType::F32;
    body.placement = mesh;
    body.axes = {0};
    body.shape = {plan::Extent(-1, count)};
    body.source_dim = 0;
    builder.collective(std::move(body), part, y);
    builder.output("y", PlanBuilder::layout(mesh, {count}, {broadcast()}), y);
    LoadedTestPlan loaded(builder);
    ASSERT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
    TestSession session(loaded);
    Tensor in({count}, iota(count)), out({count});
    Outcome outcome = session.run({&in}, {&out});
    ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
    EXPECT_EQ(out.values, iota(count, 2));
  }
}

// A 2 x 2 mesh: all-to-all along the second axis, whose tensor has an extent
// that depends on the rank's first coordinate.
TEST(MultiRank, CollectivesAlongOneAxisOfTwo) {
  PlanBuilder builder;
  uint32_t mesh = builder.placement({2, 2});
  uint32_t rows = builder.scalar(plan::ScalarKind::Extent, 5, mesh, {{0, 1}});
  // x [5, 6] as [S0, S1] -> all-gather of dim 1 along axis 1 -> [S0, B], then
  // an exchange to [B, B].
  uint32_t x = builder.input(
      "x", PlanBuilder::layout(mesh, {5, 6}, {split(0), split(1)}), 4 * 3 * 3);
  uint32_t gathered = builder.reg(4 * 3 * 6), y = builder.reg(4 * 30);
  plan::CollectiveBodyT body;
  body.kind = plan::CollectiveKind::AllGather;
  body.dtype = plan::DType::F32;
  body.placement = mesh;
  body.axes = {1};
  body.shape = {plan::Extent(static_cast<int32_t>(rows), 0),
                plan::Extent(-1, 6)};
  body.source_dim = 1;
  builder.collective(std::move(body), x, gathered);
  builder.exchange(
      PlanBuilder::layout(mesh, {5, 6}, {split(0), broadcast()}),
      PlanBuilder::layout(mesh, {5, 6}, {broadcast(), broadcast()}), gathered,
      y);
  builder.output(
      "y", PlanBuilder::layout(mesh, {5, 6}, {broadcast(), broadcast()}), y);
  LoadedTestPlan loaded(builder);
  ASSERT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
  TestSession session(loaded);
  ASSERT_EQ(session.code, OF_STATUS_OK) << session.message;
  Tensor in({5, 6}, iota(30)), out({5, 6});
  Outcome outcome = session.run({&in}, {&out});
  ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
  EXPECT_EQ(out.values, in.values);
}

// Two pipeline stages on disjoint ranks: the registers between them have only
// one end on each rank.
TEST(MultiRank, StagesOnDisjointRanks) {
  PlanBuilder builder;
  uint32_t first = builder.placement({2}, 0),
           second = builder.placement({3}, 2);
  builder.scalar(plan::ScalarKind::Constant, 6);
  uint32_t x =
      builder.input("x", PlanBuilder::layout(first, {12}, {split(0)}), 24);
  uint32_t sent = builder.reg(24), received = builder.reg(48),
           y = builder.reg(48);
  builder.chain("chain_add_one", first,
                {builder.inRegister(x), builder.inRegister(sent)}, {x}, {sent});
  builder.exchange(PlanBuilder::layout(first, {12}, {split(0)}),
                   PlanBuilder::layout(second, {12}, {broadcast()}), sent,
                   received);
  builder.chain("chain_add_one", second,
                {builder.inRegister(received), builder.inRegister(y)},
                {received}, {y});
  builder.output("y", PlanBuilder::layout(second, {12}, {broadcast()}), y);
  LoadedTestPlan loaded(builder);
  ASSERT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
  EXPECT_EQ(of_plan_get_rank_count(loaded.plan), 5);
  TestSession session(loaded);
  ASSERT_EQ(session.code, OF_STATUS_OK) << session.message;
  Tensor in({12}, iota(12)), out({12});
  Outcome outcome = session.run({&in}, {&out});
  ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
  // The second stage adds one to the first 6 elements only.
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(out.values[i], in.values[i] + 2);
}

TEST(MultiRank, VariablesAreSplitAndGathered) {
  struct Case {
    std::vector<plan::Sbp> sbp;
    uint64_t bytes;
    uint32_t panel;
  };
  std::vector<float> initial = iota(35);
  for (const Case &each :
       {Case{{split(0), broadcast()}, 3 * 7 * 4, 0},
        Case{{broadcast(), split(1)}, 5 * 3 * 4, 0},
        Case{{split(1), split(1)}, 5 * 2 * 4, 0},
        Case{{split(1), split(0)}, 3 * 4 * 4, 2},
        Case{{partial(), split(0)}, 2 * 7 * 4, 0},
        Case{{partial(plan::Reducer::Max), broadcast()}, 35 * 4, 0},
        Case{{partial(plan::Reducer::Prod), split(1)}, 5 * 3 * 4, 0}}) {
    PlanBuilder builder = allReducePlan(1, 3);
    uint32_t mesh = builder.placement({2, 3});
    builder.variable("w", PlanBuilder::layout(mesh, {5, 7}, each.sbp),
                     each.bytes, initial, each.panel);
    LoadedTestPlan loaded(builder);
    ASSERT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
    TestSession session(loaded);
    ASSERT_EQ(session.code, OF_STATUS_OK) << session.message;
    Tensor value({5, 7});
    of_tensor_t view = value.view();
    ASSERT_EQ(Outcome(of_session_get_variable(session.session, 0, &view)).code,
              OF_STATUS_OK);
    EXPECT_EQ(value.values, initial);
    value.values = iota(35, 100);
    view = value.view();
    ASSERT_EQ(Outcome(of_session_set_variable(session.session, 0, &view)).code,
              OF_STATUS_OK);
    Tensor again({5, 7});
    view = again.view();
    ASSERT_EQ(Outcome(of_session_get_variable(session.session, 0, &view)).code,
              OF_STATUS_OK);
    EXPECT_EQ(again.values, value.values);
  }
}

TEST(MultiRank, RefusesVariablesOutsideOfTheirPlacement) {
  PlanBuilder builder = allReducePlan(2, 3);
  uint32_t other = builder.placement({1}, 0);
  uint32_t v = builder.variable(
      "v", PlanBuilder::layout(other, {3}, {broadcast()}), 12, {1, 2, 3});
  // The chain runs on ranks 0 and 1, the variable lies on rank 0 only.
  builder.entry().tasks[1]->body.AsChainBody()->buffers[0] =
      builder.inVariable(v);
  LoadedTestPlan loaded(builder);
  ASSERT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
  TestSession session(loaded);
  EXPECT_EQ(session.code, OF_STATUS_INVALID_PLAN);
  EXPECT_NE(session.message.find("outside of the variable's placement"),
            std::string::npos)
      << session.message;
}

TEST(MultiRank, ManyStepsAndEntries) {
  PlanBuilder builder = allReducePlan(3, 10);
  // A second entry that shares ranks, streams and the arena.
  PlanBuilder twin = allReducePlan(3, 10);
  twin.entry().name = "again";
  twin.entry().tasks[1]->body.AsChainBody()->function = "chain_add_one";
  builder.plan.entries.push_back(std::move(twin.plan.entries[0]));
  LoadedTestPlan loaded(builder);
  ASSERT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
  TestSession session(loaded, 2);
  Tensor x({10}, iota(10)), y({10});
  for (int step = 0; step < 500; ++step) {
    ASSERT_EQ(session.run({&x}, {&y}, step % 2).code, OF_STATUS_OK);
    // Ranks add 0, 1, 2, or 1 each: three in both cases.
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(y.values[i], 3 * x.values[i] + 3);
  }
}

// What is one [3, 5] to the user lies as [3, 4], split over the ranks by
// columns, packed in panels or not, and [3, 1] on the first rank alone.
TEST(MultiRank, WholesAreComposedOfTheirParts) {
  for (uint32_t panel : {0u, 2u}) {
    PlanBuilder builder = addOnePlan(5);
    uint32_t pair = builder.placement({2});
    builder.variable("before", PlanBuilder::layout(0, {1}, {broadcast()}), 4);
    std::vector<float> left = {0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13};
    uint32_t a = builder.variable(
        "w.0", PlanBuilder::layout(pair, {3, 4}, {split(1)}), 24, left, panel);
    builder.variable("between", PlanBuilder::layout(0, {2}, {broadcast()}), 8);
    uint32_t b = builder.variable(
        "w.1", PlanBuilder::layout(0, {3, 1}, {broadcast()}), 12, {4, 9, 14});
    for (uint32_t i : {a, b})
      builder.plan.variables[i]->trainable = true;
    builder.whole("w", {3, 5}, 1, {a, b}).location = "model.py:w";
    LoadedTestPlan plan(builder);
    ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;

    ASSERT_EQ(of_plan_get_variable_count(plan.plan), 3);
    EXPECT_EQ(of_plan_find_variable(plan.plan, "before"), 0);
    EXPECT_EQ(of_plan_find_variable(plan.plan, "w"), 1);
    EXPECT_EQ(of_plan_find_variable(plan.plan, "between"), 2);
    EXPECT_EQ(of_plan_find_variable(plan.plan, "w.0"), -1);
    EXPECT_EQ(of_plan_get_variable_bytes(plan.plan), 4u + 24 + 8 + 12);
    of_tensor_info_t info;
    ASSERT_EQ(Outcome(of_plan_get_variable(plan.plan, 1, &info)).code,
              OF_STATUS_OK);
    EXPECT_STREQ(info.name, "w");
    EXPECT_STREQ(info.location, "model.py:w");
    EXPECT_EQ(info.dtype, OF_DTYPE_F32);
    EXPECT_EQ(std::vector<int64_t>(info.shape, info.shape + info.rank),
              (std::vector<int64_t>{3, 5}));
    EXPECT_TRUE(info.trainable);

    TestSession session(plan);
    ASSERT_EQ(session.code, OF_STATUS_OK) << session.message;
    Tensor value({3, 5});
    of_tensor_t view = value.view();
    Outcome outcome = of_session_get_variable(session.session, 1, &view);
    ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
    EXPECT_EQ(value.values, iota(15, 0));

    Tensor wanted({3, 5}, iota(15, 100));
    view = wanted.view();
    outcome = of_session_set_variable(session.session, 1, &view);
    ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
    view = value.view();
    outcome = of_session_get_variable(session.session, 1, &view);
    ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
    EXPECT_EQ(value.values, wanted.values);

    Tensor wrong({3, 4});
    view = wrong.view();
    outcome = of_session_get_variable(session.session, 1, &view);
    EXPECT_EQ(outcome.code, OF_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.message,
              "variable 'w': expected shape [3x5], got: [3x4]");
  }
}
