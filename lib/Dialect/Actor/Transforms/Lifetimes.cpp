//===- Lifetimes.cpp - when buffers hold values ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Lifetimes.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/Lifetimes.h"

using namespace mlir;
using namespace oneflow::actor;

Lifetime Lifetimes::getLifetime(Value buffer) const {
  Lifetime lifetime;
  for (const Use &use : tokens.getUses(buffer)) {
    TaskOp task = tokens.getTasks()[use.task];
    if (!llvm::is_contained(
            tokens.getTimetable().getGroups(task, use.op, use.access), group))
      continue;
    auto *span = llvm::find_if(lifetime.spans, [&](const Span &span) {
      return span.task == use.task;
    });
    if (span == lifetime.spans.end()) {
      lifetime.spans.push_back({use.task, use.position, use.position, 1});
    } else {
      span->first = std::min(span->first, use.position);
      span->last = std::max(span->last, use.position);
    }
  }
  if (lifetime.spans.empty())
    return lifetime;

  auto reg = buffer.getDefiningOp<RegisterOp>();
  int producer = reg ? tokens.getProducer(buffer) : -1;
  if (reg && reg.getSlots() == 1)
    lifetime.instances = tokens.getFills(buffer);
  else if (!reg && lifetime.spans.size() == 1)
    lifetime.instances = tokens.getActions(lifetime.spans[0].task);
  for (Span &span : lifetime.spans)
    span.perInstance = tokens.getActions(span.task) / lifetime.instances;
  // The producer comes first, since all others wait for the fill; the others'
  // release comes last, since each holds the slot until then.
  for (auto [index, span] : llvm::enumerate(lifetime.spans)) {
    bool produces = static_cast<int>(span.task) == producer;
    if (produces)
      lifetime.heads.push_back(index);
    if (!produces || lifetime.spans.size() == 1)
      lifetime.tails.push_back(index);
  }
  if (lifetime.heads.empty())
    for (unsigned index = 0; index < lifetime.spans.size(); ++index)
      lifetime.heads.push_back(index);
  return lifetime;
}

bool Lifetimes::precedes(const Lifetime &a, int64_t i, const Lifetime &b,
                         int64_t j, MayMeet mayMeet) const {
  for (unsigned tail : a.tails) {
    const Span &ending = a.spans[tail];
    uint32_t last = lastNode(ending, i);
    for (unsigned head : b.heads) {
      const Span &beginning = b.spans[head];
      uint32_t first = firstNode(beginning, j);
      bool before = last == first ? ending.last < beginning.first
                                  : tokens.isBefore(group, last, first);
      if (!before &&
          !(mayMeet && last == first && ending.last == beginning.first &&
            mayMeet(ending, beginning)))
        return false;
    }
  }
  return true;
}

bool Lifetimes::areApart(const Lifetime &a, const Lifetime &b,
                         MayMeet mayMeet) const {
  if (a.spans.empty() || b.spans.empty())
    return true;
  if (a.spans.size() == 1 && b.spans.size() == 1 &&
      a.spans[0].perInstance == 1 && b.spans[0].perInstance == 1) {
    const Span &one = a.spans[0], &other = b.spans[0];
    if (one.task != other.task &&
        tokens.areOnOneChain(group, one.task, other.task))
      return true;
    if (one.task == other.task && !mayMeet)
      return one.last < other.first || other.last < one.first;
  }
  // Both in their order: the one whose instance comes first goes on.
  for (int64_t i = 0, j = 0; i < a.instances && j < b.instances;) {
    if (precedes(a, i, b, j, mayMeet))
      ++i;
    else if (precedes(b, j, a, i, mayMeet))
      ++j;
    else
      return false;
  }
  return true;
}

bool Lifetimes::allBefore(const Lifetime &a, const Lifetime &b) const {
  return a.spans.empty() || b.spans.empty() ||
         precedes(a, a.instances - 1, b, 0, nullptr);
}

bool Lifetimes::takeTurns(const Lifetime &a, const Lifetime &b) const {
  if (a.instances != b.instances)
    return false;
  for (int64_t instance = 0; instance < a.instances; ++instance)
    if (!precedes(a, instance, b, instance, nullptr) ||
        (instance + 1 < a.instances &&
         !precedes(b, instance, a, instance + 1, nullptr)))
      return false;
  return true;
}

bool Lifetimes::isSequential(const Lifetime &lifetime) const {
  for (int64_t instance = 1; instance < lifetime.instances; ++instance)
    if (!precedes(lifetime, instance - 1, lifetime, instance, nullptr))
      return false;
  return true;
}

bool Lifetimes::endsAt(const Lifetime &lifetime, unsigned task,
                       unsigned position) const {
  if (lifetime.instances != tokens.getActions(task))
    return false;
  for (unsigned tail : lifetime.tails) {
    const Span &span = lifetime.spans[tail];
    for (int64_t instance = 0; instance < lifetime.instances; ++instance) {
      uint32_t last = lastNode(span, instance);
      uint32_t at = tokens.getNode(task, instance);
      if (last == at ? span.last > position : !tokens.isBefore(group, last, at))
        return false;
    }
  }
  return true;
}

std::pair<uint64_t, uint64_t> Lifetimes::getTimes(const Lifetime &lifetime,
                                                  int64_t instance) const {
  uint64_t begin = UINT64_MAX, end = 0;
  auto time = [&](uint32_t node, unsigned position) {
    return uint64_t(tokens.getTime(group, node)) << 32 | position;
  };
  for (const Span &span : lifetime.spans) {
    begin = std::min(begin, time(firstNode(span, instance), span.first));
    end = std::max(end, time(lastNode(span, instance), span.last));
  }
  return {begin, end};
}
