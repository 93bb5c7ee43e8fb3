//===- ActorSystem.h - actors, registers, credits ---------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The actors of one rank. The firing rule: an actor acts when every input
// register has a filled slot at its front, every output register has a free
// slot at its back, and it is its turn. It acts once, posts the filled slots to
// their consumers, and returns each input slot to its producer by an
// acknowledgement; a slot is free again when all its consumers have
// acknowledged it. Back-pressure is nothing but the lack of a free slot.
//
// Rates: actors act each its own number of times per run, and a register is
// filled a number of times that divides those of both its ends. The producer
// works on one slot for actions / fills actions and posts it with the last of
// them; a consumer waits with the first of as many actions of its own and
// acknowledges with the last.
//
// Turns: an order is a sequence of actors of one stream, in which they act. It
// is a table and an index into it. An actor that is in no order acts whenever
// it can.
//
// All state of an actor belongs to the thread of its stream. Threads talk by
// messages of fixed size through mailboxes that never grow, because credits
// bound the messages under way; there is no central scheduler and no global
// lock, and nothing is allocated after construction.
//
// Fill f of a register is in slot f modulo the slot count, on both sides, and
// action k of an actor belongs to fill k / (actions / fills), so slots need no
// names in the interface.
//
// Knows nothing of plans, kernels or ranks.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_ACTORSYSTEM_H
#define ONEFLOW_RUNTIME_ACTORSYSTEM_H

#include "Gate.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace oneflow::runtime {

/// What an actor does when it acts.
class ActorBody {
public:
  virtual ~ActorBody() = default;
  /// `action` counts from 0 in every run. On the stream's thread. Does not
  /// throw.
  virtual void act(uint64_t action) = 0;
};

/// A register by its ends; its memory is the bodies' affair.
struct RegisterSpec {
  uint32_t slots = 1;
  uint32_t producer = 0;
  /// May be empty: the slots are then free again at once.
  std::vector<uint32_t> consumers;
  /// How often it is filled in a run; 0: once per action of the producer.
  /// Divides the actions of all ends.
  uint64_t fills = 0;
};

struct ActorSpec {
  uint32_t stream = 0;
  /// Not owned; outlives the system.
  ActorBody *body = nullptr;
  /// In a run; at least 1.
  uint64_t actions = 1;
};

/// Actors that run together.
struct ActorGraph {
  std::vector<ActorSpec> actors;
  std::vector<RegisterSpec> registers;
  /// Each a sequence of actors of one stream, in which each stands as often as
  /// it acts. An actor is in one order at most.
  std::vector<std::vector<uint32_t>> orders;
};

/// Counts down to the end of a run over all streams that take part.
class RunLatch {
public:
  void reset(uint32_t count) { remaining = count; }
  void arrive() {
    if (remaining.fetch_sub(1) == 1)
      gate.notify();
  }
  void wait(const Patience &patience) {
    gate.wait([&] { return remaining.load() == 0; }, patience);
  }

private:
  std::atomic<uint32_t> remaining{0};
  Gate gate;
};

/// Sums over all runs. Written by one thread, read by any.
struct StreamCounters {
  std::atomic<uint64_t> actions{0}, messages{0}, waitInputNs{0},
      waitCreditNs{0};
};

/// The streams of one rank, each a thread, and the graphs they can run.
class ActorSystem {
public:
  /// `callerStream`: no stream is served by the caller.
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Starts a thread for every stream that has an actor in some graph, but for
  /// `callerStream`, which the caller of serve() serves: a short run then needs
  /// no hand-over to another thread. A graph, unrolled to its actions, must be
  /// free of cycles; slots and actions must be at least 1.
  /// Throws std::system_error when the system refuses threads.
  ActorSystem(std::vector<ActorGraph> graphs, uint32_t streamCount,
              const Patience &patience, uint32_t callerStream = kNone);
  /// No run may be under way.
  ~ActorSystem();

  /// Streams that take part in runs of `graph`.
  uint32_t activeStreams(uint32_t graph) const;

  /// Begins a run and returns at once. Each active stream arrives at `latch`
  /// when all its actors have acted as often as they do in a run and all their
  /// slots are acknowledged. One run at a time.
  void start(uint32_t graph, RunLatch &latch);

  /// Serves `callerStream`, if there is one, until its part of the run that was
  /// just started is done. Not necessarily always the same thread.
  void serve(uint32_t graph);

  const StreamCounters &counters(uint32_t stream) const;
  uint32_t streamCount() const { return static_cast<uint32_t>(streams.size()); }

private:
  class Stream;
  struct GraphState;

  std::vector<std::unique_ptr<GraphState>> graphs;
  std::vector<std::unique_ptr<Stream>> streams;
  const uint32_t callerStream;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_ACTORSYSTEM_H
