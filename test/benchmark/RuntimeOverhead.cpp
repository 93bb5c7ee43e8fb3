//===- RuntimeOverhead.cpp - what the runtime itself costs ----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times a step with one tiny kernel, a message between actors of one stream and
// of two streams, and a small all-reduce of two local ranks. Prints one JSON
// object; asserts nothing, since timings on a shared machine mean little.
//
//===----------------------------------------------------------------------===//

#include "ActorSystem.h"
#include "Gate.h"
#include "PlanBuilder.h"

#include "oneflow/Runtime/Runtime.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace oneflow;
using namespace oneflow::test;

// The least of several rounds' mean, in nanoseconds per call.
template <typename Body> static double nanoseconds(int calls, Body body) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  for (int round = 0; round < 7; ++round) {
    Clock::time_point begin = Clock::now();
    body(calls);
    std::chrono::duration<double, std::nano> time = Clock::now() - begin;
    best = std::min(best, time.count() / calls);
  }
  return best;
}

static double stepNs(const PlanBuilder &builder, int64_t count) {
  TemporaryFile file;
  file.write(builder.bytes());
  Plan plan(file.c_str());
  Session::Options options;
  options.threadsPerRank = 1;
  Session session(plan, options);
  std::vector<float> x(static_cast<size_t>(count)), y(x);
  std::vector<of_tensor_t> in = {{OF_DTYPE_F32, 1, &count, x.data()}};
  std::vector<of_tensor_t> out = {{OF_DTYPE_F32, 1, &count, y.data()}};
  return nanoseconds(count > 1000 ? 20 : 2000, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      session.run(0, in, out);
  });
}

static PlanBuilder allReducePlan(uint32_t ranks, int64_t count) {
  PlanBuilder builder;
  uint32_t mesh = builder.placement({ranks});
  auto whole = [&] {
    return PlanBuilder::layout(mesh, {count}, {broadcast()});
  };
  uint64_t bytes = static_cast<uint64_t>(4 * count);
  uint32_t x = builder.input("x", whole(), bytes), y = builder.reg(bytes);
  plan::CollectiveBodyT body;
  body.dtype = plan::DType::F32;
  body.placement = mesh;
  body.axes = {0};
  body.shape = {plan::Extent(-1, count)};
  builder.collective(std::move(body), x, y);
  builder.output("y", whole(), y);
  return builder;
}

// Per hand-over (a filled slot and its acknowledgement) in a two-stage
// pipeline.
static double handOverNs(uint32_t secondStream, uint32_t slots) {
  struct Nothing : runtime::ActorBody {
    void act(uint64_t) override {}
  };
  Nothing bodies[2];
  runtime::ActorGraph graph;
  constexpr uint64_t actions = 20000;
  graph.actors = {{0, &bodies[0], actions},
                  {secondStream, &bodies[1], actions}};
  graph.registers = {{slots, 0, {1}}};
  runtime::RunLatch latch;
  runtime::ActorSystem system({graph}, 2, runtime::kSpinning);
  return nanoseconds(1,
                     [&](int) {
                       latch.reset(system.activeStreams(0));
                       system.start(0, latch);
                       latch.wait(0);
                     }) /
         static_cast<double>(actions);
}

int main() {
  try {
    std::printf("{\n");
    std::printf("  \"step_one_tiny_kernel_ns\": %.0f,\n",
                stepNs(addOnePlan(4), 4));
    std::printf("  \"hand_over_same_stream_ns\": %.1f,\n", handOverNs(0, 2));
    std::printf("  \"hand_over_two_streams_1_slot_ns\": %.1f,\n",
                handOverNs(1, 1));
    std::printf("  \"hand_over_two_streams_4_slots_ns\": %.1f,\n",
                handOverNs(1, 4));
    std::printf("  \"step_all_reduce_2_ranks_16_bytes_ns\": %.0f,\n",
                stepNs(allReducePlan(2, 4), 4));
    std::printf("  \"step_all_reduce_2_ranks_16_MiB_ns\": %.0f\n",
                stepNs(allReducePlan(2, 4 << 20), 4 << 20));
    std::printf("}\n");
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
