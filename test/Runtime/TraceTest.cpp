//===- TraceTest.cpp - traces ---------------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <gtest/gtest.h>

using namespace oneflow;
using namespace oneflow::test;

static size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++count;
  return count;
}

static std::string traceOf(TestSession &session) {
  TemporaryFile file;
  Outcome outcome = of_session_write_trace(session.session, file.c_str());
  EXPECT_EQ(outcome.code, OF_STATUS_OK) << outcome.message;
  std::vector<uint8_t> bytes = readFile(file.c_str());
  return {bytes.begin(), bytes.end()};
}

TEST(Trace, HasASlicePerActionAndKernel) {
  PlanBuilder builder = addOnePlan(4);
  builder.entry().tasks[1]->name = "a \"quoted\"\n\\name";
  builder.entry().tasks[1]->body.AsChainBody()->kernels = {0};
  LoadedTestPlan plan(builder);
  TestSession session(plan);
  Tensor x({4}), y({4});
  session.run({&x}, {&y}); // not recorded
  ASSERT_EQ(Outcome(of_session_start_trace(session.session, 100)).code,
            OF_STATUS_OK);
  for (int step = 0; step < 3; ++step)
    session.run({&x}, {&y});
  std::string trace = traceOf(session);
  EXPECT_EQ(countOf(trace, "\"name\":\"in.x\""), 3u);
  EXPECT_EQ(countOf(trace, "\"name\":\"out.y\""), 3u);
  EXPECT_EQ(countOf(trace, "\"name\":\"/model/add_one\",\"cat\":\"kernel\""),
            3u);
  EXPECT_EQ(countOf(trace, "a \\\"quoted\\\"\\u000a\\\\name"), 3u);
  EXPECT_EQ(countOf(trace, "\"name\":\"rank 0\""), 1u);
  EXPECT_EQ(countOf(trace, "\"name\":\"compute\""), 1u);
  EXPECT_EQ(countOf(trace, "\"ph\":\"X\""), 12u);
  EXPECT_EQ(countOf(trace, "{"), countOf(trace, "}"));
}

// x as columns on two ranks, exchanged to whole copies.
TEST(Trace, SaysWhatACommunicationTook) {
  PlanBuilder builder;
  uint32_t mesh = builder.placement({2});
  auto columns = [&] { return PlanBuilder::layout(mesh, {4, 6}, {split(1)}); };
  auto whole = [&] { return PlanBuilder::layout(mesh, {4, 6}, {broadcast()}); };
  uint32_t x = builder.input("x", columns(), 48), y = builder.reg(96);
  builder.exchange(columns(), whole(), x, y);
  builder.output("y", whole(), y);
  LoadedTestPlan plan(builder);
  ASSERT_EQ(plan.code, OF_STATUS_OK) << plan.message;
  TestSession session(plan);
  Tensor in({4, 6}), out({4, 6});
  of_session_start_trace(session.session, 10);
  session.run({&in}, {&out});
  // On each rank; nothing else has arguments but the names of rows.
  std::string trace = traceOf(session);
  EXPECT_EQ(countOf(trace, "\"args\":{\"bytes\":48,\"staging_bytes\":48,"
                           "\"buffer_bytes\":144}"),
            2u);
  EXPECT_EQ(countOf(trace, "\"bytes\""), 2u);
}

TEST(Trace, KeepsNoMoreThanItsCapacity) {
  LoadedTestPlan plan(addOnePlan(4));
  TestSession session(plan);
  Tensor x({4}), y({4});
  of_session_start_trace(session.session, 5);
  for (int step = 0; step < 9; ++step)
    session.run({&x}, {&y});
  std::string trace = traceOf(session);
  EXPECT_EQ(countOf(trace, "\"name\":\"chain_add_one1\""), 5u);
  // The host stream has two actions per step.
  EXPECT_EQ(countOf(trace, "\"name\":\"in.x\",\"cat\""), 3u);
  EXPECT_EQ(countOf(trace, "\"name\":\"out.y\",\"cat\""), 2u);
}

TEST(Trace, UnwritablePathIsAnError) {
  LoadedTestPlan plan(addOnePlan(4));
  TestSession session(plan);
  EXPECT_EQ(Outcome(of_session_write_trace(session.session, "/nowhere/t")).code,
            OF_STATUS_IO);
}
