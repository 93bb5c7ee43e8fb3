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

Exchange::Place Exchange::stage(uint64_t bytes) {
  // Boxes are whole elements, so each begins at an aligned one.
  Place place{Place::Memory::Staging, stagedBytes};
  stagedBytes += bytes;
  return place;
}

void Exchange::bindSends(const TensorLayout &source,
                         const TensorLayout &target) {
  auto element = static_cast<int64_t>(dtypeBytes(dtype));
  Holding own = source.holding(rank);
  // Boxes that ranks get, and where each lies. Those of one layout are equal or
  // disjoint.
  std::vector<std::pair<Box, Place>> known;
  for (int64_t i = 0; i < target.mesh.rankCount(); ++i) {
    auto receiver = static_cast<int>(target.mesh.firstRank + i);
    if (receiver == rank)
      continue;
    Holding theirs = target.holding(receiver);
    Box box = intersect(own.box, theirs.box);
    if (elementCount(box) == 0 || !getsValue(target, theirs) ||
        !sendsTo(source, rank, receiver))
      continue;
    auto same = std::find_if(known.begin(), known.end(), [&](const auto &each) {
      return each.first == box;
    });
    if (same == known.end()) {
      BoxCopy copy(element, box, own.box, box);
      Place place{Place::Memory::Source,
                  static_cast<uint64_t>(copy.sourceOffset())};
      if (!copy.isContiguous()) {
        place = stage(copy.bytes());
        packings.push_back({copy, place});
      }
      same = known.insert(known.end(), {box, place});
    }
    uint64_t bytes = elementCount(box) * element;
    sends.push_back({receiver, nullptr, bytes});
    sendPlaces.push_back(same->second);
    sentBytes += bytes;
  }
}

void Exchange::bindPiece(const Box &box, const std::vector<int> &senders,
                         const TensorLayout &source, const Box &own) {
  auto element = static_cast<int64_t>(dtypeBytes(dtype));
  bool ownPart = std::count(senders.begin(), senders.end(), rank) > 0;
  if (ownPart && senders.size() == 1) {
    ownCopies.emplace_back(element, box, source.holding(rank).box, own);
    return;
  }
  uint64_t bytes = elementCount(box) * element;
  BoxCopy unpacking(element, box, box, own);
  bool inTarget = unpacking.isContiguous();
  Piece piece{
      {},
      {},
      {Place::Memory::Target, static_cast<uint64_t>(unpacking.targetOffset())},
      {},
      static_cast<uint64_t>(elementCount(box))};
  // The first part that needs memory lies where the value will: reductions may
  // write over an operand.
  bool placed = false;
  auto makeRoom = [&] {
    if (placed || !inTarget) {
      Place place = stage(bytes);
      if (!placed)
        piece.value = place;
      placed = true;
      return place;
    }
    placed = true;
    return piece.value;
  };
  for (int sender : senders) {
    if (sender != rank) {
      piece.parts.push_back(makeRoom());
      receives.push_back({sender, nullptr, bytes});
      receivePlaces.push_back(piece.parts.back());
      continue;
    }
    BoxCopy packing(element, box, source.holding(rank).box, box);
    if (packing.isContiguous()) {
      piece.parts.push_back({Place::Memory::Source,
                             static_cast<uint64_t>(packing.sourceOffset())});
      continue;
    }
    piece.parts.push_back(makeRoom());
    packings.push_back({packing, piece.parts.back()});
  }
  if (!inTarget)
    piece.unpacking = std::move(unpacking);
  piece.addresses.resize(piece.parts.size());
  pieces.push_back(std::move(piece));
}

void Exchange::bindReceives(const TensorLayout &source,
                            const TensorLayout &target) {
  Holding own = target.holding(rank);
  localElements = elementCount(own.box);
  receivesNeutral = !getsValue(target, own);
  if (receivesNeutral)
    return;
  // Senders of one box hold its parts; boxes are equal or disjoint.
  std::vector<std::pair<Box, std::vector<int>>> boxes;
  for (int64_t i = 0; i < source.mesh.rankCount(); ++i) {
    auto sender = static_cast<int>(source.mesh.firstRank + i);
    if (!sendsTo(source, sender, rank))
      continue;
    Box box = intersect(source.holding(sender).box, own.box);
    if (elementCount(box) == 0)
      continue;
    auto same = std::find_if(boxes.begin(), boxes.end(), [&](const auto &each) {
      return each.first == box;
    });
    if (same == boxes.end())
      same = boxes.insert(boxes.end(), {box, {}});
    same->second.push_back(sender);
  }
  for (const auto &[box, senders] : boxes)
    bindPiece(box, senders, source, own.box);
}

void Exchange::bind(const TensorLayout &source, const TensorLayout &target,
                    int ownRank) {
  rank = ownRank;
  dtype = source.dtype;
  sourceReducer = source.reducer();
  targetReducer = target.reducer();
  if (source.mesh.contains(rank))
    bindSends(source, target);
  if (target.mesh.contains(rank))
    bindReceives(source, target);
}

TransportResult Exchange::run(Communicator &world, const void *source,
                              void *target, void *staging) {
  auto address = [&](const Place &place) {
    switch (place.memory) {
    case Place::Memory::Source:
      // Messages and reductions only read what lies there.
      return static_cast<uint8_t *>(const_cast<void *>(source)) + place.offset;
    case Place::Memory::Target:
      return static_cast<uint8_t *>(target) + place.offset;
    case Place::Memory::Staging:
      break;
    }
    return static_cast<uint8_t *>(staging) + place.offset;
  };
  for (const Packing &packing : packings)
    packing.copy.run(source, address(packing.target));
  for (size_t i = 0; i < sends.size(); ++i)
    sends[i].data = address(sendPlaces[i]);
  for (size_t i = 0; i < receives.size(); ++i)
    receives[i].data = address(receivePlaces[i]);
  TransportResult result = world.exchange(sends, receives);
  if (!result.ok)
    return result;
  for (const BoxCopy &copy : ownCopies)
    copy.run(source, target);
  if (receivesNeutral)
    fillNeutral(dtype, targetReducer, target, localElements);
  for (Piece &piece : pieces) {
    uint8_t *value = address(piece.value);
    for (size_t i = 0; i < piece.parts.size(); ++i)
      piece.addresses[i] = address(piece.parts[i]);
    if (piece.parts.size() > 1)
      reduceParts(dtype, sourceReducer, piece.addresses.data(),
                  static_cast<int>(piece.parts.size()), value, piece.elements);
    piece.unpacking.run(value, target);
  }
  return result;
}
