//===- Actor/Transforms/ChainClocks.h - happens-before ----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reachability in a graph whose nodes lie on few chains, by vector clocks
// (Mattern, Virtual Time and Global States of Distributed Systems, 1989). Pure
// algorithm, no IR.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ACTOR_TRANSFORMS_CHAINCLOCKS_H
#define ONEFLOW_DIALECT_ACTOR_TRANSFORMS_CHAINCLOCKS_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace oneflow::actor {

/// Edges from `begins[n]` to `begins[n + 1]` in `targets` leave node n.
struct Digraph {
  std::vector<uint32_t> begins;
  std::vector<uint32_t> targets;

  /// Counting sort of edges by their source.
  static Digraph
  fromEdges(uint32_t nodeCount,
            const std::vector<std::pair<uint32_t, uint32_t>> &edges);

  uint32_t size() const { return static_cast<uint32_t>(begins.size()) - 1; }
  const uint32_t *begin(uint32_t node) const {
    return targets.data() + begins[node];
  }
  const uint32_t *end(uint32_t node) const {
    return targets.data() + begins[node + 1];
  }
  /// All nodes, each behind its predecessors; those on a cycle, and behind one,
  /// are left out. First come, first served: deterministic.
  std::vector<uint32_t> sortTopologically() const;
};

/// Nodes on chains: a path leads from each node of a chain to the next. Takes
/// nodes x chains numbers, answers in constant time.
class ChainClocks {
public:
  ChainClocks() = default;
  /// `chains[n]` is the chain of node n, below `chainCount`. The graph has no
  /// cycle.
  ChainClocks(const Digraph &graph, std::vector<uint32_t> chains,
              uint32_t chainCount);

  /// Whether a path leads from a to b, which differ.
  bool isBefore(uint32_t a, uint32_t b) const {
    return a != b &&
           clocks[std::size_t(b) * chainCount + chains[a]] > positions[a];
  }
  uint32_t getChain(uint32_t node) const { return chains[node]; }
  /// Place of a node in the topological order that was walked.
  uint32_t getTime(uint32_t node) const { return times[node]; }

private:
  std::vector<uint32_t> chains, positions, times;
  uint32_t chainCount = 0;
  /// Of node n and chain c: how many nodes of c are n or lead to n.
  std::vector<uint32_t> clocks;
};

} // namespace oneflow::actor

#endif // ONEFLOW_DIALECT_ACTOR_TRANSFORMS_CHAINCLOCKS_H
