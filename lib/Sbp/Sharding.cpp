//===- Sharding.cpp - which device holds which shard ------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares intervals, device by device: what a sharding puts there, and what a
// state of the mesh puts on that rank. There are few states to try: along each
// axis B, or a split of one of the dimensions that the sharding cuts.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Sharding.h"

#include <algorithm>
#include <set>

namespace oneflow::sbp {

static std::string listOf(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (size_t at = 0; at < numbers.size(); ++at)
    text += (at ? ", " : "") + std::to_string(numbers[at]);
  return text + "]";
}

std::string toString(const Sharding &sharding) {
  std::string text;
  for (const ShardedDim &dim : sharding.dims) {
    text += (text.empty() ? "" : " by ") + std::to_string(dim.shards) +
            (dim.shards == 1 ? " shard" : " shards") + " of dimension " +
            std::to_string(dim.dim);
    if (dim.block != 1)
      text += " in blocks of " + std::to_string(dim.block);
  }
  if (text.empty())
    text = "whole copies";
  text += " on devices [";
  for (size_t at = 0; at < sharding.groups.size(); ++at) {
    const std::vector<int64_t> &group = sharding.groups[at];
    text += (at ? ", " : "") +
            (group.size() == 1 ? std::to_string(group[0]) : listOf(group));
  }
  return text + "]";
}

std::optional<std::string> checkSharding(const Sharding &sharding,
                                         const Shape &shape, int64_t devices) {
  std::vector<bool> cut(shape.size(), false);
  size_t shards = 1;
  for (const ShardedDim &dim : sharding.dims) {
    if (dim.dim < 0 || dim.dim >= static_cast<int64_t>(shape.size()))
      return "expected a dimension of a tensor of rank " +
             std::to_string(shape.size()) + ", got: " + std::to_string(dim.dim);
    if (cut[dim.dim])
      return "expected each dimension once, got twice: " +
             std::to_string(dim.dim);
    cut[dim.dim] = true;
    if (dim.shards < 1 || dim.block < 1 || shape[dim.dim] % dim.block != 0 ||
        shape[dim.dim] / dim.block < dim.shards)
      return "expected at least one block of " + std::to_string(dim.block) +
             " for each of the " + std::to_string(dim.shards) +
             " shards of dimension " + std::to_string(dim.dim) +
             ", whose extent is " + std::to_string(shape[dim.dim]);
    shards *= static_cast<size_t>(dim.shards);
    if (shards > static_cast<size_t>(devices))
      return "expected at most as many shards as the " +
             std::to_string(devices) +
             " devices, got: " + std::to_string(shards);
  }
  if (sharding.groups.size() != shards)
    return "expected a device for each of the " + std::to_string(shards) +
           " shards, got: " + std::to_string(sharding.groups.size());
  // Not one entry for each device: a file may claim any number of them.
  std::set<int64_t> holders;
  for (const std::vector<int64_t> &group : sharding.groups) {
    if (group.empty())
      return "expected a device for each shard, got an empty group";
    for (int64_t device : group) {
      if (device < 0 || device >= devices)
        return "expected devices from 0 to " + std::to_string(devices - 1) +
               ", got: " + std::to_string(device);
      if (!holders.insert(device).second)
        return "expected each device to hold one shard, got twice: " +
               std::to_string(device);
    }
  }
  for (int64_t device = 0; device < devices; ++device)
    if (!holders.count(device))
      return "expected every device to hold a shard, got none on " +
             std::to_string(device);
  return std::nullopt;
}

/// What `sharding` puts on each device.
static std::vector<std::vector<Interval>>
intervalsOf(const Sharding &sharding, const Shape &shape, int64_t devices) {
  std::vector<std::vector<Interval>> held(static_cast<size_t>(devices));
  for (size_t shard = 0; shard < sharding.groups.size(); ++shard) {
    std::vector<Interval> intervals;
    for (int64_t extent : shape)
      intervals.push_back({0, extent});
    int64_t rest = static_cast<int64_t>(shard);
    for (size_t at = sharding.dims.size(); at-- > 0;) {
      const ShardedDim &dim = sharding.dims[at];
      intervals[dim.dim] = plan::balancedSplit(shape[dim.dim], dim.shards,
                                               rest % dim.shards, dim.block);
      rest /= dim.shards;
    }
    for (int64_t device : sharding.groups[shard])
      held[device] = intervals;
  }
  return held;
}

static bool equal(const std::vector<Interval> &a,
                  const std::vector<Interval> &b) {
  for (size_t dim = 0; dim < a.size(); ++dim)
    if (a[dim].offset != b[dim].offset || a[dim].extent != b[dim].extent)
      return false;
  return true;
}

static bool holds(const NdSbp &state,
                  const std::vector<std::vector<Interval>> &held,
                  const Shape &shape, const Mesh &mesh) {
  if (checkLegal(state, shape, mesh))
    return false;
  for (size_t rank = 0; rank < held.size(); ++rank)
    if (!equal(localIntervals(state, shape, mesh,
                              coordinates(mesh, static_cast<int64_t>(rank))),
               held[rank]))
      return false;
  return true;
}

/// Extends `state` axis by axis; true once it holds what `held` says.
static bool search(NdSbp &state, const Sharding &sharding,
                   const std::vector<std::vector<Interval>> &held,
                   const Shape &shape, const Mesh &mesh) {
  if (state.size() == mesh.size())
    return holds(state, held, shape, mesh);
  int64_t ranks = mesh[state.size()];
  state.push_back(Sbp::broadcast());
  if (search(state, sharding, held, shape, mesh))
    return true;
  for (const ShardedDim &dim : sharding.dims) {
    // An axis deals out a factor of the shards, or none.
    if (ranks == 1 || dim.shards % ranks != 0)
      continue;
    state.back() = Sbp::split(dim.dim, dim.block);
    if (search(state, sharding, held, shape, mesh))
      return true;
  }
  state.pop_back();
  return false;
}

std::optional<NdSbp> stateOf(const Sharding &sharding, const Shape &shape,
                             const Mesh &mesh) {
  NdSbp state;
  if (search(state, sharding, intervalsOf(sharding, shape, rankCount(mesh)),
             shape, mesh))
    return state;
  return std::nullopt;
}

/// Appends to `meshes` the ways to write `ranks` as a product of `axes`
/// factors of two and more, up to a limit far above what clusters have.
static void factorize(int64_t ranks, size_t axes, Mesh &prefix,
                      std::vector<Mesh> &meshes) {
  constexpr size_t kMost = 4096;
  if (meshes.size() >= kMost)
    return;
  if (axes == 1) {
    if (ranks < 2)
      return;
    meshes.push_back(prefix);
    meshes.back().push_back(ranks);
    return;
  }
  for (int64_t size = 2; size <= ranks / 2; ++size) {
    if (ranks % size != 0)
      continue;
    prefix.push_back(size);
    factorize(ranks / size, axes - 1, prefix, meshes);
    prefix.pop_back();
  }
}

std::optional<Mesh>
meshFor(const std::vector<std::pair<Sharding, Shape>> &tensors,
        int64_t devices) {
  auto fits = [&](const Mesh &mesh) {
    return std::all_of(tensors.begin(), tensors.end(), [&](const auto &tensor) {
      return stateOf(tensor.first, tensor.second, mesh).has_value();
    });
  };
  if (devices == 1)
    return fits({1}) ? std::optional<Mesh>(Mesh{1}) : std::nullopt;
  for (size_t axes = 1;; ++axes) {
    std::vector<Mesh> meshes;
    Mesh prefix;
    factorize(devices, axes, prefix, meshes);
    if (meshes.empty())
      return std::nullopt;
    for (const Mesh &mesh : meshes)
      if (fits(mesh))
        return mesh;
  }
}

} // namespace oneflow::sbp
