//===- SingleRankTest.cpp - plans of one rank -----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <gtest/gtest.h>

#include <thread>

using namespace oneflow;
using namespace oneflow::test;

TEST(SingleRank, AddsOne) {
  LoadedTestPlan plan(addOnePlan(5));
  ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
  for (int threads : {1, 3}) {
    TestSession session(plan, threads);
    ASSERT_EQ(session.code, OF_STATUS_OK) << session.message;
    Tensor x({5}, {1, 2, 3, 4, 5}), y({5});
    for (int step = 0; step < 3; ++step) {
      Outcome outcome = session.run({&x}, {&y});
      ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
      EXPECT_EQ(y.values, (std::vector<float>{2, 3, 4, 5, 6}));
    }
  }
}

TEST(SingleRank, DescribesThePlan) {
  PlanBuilder builder = addOnePlan(5);
  auto pair = std::make_unique<plan::KeyValueT>();
  pair->key = "model";
  pair->value = "test";
  builder.plan.metadata.push_back(std::move(pair));
  LoadedTestPlan loaded(builder);
  const of_plan_t *plan = loaded.plan;
  EXPECT_EQ(of_plan_get_rank_count(plan), 1);
  EXPECT_EQ(of_plan_get_entry_count(plan), 1);
  EXPECT_STREQ(of_plan_get_entry_name(plan, 0), "main");
  EXPECT_EQ(of_plan_get_entry_name(plan, 1), nullptr);
  EXPECT_EQ(of_plan_find_entry(plan, "main"), 0);
  EXPECT_EQ(of_plan_find_entry(plan, "other"), -1);
  EXPECT_EQ(of_plan_get_input_count(plan, 0), 1);
  EXPECT_EQ(of_plan_get_output_count(plan, 0), 1);
  EXPECT_EQ(of_plan_get_task_count(plan, 0), 3);
  EXPECT_EQ(of_plan_get_kernel_count(plan), 9);
  EXPECT_EQ(of_plan_get_arena_bytes(plan, 0), 128u);
  EXPECT_STREQ(of_plan_get_metadata(plan, "model"), "test");
  EXPECT_EQ(of_plan_get_metadata(plan, "none"), nullptr);
  of_tensor_info_t info;
  ASSERT_EQ(Outcome(of_plan_get_input(plan, 0, 0, &info)).code, OF_STATUS_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_STREQ(info.location, "model.py:x");
  EXPECT_EQ(info.dtype, OF_DTYPE_F32);
  ASSERT_EQ(info.rank, 1);
  EXPECT_EQ(info.shape[0], 5);
  EXPECT_EQ(Outcome(of_plan_get_input(plan, 0, 1, &info)).code,
            OF_STATUS_INVALID_ARGUMENT);
  size_t bytes = 1;
  EXPECT_EQ(of_plan_get_source_model(plan, &bytes), nullptr);
  EXPECT_EQ(bytes, 0u);
}

TEST(SingleRank, RefusesWrongTensors) {
  LoadedTestPlan plan(addOnePlan(5));
  TestSession session(plan);
  Tensor x({5}), y({5}), wrong({4});
  Outcome outcome = session.run({&wrong}, {&y});
  EXPECT_EQ(outcome.code, OF_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, "input 'x': expected shape [5], got: [4]");
  EXPECT_EQ(session.run({}, {&y}).code, OF_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(session.run({&x}, {&y}, 1).code, OF_STATUS_INVALID_ARGUMENT);
  of_tensor_t in = x.view(), out = y.view();
  in.dtype = OF_DTYPE_I32;
  outcome = of_session_run(session.session, 0, &in, 1, &out, 1);
  EXPECT_EQ(outcome.message, "input 'x': expected f32, got: i32");
  in = x.view();
  in.data = nullptr;
  outcome = of_session_run(session.session, 0, &in, 1, &out, 1);
  EXPECT_EQ(outcome.message, "input 'x': no data");
  // A refused call does no harm.
  EXPECT_EQ(session.run({&x}, {&y}).code, OF_STATUS_OK);
}

TEST(SingleRank, KeepsVariablesBetweenSteps) {
  PlanBuilder builder;
  uint32_t mesh = builder.placement({1});
  builder.scalar(plan::ScalarKind::Constant, 3);
  uint32_t v = builder.variable(
      "v", PlanBuilder::layout(mesh, {3}, {broadcast()}), 12, {10, 20, 30});
  uint32_t x =
      builder.input("x", PlanBuilder::layout(mesh, {3}, {broadcast()}), 12);
  uint32_t y = builder.reg(12);
  builder.chain(
      "chain_accumulate", mesh,
      {builder.inVariable(v), builder.inRegister(x), builder.inRegister(y)},
      {x}, {y});
  builder.output("y", PlanBuilder::layout(mesh, {3}, {broadcast()}), y);
  LoadedTestPlan loaded(builder);
  ASSERT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
  // Sessions have variables of their own.
  TestSession session(loaded), other(loaded);
  Tensor in({3}, {1, 2, 3}), out({3}), value({3});
  session.run({&in}, {&out});
  session.run({&in}, {&out});
  EXPECT_EQ(out.values, (std::vector<float>{12, 24, 36}));
  other.run({&in}, {&out});
  EXPECT_EQ(out.values, (std::vector<float>{11, 22, 33}));
  of_tensor_t view = value.view();
  ASSERT_EQ(Outcome(of_session_get_variable(session.session, 0, &view)).code,
            OF_STATUS_OK);
  EXPECT_EQ(value.values, (std::vector<float>{12, 24, 36}));
  value.values = {0, 0, 1};
  ASSERT_EQ(Outcome(of_session_set_variable(session.session, 0, &view)).code,
            OF_STATUS_OK);
  session.run({&in}, {&out});
  EXPECT_EQ(out.values, (std::vector<float>{1, 2, 4}));
  EXPECT_EQ(Outcome(of_session_get_variable(session.session, 1, &view)).code,
            OF_STATUS_INVALID_ARGUMENT);
}

TEST(SingleRank, PacksVariablesInPanels) {
  PlanBuilder builder;
  uint32_t mesh = builder.placement({1});
  builder.scalar(plan::ScalarKind::Constant, 16);
  // 2 x 5 in panels of 4 columns: 2 panels x 2 rows x 4.
  std::vector<float> initial = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  uint32_t v =
      builder.variable("v", PlanBuilder::layout(mesh, {2, 5}, {broadcast()}),
                       2 * 2 * 4 * 4, initial, 4);
  uint32_t x =
      builder.input("x", PlanBuilder::layout(mesh, {16}, {broadcast()}), 64);
  uint32_t y = builder.reg(64);
  builder.chain(
      "chain_accumulate", mesh,
      {builder.inVariable(v), builder.inRegister(x), builder.inRegister(y)},
      {x}, {y});
  builder.output("y", PlanBuilder::layout(mesh, {16}, {broadcast()}), y);
  LoadedTestPlan loaded(builder);
  ASSERT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
  TestSession session(loaded);
  Tensor zeros({16}, std::vector<float>(16, 0)), out({16}), value({2, 5});
  session.run({&zeros}, {&out});
  EXPECT_EQ(out.values, (std::vector<float>{0, 1, 2, 3, 5, 6, 7, 8, //
                                            4, 0, 0, 0, 9, 0, 0, 0}));
  of_tensor_t view = value.view();
  ASSERT_EQ(Outcome(of_session_get_variable(session.session, 0, &view)).code,
            OF_STATUS_OK);
  EXPECT_EQ(value.values, initial);
}

TEST(SingleRank, RelocatesTablesAndKeepsDataWritable) {
  PlanBuilder builder = addOnePlan(2);
  builder.entry().tasks[1]->body.AsChainBody()->function = "chain_add_table";
  LoadedTestPlan loaded(builder);
  ASSERT_EQ(loaded.code, OF_STATUS_OK) << loaded.message;
  TestSession session(loaded);
  Tensor x({2}, {10, 20}), y({2});
  session.run({&x}, {&y});
  EXPECT_EQ(y.values, (std::vector<float>{12, 23}));
  session.run({&x}, {&y});
  EXPECT_EQ(y.values, (std::vector<float>{13, 24}));
}

TEST(SingleRank, SeveralSessionsShareAPlan) {
  auto plan = std::make_unique<LoadedTestPlan>(addOnePlan(64));
  std::vector<std::unique_ptr<TestSession>> sessions;
  for (int i = 0; i < 4; ++i)
    sessions.push_back(std::make_unique<TestSession>(*plan, 2));
  // Sessions keep what they need.
  plan.reset();
  std::vector<std::thread> threads;
  std::vector<int> wrong(sessions.size(), 0);
  for (size_t i = 0; i < sessions.size(); ++i)
    threads.emplace_back([&, i] {
      Tensor x({64}), y({64});
      for (int step = 0; step < 200; ++step) {
        for (int e = 0; e < 64; ++e)
          x.values[e] = static_cast<float>(i * 1000 + step + e);
        wrong[i] += sessions[i]->run({&x}, {&y}).code != OF_STATUS_OK;
        for (int e = 0; e < 64; ++e)
          wrong[i] += y.values[e] != x.values[e] + 1;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(sessions.size(), 0));
}
