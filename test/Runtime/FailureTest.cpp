//===- FailureTest.cpp - failures and cancellation ------------------------===//
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

// x split over the ranks, each part run through `chain`, gathered, checked for
// indices again, and given out.
static PlanBuilder gatherPlan(uint32_t ranks, const std::string &chain) {
  PlanBuilder builder;
  auto count = static_cast<int64_t>(ranks);
  uint32_t mesh = builder.placement({ranks});
  builder.scalar(plan::ScalarKind::Constant, 1);
  uint32_t x =
      builder.input("x", PlanBuilder::layout(mesh, {count}, {split(0)}), 4);
  uint32_t part = builder.reg(4), all = builder.reg(4 * count),
           y = builder.reg(4 * count);
  builder.chain(chain, mesh, {builder.inRegister(x), builder.inRegister(part)},
                {x}, {part});
  plan::CollectiveBodyT body;
  body.kind = plan::CollectiveKind::AllGather;
  body.dtype = plan::DType::F32;
  body.placement = mesh;
  body.axes = {0};
  body.shape = {plan::Extent(-1, count)};
  body.source_dim = 0;
  builder.collective(std::move(body), part, all);
  builder.chain("chain_check_index", mesh,
                {builder.inRegister(all), builder.inRegister(y)}, {all}, {y});
  builder.output("y", PlanBuilder::layout(mesh, {count}, {broadcast()}), y);
  return builder;
}

TEST(Failure, OfOneRankEndsTheStepOnAll) {
  LoadedTestPlan plan(gatherPlan(3, "chain_check_index"));
  ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
  for (int bad = 0; bad < 3; ++bad) {
    TestSession session(plan);
    Tensor x({3}, {1, 2, 3}), y({3});
    ASSERT_EQ(session.run({&x}, {&y}).code, OF_STATUS_OK);
    x.values[bad] = -1;
    Outcome outcome = session.run({&x}, {&y});
    EXPECT_EQ(outcome.code, OF_STATUS_KERNEL_FAILED);
    EXPECT_EQ(outcome.message, "kernel '/model/check_index' failed on rank " +
                                   std::to_string(bad) +
                                   ": an index lies outside of its table");
    EXPECT_EQ(outcome.location, "model.py:check_index");
    // The session is unusable; the process and the plan are well.
    x.values[bad] = 1;
    EXPECT_EQ(session.run({&x}, {&y}).code, OF_STATUS_UNUSABLE);
    of_tensor_t view = x.view();
    EXPECT_EQ(Outcome(of_session_get_variable(session.session, 0, &view)).code,
              OF_STATUS_UNUSABLE);
  }
}

TEST(Failure, OfSeveralRanksIsReportedForTheLowest) {
  LoadedTestPlan plan(gatherPlan(4, "chain_check_index"));
  for (int repeat = 0; repeat < 20; ++repeat) {
    TestSession session(plan);
    Tensor x({4}, {1, -1, -1, -1}), y({4});
    EXPECT_NE(session.run({&x}, {&y}).message.find("on rank 1:"),
              std::string::npos);
  }
}

TEST(Failure, IsFoundInEveryPartOfAKernel) {
  // With several threads the failing item may be in any part.
  for (int bad : {0, 33, 63}) {
    PlanBuilder builder = addOnePlan(64);
    builder.entry().tasks[1]->body.AsChainBody()->function =
        "chain_check_index";
    LoadedTestPlan plan(builder);
    TestSession session(plan, 4);
    Tensor x({64}), y({64});
    x.values.assign(64, 1);
    EXPECT_EQ(session.run({&x}, {&y}).code, OF_STATUS_OK);
    x.values[bad] = -1;
    EXPECT_EQ(session.run({&x}, {&y}).code, OF_STATUS_KERNEL_FAILED);
  }
}

TEST(Failure, CancelEndsARun) {
  for (uint32_t ranks : {1u, 3u}) {
    LoadedTestPlan plan(gatherPlan(ranks, "chain_endless"));
    TestSession session(plan);
    of_session_cancel(session.session); // nothing runs: no effect
    auto count = static_cast<int64_t>(ranks);
    Tensor x({count}), y({count});
    x.values.assign(ranks, 1);
    std::atomic<bool> done{false};
    std::thread canceller([&] {
      while (!done) {
        of_session_cancel(session.session);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    Outcome outcome = session.run({&x}, {&y});
    done = true;
    canceller.join();
    EXPECT_EQ(outcome.code, OF_STATUS_CANCELLED) << outcome.message;
    EXPECT_EQ(session.run({&x}, {&y}).code, OF_STATUS_UNUSABLE);
  }
}

TEST(Failure, CancelOfOtherSessionsHasNoEffect) {
  LoadedTestPlan plan(addOnePlan(4));
  TestSession session(plan), other(plan);
  Tensor x({4}), y({4});
  for (int step = 0; step < 50; ++step) {
    of_session_cancel(other.session);
    of_session_cancel(session.session);
    ASSERT_EQ(session.run({&x}, {&y}).code, OF_STATUS_OK);
  }
}

TEST(Failure, SessionsOfOneCallerAreSerialised) {
  LoadedTestPlan plan(addOnePlan(4));
  TestSession session(plan);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      Tensor x({4}, std::vector<float>(4, static_cast<float>(i))), y({4});
      for (int step = 0; step < 100; ++step) {
        wrong += session.run({&x}, {&y}).code != OF_STATUS_OK;
        wrong += y.values != std::vector<float>(4, static_cast<float>(i + 1));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Failure, NullArgumentsAreRefused) {
  of_plan_t *plan = nullptr;
  of_session_t *session = nullptr;
  EXPECT_EQ(Outcome(of_plan_load(nullptr, nullptr, &plan)).code,
            OF_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(Outcome(of_plan_load("/nowhere/plan.ofp", nullptr, &plan)).code,
            OF_STATUS_NOT_FOUND);
  EXPECT_EQ(Outcome(of_plan_load("/tmp", nullptr, &plan)).code, OF_STATUS_IO);
  EXPECT_EQ(Outcome(of_session_create(nullptr, nullptr, &session)).code,
            OF_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(Outcome(of_session_run(nullptr, 0, nullptr, 0, nullptr, 0)).code,
            OF_STATUS_INVALID_ARGUMENT);
  of_session_cancel(nullptr);
  of_session_free(nullptr);
  of_plan_free(nullptr);
  of_status_free(nullptr);
  EXPECT_EQ(of_status_get_code(nullptr), OF_STATUS_OK);
  EXPECT_STREQ(of_status_get_message(nullptr), "");
  EXPECT_EQ(of_dtype_size(OF_DTYPE_BF16), 2u);
  EXPECT_STREQ(of_dtype_name(OF_DTYPE_F64), "f64");
}

TEST(Failure, UnknownTransportIsAnError) {
  LoadedTestPlan plan(addOnePlan(4));
  of_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.transport = "carrier-pigeon";
  of_session_t *session = nullptr;
  Outcome outcome = of_session_create(plan.plan, &options, &session);
  EXPECT_EQ(outcome.code, OF_STATUS_UNSUPPORTED);
  EXPECT_EQ(session, nullptr);
}
