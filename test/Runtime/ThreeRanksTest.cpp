//===- ThreeRanksTest.cpp - sessions on every transport -------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans of exactly three ranks through the C API, on the local transport or,
// under a launcher with three processes, on the plug-in that
// ONEFLOW_TEST_TRANSPORT and ONEFLOW_TEST_PLUGINS name. Every process must see
// the same results.
//
//===----------------------------------------------------------------------===//

#include "AnySession.h"

#include <gtest/gtest.h>

#include <thread>

using namespace oneflow;
using namespace oneflow::test;

namespace {

// x [3, 4] split over ranks 0 and 1, checked, sent to rank 2, which accumulates
// it in a variable and gives it out.
PlanBuilder pipelinePlan(const std::string &chain) {
  PlanBuilder builder;
  uint32_t first = builder.placement({2}, 0),
           second = builder.placement({1}, 2);
  builder.scalar(plan::ScalarKind::Constant, 12);
  uint32_t x =
      builder.input("x", PlanBuilder::layout(first, {3, 4}, {split(0)}), 64);
  uint32_t checked = builder.reg(64), whole = builder.reg(64),
           y = builder.reg(64);
  uint32_t v =
      builder.variable("v", PlanBuilder::layout(second, {3, 4}, {broadcast()}),
                       64, std::vector<float>(12, 100));
  builder.chain(chain, first,
                {builder.inRegister(x), builder.inRegister(checked)}, {x},
                {checked});
  builder.exchange(PlanBuilder::layout(first, {3, 4}, {split(0)}),
                   PlanBuilder::layout(second, {3, 4}, {broadcast()}), checked,
                   whole);
  builder.chain(
      "chain_accumulate", second,
      {builder.inVariable(v), builder.inRegister(whole), builder.inRegister(y)},
      {whole}, {y});
  builder.output("y", PlanBuilder::layout(second, {3, 4}, {broadcast()}), y);
  return builder;
}

} // namespace

TEST(ThreeRanks, PipelineGivesItsOutputToEveryProcess) {
  LoadedTestPlan plan(pipelinePlan("chain_check_index"));
  ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
  AnySession session(plan);
  Tensor x({3, 4}), y({3, 4});
  for (int i = 0; i < 12; ++i)
    x.values[i] = static_cast<float>(i);
  for (int step = 1; step <= 50; ++step) {
    Outcome outcome = session.run(x, y);
    ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
    for (int i = 0; i < 12; ++i)
      ASSERT_EQ(y.values[i], 100.0f + static_cast<float>(step * i));
  }
  // The variable lives on rank 2 only; all processes read it.
  Tensor value({3, 4});
  of_tensor_t view = value.view();
  ASSERT_EQ(Outcome(of_session_get_variable(session.session, 0, &view)).code,
            OF_STATUS_OK);
  EXPECT_EQ(value.values, y.values);
  value.values.assign(12, 5);
  view = value.view();
  ASSERT_EQ(Outcome(of_session_set_variable(session.session, 0, &view)).code,
            OF_STATUS_OK);
  ASSERT_EQ(session.run(x, y).code, OF_STATUS_OK);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(y.values[i], 5.0f + static_cast<float>(i));
}

TEST(ThreeRanks, FailureOfOneRankReachesEveryProcess) {
  LoadedTestPlan plan(pipelinePlan("chain_check_index"));
  AnySession session(plan);
  Tensor x({3, 4}, std::vector<float>(12, 1)), y({3, 4});
  ASSERT_EQ(session.run(x, y).code, OF_STATUS_OK);
  x.values[9] = -1; // rank 1's
  Outcome outcome = session.run(x, y);
  EXPECT_EQ(outcome.code, OF_STATUS_KERNEL_FAILED);
  EXPECT_EQ(outcome.message, "kernel '/model/check_index' failed on rank 1: an "
                             "index lies outside of its table");
  EXPECT_EQ(outcome.location, "model.py:check_index");
  EXPECT_EQ(session.run(x, y).code, OF_STATUS_UNUSABLE);
}

TEST(ThreeRanks, CancellationReachesEveryProcess) {
  LoadedTestPlan plan(pipelinePlan("chain_endless"));
  AnySession session(plan);
  Tensor x({3, 4}, std::vector<float>(12, 1)), y({3, 4});
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) {
      of_session_cancel(session.session);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_EQ(session.run(x, y).code, OF_STATUS_CANCELLED);
  done = true;
  canceller.join();
}

TEST(ThreeRanks, VariablesAreGatheredFromEveryProcess) {
  for (auto [sbp, bytes, panel] :
       {std::tuple<plan::Sbp, uint64_t, uint32_t>{split(0), 2 * 7 * 4, 0},
        {split(1), 5 * 4 * 4, 2},
        {broadcast(), 35 * 4, 0},
        {partial(), 35 * 4, 0}}) {
    PlanBuilder builder = pipelinePlan("chain_add_one");
    uint32_t mesh = builder.placement({3});
    std::vector<float> initial(35);
    for (int i = 0; i < 35; ++i)
      initial[i] = static_cast<float>(i);
    uint32_t w = builder.variable("w", PlanBuilder::layout(mesh, {5, 7}, {sbp}),
                                  bytes, initial, panel);
    LoadedTestPlan plan(builder);
    ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
    AnySession session(plan);
    Tensor value({5, 7});
    of_tensor_t view = value.view();
    ASSERT_EQ(Outcome(of_session_get_variable(session.session,
                                              static_cast<int32_t>(w), &view))
                  .code,
              OF_STATUS_OK);
    EXPECT_EQ(value.values, initial);
  }
}

TEST(ThreeRanks, SessionsOneAfterTheOtherAndSideBySide) {
  LoadedTestPlan plan(pipelinePlan("chain_add_one"));
  for (int i = 0; i < 5; ++i) {
    AnySession one(plan), other(plan);
    Tensor x({3, 4}, std::vector<float>(12, 1)), y({3, 4}), z({3, 4});
    ASSERT_EQ(one.run(x, y).code, OF_STATUS_OK);
    ASSERT_EQ(other.run(x, z).code, OF_STATUS_OK);
    EXPECT_EQ(y.values, z.values);
  }
}
