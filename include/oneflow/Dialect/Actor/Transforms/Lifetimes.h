//===- Actor/Transforms/Lifetimes.h - when buffers hold values --*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From when to when a buffer of one rank group holds a value, over all actions,
// and whether two buffers ever do so at once.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_DIALECT_ACTOR_TRANSFORMS_LIFETIMES_H
#define ONEFLOW_DIALECT_ACTOR_TRANSFORMS_LIFETIMES_H

#include "oneflow/Dialect/Actor/Transforms/TokenGraph.h"

namespace oneflow::actor {

/// The uses of a buffer by one task: those of instance i are in the actions
/// from i * perInstance up to (i + 1) * perInstance, from position `first` in
/// the first of them up to `last` in the last.
struct Span {
  unsigned task;
  unsigned first, last;
  int64_t perInstance;
};

/// A buffer holds one value after the other, its instances: a register with one
/// slot one a fill, scratch one an action of its task. A register with several
/// slots has one instance, which lives from the first fill to the last release.
struct Lifetime {
  int64_t instances = 1;
  llvm::SmallVector<Span, 2> spans;
  /// Of the spans, those one of which is the first of every instance, and those
  /// one of which is the last.
  llvm::SmallVector<unsigned, 2> heads, tails;
};

/// Lifetimes on the ranks of one group. Requires a graph without cycles, in
/// which whoever uses a register waits for it or posts it.
class Lifetimes {
public:
  Lifetimes(const TokenGraph &tokens, unsigned group)
      : tokens(tokens), group(group) {}

  /// Without spans when the buffer is not used on these ranks.
  Lifetime getLifetime(mlir::Value buffer) const;

  /// Called for two uses in one op, of a first and of a second lifetime, where
  /// the op would be the last of the one's instance and the first of the
  /// other's.
  using MayMeet =
      llvm::function_ref<bool(const Span &ending, const Span &beginning)>;

  /// Whether of any instance of the one and any of the other, one ends before
  /// the other begins, in every firing order. Takes time in the number of
  /// instances.
  bool areApart(const Lifetime &a, const Lifetime &b,
                MayMeet mayMeet = nullptr) const;
  /// Whether all of a ends before b begins.
  bool allBefore(const Lifetime &a, const Lifetime &b) const;
  /// Whether instance i of a ends before that of b begins, and that before
  /// instance i + 1 of a begins, for all i. False where they have not as many.
  bool takeTurns(const Lifetime &a, const Lifetime &b) const;
  /// Whether each instance ends before the next begins.
  bool isSequential(const Lifetime &lifetime) const;
  /// Whether every instance i has ended, or ends in, position `position` of
  /// action i of `task`.
  bool endsAt(const Lifetime &lifetime, unsigned task, unsigned position) const;

  /// Of an instance, in a firing order: its begin and its end, the greater the
  /// later. Comparable among all buffers of the group.
  std::pair<uint64_t, uint64_t> getTimes(const Lifetime &lifetime,
                                         int64_t instance) const;

private:
  bool precedes(const Lifetime &a, int64_t i, const Lifetime &b, int64_t j,
                MayMeet mayMeet) const;
  uint32_t firstNode(const Span &span, int64_t instance) const {
    return tokens.getNode(span.task, instance * span.perInstance);
  }
  uint32_t lastNode(const Span &span, int64_t instance) const {
    return tokens.getNode(span.task, (instance + 1) * span.perInstance - 1);
  }

  const TokenGraph &tokens;
  unsigned group;
};

} // namespace oneflow::actor

#endif // ONEFLOW_DIALECT_ACTOR_TRANSFORMS_LIFETIMES_H
