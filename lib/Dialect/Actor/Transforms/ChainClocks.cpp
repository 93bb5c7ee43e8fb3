//===- ChainClocks.cpp - happens-before -----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ChainClocks.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/ChainClocks.h"

#include <algorithm>

using namespace oneflow::actor;

Digraph
Digraph::fromEdges(uint32_t nodeCount,
                   const std::vector<std::pair<uint32_t, uint32_t>> &edges) {
  Digraph graph;
  graph.begins.assign(size_t(nodeCount) + 1, 0);
  graph.targets.resize(edges.size());
  for (auto [from, to] : edges)
    ++graph.begins[from + 1];
  for (uint32_t node = 0; node < nodeCount; ++node)
    graph.begins[node + 1] += graph.begins[node];
  std::vector<uint32_t> next(graph.begins.begin(), graph.begins.end() - 1);
  for (auto [from, to] : edges)
    graph.targets[next[from]++] = to;
  return graph;
}

std::vector<uint32_t> Digraph::sortTopologically() const {
  std::vector<uint32_t> missing(size(), 0), order;
  order.reserve(size());
  for (uint32_t target : targets)
    ++missing[target];
  for (uint32_t node = 0; node < size(); ++node)
    if (missing[node] == 0)
      order.push_back(node);
  for (size_t next = 0; next < order.size(); ++next)
    for (const uint32_t *to = begin(order[next]); to != end(order[next]); ++to)
      if (--missing[*to] == 0)
        order.push_back(*to);
  return order;
}

ChainClocks::ChainClocks(const Digraph &graph, std::vector<uint32_t> chainOf,
                         uint32_t chainCount)
    : chains(std::move(chainOf)), positions(graph.size()), times(graph.size()),
      chainCount(chainCount), clocks(size_t(graph.size()) * chainCount, 0) {
  std::vector<uint32_t> lengths(chainCount, 0);
  uint32_t time = 0;
  for (uint32_t node : graph.sortTopologically()) {
    times[node] = time++;
    positions[node] = lengths[chains[node]]++;
    uint32_t *clock = clocks.data() + size_t(node) * chainCount;
    clock[chains[node]] = positions[node] + 1;
    for (const uint32_t *to = graph.begin(node); to != graph.end(node); ++to) {
      uint32_t *later = clocks.data() + size_t(*to) * chainCount;
      for (uint32_t chain = 0; chain < chainCount; ++chain)
        later[chain] = std::max(later[chain], clock[chain]);
    }
  }
}
