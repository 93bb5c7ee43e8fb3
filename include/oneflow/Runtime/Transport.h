//===- oneflow/Runtime/Transport.h - how ranks talk -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface between the runtime and whatever carries bytes between ranks.
// Implementations: local (ranks are threads of one process), and plug-ins in
// shared libraries of their own (MPI). All of them pass the conformance suite
// in test/Runtime.
//
// A transport sees contiguous buffers only; the packing of split dimensions
// lives above it, once for all (Collective.cpp, Exchange.cpp).
//
// Threads: a communicator is used by one thread at a time. Several
// communicators of one rank may be used by several threads at once. All members
// call the collectives of a communicator in one order. Reductions combine the
// operands in member order, with the functions of oneflow/Runtime/Reduce.h, so
// that every transport gives the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_TRANSPORT_H
#define ONEFLOW_RUNTIME_TRANSPORT_H

#include "oneflow/Plan/Plan_generated.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace oneflow::runtime {

/// Success, or what went wrong. After a failure only abort() and the
/// destructors may be called on the transport and its communicators.
struct [[nodiscard]] TransportResult {
  bool ok = true;
  /// Lower case, without a final full stop; empty when ok.
  std::string message;

  static TransportResult failure(std::string message) {
    return {false, std::move(message)};
  }
};

/// A part of an array of bytes.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// `bytes` may be 0; such a message must be posted on both sides all the same.
struct SendMessage {
  int peer;
  const void *data;
  uint64_t bytes;
};
struct ReceiveMessage {
  int peer;
  void *data;
  uint64_t bytes;
};

/// A group of ranks as one member sees it. Peers and parts are numbered by
/// their place in the group.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int size() const = 0;
  virtual int rank() const = 0;

  /// Returns when all members have called it.
  virtual TransportResult barrier() = 0;

  /// Sends and receives all messages. At most one message goes to, and one
  /// comes from, each peer per call; both sides name the same size. Only the
  /// named peers take part. No peer is the caller itself. No buffer overlaps
  /// one that is received into; several sends may share one.
  virtual TransportResult
  exchange(const std::vector<SendMessage> &sends,
           const std::vector<ReceiveMessage> &receives) = 0;

  /// Combines `count` elements of all members; every member gets the result.
  /// `source` may equal `target`, else they do not overlap.
  virtual TransportResult allReduce(const void *source, void *target,
                                    uint64_t count, plan::DType dtype,
                                    plan::Reducer reducer) = 0;

  /// Member i contributes parts[i].bytes bytes from `source`; they arrive at
  /// parts[i].offset of every member's `target`. All members pass equal
  /// `parts`.
  virtual TransportResult allGather(const void *source, void *target,
                                    const std::vector<ByteRange> &parts) = 0;

  /// Combines the members' `source` arrays, whose parts lie one after the other
  /// in member order; member i gets part i. `counts` are in elements and equal
  /// on all members.
  virtual TransportResult reduceScatter(const void *source, void *target,
                                        const std::vector<uint64_t> &counts,
                                        plan::DType dtype,
                                        plan::Reducer reducer) = 0;

  /// Sends sends[i] of `source` to member i and receives from it into
  /// receives[i] of `target`; the own part is copied.
  virtual TransportResult allToAll(const void *source,
                                   const std::vector<ByteRange> &sends,
                                   void *target,
                                   const std::vector<ByteRange> &receives) = 0;
};

/// All ranks of a run, some of which live in this process.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int rankCount() const = 0;
  /// Ranks of this process, ascending, at least one.
  virtual std::vector<int> localRanks() const = 0;

  /// Creates a communicator for each of the disjoint `groups`, which list ranks
  /// in member order. Every process calls this with equal arguments, in one
  /// order.
  /// \param result one per local rank, in their order; null for a rank that is
  /// in
  ///        no group. They do not outlive the transport.
  virtual TransportResult
  createGroups(const std::vector<std::vector<int>> &groups,
               std::vector<std::unique_ptr<Communicator>> &result) = 0;

  /// Makes waiting and later operations of this process's ranks fail, where the
  /// transport can, so that no thread hangs when a rank is lost. Any thread.
  virtual void abort() = 0;
};

/// Raised with every change of the classes above.
inline constexpr uint32_t kTransportVersion = 1;

/// The one entry of a plug-in, `oneflow_transport_create`. Returns the
/// transport, or null with a message in `*error` (a static or thread-local
/// string of the plug-in). The plug-in refuses another `version` and a launch
/// whose number of ranks is not `rankCount`.
using CreateTransportFn = Transport *(*)(uint32_t version, int rankCount,
                                         const char **error);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_TRANSPORT_H
