//===- Collective.cpp - collectives of a plan -----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collective.h"

#include "DataType.h"

#include <algorithm>

using namespace oneflow;
using namespace oneflow::runtime;
using plan::CollectiveKind;

CollectiveSpec CollectiveSpec::of(const plan::CollectiveBody &body,
                                  const int64_t *scalars) {
  CollectiveSpec spec;
  spec.kind = body.kind();
  spec.reducer = body.reducer();
  spec.dtype = body.dtype();
  for (const plan::Extent *extent : *body.shape())
    spec.shape.push_back(extent->scalar() >= 0 ? scalars[extent->scalar()]
                                               : extent->size());
  spec.sourceDim = body.source_dim();
  spec.sourceBlock = body.source_block();
  spec.targetDim = body.target_dim();
  spec.targetBlock = body.target_block();
  return spec;
}

static bool splitsSource(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather || kind == CollectiveKind::AllToAll;
}
static bool splitsTarget(CollectiveKind kind) {
  return kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllToAll;
}

Box Collective::sourceBox(int member) const {
  Box box = wholeBox(spec.shape);
  if (splitsSource(spec.kind))
    box[spec.sourceDim] = plan::balancedSplit(spec.shape[spec.sourceDim], size,
                                              member, spec.sourceBlock);
  return box;
}

Box Collective::targetBox(int member) const {
  Box box = wholeBox(spec.shape);
  if (splitsTarget(spec.kind))
    box[spec.targetDim] = plan::balancedSplit(spec.shape[spec.targetDim], size,
                                              member, spec.targetBlock);
  return box;
}

Status Collective::bind(const CollectiveSpec &wanted, int groupSize,
                        int groupRank, uint64_t sourceBytes,
                        uint64_t targetBytes) {
  spec = wanted;
  size = groupSize;
  rank = groupRank;
  int64_t bytes = static_cast<int64_t>(dtypeBytes(spec.dtype));
  bool empty = false;
  for (int64_t extent : spec.shape) {
    if (extent < 0)
      return invalidPlan("a collective has the extent ", extent);
    empty |= extent == 0;
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes) ||
        bytes > int64_t(1) << 62)
      return invalidPlan("a collective's tensor is too large");
  }
  elements = empty ? 0 : static_cast<uint64_t>(bytes) / dtypeBytes(spec.dtype);
  if (splitsSource(spec.kind) &&
      spec.shape[spec.sourceDim] % spec.sourceBlock != 0)
    return invalidPlan("a collective splits ", spec.shape[spec.sourceDim],
                       " elements by blocks of ", spec.sourceBlock);
  if (splitsTarget(spec.kind) &&
      spec.shape[spec.targetDim] % spec.targetBlock != 0)
    return invalidPlan("a collective splits ", spec.shape[spec.targetDim],
                       " elements by blocks of ", spec.targetBlock);
  return bindBoxes(sourceBytes, targetBytes);
}

// Whether the parts already lie one after the other in the unpacked buffer, so
// that packing would copy a buffer onto itself.
static bool inPackedOrder(const std::vector<BoxCopy> &copies, bool packing) {
  for (const BoxCopy &copy : copies)
    if (copy.bytes() > 0 && !copy.isContiguous())
      return false;
  int64_t expected = 0;
  for (const BoxCopy &copy : copies) {
    if (copy.bytes() == 0)
      continue;
    if ((packing ? copy.sourceOffset() : copy.targetOffset()) != expected)
      return false;
    expected += copy.bytes();
  }
  return true;
}

Status Collective::bindBoxes(uint64_t sourceBytes, uint64_t targetBytes) {
  auto element = static_cast<int64_t>(dtypeBytes(spec.dtype));
  Box own = sourceBox(rank), result = targetBox(rank);
  uint64_t sourceNeeds = elementCount(own) * element;
  uint64_t targetNeeds = elementCount(result) * element;
  if (sourceBytes < sourceNeeds || targetBytes < targetNeeds)
    return invalidPlan("a collective has ", sourceBytes, " source and ",
                       targetBytes, " target bytes, expected ", sourceNeeds,
                       " and ", targetNeeds);
  uint64_t parts = static_cast<uint64_t>(size);
  if (spec.kind == CollectiveKind::AllReduce) {
    // Of each other member's chunk its part of the sum, and the own chunk's sum
    // to each.
    uint64_t chunk =
        plan::balancedSplit(static_cast<int64_t>(elements), size, rank).extent *
        element;
    sentBytes = sourceNeeds - chunk + (parts - 1) * chunk;
    return Status();
  }
  // What goes to each member lies in the packed source, what comes from each in
  // the packed target, in member order.
  ByteRange next;
  for (int member = 0; member < size; ++member) {
    Box piece = intersect(own, targetBox(member));
    packing.emplace_back(element, piece, own, piece);
    next = {next.offset + next.bytes,
            static_cast<uint64_t>(packing.back().bytes())};
    sourceParts.push_back(next);
    counts.push_back(elementCount(piece));
    if (member != rank)
      sentBytes += next.bytes;
  }
  next = {};
  for (int member = 0; member < size; ++member) {
    Box piece = intersect(sourceBox(member), result);
    unpacking.emplace_back(element, piece, piece, result);
    next = {next.offset + next.bytes,
            static_cast<uint64_t>(unpacking.back().bytes())};
    targetParts.push_back(next);
  }
  if (spec.kind == CollectiveKind::AllGather)
    packing.clear(); // every member gets the same, whole operand
  if (spec.kind == CollectiveKind::ReduceScatter)
    unpacking.clear(); // the members' operands are combined into one part
  if (inPackedOrder(packing, true))
    packing.clear();
  if (inPackedOrder(unpacking, false))
    unpacking.clear();
  // Parts are whole elements, so the second array begins at an aligned one.
  if (!packing.empty())
    receivedOffset = sourceParts.back().offset + sourceParts.back().bytes;
  stagedBytes = receivedOffset;
  if (!unpacking.empty())
    stagedBytes += targetParts.back().offset + targetParts.back().bytes;
  return Status();
}

TransportResult Collective::run(Communicator &group, const void *source,
                                void *target, void *staging) {
  if (spec.kind == CollectiveKind::AllReduce)
    return group.allReduce(source, target, elements, spec.dtype, spec.reducer);
  auto *packed = static_cast<uint8_t *>(staging);
  uint8_t *received = packed + receivedOffset;
  for (size_t i = 0; i < packing.size(); ++i)
    packing[i].run(source, packed + sourceParts[i].offset);
  const void *from = packing.empty() ? source : packed;
  void *to = unpacking.empty() ? target : received;
  TransportResult result;
  switch (spec.kind) {
  case CollectiveKind::AllGather:
    result = group.allGather(from, to, targetParts);
    break;
  case CollectiveKind::ReduceScatter:
    result = group.reduceScatter(from, to, counts, spec.dtype, spec.reducer);
    break;
  case CollectiveKind::AllToAll:
    result = group.allToAll(from, sourceParts, to, targetParts);
    break;
  case CollectiveKind::AllReduce:
    break;
  }
  for (size_t i = 0; i < unpacking.size(); ++i)
    unpacking[i].run(received + targetParts[i].offset, target);
  return result;
}
