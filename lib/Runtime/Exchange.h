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
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_EXCHANGE_H
#define ONEFLOW_RUNTIME_EXCHANGE_H

#include "BoxCopy.h"
#include "Memory.h"
#include "Status.h"

#include "oneflow/Runtime/Transport.h"

#include <vector>

namespace oneflow::runtime {

class Exchange {
public:
  /// Plans the messages of `rank` and allocates scratch memory.
  Status bind(const TensorLayout &source, const TensorLayout &target, int rank);

  /// Runs it. `world` numbers peers by rank. All ranks of both placements call
  /// this; a rank outside of one passes any pointer for that buffer. The two
  /// buffers do not overlap. Allocates nothing.
  TransportResult run(Communicator &world, const void *source, void *target);

  /// Bytes that one run sends to other ranks.
  uint64_t bytesSent() const { return sentBytes; }

private:
  // Part of the result: one box of the source layout, from one rank or, if the
  // source is Partial, from several whose values are combined in rank order.
  struct Piece {
    BoxCopy unpacking;
    std::vector<const void *> parts;
    // The first part, and after the reduction the value.
    uint8_t *data;
    uint64_t elements;
  };
  struct Packing {
    BoxCopy copy;
    uint64_t offset;
  };
  struct OwnPart {
    BoxCopy copy;
    uint8_t *data;
  };

  void bindSends(const TensorLayout &source, const TensorLayout &target);
  Status bindReceives(const TensorLayout &source, const TensorLayout &target);

  int rank = 0;
  plan::DType dtype = plan::DType::F32;
  plan::Reducer sourceReducer = plan::Reducer::Sum;
  plan::Reducer targetReducer = plan::Reducer::Sum;
  bool receivesNeutral = false;
  uint64_t localElements = 0, sentBytes = 0;
  std::vector<Packing> packings;
  std::vector<SendMessage> sends;
  std::vector<ReceiveMessage> receives;
  std::vector<OwnPart> ownParts;
  std::vector<Piece> pieces;
  MappedMemory outgoing, incoming;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_EXCHANGE_H
