//===- SteadyStateTest.cpp - nothing is allocated -------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of its own, because it replaces operator new to count allocations
// of the whole process.
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<uint64_t> allocations{0};

void *operator new(size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

using namespace oneflow;
using namespace oneflow::test;

TEST(SteadyState, AllocatesNothing) {
  // Uneven splits along the inner dimension, so that everything gets packed;
  // all-to-all, all-gather and an exchange.
  PlanBuilder builder;
  uint32_t mesh = builder.placement({3});
  builder.scalar(plan::ScalarKind::Constant, 2);
  auto layout = [&](plan::Sbp sbp) {
    return PlanBuilder::layout(mesh, {5, 7}, {sbp});
  };
  uint32_t x = builder.input("x", layout(split(0)), 2 * 7 * 4);
  uint32_t columns = builder.reg(5 * 3 * 4), whole = builder.reg(35 * 4),
           rows = builder.reg(2 * 7 * 4), sum = builder.reg(2 * 7 * 4),
           y = builder.reg(35 * 4);
  plan::CollectiveBodyT body;
  body.dtype = plan::DType::F32;
  body.placement = mesh;
  body.axes = {0};
  body.shape = {plan::Extent(-1, 5), plan::Extent(-1, 7)};
  body.kind = plan::CollectiveKind::AllToAll;
  body.source_dim = 0;
  body.target_dim = 1;
  builder.collective(plan::CollectiveBodyT(body), x, columns);
  body.kind = plan::CollectiveKind::AllGather;
  body.source_dim = 1;
  builder.collective(plan::CollectiveBodyT(body), columns, whole);
  body.kind = plan::CollectiveKind::ReduceScatter;
  body.target_dim = 0;
  body.reducer = plan::Reducer::Max;
  builder.collective(std::move(body), whole, rows);
  builder.chain("chain_add_one", mesh,
                {builder.inRegister(rows), builder.inRegister(sum)}, {rows},
                {sum});
  builder.exchange(layout(split(0)), layout(broadcast()), sum, y);
  builder.output("y", layout(broadcast()), y);
  LoadedTestPlan plan(builder);
  ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
  TestSession session(plan, 2);
  ASSERT_EQ(session.code, OF_STATUS_OK) << session.message;
  Tensor in({5, 7}), out({5, 7});
  for (int i = 0; i < 35; ++i)
    in.values[i] = static_cast<float>(i);
  of_tensor_t input = in.view(), output = out.view();
  auto steps = [&](int count) {
    for (int step = 0; step < count; ++step)
      ASSERT_EQ(of_session_run(session.session, 0, &input, 1, &output, 1),
                nullptr);
  };
  steps(10);
  of_session_start_trace(session.session, 100000);
  uint64_t before = allocations;
  steps(10000);
  EXPECT_EQ(allocations - before, 0u);
  // The chain writes the first two elements of each rank's rows (0, 2 and 4).
  EXPECT_EQ(out.values[1], 2.0f);
  EXPECT_EQ(out.values[2], 0.0f);
  EXPECT_EQ(out.values[14], 15.0f);
  EXPECT_EQ(out.values[29], 30.0f);
}
