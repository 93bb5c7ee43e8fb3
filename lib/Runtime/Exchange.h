//===- Exchange.h - the exact intersection exchange -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves a tensor from any layout to any other, on the same ranks or on others:
// each rank computes from coordinates which boxes it owns and which it needs,
// and at most one message goes from one rank to another. See ExchangeBody in
// Plan.fbs for who sends what; beyond that, a rank that holds an element itself
// takes its own copy, which is the same value and moves nothing.
//
// Staging memory is taken only where it must be. A box that several ranks get
// is packed once, and not at all where it is one run of the source buffer. What
// comes from one sender is received where it belongs if that is one run of the
// target buffer. Own parts go straight from buffer to buffer. So an exchange
// that does not reduce stages at most the bytes of its source and of its
// target; one that reduces stages at most one copy of the source's boxes, and
// of the target as many as there are parts.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_EXCHANGE_H
#define ONEFLOW_RUNTIME_EXCHANGE_H

#include "BoxCopy.h"

#include "oneflow/Runtime/Transport.h"

#include <vector>

namespace oneflow::runtime {

class Exchange {
public:
  /// Plans the messages of `rank`.
  void bind(const TensorLayout &source, const TensorLayout &target, int rank);

  /// Runs it. `world` numbers peers by rank. All ranks of both placements call
  /// this; a rank outside of one passes any pointer for that buffer. The two
  /// buffers and `staging`, of stagingBytes() and aligned for every type, do
  /// not overlap. Allocates nothing.
  TransportResult run(Communicator &world, const void *source, void *target,
                      void *staging);

  /// Bytes that one run sends to other ranks.
  uint64_t bytesSent() const { return sentBytes; }
  /// Bytes of memory that messages need beside the two buffers.
  uint64_t stagingBytes() const { return stagedBytes; }

private:
  // Where something lies; buffers have no address before run().
  struct Place {
    enum class Memory { Source, Target, Staging };
    Memory memory;
    uint64_t offset;
  };
  // Part of the result: one box of the source layout, from one rank or, if the
  // source is Partial, from several whose values are combined in rank order.
  struct Piece {
    std::vector<Place> parts;
    std::vector<const void *> addresses;
    // Of the value: in the target, or staged and to be unpacked.
    Place value;
    BoxCopy unpacking;
    uint64_t elements;
  };
  struct Packing {
    BoxCopy copy;
    Place target;
  };

  void bindSends(const TensorLayout &source, const TensorLayout &target);
  void bindReceives(const TensorLayout &source, const TensorLayout &target);
  // The piece of `box`, which `senders` hold, of the box `own` that is needed.
  void bindPiece(const Box &box, const std::vector<int> &senders,
                 const TensorLayout &source, const Box &own);
  Place stage(uint64_t bytes);
  int rank = 0;
  plan::DType dtype = plan::DType::F32;
  plan::Reducer sourceReducer = plan::Reducer::Sum;
  plan::Reducer targetReducer = plan::Reducer::Sum;
  bool receivesNeutral = false;
  uint64_t localElements = 0, sentBytes = 0, stagedBytes = 0;
  // The places of the messages' data, which run() makes addresses of.
  std::vector<Place> sendPlaces, receivePlaces;
  std::vector<SendMessage> sends;
  std::vector<ReceiveMessage> receives;
  std::vector<Packing> packings;
  // From the source buffer to the target.
  std::vector<BoxCopy> ownCopies;
  std::vector<Piece> pieces;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_EXCHANGE_H
