//===- oneflow/Sbp/Selection.h - choosing one option per node ---*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Partitioned boolean quadratic problem: every node of a graph takes one of its
// options, each option has a cost, each edge a cost for every pair of options
// of its ends; the sum is to be least. SBP inference is one (nodes: ops,
// options: signatures, edges: boxing). Solved by the reductions of Scholz and
// Eckstein (Register Allocation for Irregular Architectures, LCTES 2002): R0,
// R1 and R2 lose nothing; RN, for nodes of degree three and more, is a
// heuristic, followed by local improvement until no single node can do better.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SBP_SELECTION_H
#define ONEFLOW_SBP_SELECTION_H

#include <cstddef>
#include <vector>

namespace oneflow::sbp {

/// Costs are finite or +infinity (forbidden).
class SelectionProblem {
public:
  /// Adds a node with one cost per option and returns its index.
  unsigned addNode(std::vector<double> costs);
  /// Adds `costs[a][b]` (row-major, options(u) x options(v)) for options a of u
  /// and b of v; costs of repeated edges add up. Requires u != v.
  void addEdge(unsigned u, unsigned v, const std::vector<double> &costs);

  struct Solution {
    /// Option of each node.
    std::vector<unsigned> options;
    double cost = 0;
    /// True when no heuristic step was needed: no choice is cheaper.
    bool optimal = true;
  };
  /// Deterministic: ties go to the smaller option index of the earlier node.
  Solution solve() const;
  /// Cost of a choice.
  double evaluate(const std::vector<unsigned> &options) const;

private:
  struct Edge {
    unsigned u, v;
    std::vector<double> costs;
  };
  std::vector<std::vector<double>> nodes;
  std::vector<Edge> edges;
};

} // namespace oneflow::sbp

#endif // ONEFLOW_SBP_SELECTION_H
