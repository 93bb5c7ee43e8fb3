//===- Selection.cpp - choosing one option per node -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solves partitioned boolean quadratic problems by reduction. A node of degree
// two and less is folded into its neighbors without loss and chosen last, when
// they are known; where all nodes have more, one is fixed by heuristic. Fixed
// nodes are then tried one by one with their other options.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Selection.h"

#include "MessagePassing.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace oneflow::sbp {

unsigned SelectionProblem::addNode(std::vector<double> costs) {
  nodes.push_back(std::move(costs));
  return static_cast<unsigned>(nodes.size() - 1);
}

void SelectionProblem::addEdge(unsigned u, unsigned v,
                               const std::vector<double> &costs) {
  assert(u != v && u < nodes.size() && v < nodes.size() &&
         costs.size() == nodes[u].size() * nodes[v].size() &&
         "an edge needs a cost for every pair of options of two nodes");
  edges.push_back({u, v, costs});
}

double SelectionProblem::evaluate(const std::vector<unsigned> &options) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (options.size() != nodes.size())
    return kInfinity;
  double cost = 0;
  for (size_t node = 0; node < nodes.size(); ++node) {
    if (options[node] >= nodes[node].size())
      return kInfinity;
    cost += nodes[node][options[node]];
  }
  for (const Edge &edge : edges)
    cost +=
        edge.costs[options[edge.u] * nodes[edge.v].size() + options[edge.v]];
  return cost;
}

namespace {

/// Costs of every pair of options of two nodes, the one with the smaller index
/// in rows.
using Matrix = std::vector<double>;

/// Bounds the time spent on improving a heuristic choice: matrix entries
/// touched, about a second. Counted, not timed, so that the result is the same
/// everywhere.
constexpr size_t kImprovementWork = 200'000'000;
/// What an edge takes besides its matrix, in the same unit.
constexpr size_t kEdgeWork = 64;

/// Better by more than what rounding explains; without it improvement could go
/// in circles. Below infinity is anything finite.
bool isClearlyBelow(double cost, double other) {
  if (std::isinf(other))
    return !std::isinf(cost);
  return cost < other - 1e-12 * std::max(std::abs(cost), std::abs(other));
}

/// A sum of costs in which infinities are counted, so that of two forbidden
/// choices the less forbidden one is better.
struct CountedCost {
  unsigned infinities = 0;
  double finite = 0;

  void add(double cost) {
    if (std::isinf(cost))
      ++infinities;
    else
      finite += cost;
  }
  /// Better by more than what rounding explains; without it improvement could
  /// go in circles.
  bool clearlyBelow(const CountedCost &other) const {
    if (infinities != other.infinities)
      return infinities < other.infinities;
    return isClearlyBelow(finite, other.finite);
  }
};

/// The graph while it is reduced. Edges are kept from both ends.
class Reduction {
public:
  explicit Reduction(std::vector<std::vector<double>> nodeCosts)
      : costs(std::move(nodeCosts)), neighbors(costs.size()) {}

  void addEdge(unsigned u, unsigned v, const Matrix &matrix) {
    bool swapped = u > v;
    unsigned low = swapped ? v : u, high = swapped ? u : v;
    std::shared_ptr<Matrix> &edge = neighbors[low][high];
    if (!edge) {
      edge = std::make_shared<Matrix>(matrix.size(), 0.0);
      neighbors[high][low] = edge;
    }
    for (unsigned a = 0; a < costs[u].size(); ++a)
      for (unsigned b = 0; b < costs[v].size(); ++b)
        at(*edge, u, a, v, b) += matrix[a * costs[v].size() + b];
  }

  /// Which of the nodes that no exact reduction takes is fixed next.
  enum class FixOrder {
    /// The one with the most edges makes the most others reducible.
    MostEdges,
    /// The first: where nodes come in the order of a computation, all that
    /// leads
    /// to it is folded or fixed, and its costs speak of it.
    First,
    /// The last: its costs speak of all that is made of it.
    Last,
  };

  /// Chooses one option per node. Nodes that no exact reduction takes get their
  /// option of `given` if it is not empty, else one by heuristic. \return those
  /// nodes: none means that the choice is optimal. They depend on the edges
  /// and the order only.
  std::vector<unsigned> solve(std::vector<unsigned> &options,
                              const std::vector<unsigned> &given = {},
                              FixOrder fixOrder = FixOrder::MostEdges) {
    for (unsigned node = 0; node < costs.size(); ++node)
      enqueue(node);
    std::vector<unsigned> fixed;
    while (!reducible.empty() || !byDegree.empty()) {
      if (reducible.empty()) {
        unsigned node = nextToFix(fixOrder);
        fixed.push_back(node);
        fix(node, given.empty() ? bestAlone(node) : given[node]);
        continue;
      }
      // Later nodes are folded first so that earlier ones are chosen first.
      reduce(*reducible.rbegin());
    }
    options.assign(costs.size(), 0);
    for (size_t i = order.size(); i-- > 0;)
      choose(order[i], options);
    return fixed;
  }

  /// One option per node by messages along the edges. Call before the graph is
  /// reduced.
  std::vector<unsigned> chooseByMessages() const {
    std::vector<PairCosts> pairs;
    for (unsigned node = 0; node < costs.size(); ++node)
      for (const auto &[other, edge] : neighbors[node])
        if (node < other)
          pairs.push_back({node, other, *edge});
    return sbp::chooseByMessages(costs, pairs, kImprovementWork);
  }

  /// Moves single nodes to cheaper options until none has one. Call before the
  /// graph is reduced.
  void improve(std::vector<unsigned> &options) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned node = 0; node < costs.size(); ++node) {
        CountedCost best = localCost(node, options[node], options);
        for (unsigned option = 0; option < costs[node].size(); ++option) {
          CountedCost cost = localCost(node, option, options);
          if (!cost.clearlyBelow(best))
            continue;
          best = cost;
          options[node] = option;
          changed = true;
        }
      }
    }
  }

private:
  using Neighbors = std::map<unsigned, std::shared_ptr<Matrix>>;

  /// A node taken out of the graph, with the edges it had then.
  struct Removed {
    unsigned node;
    Neighbors edges;
    /// The option of a fixed node.
    unsigned option;
    bool fixed;
  };

  double &at(Matrix &matrix, unsigned u, unsigned a, unsigned v,
             unsigned b) const {
    return u < v ? matrix[a * costs[v].size() + b]
                 : matrix[b * costs[u].size() + a];
  }

  CountedCost localCost(unsigned node, unsigned option,
                        const std::vector<unsigned> &options) const {
    CountedCost cost;
    cost.add(costs[node][option]);
    for (const auto &[other, edge] : neighbors[node])
      cost.add(at(*edge, node, option, other, options[other]));
    return cost;
  }

  unsigned nextToFix(FixOrder fixOrder) const {
    if (fixOrder == FixOrder::MostEdges)
      return byDegree.begin()->second;
    return fixOrder == FixOrder::First ? *irreducible.begin()
                                       : *irreducible.rbegin();
  }

  void enqueue(unsigned node) {
    size_t degree = neighbors[node].size();
    if (degree <= 2) {
      reducible.insert(node);
    } else {
      byDegree.insert({-static_cast<long>(degree), node});
      irreducible.insert(node);
    }
  }

  void dequeue(unsigned node) {
    reducible.erase(node);
    irreducible.erase(node);
    byDegree.erase({-static_cast<long>(neighbors[node].size()), node});
  }

  /// Takes `node` out and returns the edges it had.
  Neighbors detach(unsigned node) {
    dequeue(node);
    Neighbors edges = std::move(neighbors[node]);
    neighbors[node].clear();
    for (const auto &entry : edges) {
      dequeue(entry.first);
      neighbors[entry.first].erase(node);
      enqueue(entry.first);
    }
    return edges;
  }

  /// R0, R1 and R2: the best option for every choice of the neighbors becomes
  /// their cost.
  void reduce(unsigned node) {
    Neighbors edges = detach(node);
    if (edges.size() == 1) {
      auto &[other, edge] = *edges.begin();
      for (unsigned b = 0; b < costs[other].size(); ++b) {
        double best = std::numeric_limits<double>::infinity();
        for (unsigned a = 0; a < costs[node].size(); ++a)
          best = std::min(best, costs[node][a] + at(*edge, node, a, other, b));
        costs[other][b] += best;
      }
    } else if (edges.size() == 2) {
      auto &[first, firstEdge] = *edges.begin();
      auto &[second, secondEdge] = *edges.rbegin();
      Matrix delta(costs[first].size() * costs[second].size());
      for (unsigned b = 0; b < costs[first].size(); ++b) {
        for (unsigned c = 0; c < costs[second].size(); ++c) {
          double best = std::numeric_limits<double>::infinity();
          for (unsigned a = 0; a < costs[node].size(); ++a)
            best = std::min(best, costs[node][a] +
                                      at(*firstEdge, node, a, first, b) +
                                      at(*secondEdge, node, a, second, c));
          delta[b * costs[second].size() + c] = best;
        }
      }
      dequeue(first);
      dequeue(second);
      addEdge(first, second, delta);
      enqueue(first);
      enqueue(second);
    }
    order.push_back({node, std::move(edges), 0, false});
  }

  /// RN: the option that is best if every neighbor may still choose for itself.
  unsigned bestAlone(unsigned node) const {
    unsigned chosen = 0;
    double least = std::numeric_limits<double>::infinity();
    for (unsigned a = 0; a < costs[node].size(); ++a) {
      double cost = costs[node][a];
      for (const auto &[other, edge] : neighbors[node]) {
        double best = std::numeric_limits<double>::infinity();
        for (unsigned b = 0; b < costs[other].size(); ++b)
          best = std::min(best, costs[other][b] + at(*edge, node, a, other, b));
        cost += best;
      }
      if (cost < least) {
        least = cost;
        chosen = a;
      }
    }
    return chosen;
  }

  /// Takes out a node whose option is decided.
  void fix(unsigned node, unsigned chosen) {
    Neighbors edges = detach(node);
    for (const auto &[other, edge] : edges)
      for (unsigned b = 0; b < costs[other].size(); ++b)
        costs[other][b] += at(*edge, node, chosen, other, b);
    order.push_back({node, std::move(edges), chosen, true});
  }

  void choose(const Removed &removed, std::vector<unsigned> &options) const {
    unsigned node = removed.node;
    options[node] = removed.option;
    if (removed.fixed)
      return;
    double least = std::numeric_limits<double>::infinity();
    for (unsigned a = 0; a < costs[node].size(); ++a) {
      double cost = costs[node][a];
      for (const auto &[other, edge] : removed.edges)
        cost += at(*edge, node, a, other, options[other]);
      if (cost < least) {
        least = cost;
        options[node] = a;
      }
    }
  }

  std::vector<std::vector<double>> costs;
  std::vector<Neighbors> neighbors;
  /// Nodes of degree two and less.
  std::set<unsigned> reducible;
  /// The others, by number, and those with the most edges first.
  std::set<unsigned> irreducible;
  std::set<std::pair<long, unsigned>> byDegree;
  std::vector<Removed> order;
};

} // namespace

SelectionProblem::Solution SelectionProblem::solve() const {
  Solution solution;
  solution.options.assign(nodes.size(), 0);
  for (const std::vector<double> &costs : nodes) {
    if (!costs.empty())
      continue;
    // A node without options has no choice that is not forbidden.
    solution.cost = std::numeric_limits<double>::infinity();
    return solution;
  }

  auto makeReduction = [&] {
    Reduction reduction(nodes);
    for (const Edge &edge : edges)
      reduction.addEdge(edge.u, edge.v, edge.costs);
    return reduction;
  };
  std::vector<unsigned> fixed = makeReduction().solve(solution.options);
  solution.optimal = fixed.empty();
  if (!solution.optimal) {
    const Reduction graph = makeReduction();
    graph.improve(solution.options);
    // A node that was fixed wrongly may need many others to change with it;
    // other orders go wrong elsewhere.
    auto offer = [&](std::vector<unsigned> options) {
      graph.improve(options);
      if (isClearlyBelow(evaluate(options), evaluate(solution.options)))
        solution.options = std::move(options);
    };
    for (auto order : {Reduction::FixOrder::First, Reduction::FixOrder::Last}) {
      std::vector<unsigned> options;
      makeReduction().solve(options, {}, order);
      offer(std::move(options));
    }
    // Messages see further than one node, but not as exactly as reductions:
    // what they choose for the fixed nodes, those complete.
    std::vector<unsigned> byMessages = graph.chooseByMessages(), completed;
    makeReduction().solve(completed, byMessages);
    offer(std::move(byMessages));
    offer(std::move(completed));
    // Each fixed node in turn tries its other options, everything that is not
    // fixed following at its best: as exact as the reductions are, while it
    // lasts.
    size_t entries = 1, largest = 1;
    for (const std::vector<double> &costs : nodes)
      largest = std::max(largest, costs.size());
    for (const Edge &edge : edges)
      entries += edge.costs.size() + kEdgeWork;
    size_t attempts = kImprovementWork / (entries * largest);
    double cost = evaluate(solution.options);
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned node : fixed) {
        for (unsigned option = 0; option < nodes[node].size(); ++option) {
          if (option == solution.options[node] || attempts == 0)
            continue;
          --attempts;
          std::vector<unsigned> given = solution.options, options;
          given[node] = option;
          makeReduction().solve(options, given);
          double reached = evaluate(options);
          if (!isClearlyBelow(reached, cost))
            continue;
          cost = reached;
          solution.options = std::move(options);
          changed = true;
        }
      }
    }
    graph.improve(solution.options);
  }
  solution.cost = evaluate(solution.options);
  return solution;
}

} // namespace oneflow::sbp
