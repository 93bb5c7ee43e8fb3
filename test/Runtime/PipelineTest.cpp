//===- PipelineTest.cpp - micro-batches over two ranks --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans of exactly two ranks whose tasks act once per micro-batch, on the local
// transport or under a launcher: see AnySession.h.
//
//===----------------------------------------------------------------------===//

#include "AnySession.h"
#include "PipelinePlan.h"

#include <atomic>
#include <thread>

using namespace oneflow;
using namespace oneflow::test;

namespace {

// What the pipeline of `count` elements comes to, by itself.
void expectResults(const Tensor &x, float v, const Tensor &y,
                   const Tensor &total) {
  float sum = 0;
  for (size_t i = 0; i < x.values.size(); ++i) {
    float g = x.values[i] + (v + 1);
    sum += g;
    ASSERT_EQ(y.values[i], g + 2) << i;
  }
  ASSERT_EQ(total.values[0], sum);
}

Tensor counting(int64_t count, float first) {
  Tensor x({count});
  for (int64_t i = 0; i < count; ++i)
    x.values[i] = first + static_cast<float>(i);
  return x;
}

} // namespace

// Even and uneven parts, empty ones, more slots than micro-batches, one slot.
TEST(Pipeline, GivesWhatOneBatchWould) {
  for (int64_t count : {12, 10, 3})
    for (uint32_t slots : {1u, 2u, 7u})
      for (bool allForwardFirst : {false, true}) {
        PipelineOptions options;
        options.count = count;
        options.slots = slots;
        options.allForwardFirst = allForwardFirst;
        LoadedTestPlan plan(pipelinePlan(options));
        ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
        EXPECT_EQ(of_plan_get_rank_count(plan.plan), 2);
        AnySession session(plan);
        for (int step = 0; step < 20; ++step) {
          Tensor x = counting(count, static_cast<float>(step)), y({count});
          Tensor v({1}, {static_cast<float>(3 * step)}), total({1});
          Outcome outcome = session.run({&v, &x}, {&y, &total});
          ASSERT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
          expectResults(x, v.values[0], y, total);
        }
      }
}

TEST(Pipeline, ManyMicroBatches) {
  PipelineOptions options;
  options.count = 1000;
  options.microBatches = 300;
  options.slots = 3;
  LoadedTestPlan plan(pipelinePlan(options));
  ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
  AnySession session(plan);
  Tensor x = counting(1000, 1), y({1000}), v({1}, {2}), total({1});
  for (int step = 0; step < 3; ++step) {
    ASSERT_EQ(session.run({&v, &x}, {&y, &total}).code, OF_STATUS_OK);
    expectResults(x, 2, y, total);
  }
}

// The first stage fails in each of its micro-batches in turn; the second goes
// on with garbage to the end.
TEST(Pipeline, FailureInAMicroBatchReachesEveryProcess) {
  for (int bad : {0, 4, 9}) {
    LoadedTestPlan plan(pipelinePlan({}));
    AnySession session(plan);
    Tensor x = counting(10, 1), y({10}), v({1}, {2}), total({1});
    ASSERT_EQ(session.run({&v, &x}, {&y, &total}).code, OF_STATUS_OK);
    x.values[bad] = -1;
    Outcome outcome = session.run({&v, &x}, {&y, &total});
    EXPECT_EQ(outcome.code, OF_STATUS_KERNEL_FAILED);
    EXPECT_EQ(outcome.message, "kernel '/model/check_index' failed on rank 0: "
                               "an index lies outside of its table");
    EXPECT_EQ(session.run({&v, &x}, {&y, &total}).code, OF_STATUS_UNUSABLE);
  }
}

// The second stage waits in a transfer for the first, which never gets there by
// itself.
TEST(Pipeline, CancellationEndsBlockedTransfers) {
  PipelineOptions options;
  options.firstChain = "chain_endless";
  LoadedTestPlan plan(pipelinePlan(options));
  AnySession session(plan);
  Tensor x = counting(10, 1), y({10}), v({1}, {2}), total({1});
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) {
      of_session_cancel(session.session);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_EQ(session.run({&v, &x}, {&y, &total}).code, OF_STATUS_CANCELLED);
  done = true;
  canceller.join();
}

// The consumer is slow, so the producer uses up the slots of both sides of the
// transfer; and it cannot do more.
TEST(Pipeline, SlotsBoundWhatIsUnderWay) {
  if (AnySession::isDistributed())
    GTEST_SKIP() << "counts in the memory of one process";
  for (auto [sent, received] : {std::pair(1u, 1u), std::pair(2u, 3u)}) {
    constexpr uint32_t m = 12;
    PlanBuilder b;
    uint32_t first = b.timedPlacement(m, {1}, 0);
    uint32_t second = b.timedPlacement(m, {1}, 1);
    uint32_t down = b.stream("down", plan::StreamKind::CpuTransfer);
    auto parts = [&](uint32_t placement) {
      return PlanBuilder::layout(placement, {m}, {split(0), broadcast()});
    };
    b.scalar(plan::ScalarKind::Constant, 1);
    b.scalar(plan::ScalarKind::Coordinate, 0, second, {{0, 1}});
    b.phase("all", m);
    uint32_t x = b.input("x", parts(first), 4), h = b.reg(4, sent),
             arrived = b.reg(4, received), y = b.reg(8);
    b.entry().registers[y]->fills = 1;
    b.chain("chain_produce", first, {b.inRegister(x), b.inRegister(h)}, {x},
            {h});
    b.exchange(parts(first), parts(second), h, arrived, down);
    b.chain("chain_consume", second, {b.inRegister(arrived), b.inRegister(y)},
            {arrived}, {y});
    b.phase("end", 1);
    b.output("y", PlanBuilder::layout(second, {2}, {broadcast(), broadcast()}),
             y);
    LoadedTestPlan plan(b);
    ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
    AnySession session(plan);
    Tensor in = counting(m, 1), out({2});
    ASSERT_EQ(session.run(in, out).code, OF_STATUS_OK);
    EXPECT_EQ(out.values[0], m * (m + 1) / 2);
    EXPECT_LE(out.values[1], static_cast<float>(sent + received));
    EXPECT_GE(out.values[1], static_cast<float>(sent + received - 1));
  }
}
