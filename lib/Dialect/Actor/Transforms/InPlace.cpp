//===- InPlace.cpp - results in the place of operands ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See InPlace.h.
//
//===----------------------------------------------------------------------===//

#include "InPlace.h"

using namespace mlir;
using namespace oneflow::actor;

Lifetime InPlaceSharing::join(const Lifetime &before, const Lifetime &after) {
  if (before.spans.empty() || after.spans.empty())
    return before.spans.empty() ? after : before;
  Lifetime both = before;
  both.tails.clear();
  SmallVector<unsigned> place;
  for (const Span &span : after.spans) {
    auto *same = llvm::find_if(
        both.spans, [&](const Span &other) { return other.task == span.task; });
    place.push_back(same - both.spans.begin());
    if (same == both.spans.end()) {
      both.spans.push_back(span);
    } else {
      same->first = std::min(same->first, span.first);
      same->last = std::max(same->last, span.last);
    }
  }
  for (unsigned tail : after.tails)
    both.tails.push_back(place[tail]);
  return both;
}

Lifetime InPlaceSharing::getLifetime(Value root, unsigned group) const {
  Lifetimes times(tokens, group);
  Lifetime lifetime;
  for (Value member : getMembers(root))
    lifetime = join(lifetime, times.getLifetime(member));
  return lifetime;
}

/// Whether `target` can begin in the place of `root` where that ends, in the op
/// at `position` of `task`: in each action, on all their ranks.
bool InPlaceSharing::canTake(unsigned task, unsigned position, Value root,
                             Value target) const {
  SmallVector<unsigned> ranks = tokens.getGroups(target);
  for (Value member : getMembers(root))
    llvm::append_range(ranks, tokens.getGroups(member));
  llvm::sort(ranks);
  ranks.erase(llvm::unique(ranks), ranks.end());
  for (unsigned group : ranks) {
    if (!tokens.isOn(task, group))
      return false;
    Lifetimes times(tokens, group);
    Lifetime before = getLifetime(root, group);
    Lifetime after = times.getLifetime(target);
    // An accumulation, or a value that several actions read, spans actions.
    if (before.instances != tokens.getActions(task) ||
        after.instances != before.instances)
      return false;
    for (unsigned head : after.heads)
      if (after.spans[head].task != task || after.spans[head].first != position)
        return false;
    // The operand's producer is free to fill it again as soon as the launch is
    // done: it must wait for the result's release.
    if (!times.endsAt(before, task, position) ||
        !times.isSequential(join(before, after)))
      return false;
  }
  return true;
}

InPlaceSharing::InPlaceSharing(const TokenGraph &tokens,
                               SymbolTableCollection &symbols)
    : tokens(tokens) {
  for (Value buffer : tokens.getBuffers())
    if (!buffer.getDefiningOp<VariableOp>() && getBytes(buffer) > 0) {
      members[buffer] = {buffer};
      roots[buffer] = buffer;
    }
  // One slot, or none at all, for scratch.
  auto hasOnePlace = [](Value buffer) {
    auto reg = buffer.getDefiningOp<RegisterOp>();
    return !reg || reg.getSlots() == 1;
  };
  for (auto [task, op] : llvm::enumerate(tokens.getTasks()))
    for (auto [position, inner] :
         llvm::enumerate(TaskOp(op).getBody().front())) {
      auto launch = dyn_cast<LaunchOp>(&inner);
      unsigned count = launch ? launch.getBuffers().size() : 0;
      for (unsigned result = launch ? launch.getFirstResult() : 0;
           result < count; ++result) {
        Value target = launch.getBuffers()[result];
        // A result that has a place already stays.
        if (find(target) != target || getMembers(target).size() > 1 ||
            !hasOnePlace(target))
          continue;
        for (unsigned operand = 0; operand < launch.getFirstResult();
             ++operand) {
          Value source = launch.getBuffers()[operand];
          Value root = find(source);
          if (!root || root == target || !hasOnePlace(source) ||
              getBytes(source) != getBytes(target) ||
              !mayShare(launch, operand, result, symbols))
            continue;
          // The launch must read the place nowhere else.
          bool readOnce =
              llvm::count_if(launch.getBuffers(), [&](Value buffer) {
                return find(buffer) == root;
              }) == 1;
          if (!readOnce || !canTake(task, position, root, target))
            continue;
          members[root].push_back(target);
          members.erase(target);
          roots[target] = root;
          break;
        }
      }
    }
}
