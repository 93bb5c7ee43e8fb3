//===- OffsetPacking.cpp - arena offsets ----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See OffsetPacking.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/OffsetPacking.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>

using namespace oneflow::actor;

int64_t oneflow::actor::sumSizes(const PackingProblem &problem,
                                 const std::vector<uint32_t> &blocks) {
  int64_t sum = 0;
  for (uint32_t block : blocks)
    sum += problem.getAlignedSize(block);
  return sum;
}

static std::vector<uint32_t> sortBySize(const PackingProblem &problem) {
  std::vector<uint32_t> order(problem.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(problem.sizes[b], a) < std::pair(problem.sizes[a], b);
  });
  return order;
}

namespace {

/// Grows cliques, each the size of which costs the conflicts of its members.
class CliqueGrower {
public:
  explicit CliqueGrower(const PackingProblem &problem)
      : problem(problem), bySize(sortBySize(problem)),
        hits(problem.sizes.size()) {}

  std::vector<uint32_t> grow(std::vector<uint32_t> clique) {
    std::fill(hits.begin(), hits.end(), 0);
    work += hits.size();
    for (uint32_t block : clique)
      add(block);
    for (uint32_t block : bySize)
      if (hits[block] == clique.size() && problem.sizes[block] > 0 &&
          std::find(clique.begin(), clique.end(), block) == clique.end()) {
        clique.push_back(block);
        add(block);
      }
    return clique;
  }
  size_t getWork() const { return work; }

private:
  void add(uint32_t block) {
    for (uint32_t other : problem.conflicts[block])
      ++hits[other];
    work += problem.conflicts[block].size();
  }

  const PackingProblem &problem;
  std::vector<uint32_t> bySize;
  /// How many members of the clique a block conflicts with.
  std::vector<size_t> hits;
  size_t work = 0;
};

/// Places blocks in a given order.
class Placer {
public:
  explicit Placer(const PackingProblem &problem) : problem(problem) {
    for (uint32_t block = 0; block < problem.sizes.size(); ++block)
      sizes.push_back(problem.getAlignedSize(block));
  }

  enum class Gap { Lowest, Tightest };

  /// Gives up, with more bytes than `limit`, once the arena exceeds it.
  Packing place(const std::vector<uint32_t> &order, Gap gap,
                int64_t limit = std::numeric_limits<int64_t>::max()) {
    Packing packing;
    packing.offsets.assign(sizes.size(), -1);
    for (uint32_t block : order) {
      packing.offsets[block] = findOffset(packing.offsets, block, gap);
      packing.bytes =
          std::max(packing.bytes, packing.offsets[block] + sizes[block]);
      if (packing.bytes > limit)
        break;
    }
    return packing;
  }

  int64_t findOffset(const std::vector<int64_t> &offsets, uint32_t block,
                     Gap gap) {
    int64_t size = sizes[block];
    if (size == 0)
      return 0;
    work += problem.conflicts[block].size() + 1;
    fixed.clear();
    for (uint32_t other : problem.conflicts[block])
      if (offsets[other] >= 0 && sizes[other] > 0)
        fixed.push_back({offsets[other], offsets[other] + sizes[other]});
    std::sort(fixed.begin(), fixed.end());
    int64_t end = 0, best = -1;
    int64_t bestGap = std::numeric_limits<int64_t>::max();
    for (auto [begin, past] : fixed) {
      if (begin - end >= size && begin - end < bestGap) {
        best = end;
        bestGap = begin - end;
        if (gap == Gap::Lowest)
          return best;
      }
      end = std::max(end, past);
    }
    return best >= 0 ? best : end;
  }

  int64_t getSize(uint32_t block) const { return sizes[block]; }
  size_t getWork() const { return work; }

private:
  const PackingProblem &problem;
  std::vector<int64_t> sizes;
  std::vector<std::pair<int64_t, int64_t>> fixed;
  size_t work = 0;
};

class Packer {
public:
  Packer(const PackingProblem &problem, const std::vector<uint32_t> &clique)
      : problem(problem), clique(clique), placer(problem),
        bound(sumSizes(problem, clique)) {
    for (uint32_t block = 0; block < problem.sizes.size(); ++block)
      bound = std::max(bound, placer.getSize(block));
    best.bytes = std::numeric_limits<int64_t>::max();
  }

  Packing run() {
    tryOrders();
    if (problem.sizes.size() <= kExactBlocks) {
      std::vector<int64_t> offsets(problem.sizes.size(), -1);
      searchAll(offsets, 0, 0);
    } else {
      improve();
    }
    return best;
  }

private:
  static constexpr size_t kExactBlocks = 8;
  static constexpr size_t kWork = 8'000'000;

  bool isDone() const { return best.bytes <= bound; }
  void tryOrders();
  void tryOrder(std::vector<uint32_t> order);
  void searchAll(std::vector<int64_t> &offsets, size_t placed, int64_t bytes);
  void improve();

  const PackingProblem &problem;
  const std::vector<uint32_t> &clique;
  Placer placer;
  int64_t bound;
  Packing best;
  std::vector<uint32_t> bestOrder;
};

} // namespace

std::vector<uint32_t> oneflow::actor::growClique(const PackingProblem &problem,
                                                 std::vector<uint32_t> seed) {
  return CliqueGrower(problem).grow(std::move(seed));
}

std::vector<uint32_t>
oneflow::actor::findHeavyClique(const PackingProblem &problem) {
  constexpr size_t kWork = 8'000'000;
  // What a block and all it conflicts with weigh is what its cliques can at
  // most.
  std::vector<int64_t> weights(problem.sizes.size());
  for (uint32_t block = 0; block < weights.size(); ++block)
    weights[block] = problem.getAlignedSize(block) +
                     sumSizes(problem, problem.conflicts[block]);
  std::vector<uint32_t> seeds(weights.size());
  std::iota(seeds.begin(), seeds.end(), 0);
  std::sort(seeds.begin(), seeds.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(weights[b], a) < std::pair(weights[a], b);
  });
  CliqueGrower grower(problem);
  std::vector<uint32_t> best;
  int64_t bytes = 0;
  for (uint32_t seed : seeds) {
    if (weights[seed] <= bytes || grower.getWork() > kWork)
      break;
    if (problem.sizes[seed] == 0)
      continue;
    std::vector<uint32_t> clique = grower.grow({seed});
    if (int64_t sum = sumSizes(problem, clique); sum > bytes) {
      bytes = sum;
      best = std::move(clique);
    }
  }
  return best;
}

void Packer::tryOrder(std::vector<uint32_t> order) {
  for (Placer::Gap gap : {Placer::Gap::Tightest, Placer::Gap::Lowest}) {
    if (isDone())
      return;
    Packing packing = placer.place(order, gap, best.bytes);
    if (packing.bytes < best.bytes) {
      best = std::move(packing);
      bestOrder = order;
    }
  }
}

void Packer::tryOrders() {
  size_t count = problem.sizes.size();
  std::vector<double> size(count), time(count, 1.0), weight(count);
  for (uint32_t block = 0; block < count; ++block) {
    size[block] = static_cast<double>(placer.getSize(block));
    if (!problem.lifetimes.empty())
      time[block] = problem.lifetimes[block];
    for (uint32_t other : problem.conflicts[block])
      weight[block] += static_cast<double>(placer.getSize(other));
  }
  std::vector<char> inClique(count, 0);
  for (uint32_t block : clique)
    inClique[block] = 1;
  auto sortBy = [&](auto key) {
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::tuple(key(b), size[b], a) < std::tuple(key(a), size[a], b);
    });
    return order;
  };
  using Pair = std::pair<double, double>;
  tryOrder(sortBy([&](uint32_t b) { return size[b]; }));
  tryOrder(sortBy([&](uint32_t b) { return Pair(inClique[b], time[b]); }));
  tryOrder(sortBy([&](uint32_t b) { return Pair(inClique[b], size[b]); }));
  tryOrder(sortBy([&](uint32_t b) { return time[b]; }));
  tryOrder(sortBy([&](uint32_t b) { return size[b] * time[b]; }));
  tryOrder(sortBy([&](uint32_t b) { return weight[b]; }));
  tryOrder(sortBy([&](uint32_t b) { return weight[b] + size[b]; }));
  tryOrder(sortBy([&](uint32_t b) { return size[b] * weight[b]; }));
}

/// Every packing can be pushed down until each block lies on the floor or on
/// one that it conflicts with; placing the blocks of that in the order of their
/// offsets, each as low as it goes, finds one as good.
void Packer::searchAll(std::vector<int64_t> &offsets, size_t placed,
                       int64_t bytes) {
  if (isDone() || bytes >= best.bytes)
    return;
  if (placed == offsets.size()) {
    best = {offsets, bytes};
    return;
  }
  for (uint32_t block = 0; block < offsets.size(); ++block) {
    if (offsets[block] >= 0)
      continue;
    int64_t offset = placer.findOffset(offsets, block, Placer::Gap::Lowest);
    offsets[block] = offset;
    searchAll(offsets, placed + 1,
              std::max(bytes, offset + placer.getSize(block)));
    offsets[block] = -1;
  }
}

void Packer::improve() {
  if (isDone())
    return;
  // Orders as good are taken too: most single moves change nothing.
  std::mt19937 random(1);
  std::vector<uint32_t> order = bestOrder;
  Packing now = placer.place(order, Placer::Gap::Lowest);
  size_t begun = placer.getWork();
  while (!isDone() && placer.getWork() - begun < kWork) {
    std::vector<size_t> last;
    for (size_t place = 0; place < order.size(); ++place)
      if (now.offsets[order[place]] + placer.getSize(order[place]) == now.bytes)
        last.push_back(place);
    size_t from = last[random() % last.size()];
    // Or one that it lies above.
    if (random() % 4 == 0)
      from = random() % order.size();
    size_t to = from == 0 ? random() % order.size() : random() % from;
    std::vector<uint32_t> next = order;
    uint32_t block = next[from];
    next.erase(next.begin() + from);
    next.insert(next.begin() + to, block);
    Packing packing = placer.place(next, Placer::Gap::Lowest, now.bytes);
    if (packing.bytes > now.bytes)
      continue;
    now = std::move(packing);
    order = std::move(next);
    if (now.bytes < best.bytes)
      best = now;
  }
}

Packing oneflow::actor::packOffsets(const PackingProblem &problem,
                                    const std::vector<uint32_t> &clique) {
  if (problem.sizes.empty())
    return {};
  return Packer(problem, clique).run();
}
