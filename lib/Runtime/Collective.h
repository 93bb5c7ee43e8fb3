//===- Collective.h - collectives of a plan ---------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CollectiveBody bound to one rank: extents evaluated, parts computed, and
// the packing of split dimensions into the contiguous buffers that transports
// want. Where the split dimension is the outermost, nothing is packed.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_COLLECTIVE_H
#define ONEFLOW_RUNTIME_COLLECTIVE_H

#include "BoxCopy.h"
#include "Status.h"

#include "oneflow/Runtime/Transport.h"

#include <vector>

namespace oneflow::runtime {

/// What CollectiveBody says, with extents evaluated.
struct CollectiveSpec {
  plan::CollectiveKind kind = plan::CollectiveKind::AllReduce;
  plan::Reducer reducer = plan::Reducer::Sum;
  plan::DType dtype = plan::DType::F32;
  std::vector<int64_t> shape;
  int32_t sourceDim = -1;
  int64_t sourceBlock = 1;
  int32_t targetDim = -1;
  int64_t targetBlock = 1;

  static CollectiveSpec of(const plan::CollectiveBody &body,
                           const int64_t *scalars);
};

class Collective {
public:
  /// Computes all parts; fails when an extent is negative or no multiple of its
  /// block, or when a buffer of `sourceBytes` or `targetBytes` is too small.
  Status bind(const CollectiveSpec &spec, int groupSize, int groupRank,
              uint64_t sourceBytes, uint64_t targetBytes);

  /// Runs it. All members of the group call this together. `staging`, of
  /// stagingBytes() and aligned for every type, overlaps neither buffer.
  /// Allocates nothing.
  TransportResult run(Communicator &group, const void *source, void *target,
                      void *staging);

  /// Bytes that one run sends to other ranks, by the volumes of the textbook
  /// algorithms. An all-reduce is the scattering of sums and their gathering by
  /// balanced chunks of whole elements: over all members, exactly 2 (p - 1)
  /// times the tensor.
  uint64_t bytesSent() const { return sentBytes; }
  /// Bytes of memory for packing and unpacking, beside the two buffers and what
  /// the transport has for itself.
  uint64_t stagingBytes() const { return stagedBytes; }

private:
  Status bindBoxes(uint64_t sourceBytes, uint64_t targetBytes);
  Box sourceBox(int member) const;
  Box targetBox(int member) const;

  CollectiveSpec spec;
  int size = 1, rank = 0;
  uint64_t elements = 0;
  uint64_t sentBytes = 0, stagedBytes = 0;
  // Where each member's part lies in the packed source and target.
  std::vector<ByteRange> sourceParts, targetParts;
  std::vector<uint64_t> counts;
  // Empty when the buffer already is in packed order.
  std::vector<BoxCopy> packing, unpacking;
  // Where the packed target begins in the staging memory, behind the source.
  uint64_t receivedOffset = 0;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_COLLECTIVE_H
