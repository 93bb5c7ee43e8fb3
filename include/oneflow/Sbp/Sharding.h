//===- oneflow/Sbp/Sharding.h - which device holds which shard --*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shardings that name devices, as ONNX has them (IR version 11,
// ShardingSpecProto), and the SBPs of a mesh that mean the same. The formalism:
// onnx/docs/proposals, "ONNX Multi-Device Proposal" and "Sharding Formalism".
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SBP_SHARDING_H
#define ONEFLOW_SBP_SHARDING_H

#include "oneflow/Sbp/Sbp.h"

namespace oneflow::sbp {

/// How one dimension is cut.
struct ShardedDim {
  int64_t dim = 0;
  int64_t shards = 1;
  /// Cuts fall on multiples of this only.
  int64_t block = 1;
};

/// A tensor cut along some dimensions, and the devices that hold each shard.
struct Sharding {
  /// Devices of each shard, one or more; shards count with the last of `dims`
  /// fastest.
  std::vector<std::vector<int64_t>> groups;
  std::vector<ShardedDim> dims;
};

/// "2 shards of dimension 0 by 2 shards of dimension 1 on devices [0, 1, 2,
/// 3]", "whole copies on devices [[0, 1]]".
std::string toString(const Sharding &sharding);

/// Why `sharding` says nothing sensible about a tensor of `shape` on `devices`
/// devices, or nullopt: dimensions are of the tensor and differ, blocks divide
/// them and there is one for every shard, there is a group for each shard, and
/// every device is in exactly one group. (A device in none would hold nothing
/// of the tensor, which no SBP says.)
std::optional<std::string> checkSharding(const Sharding &sharding,
                                         const Shape &shape, int64_t devices);

/// The state in which each rank of `mesh` holds exactly what `sharding` puts on
/// the device of its number; nullopt when there is none. Uneven shards are
/// balanced, the first ones holding one block more (ONNX leaves that to the
/// implementation). Axes of one rank are B. Requires a sound sharding on as
/// many devices as the mesh has ranks.
std::optional<NdSbp> stateOf(const Sharding &sharding, const Shape &shape,
                             const Mesh &mesh);

/// The mesh of the fewest axes, each of two ranks or more, on which all of
/// `tensors` have a state (see stateOf); nullopt when there is none. Requires
/// sound shardings on `devices` devices.
std::optional<Mesh>
meshFor(const std::vector<std::pair<Sharding, Shape>> &tensors,
        int64_t devices);

} // namespace oneflow::sbp

#endif // ONEFLOW_SBP_SHARDING_H
