//===- SelectionTest.cpp - selection against brute force --------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small random problems, every choice of which is tried.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace oneflow::sbp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {

/// A random problem and the number of options of its nodes.
struct Instance {
  SelectionProblem problem;
  std::vector<unsigned> options;
};

/// Integer costs, so that sums are exact; one in `forbidden` is infinite.
std::vector<double> randomCosts(size_t count, unsigned forbidden,
                                std::mt19937 &random) {
  std::vector<double> costs(count);
  for (double &cost : costs)
    cost = forbidden && random() % forbidden == 0 ? kInfinity : random() % 20;
  return costs;
}

Instance randomInstance(size_t nodes,
                        const std::vector<std::pair<unsigned, unsigned>> &edges,
                        unsigned forbidden, std::mt19937 &random) {
  Instance instance;
  for (size_t node = 0; node < nodes; ++node) {
    instance.options.push_back(1 + random() % 4);
    instance.problem.addNode(
        randomCosts(instance.options.back(), forbidden, random));
  }
  for (auto [u, v] : edges)
    instance.problem.addEdge(
        u, v,
        randomCosts(instance.options[u] * instance.options[v], forbidden,
                    random));
  return instance;
}

double bruteForce(const Instance &instance) {
  std::vector<unsigned> choice(instance.options.size(), 0);
  double best = kInfinity;
  while (true) {
    best = std::min(best, instance.problem.evaluate(choice));
    size_t node = 0;
    while (node < choice.size() && ++choice[node] == instance.options[node])
      choice[node++] = 0;
    if (node == choice.size())
      return best;
  }
}

} // namespace

TEST(Selection, TreesAreOptimal) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    unsigned nodes = 1 + random() % 7;
    std::vector<std::pair<unsigned, unsigned>> edges;
    for (unsigned node = 1; node < nodes; ++node) {
      unsigned parent = random() % node;
      edges.push_back(random() % 2 ? std::pair(parent, node)
                                   : std::pair(node, parent));
    }
    Instance instance = randomInstance(nodes, edges, round % 3 ? 0 : 6, random);
    SelectionProblem::Solution solution = instance.problem.solve();
    EXPECT_TRUE(solution.optimal);
    EXPECT_EQ(solution.cost, bruteForce(instance));
    EXPECT_EQ(solution.cost, instance.problem.evaluate(solution.options));
  }
}

TEST(Selection, RandomGraphs) {
  std::mt19937 random(2);
  int exact = 0, heuristic = 0, best = 0;
  for (int round = 0; round < 600; ++round) {
    unsigned nodes = 2 + random() % 6;
    unsigned density = 1 + random() % 4;
    std::vector<std::pair<unsigned, unsigned>> edges;
    for (unsigned u = 0; u < nodes; ++u)
      for (unsigned v = 0; v < nodes; ++v)
        if (u != v && random() % 6 < density)
          edges.push_back({u, v}); // in both directions: edges that repeat
    Instance instance = randomInstance(nodes, edges, round % 4 ? 0 : 8, random);
    SelectionProblem::Solution solution = instance.problem.solve();
    double least = bruteForce(instance);
    EXPECT_EQ(solution.cost, instance.problem.evaluate(solution.options));
    if (solution.optimal) {
      ++exact;
      EXPECT_EQ(solution.cost, least);
      continue;
    }
    ++heuristic;
    best += solution.cost == least;
    EXPECT_GE(solution.cost, least);
    // No single node can do better.
    for (unsigned node = 0; node < nodes; ++node) {
      std::vector<unsigned> moved = solution.options;
      for (unsigned option = 0; option < instance.options[node]; ++option) {
        moved[node] = option;
        EXPECT_GE(instance.problem.evaluate(moved), solution.cost);
      }
    }
  }
  EXPECT_GT(exact, 100);
  EXPECT_GT(heuristic, 100);
  // The heuristic alone reaches nine in ten.
  EXPECT_GT(best, heuristic * 97 / 100);
}

TEST(Selection, InfinityForbids) {
  SelectionProblem problem;
  unsigned a = problem.addNode({0, 5});
  unsigned b = problem.addNode({0, 5});
  problem.addEdge(b, a, {kInfinity, 0, kInfinity, 0});
  SelectionProblem::Solution solution = problem.solve();
  EXPECT_EQ(solution.options, (std::vector<unsigned>{1, 0}));
  EXPECT_EQ(solution.cost, 5);

  problem.addEdge(a, b, {0, 0, kInfinity, kInfinity});
  solution = problem.solve();
  EXPECT_EQ(solution.cost, kInfinity);
  EXPECT_TRUE(solution.optimal);
}

TEST(Selection, TiesGoToTheSmallerOptionOfTheEarlierNode) {
  // Both ends of the path may differ from the middle at the same cost.
  SelectionProblem problem;
  for (int node = 0; node < 3; ++node)
    problem.addNode({0, 0, 0});
  std::vector<double> differ{1, 0, 0, 0, 1, 0, 0, 0, 1};
  problem.addEdge(0, 1, differ);
  problem.addEdge(1, 2, differ);
  for (int repeat = 0; repeat < 3; ++repeat)
    EXPECT_EQ(problem.solve().options, (std::vector<unsigned>{0, 1, 0}));
}

TEST(Selection, TiesInATree) {
  // A star: its center is the last node, and decided by the first leaf.
  SelectionProblem problem;
  for (int node = 0; node < 4; ++node)
    problem.addNode({0, 0});
  for (unsigned leaf = 0; leaf < 3; ++leaf)
    problem.addEdge(leaf, 3, {1, 0, 0, 1});
  EXPECT_EQ(problem.solve().options, (std::vector<unsigned>{0, 0, 0, 1}));
  SelectionProblem pair;
  pair.addNode({0, 0});
  pair.addNode({0, 0});
  pair.addEdge(0, 1, {1, 0, 0, 1});
  EXPECT_EQ(pair.solve().options, (std::vector<unsigned>{0, 1}));
}

/// Grids have no exact reduction beyond their border; the answer is known by
/// dynamic programming over columns.
TEST(Selection, GridsComeCloseToTheOptimum) {
  std::mt19937 random(4);
  constexpr unsigned kRows = 4, kColumns = 30, kOptions = 2, kStates = 16;
  for (int round = 0; round < 5; ++round) {
    SelectionProblem problem;
    std::vector<std::vector<double>> nodes;
    for (unsigned i = 0; i < kRows * kColumns; ++i) {
      nodes.push_back(randomCosts(kOptions, 0, random));
      problem.addNode(nodes.back());
    }
    std::vector<double> reach(kStates, 0);
    for (unsigned column = 0; column < kColumns; ++column) {
      std::vector<std::vector<double>> down, across;
      for (unsigned row = 0; row < kRows; ++row) {
        unsigned node = column * kRows + row;
        down.push_back(randomCosts(kOptions * kOptions, 0, random));
        across.push_back(randomCosts(kOptions * kOptions, 0, random));
        if (row > 0)
          problem.addEdge(node - 1, node, down.back());
        if (column > 0)
          problem.addEdge(node - kRows, node, across.back());
      }
      std::vector<double> next(kStates, kInfinity);
      for (unsigned state = 0; state < kStates; ++state) {
        for (unsigned before = 0; before < kStates; ++before) {
          double cost = reach[before];
          for (unsigned row = 0; row < kRows; ++row) {
            unsigned own = state >> row & 1;
            cost += nodes[column * kRows + row][own];
            if (row > 0)
              cost += down[row][(state >> (row - 1) & 1) * kOptions + own];
            if (column > 0)
              cost += across[row][(before >> row & 1) * kOptions + own];
          }
          next[state] = std::min(next[state], cost);
        }
      }
      reach = next;
    }
    double least = *std::min_element(reach.begin(), reach.end());
    SelectionProblem::Solution solution = problem.solve();
    EXPECT_FALSE(solution.optimal);
    EXPECT_GE(solution.cost, least);
    EXPECT_LE(solution.cost, least * 1.03);
  }
}

TEST(Selection, DegenerateProblems) {
  SelectionProblem problem;
  EXPECT_EQ(problem.solve().cost, 0);
  EXPECT_TRUE(problem.solve().options.empty());
  problem.addNode({3});
  EXPECT_EQ(problem.solve().cost, 3);
  EXPECT_EQ(problem.evaluate({1}), kInfinity);
  EXPECT_EQ(problem.evaluate({}), kInfinity);
  problem.addNode({});
  EXPECT_EQ(problem.solve().cost, kInfinity);
}

TEST(Selection, ALongChainWithSkipsStaysFast) {
  // A residual network: every node reads the two before it.
  std::mt19937 random(3);
  std::vector<std::pair<unsigned, unsigned>> edges;
  constexpr unsigned kNodes = 3000;
  for (unsigned node = 2; node < kNodes; ++node) {
    edges.push_back({node - 1, node});
    edges.push_back({node - 2, node});
  }
  Instance instance = randomInstance(kNodes, edges, 0, random);
  EXPECT_TRUE(instance.problem.solve().optimal);
}
