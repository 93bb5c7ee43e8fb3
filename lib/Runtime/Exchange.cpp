//===- Exchange.cpp - the exact intersection exchange ---------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exchange.h"

#include "DataType.h"

#include "oneflow/Runtime/Reduce.h"

#include <algorithm>

using namespace oneflow;
using namespace oneflow::runtime;

static uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// Whether `receiver` gets the value, not the neutral element. Max and Min have
// none that suits every value, and the same value twice does no harm.
static bool getsValue(const TensorLayout &target, const Holding &holding) {
  bool neutral = target.reducer() == plan::Reducer::Sum ||
                 target.reducer() == plan::Reducer::Prod;
  return !holding.laterPart || !neutral;
}

// Whether `sender` gives its box of `source` to `receiver`. Of a group of
// replicas (ranks that differ on Broadcast axes only) the receiver serves
// itself if it is one of them, else the first one does.
static bool sendsTo(const TensorLayout &source, int64_t sender,
                    int64_t receiver) {
  if (sender == receiver)
    return true;
  std::vector<int64_t> at = source.mesh.coordinates(sender), to;
  bool receiverIsReplica = source.mesh.contains(receiver);
  if (receiverIsReplica)
    to = source.mesh.coordinates(receiver);
  bool first = true;
  for (size_t axis = 0; axis < at.size(); ++axis) {
    if (source.sbp[axis].kind() == plan::SbpKind::Broadcast)
      first &= at[axis] == 0;
    else
      receiverIsReplica = receiverIsReplica && at[axis] == to[axis];
  }
  return first && !receiverIsReplica;
}

void Exchange::bindSends(const TensorLayout &source,
                         const TensorLayout &target) {
  auto element = static_cast<int64_t>(dtypeBytes(dtype));
  Holding own = source.holding(rank);
  uint64_t offset = 0;
  for (int64_t i = 0; i < target.mesh.rankCount(); ++i) {
    auto receiver = static_cast<int>(target.mesh.firstRank + i);
    if (receiver == rank)
      continue;
    Holding theirs = target.holding(receiver);
    Box box = intersect(own.box, theirs.box);
    if (elementCount(box) == 0 || !getsValue(target, theirs) ||
        !sendsTo(source, rank, receiver))
      continue;
    BoxCopy copy(element, box, own.box, box);
    uint64_t bytes = copy.bytes();
    // Pointers follow when all sizes are known.
    sends.push_back({receiver, nullptr, bytes});
    packings.push_back({std::move(copy), offset});
    offset += aligned(bytes);
    sentBytes += bytes;
  }
}

Status Exchange::bindReceives(const TensorLayout &source,
                              const TensorLayout &target) {
  auto element = static_cast<int64_t>(dtypeBytes(dtype));
  Holding own = target.holding(rank);
  localElements = elementCount(own.box);
  receivesNeutral = !getsValue(target, own);
  if (receivesNeutral)
    return Status();
  struct Part {
    size_t piece;
    int sender;
    uint64_t offset;
  };
  std::vector<Part> parts;
  std::vector<Box> boxes;
  uint64_t offset = 0;
  for (int64_t i = 0; i < source.mesh.rankCount(); ++i) {
    auto sender = static_cast<int>(source.mesh.firstRank + i);
    if (!sendsTo(source, sender, rank))
      continue;
    Box box = intersect(source.holding(sender).box, own.box);
    if (elementCount(box) == 0)
      continue;
    // Senders of one box hold its parts; boxes are equal or disjoint.
    size_t piece = std::find(boxes.begin(), boxes.end(), box) - boxes.begin();
    if (piece == boxes.size()) {
      boxes.push_back(box);
      pieces.push_back({BoxCopy(element, box, box, own.box),
                        {},
                        nullptr,
                        static_cast<uint64_t>(elementCount(box))});
    }
    parts.push_back({piece, sender, offset});
    offset += aligned(pieces[piece].elements * element);
  }
  if (Status status =
          MappedMemory::allocate(offset, "an exchange's messages", incoming))
    return status;
  for (const Part &part : parts) {
    uint8_t *data = incoming.data() + part.offset;
    if (pieces[part.piece].parts.empty())
      pieces[part.piece].data = data;
    pieces[part.piece].parts.push_back(data);
    if (part.sender == rank)
      ownParts.push_back({BoxCopy(element, boxes[part.piece],
                                  source.holding(rank).box, boxes[part.piece]),
                          data});
    else
      receives.push_back(
          {part.sender, data, pieces[part.piece].elements * element});
  }
  return Status();
}

Status Exchange::bind(const TensorLayout &source, const TensorLayout &target,
                      int ownRank) {
  rank = ownRank;
  dtype = source.dtype;
  sourceReducer = source.reducer();
  targetReducer = target.reducer();
  if (source.mesh.contains(rank))
    bindSends(source, target);
  uint64_t bytes = packings.empty()
                       ? 0
                       : packings.back().offset + packings.back().copy.bytes();
  if (Status status =
          MappedMemory::allocate(bytes, "an exchange's messages", outgoing))
    return status;
  for (size_t i = 0; i < sends.size(); ++i)
    sends[i].data = outgoing.data() + packings[i].offset;
  if (target.mesh.contains(rank))
    if (Status status = bindReceives(source, target))
      return status;
  return Status();
}

TransportResult Exchange::run(Communicator &world, const void *source,
                              void *target) {
  for (size_t i = 0; i < packings.size(); ++i)
    packings[i].copy.run(source, outgoing.data() + packings[i].offset);
  TransportResult result = world.exchange(sends, receives);
  if (!result.ok)
    return result;
  for (const OwnPart &part : ownParts)
    part.copy.run(source, part.data);
  if (receivesNeutral)
    fillNeutral(dtype, targetReducer, target, localElements);
  for (Piece &piece : pieces) {
    if (piece.parts.size() > 1)
      reduceParts(dtype, sourceReducer, piece.parts.data(),
                  static_cast<int>(piece.parts.size()), piece.data,
                  piece.elements);
    piece.unpacking.run(piece.data, target);
  }
  return result;
}
