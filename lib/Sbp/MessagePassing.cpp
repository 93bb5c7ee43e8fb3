//===- MessagePassing.cpp - a choice by messages --------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages run forwards and backwards through the nodes; each forward run
// decides on options by what came so far, and the cheapest decision is kept.
//
//===----------------------------------------------------------------------===//

#include "MessagePassing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace oneflow::sbp {

namespace {

class MessagePassing {
public:
  MessagePassing(const std::vector<std::vector<double>> &nodeCosts,
                 const std::vector<PairCosts> &pairCosts)
      : nodes(nodeCosts), pairs(pairCosts), links(nodes.size()) {
    for (std::vector<double> &costs : nodes)
      makeFinite(costs);
    for (PairCosts &pair : pairs) {
      makeFinite(pair.costs);
      unsigned number = static_cast<unsigned>(&pair - pairs.data());
      links[pair.first].push_back({number, true});
      links[pair.second].push_back({number, false});
      toSecond.emplace_back(nodes[pair.second].size(), 0.0);
      toFirst.emplace_back(nodes[pair.first].size(), 0.0);
    }
  }

  std::vector<unsigned> run(size_t work) {
    size_t entries = 1;
    for (const PairCosts &pair : pairs)
      entries += 4 * pair.costs.size();
    // Rounds without a better choice before giving up, and rounds in all.
    constexpr size_t kPatience = 40, kMostRounds = 400;
    size_t rounds = std::clamp<size_t>(work / entries, 4, kMostRounds);
    std::vector<unsigned> best, options(nodes.size(), 0);
    double least = std::numeric_limits<double>::infinity();
    size_t since = 0;
    for (size_t round = 0; round < rounds && since < kPatience; ++round) {
      for (unsigned node = 0; node < nodes.size(); ++node) {
        decide(node, options);
        send(node, /*forwards=*/true);
      }
      for (unsigned node = nodes.size(); node-- > 0;)
        send(node, /*forwards=*/false);
      double cost = evaluate(options);
      ++since;
      if (cost < least - 1e-12 * std::abs(least) || best.empty()) {
        least = cost;
        best = options;
        since = 0;
      }
    }
    return best;
  }

private:
  struct Link {
    unsigned pair;
    /// This node is the first of the pair.
    bool isFirst;
  };

  /// Large beside seconds, small enough to leave nanoseconds their digits.
  static void makeFinite(std::vector<double> &costs) {
    constexpr double kForbidden = 1e5;
    for (double &cost : costs)
      if (!(cost < kForbidden))
        cost = kForbidden;
  }

  double pairCost(const Link &link, unsigned own, unsigned other) const {
    const PairCosts &pair = pairs[link.pair];
    return link.isFirst ? pair.costs[own * nodes[pair.second].size() + other]
                        : pair.costs[other * nodes[pair.second].size() + own];
  }
  std::vector<double> &incoming(const Link &link) {
    return link.isFirst ? toFirst[link.pair] : toSecond[link.pair];
  }
  unsigned otherEnd(const Link &link) const {
    return link.isFirst ? pairs[link.pair].second : pairs[link.pair].first;
  }

  /// Sends to the later neighbors, or to the earlier ones.
  void send(unsigned node, bool forwards) {
    size_t later = 0;
    std::vector<double> belief = nodes[node];
    for (const Link &link : links[node]) {
      later += link.isFirst;
      const std::vector<double> &message = incoming(link);
      for (size_t option = 0; option < belief.size(); ++option)
        belief[option] += message[option];
    }
    size_t chains = std::max(later, links[node].size() - later);
    double share = 1.0 / static_cast<double>(std::max<size_t>(chains, 1));
    for (const Link &link : links[node]) {
      if (link.isFirst != forwards)
        continue;
      const std::vector<double> &back = incoming(link);
      std::vector<double> &out =
          link.isFirst ? toSecond[link.pair] : toFirst[link.pair];
      double least = std::numeric_limits<double>::infinity();
      for (unsigned other = 0; other < out.size(); ++other) {
        double cost = std::numeric_limits<double>::infinity();
        for (unsigned own = 0; own < belief.size(); ++own)
          cost = std::min(cost, share * belief[own] - back[own] +
                                    pairCost(link, own, other));
        out[other] = cost;
        least = std::min(least, cost);
      }
      for (double &cost : out)
        cost -= least;
    }
  }

  /// The best option after what earlier nodes decided.
  void decide(unsigned node, std::vector<unsigned> &options) {
    std::vector<double> costs = nodes[node];
    for (const Link &link : links[node])
      for (unsigned own = 0; own < costs.size(); ++own)
        costs[own] += link.isFirst
                          ? incoming(link)[own]
                          : pairCost(link, own, options[otherEnd(link)]);
    options[node] = static_cast<unsigned>(
        std::min_element(costs.begin(), costs.end()) - costs.begin());
  }

  double evaluate(const std::vector<unsigned> &options) const {
    double cost = 0;
    for (size_t node = 0; node < nodes.size(); ++node)
      cost += nodes[node][options[node]];
    for (const PairCosts &pair : pairs)
      cost += pair.costs[options[pair.first] * nodes[pair.second].size() +
                         options[pair.second]];
    return cost;
  }

  std::vector<std::vector<double>> nodes;
  std::vector<PairCosts> pairs;
  std::vector<std::vector<Link>> links;
  /// One message per pair and direction.
  std::vector<std::vector<double>> toFirst, toSecond;
};

} // namespace

std::vector<unsigned>
chooseByMessages(const std::vector<std::vector<double>> &nodes,
                 const std::vector<PairCosts> &pairs, size_t work) {
  return MessagePassing(nodes, pairs).run(work);
}

} // namespace oneflow::sbp
