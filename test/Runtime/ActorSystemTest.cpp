//===- ActorSystemTest.cpp - the firing rule ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Actors with bodies that only take notes: pipelines, double buffering and
// back-pressure, where a run makes many actions.
//
//===----------------------------------------------------------------------===//

#include "ActorSystem.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

using namespace oneflow::runtime;

namespace {

class Body : public ActorBody {
public:
  std::function<void(uint64_t)> action = [](uint64_t) {};
  // Begun and ended actions, as others see them.
  std::atomic<uint64_t> begun{0}, ended{0};
  void act(uint64_t index) override {
    EXPECT_EQ(index, begun % limit);
    ++begun;
    action(index);
    ++ended;
  }
  uint64_t limit = UINT64_MAX;
};

void runOnce(ActorSystem &system, RunLatch &latch, uint32_t graph = 0) {
  latch.reset(system.activeStreams(graph));
  system.start(graph, latch);
  system.serve(graph);
  latch.wait(0);
}

// A chain of actors, actor i on stream streams[i].
ActorGraph pipeline(std::vector<Body> &bodies, std::vector<uint32_t> streams,
                    uint32_t slots, uint64_t actions) {
  ActorGraph graph;
  for (uint32_t i = 0; i < streams.size(); ++i) {
    bodies[i].limit = actions;
    graph.actors.push_back({streams[i], &bodies[i], actions});
    if (i > 0)
      graph.registers.push_back({slots, i - 1, {i}, 0});
  }
  return graph;
}

} // namespace

TEST(ActorSystem, PassesValuesInOrder) {
  for (std::vector<uint32_t> streams :
       {std::vector<uint32_t>{0, 0, 0}, {0, 1, 2}, {0, 1, 0}})
    // With a thread per stream, and with the caller serving the first or
    // second.
    for (uint32_t caller : {ActorSystem::kNone, 0u, 1u})
      for (uint32_t slots : {1u, 2u, 3u}) {
        constexpr uint64_t actions = 200;
        RunLatch latch;
        std::vector<Body> bodies(3);
        std::vector<uint64_t> first(slots), second(slots), seen;
        bodies[0].action = [&](uint64_t k) { first[k % slots] = k * k; };
        bodies[1].action = [&](uint64_t k) {
          second[k % slots] = first[k % slots] + 1;
        };
        bodies[2].action = [&](uint64_t k) {
          seen.push_back(second[k % slots]);
        };
        ActorSystem system({pipeline(bodies, streams, slots, actions)}, 3, 0,
                           caller);
        for (int run = 0; run < 3; ++run) {
          seen.clear();
          runOnce(system, latch);
          ASSERT_EQ(seen.size(), actions);
          for (uint64_t k = 0; k < actions; ++k)
            ASSERT_EQ(seen[k], k * k + 1);
        }
      }
}

TEST(ActorSystem, ProducerRunsAheadByItsCreditsAndNoFurther) {
  for (uint64_t slots : {1, 2, 4}) {
    constexpr uint64_t actions = 50;
    RunLatch latch;
    std::vector<Body> bodies(2);
    std::atomic<uint64_t> farthest{0};
    bodies[0].action = [&](uint64_t k) {
      // While action k runs, at least k + 1 - slots actions of the consumer
      // have ended.
      EXPECT_GE(bodies[1].ended + slots, k + 1);
    };
    bodies[1].action = [&](uint64_t k) {
      // The consumer lets the producer use up its credits.
      for (int wait = 0;
           wait < 200 &&
           bodies[0].ended < std::min<uint64_t>(k + slots, actions);
           ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      uint64_t ahead = bodies[0].ended - k;
      if (ahead > farthest)
        farthest = ahead;
    };
    ActorSystem system(
        {pipeline(bodies, {0, 1}, static_cast<uint32_t>(slots), actions)}, 2,
        0);
    runOnce(system, latch);
    // Double buffering really happens, not only safely.
    EXPECT_EQ(farthest, slots);
  }
}

TEST(ActorSystem, StagesOverlap) {
  // Three stages on three streams with two slots each: stage i can work on k
  // while stage i + 1 works on k - 1. Each waits until the others have come as
  // far.
  constexpr uint64_t actions = 20;
  RunLatch latch;
  std::vector<Body> bodies(3);
  for (int stage : {0, 1})
    bodies[stage].action = [&, stage](uint64_t k) {
      for (int wait = 0; k > 0 && wait < 2000 && bodies[stage + 1].begun < k;
           ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (k > 0) {
        EXPECT_GE(bodies[stage + 1].begun, k);
      }
    };
  ActorSystem system({pipeline(bodies, {0, 1, 2}, 2, actions)}, 3, 0);
  runOnce(system, latch);
  EXPECT_EQ(bodies[2].ended, actions);
}

TEST(ActorSystem, SlotIsFreeOnlyWhenAllConsumersAreDone) {
  constexpr uint64_t actions = 100;
  RunLatch latch;
  std::vector<Body> bodies(3);
  bodies[0].action = [&](uint64_t k) {
    if (k >= 2) {
      EXPECT_GE(bodies[1].ended, k - 1);
      EXPECT_GE(bodies[2].ended, k - 1);
    }
  };
  ActorGraph graph;
  for (uint32_t i = 0; i < 3; ++i)
    graph.actors.push_back({i, &bodies[i], actions});
  graph.registers.push_back({2, 0, {1, 2}, 0});
  ActorSystem system({graph}, 3, 0);
  runOnce(system, latch);
  for (const Body &body : bodies)
    EXPECT_EQ(body.ended, actions);
}

TEST(ActorSystem, DiamondAndControlEdges) {
  // 0 -> {1, 2} -> 3, with 1 before 2 by a control edge; several graphs in
  // turn.
  for (uint64_t actions : {1, 7}) {
    RunLatch latch;
    std::vector<Body> bodies(4);
    for (Body &body : bodies)
      body.limit = actions;
    bodies[2].action = [&](uint64_t k) {
      EXPECT_GT(bodies[1].ended % actions + (bodies[1].ended > 0) * actions,
                k % actions);
    };
    ActorGraph graph;
    for (uint32_t i = 0; i < 4; ++i)
      graph.actors.push_back({i % 2, &bodies[i], actions});
    graph.registers = {
        {1, 0, {1, 2}}, {1, 1, {3}}, {2, 2, {3}}, {1, 1, {2}}, {1, 3, {}}};
    std::vector<Body> single(1);
    ActorGraph other;
    other.actors.push_back({1, &single[0]});
    ActorSystem system({graph, other}, 2, 100);
    EXPECT_EQ(system.activeStreams(0), 2u);
    EXPECT_EQ(system.activeStreams(1), 1u);
    single[0].limit = 1;
    for (int run = 0; run < 50; ++run) {
      runOnce(system, latch, 0);
      runOnce(system, latch, 1);
    }
    for (const Body &body : bodies)
      EXPECT_EQ(body.ended, 50 * actions);
    EXPECT_EQ(single[0].ended, 50u);
    EXPECT_EQ(system.counters(0).actions + system.counters(1).actions,
              50 * (4 * actions + 1));
  }
}

TEST(ActorSystem, SaysWhatStreamsWaitFor) {
  // A slow consumer makes the producer wait for credit; a slow producer makes
  // the consumer wait for input.
  auto sleep = [](uint64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  for (bool slowConsumer : {true, false}) {
    RunLatch latch;
    std::vector<Body> bodies(2);
    bodies[slowConsumer ? 1 : 0].action = sleep;
    ActorSystem system({pipeline(bodies, {0, 1}, 1, 20)}, 2, 0);
    runOnce(system, latch);
    if (slowConsumer) {
      EXPECT_GT(system.counters(0).waitCreditNs, 20000000u);
    } else {
      EXPECT_GT(system.counters(1).waitInputNs, 20000000u);
    }
  }
}
