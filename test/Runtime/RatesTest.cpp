//===- RatesTest.cpp - rates, slots and turns -----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random graphs of actors that act at different rates, held against a plain
// simulation. Bodies write and read slots without any synchronization of their
// own, so a thread sanitizer sees where that of the actor system has a hole.
//
//===----------------------------------------------------------------------===//

#include "ActorSystem.h"
#include "Simulation.h"

#include <gtest/gtest.h>

using namespace oneflow::runtime;
using namespace oneflow::test;

namespace {

// The memory of a register: in each slot, which fill it holds and how many
// actions went into it.
struct Memory {
  struct Slot {
    uint64_t fill = UINT64_MAX, actions = 0;
  };
  std::vector<Slot> slots;
  uint64_t producerGroup = 1;
};

// An end of a register at an actor.
struct End {
  Memory *memory;
  uint64_t group;
};

class RateBody : public ActorBody {
public:
  std::vector<End> inputs, outputs;
  std::vector<uint32_t> *log = nullptr;
  uint32_t self = 0;
  uint64_t expected = 0, actions = 1, wrong = 0;

  void act(uint64_t action) override {
    wrong += action != expected;
    expected = expected + 1 == actions ? 0 : expected + 1;
    for (const End &end : inputs) {
      uint64_t fill = action / end.group;
      const Memory::Slot &slot = slotOf(*end.memory, fill);
      wrong += slot.fill != fill || slot.actions != end.memory->producerGroup;
    }
    for (const End &end : outputs) {
      uint64_t fill = action / end.group;
      Memory::Slot &slot = slotOf(*end.memory, fill);
      if (action % end.group == 0)
        slot = {fill, 0};
      wrong += slot.fill != fill || slot.actions != action % end.group;
      ++slot.actions;
    }
    if (log)
      log->push_back(self);
  }

private:
  static Memory::Slot &slotOf(Memory &memory, uint64_t fill) {
    return memory.slots[fill % memory.slots.size()];
  }
};

// Random actors on random streams.
ActorGraph randomGraph(std::mt19937 &random, uint32_t streams) {
  static constexpr uint64_t rates[] = {1, 1, 2, 3, 4, 6, 12, 12};
  ActorGraph graph;
  uint32_t count = 2 + random() % 7;
  for (uint32_t i = 0; i < count; ++i) {
    ActorSpec actor;
    actor.stream = random() % streams;
    actor.actions = rates[random() % 8];
    graph.actors.push_back(actor);
  }
  addRandomRegisters(graph, random);
  return graph;
}

// Some of each stream's actors in the order that they had in `trace`; up to two
// orders per stream.
void addOrders(ActorGraph &graph, const std::vector<uint32_t> &trace,
               std::mt19937 &random, uint32_t streams) {
  for (uint32_t stream = 0; stream < streams; ++stream) {
    std::vector<uint32_t> choice;
    for (size_t i = 0; i < graph.actors.size(); ++i)
      choice.push_back(random() % 3);
    for (uint32_t order = 0; order < 2; ++order) {
      std::vector<uint32_t> sequence;
      for (uint32_t actor : trace)
        if (graph.actors[actor].stream == stream && choice[actor] == order)
          sequence.push_back(actor);
      if (!sequence.empty())
        graph.orders.push_back(std::move(sequence));
    }
  }
}

void runGraph(ActorGraph graph, uint32_t streams, uint32_t caller) {
  std::vector<RateBody> bodies(graph.actors.size());
  std::vector<Memory> memories(graph.registers.size());
  std::vector<std::vector<uint32_t>> logs(graph.orders.size());
  uint64_t actions = 0;
  for (uint32_t i = 0; i < bodies.size(); ++i) {
    bodies[i].self = i;
    bodies[i].actions = graph.actors[i].actions;
    actions += graph.actors[i].actions;
    graph.actors[i].body = &bodies[i];
  }
  for (size_t r = 0; r < memories.size(); ++r) {
    const RegisterSpec &reg = graph.registers[r];
    uint64_t fills = oneflow::test::fillsOf(graph, reg);
    memories[r].slots.resize(reg.slots);
    memories[r].producerGroup = bodies[reg.producer].actions / fills;
    bodies[reg.producer].outputs.push_back(
        {&memories[r], memories[r].producerGroup});
    for (uint32_t consumer : reg.consumers)
      bodies[consumer].inputs.push_back(
          {&memories[r], bodies[consumer].actions / fills});
  }
  for (size_t o = 0; o < logs.size(); ++o)
    for (uint32_t actor : graph.orders[o])
      bodies[actor].log = &logs[o];
  RunLatch latch;
  ActorSystem system({graph}, streams, kYielding, caller);
  constexpr int runs = 4;
  for (int run = 0; run < runs; ++run) {
    latch.reset(system.activeStreams(0));
    system.start(0, latch);
    system.serve(0);
    latch.wait(kYielding);
    for (const RateBody &body : bodies) {
      ASSERT_EQ(body.wrong, 0u);
      ASSERT_EQ(body.expected, 0u);
    }
    for (size_t o = 0; o < logs.size(); ++o) {
      ASSERT_EQ(logs[o], graph.orders[o]);
      logs[o].clear();
    }
  }
  uint64_t counted = 0;
  for (uint32_t stream = 0; stream < streams; ++stream)
    counted += system.counters(stream).actions;
  ASSERT_EQ(counted, runs * actions);
}

} // namespace

TEST(Rates, RandomGraphsDoWhatTheSimulationDoes) {
  std::mt19937 random(11);
  int ran = 0, stuck = 0;
  while (ran < 400) {
    uint32_t streams = 1 + random() % 3;
    ActorGraph graph = randomGraph(random, streams);
    std::vector<uint32_t> trace, again;
    if (!simulate(graph, random, trace)) {
      // Too few slots for its rates: such a graph would never end.
      ++stuck;
      continue;
    }
    if (random() % 4 > 0)
      addOrders(graph, trace, random, streams);
    ASSERT_TRUE(simulate(graph, random, again));
    uint32_t caller = random() % 2 ? ActorSystem::kNone
                                   : static_cast<uint32_t>(random() % streams);
    SCOPED_TRACE(ran);
    runGraph(graph, streams, caller);
    if (HasFatalFailure())
      return;
    ++ran;
  }
  EXPECT_GT(stuck, 0);
}

// A value made once is used by every action of its consumer, and another one is
// filled by all of them.
TEST(Rates, OnceBeforeAndOnceBehindManyActions) {
  for (uint32_t streams : {1u, 3u}) {
    ActorGraph graph;
    for (uint32_t i = 0; i < 3; ++i) {
      ActorSpec actor;
      actor.stream = i % streams;
      actor.actions = i == 1 ? 5 : 1;
      graph.actors.push_back(actor);
    }
    graph.registers.push_back({1, 0, {1}, 1});
    graph.registers.push_back({1, 1, {2}, 1});
    runGraph(graph, streams, ActorSystem::kNone);
  }
}

// Two sources take turns, though both could always act.
TEST(Rates, TurnsHoldBackWhatCouldAct) {
  ActorGraph graph;
  graph.actors.resize(2);
  graph.actors[0].actions = 3;
  graph.actors[1].actions = 4;
  graph.orders = {{1, 0, 0, 1, 1, 0, 1}};
  runGraph(graph, 1, ActorSystem::kNone);
  runGraph(graph, 1, 0);
}
