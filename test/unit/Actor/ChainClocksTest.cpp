//===- ChainClocksTest.cpp - happens-before -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reachability in random graphs on chains, against the closure of their edges.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/ChainClocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace oneflow::actor;

TEST(ChainClocks, AgreeWithTheClosure) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    uint32_t count = 1 + random() % 40, chainCount = 1 + random() % 6;
    // Node numbers say nothing of the order.
    std::vector<uint32_t> order(count), chains(count);
    for (uint32_t node = 0; node < count; ++node) {
      order[node] = node;
      chains[node] = random() % chainCount;
    }
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::pair<uint32_t, uint32_t>> edges;
    std::vector<int64_t> last(chainCount, -1);
    for (uint32_t place = 0; place < count; ++place) {
      uint32_t node = order[place];
      if (last[chains[node]] >= 0)
        edges.push_back({uint32_t(last[chains[node]]), node});
      last[chains[node]] = node;
      for (uint32_t extra = random() % 3; place > 0 && extra > 0; --extra)
        edges.push_back({order[random() % place], node});
    }
    std::vector<std::vector<char>> reaches(count, std::vector<char>(count, 0));
    for (auto [from, to] : edges)
      reaches[from][to] = 1;
    for (uint32_t via = 0; via < count; ++via)
      for (uint32_t a = 0; a < count; ++a)
        for (uint32_t b = 0; b < count; ++b)
          reaches[a][b] |= reaches[a][via] && reaches[via][b];

    ChainClocks clocks(Digraph::fromEdges(count, edges), chains, chainCount);
    for (uint32_t a = 0; a < count; ++a)
      for (uint32_t b = 0; b < count; ++b) {
        EXPECT_EQ(clocks.isBefore(a, b), bool(reaches[a][b]));
        if (reaches[a][b]) {
          EXPECT_LT(clocks.getTime(a), clocks.getTime(b));
        }
      }
  }
}

TEST(ChainClocks, LeaveOutWhatIsOnACycleOrBehindOne) {
  Digraph graph = Digraph::fromEdges(5, {{0, 1}, {1, 2}, {2, 1}, {2, 3}});
  EXPECT_EQ(graph.sortTopologically(), (std::vector<uint32_t>{0, 4}));
}
