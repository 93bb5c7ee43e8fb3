//===- Simulation.h - what a graph of actors does, step by step -*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The firing rule in its plainest form, one action at a time: fills posted and
// fills acknowledged are counted, and nothing else. Which of the actors that
// can act does so makes no difference to whether all come to their end: acting
// never takes away from another what it waits for.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_RUNTIME_SIMULATION_H
#define ONEFLOW_TEST_RUNTIME_SIMULATION_H

#include "ActorSystem.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace oneflow::test {

inline uint64_t fillsOf(const runtime::ActorGraph &graph,
                        const runtime::RegisterSpec &reg) {
  return reg.fills > 0 ? reg.fills : graph.actors[reg.producer].actions;
}

inline bool isEnd(const runtime::RegisterSpec &reg, uint32_t actor) {
  return reg.producer == actor ||
         std::count(reg.consumers.begin(), reg.consumers.end(), actor) > 0;
}

/// Chooses at random among the actors that can act until none can. Returns
/// whether all have acted as often as they should; `trace` is who acted when.
inline bool simulate(const runtime::ActorGraph &graph, std::mt19937 &random,
                     std::vector<uint32_t> &trace) {
  size_t count = graph.actors.size();
  std::vector<uint64_t> done(count, 0), posted(graph.registers.size(), 0);
  std::vector<std::map<uint32_t, uint64_t>> acknowledged(
      graph.registers.size());
  std::vector<size_t> turn(graph.orders.size(), 0);
  auto canAct = [&](uint32_t actor) {
    uint64_t actions = graph.actors[actor].actions;
    if (done[actor] == actions)
      return false;
    for (size_t r = 0; r < graph.registers.size(); ++r) {
      const runtime::RegisterSpec &reg = graph.registers[r];
      if (!isEnd(reg, actor))
        continue;
      uint64_t fill = done[actor] / (actions / fillsOf(graph, reg));
      for (uint32_t consumer : reg.consumers) {
        if (consumer == actor && posted[r] <= fill)
          return false;
        if (reg.producer == actor &&
            fill >= acknowledged[r][consumer] + reg.slots)
          return false;
      }
    }
    for (size_t o = 0; o < graph.orders.size(); ++o) {
      const std::vector<uint32_t> &order = graph.orders[o];
      if (std::count(order.begin(), order.end(), actor) > 0 &&
          order[turn[o]] != actor)
        return false;
    }
    return true;
  };
  trace.clear();
  while (true) {
    std::vector<uint32_t> able;
    for (uint32_t actor = 0; actor < count; ++actor)
      if (canAct(actor))
        able.push_back(actor);
    if (able.empty())
      break;
    uint32_t actor = able[random() % able.size()];
    trace.push_back(actor);
    ++done[actor];
    for (size_t r = 0; r < graph.registers.size(); ++r) {
      const runtime::RegisterSpec &reg = graph.registers[r];
      if (!isEnd(reg, actor))
        continue;
      uint64_t fills =
          done[actor] / (graph.actors[actor].actions / fillsOf(graph, reg));
      if (reg.producer == actor)
        posted[r] = fills;
      for (uint32_t consumer : reg.consumers)
        if (consumer == actor)
          acknowledged[r][consumer] = fills;
    }
    for (size_t o = 0; o < graph.orders.size(); ++o)
      if (turn[o] < graph.orders[o].size() && graph.orders[o][turn[o]] == actor)
        ++turn[o];
  }
  for (size_t actor = 0; actor < count; ++actor)
    if (done[actor] != graph.actors[actor].actions)
      return false;
  return true;
}

/// Registers at random from lower to higher actors, whose actions are given,
/// with a number of fills that suits all ends.
inline void addRandomRegisters(runtime::ActorGraph &graph,
                               std::mt19937 &random) {
  auto count = static_cast<uint32_t>(graph.actors.size());
  for (uint32_t producer = 0; producer < count; ++producer)
    for (uint32_t each = random() % 3; each > 0; --each) {
      runtime::RegisterSpec reg;
      reg.slots = 1 + random() % 3;
      reg.producer = producer;
      uint64_t common = graph.actors[producer].actions;
      for (uint32_t consumer = producer + 1; consumer < count; ++consumer)
        if (random() % 3 == 0) {
          reg.consumers.push_back(consumer);
          common = std::gcd(common, graph.actors[consumer].actions);
        }
      do
        reg.fills = 1 + random() % common;
      while (common % reg.fills != 0);
      graph.registers.push_back(std::move(reg));
    }
}

} // namespace oneflow::test

#endif // ONEFLOW_TEST_RUNTIME_SIMULATION_H
