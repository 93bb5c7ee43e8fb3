//===- Recompute.cpp - what to make twice -----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Choosing blocks is a knapsack, but for the one block whose activations are
// back for a moment. So a bound on that block is tried for each size there is;
// under it, blocks that save enough bytes at the least seconds are wanted.
// Filling up by seconds per byte, with a part of the last block, bounds that
// from below; models repeat their blocks, so equal ones count as one group.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Schedule/Recompute.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace oneflow::schedule {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Empty, or what is wrong. Behind it no sum of bytes overflows.
std::string check(const std::vector<RecomputeBlock> &blocks,
                  unsigned inFlight) {
  if (inFlight == 0)
    return "expected at least 1 micro-batch in flight, got: 0";
  double total = 0;
  // Room for what is in flight and for what is back for a moment.
  uint64_t left = UINT64_MAX / (uint64_t(inFlight) + 1);
  for (size_t i = 0; i < blocks.size(); ++i) {
    total += blocks[i].forwardSeconds;
    if (!(blocks[i].forwardSeconds >= 0) || !std::isfinite(total))
      return "expected finite seconds of at least 0 for block " +
             std::to_string(i) +
             ", got: " + std::to_string(blocks[i].forwardSeconds);
    uint64_t bytes = std::max(blocks[i].keptBytes, blocks[i].inputBytes);
    if (bytes > left)
      return "expected bytes of all blocks and micro-batches that add up to "
             "less than 2^64";
    left -= bytes;
  }
  return "";
}

/// Blocks that save the same bytes at the same seconds.
struct Group {
  /// Saved per block and micro-batch; at least 1.
  uint64_t saved;
  double seconds;
  std::vector<unsigned> blocks;
};

/// In ascending order of seconds per byte.
std::vector<Group> makeGroups(const std::vector<RecomputeBlock> &blocks) {
  std::vector<unsigned> order;
  for (unsigned i = 0; i < blocks.size(); ++i)
    // Others would only cost time.
    if (blocks[i].keptBytes > blocks[i].inputBytes)
      order.push_back(i);
  auto saved = [&](unsigned i) {
    return blocks[i].keptBytes - blocks[i].inputBytes;
  };
  auto perByte = [&](unsigned i) {
    return blocks[i].forwardSeconds / double(saved(i));
  };
  std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    if (perByte(a) != perByte(b))
      return perByte(a) < perByte(b);
    // Large ones first: what is still to be saved is then met more finely.
    return saved(a) != saved(b) ? saved(a) > saved(b) : a < b;
  });
  std::vector<Group> groups;
  for (unsigned i : order) {
    if (groups.empty() || groups.back().saved != saved(i) ||
        groups.back().seconds != blocks[i].forwardSeconds)
      groups.push_back({saved(i), blocks[i].forwardSeconds, {}});
    groups.back().blocks.push_back(i);
  }
  return groups;
}

/// The lower bound for groups that are added one after the other, by binary
/// indexed sums.
class FractionalFill {
public:
  explicit FractionalFill(const std::vector<Group> &groups)
      : groups(groups), saved(groups.size() + 1, 0),
        seconds(groups.size() + 1, 0) {}
  void add(size_t g) {
    double count = double(groups[g].blocks.size());
    for (size_t i = g + 1; i < saved.size(); i += i & -i) {
      saved[i] += groups[g].saved * groups[g].blocks.size();
      seconds[i] += groups[g].seconds * count;
    }
  }
  /// The least seconds that save `need` if blocks could be cut; infinity if all
  /// do not suffice.
  double leastSeconds(uint64_t need) const {
    if (need == 0)
      return 0;
    size_t at = 0, step = 1;
    while (step * 2 < saved.size())
      step *= 2;
    double sum = 0;
    for (; step > 0; step /= 2)
      if (at + step < saved.size() && saved[at + step] < need) {
        at += step;
        need -= saved[at];
        sum += seconds[at];
      }
    // Group `at` is the first to suffice.
    if (at + 1 >= saved.size())
      return infinity;
    return sum + groups[at].seconds * (double(need) / double(groups[at].saved));
  }

private:
  const std::vector<Group> &groups;
  std::vector<uint64_t> saved;
  std::vector<double> seconds;
};

/// The best choice so far, over all bounds.
struct Incumbent {
  double seconds = infinity;
  /// Per group.
  std::vector<size_t> counts;
  /// Whether a lower bound leaves room for something better. Up to rounding,
  /// or sums of equal terms in another order would seem to.
  bool mayImprove(double bound) const {
    return bound < seconds * (1 - 1e-12) || seconds == infinity;
  }
};

/// Depth first over the groups whose blocks save at most `largest` each, most
/// blocks of the cheapest group first. Takes from `steps`; false if these did
/// not suffice.
bool search(const std::vector<Group> &all, uint64_t largest, uint64_t need,
            uint64_t &steps, Incumbent &best) {
  if (steps == 0 && best.seconds < infinity)
    return false;
  std::vector<size_t> members;
  for (size_t g = 0; g < all.size(); ++g)
    if (all[g].saved <= largest)
      members.push_back(g);
  size_t depth = members.size();
  std::vector<uint64_t> savedBefore(depth + 1, 0);
  std::vector<double> secondsBefore(depth + 1, 0);
  for (size_t d = 0; d < depth; ++d) {
    const Group &group = all[members[d]];
    savedBefore[d + 1] = savedBefore[d] + group.saved * group.blocks.size();
    secondsBefore[d + 1] =
        secondsBefore[d] + group.seconds * double(group.blocks.size());
  }
  auto bound = [&](size_t d, uint64_t missing) {
    if (savedBefore[depth] - savedBefore[d] < missing)
      return infinity;
    size_t last = std::lower_bound(savedBefore.begin() + d, savedBefore.end(),
                                   savedBefore[d] + missing) -
                  savedBefore.begin() - 1;
    uint64_t rest = missing - (savedBefore[last] - savedBefore[d]);
    const Group &group = all[members[last]];
    return secondsBefore[last] - secondsBefore[d] +
           group.seconds * (double(rest) / double(group.saved));
  };

  std::vector<size_t> counts(depth, 0);
  std::vector<uint64_t> missing(depth + 1, need);
  std::vector<double> seconds(depth + 1, 0);
  auto spend = [&](uint64_t n) { steps -= std::min(steps, n); };
  spend(all.size());
  size_t d = 0;
  while (true) {
    spend(1);
    // One way down at least is free: it ends in a choice that fits.
    if (steps == 0 && best.seconds < infinity)
      return false;
    if (missing[d] == 0) {
      if (seconds[d] < best.seconds) {
        best.seconds = seconds[d];
        best.counts.assign(all.size(), 0);
        for (size_t i = 0; i < d; ++i)
          best.counts[members[i]] = counts[i];
      }
    } else if (d < depth &&
               best.mayImprove(seconds[d] + bound(d, missing[d]))) {
      const Group &group = all[members[d]];
      uint64_t useful = (missing[d] - 1) / group.saved + 1;
      counts[d] = size_t(std::min<uint64_t>(group.blocks.size(), useful));
      ++d;
      missing[d] = missing[d - 1] -
                   std::min(missing[d - 1], group.saved * counts[d - 1]);
      seconds[d] = seconds[d - 1] + group.seconds * double(counts[d - 1]);
      continue;
    }
    // Back to the last group that can give a block up.
    while (d > 0 && counts[d - 1] == 0)
      --d;
    if (d == 0)
      return true;
    const Group &group = all[members[d - 1]];
    --counts[d - 1];
    missing[d] =
        missing[d - 1] - std::min(missing[d - 1], group.saved * counts[d - 1]);
    seconds[d] = seconds[d - 1] + group.seconds * double(counts[d - 1]);
  }
}

/// A bound on the activations that are back for a moment.
struct Candidate {
  uint64_t largest, need;
  double leastSeconds;
};

template <typename Result>
std::optional<Result> fail(std::string *error, std::string message) {
  if (error)
    *error = std::move(message);
  return std::nullopt;
}

} // namespace

uint64_t recomputeBytes(const std::vector<RecomputeBlock> &blocks,
                        const std::vector<bool> &recomputed,
                        unsigned inFlight) {
  uint64_t kept = 0, back = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const RecomputeBlock &block = blocks[i];
    kept += recomputed[i] ? block.inputBytes : block.keptBytes;
    if (recomputed[i] && block.keptBytes > block.inputBytes)
      back = std::max(back, block.keptBytes - block.inputBytes);
  }
  return kept * inFlight + back;
}

std::optional<RecomputePlan>
chooseRecompute(const std::vector<RecomputeBlock> &blocks, unsigned inFlight,
                uint64_t byteLimit, std::string *error, uint64_t maxSteps) {
  std::string wrong = check(blocks, inFlight);
  if (!wrong.empty())
    return fail<RecomputePlan>(error, wrong);
  RecomputePlan plan;
  plan.recomputed.assign(blocks.size(), false);
  plan.bytes = recomputeBytes(blocks, plan.recomputed, inFlight);
  if (plan.bytes <= byteLimit)
    return plan;

  std::vector<Group> groups = makeGroups(blocks);
  std::vector<size_t> bySaved(groups.size());
  for (size_t g = 0; g < groups.size(); ++g)
    bySaved[g] = g;
  std::sort(bySaved.begin(), bySaved.end(), [&](size_t a, size_t b) {
    return groups[a].saved != groups[b].saved
               ? groups[a].saved < groups[b].saved
               : a < b;
  });
  std::vector<Candidate> candidates;
  FractionalFill fill(groups);
  uint64_t leastBytes = plan.bytes, saved = 0;
  for (size_t i = 0; i < bySaved.size(); ++i) {
    const Group &group = groups[bySaved[i]];
    fill.add(bySaved[i]);
    saved += group.saved * group.blocks.size();
    if (i + 1 < bySaved.size() && groups[bySaved[i + 1]].saved == group.saved)
      continue;
    leastBytes =
        std::min(leastBytes, plan.bytes - saved * inFlight + group.saved);
    uint64_t over = plan.bytes + group.saved - byteLimit;
    // What one micro-batch must save, rounded up.
    uint64_t need = (over - 1) / inFlight + 1;
    double least = fill.leastSeconds(need);
    if (least < infinity)
      candidates.push_back({group.saved, need, least});
  }
  if (candidates.empty())
    return fail<RecomputePlan>(
        error, "expected activations of at most " + std::to_string(byteLimit) +
                   " bytes, but the least possible by recomputing blocks is " +
                   std::to_string(leastBytes));
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return a.leastSeconds != b.leastSeconds
                         ? a.leastSeconds < b.leastSeconds
                         : a.largest < b.largest;
            });
  Incumbent best;
  double unsearched = infinity;
  for (const Candidate &candidate : candidates)
    if (best.mayImprove(candidate.leastSeconds) &&
        !search(groups, candidate.largest, candidate.need, maxSteps, best))
      unsearched = std::min(unsearched, candidate.leastSeconds);

  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i = 0; i < best.counts[g]; ++i)
      plan.recomputed[groups[g].blocks[i]] = true;
  plan.bytes = recomputeBytes(blocks, plan.recomputed, inFlight);
  plan.seconds = best.seconds;
  plan.exact = !best.mayImprove(unsearched);
  plan.leastSeconds = plan.exact ? plan.seconds : unsearched;
  return plan;
}

} // namespace oneflow::schedule
