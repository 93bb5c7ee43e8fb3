//===- ShardingTest.cpp - shardings as states -------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The examples of ONNX's multi-device proposal, and every state of small meshes
// there and back.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Sharding.h"

#include <gtest/gtest.h>

#include <map>

using namespace oneflow::sbp;

static const Sbp kS0 = Sbp::split(0), kS1 = Sbp::split(1),
                 kB = Sbp::broadcast();

/// Sharding with one device per shard, in order.
static Sharding cut(std::vector<ShardedDim> dims, int64_t devices) {
  Sharding sharding;
  sharding.dims = std::move(dims);
  for (int64_t device = 0; device < devices; ++device)
    sharding.groups.push_back({device});
  return sharding;
}

TEST(Sharding, ExamplesOfTheProposal) {
  // Split of axis 0, of axis 1, of both.
  EXPECT_EQ(stateOf(cut({{0, 2}}, 2), {2, 2}, {2}), NdSbp({kS0}));
  EXPECT_EQ(stateOf(cut({{1, 2}}, 2), {2, 2}, {2}), NdSbp({kS1}));
  EXPECT_EQ(stateOf(cut({{0, 2}, {1, 2}}, 4), {2, 2}, {2, 2}),
            NdSbp({kS0, kS1}));
  // Replicated, and halves that are replicated.
  EXPECT_EQ(stateOf({{{0, 1}}, {}}, {2, 2}, {2}), NdSbp({kB}));
  EXPECT_EQ(stateOf({{{0, 1}, {2, 3}}, {{0, 2}}}, {2, 2}, {2, 2}),
            NdSbp({kS0, kB}));
}

TEST(Sharding, DevicesInAnotherOrder) {
  // Shard 0 on devices 0 and 2: split along the second axis.
  EXPECT_EQ(stateOf({{{0, 2}, {1, 3}}, {{0, 2}}}, {4}, {2, 2}),
            NdSbp({kB, kS0}));
  // The first of `dims` is the slowest, whichever dimension it is.
  EXPECT_EQ(stateOf(cut({{1, 2}, {0, 2}}, 4), {4, 4}, {2, 2}),
            NdSbp({kS1, kS0}));
  // Ranks backwards are on no mesh.
  EXPECT_EQ(stateOf({{{1}, {0}}, {{0, 2}}}, {4}, {2}), std::nullopt);
}

TEST(Sharding, UnevenShardsMustBeThoseOfTheMesh) {
  EXPECT_EQ(stateOf(cut({{0, 2}}, 2), {5}, {2}), NdSbp({kS0}));
  // 10 over 4 is 3 3 2 2; over 2 and again over 2 it is 5 5, then 3 2 3 2.
  EXPECT_EQ(stateOf(cut({{0, 4}}, 4), {10}, {4}), NdSbp({kS0}));
  EXPECT_EQ(stateOf(cut({{0, 4}}, 4), {10}, {2, 2}), std::nullopt);
  EXPECT_EQ(stateOf(cut({{0, 4}}, 4), {12}, {2, 2}), NdSbp({kS0, kS0}));
}

TEST(Sharding, BlocksAndAxesOfOneRank) {
  EXPECT_EQ(stateOf(cut({{0, 5, 64}}, 5), {768}, {5}),
            NdSbp({Sbp::split(0, 64)}));
  EXPECT_EQ(stateOf(cut({{0, 2}}, 2), {4}, {1, 2}), NdSbp({kB, kS0}));
}

TEST(Sharding, Unsound) {
  auto reason = [](const Sharding &sharding, int64_t devices) {
    return checkSharding(sharding, {4, 6}, devices).value_or("sound");
  };
  EXPECT_EQ(reason(cut({{0, 2}, {1, 3}}, 6), 6), "sound");
  EXPECT_EQ(reason(cut({{2, 2}}, 2), 2),
            "expected a dimension of a tensor of rank 2, got: 2");
  EXPECT_EQ(reason(cut({{0, 2}, {0, 2}}, 4), 4),
            "expected each dimension once, got twice: 0");
  EXPECT_EQ(reason(cut({{1, 2, 4}}, 2), 2),
            "expected at least one block of 4 for each of the 2 shards of "
            "dimension 1, whose extent is 6");
  EXPECT_EQ(reason(cut({{0, 4}}, 4), 2),
            "expected at most as many shards as the 2 devices, got: 4");
  EXPECT_EQ(reason(cut({{0, 2}}, 4), 4),
            "expected a device for each of the 2 shards, got: 4");
  EXPECT_EQ(reason({{{0}, {2}}, {{0, 2}}}, 2),
            "expected devices from 0 to 1, got: 2");
  EXPECT_EQ(reason({{{0}, {0}}, {{0, 2}}}, 2),
            "expected each device to hold one shard, got twice: 0");
  // No memory is taken for what no device holds.
  EXPECT_EQ(reason(cut({}, 1), int64_t(1) << 60),
            "expected every device to hold a shard, got none on 1");
  EXPECT_EQ(reason(cut({{0, 2}}, 2), 3),
            "expected every device to hold a shard, got none on 2");
}

TEST(Sharding, MeshThatFits) {
  using Tensors = std::vector<std::pair<Sharding, Shape>>;
  EXPECT_EQ(meshFor(Tensors{{cut({{0, 4}}, 4), {8}}}, 4), Mesh({4}));
  EXPECT_EQ(meshFor(Tensors{{cut({{0, 2}, {1, 2}}, 4), {8, 8}}}, 4),
            Mesh({2, 2}));
  // Three ways of cutting that only a mesh of three axes has together.
  EXPECT_EQ(meshFor(Tensors{{cut({{0, 2}, {1, 4}}, 8), {8, 8}},
                            {cut({{0, 4}, {1, 2}}, 8), {8, 8}}},
                    8),
            Mesh({2, 2, 2}));
  EXPECT_EQ(meshFor(Tensors{{{{{1}, {0}}, {{0, 2}}}, {8}}}, 2), std::nullopt);
  EXPECT_EQ(meshFor(Tensors{{{{{0}}, {}}, {8}}}, 1), Mesh({1}));
}

/// The sharding that has on each device what `state` has, by brute force.
static Sharding shardingOf(const NdSbp &state, const Shape &shape,
                           const Mesh &mesh) {
  // Parts per dimension, and the devices of each.
  std::vector<int64_t> shards(shape.size(), 1);
  for (size_t axis = 0; axis < mesh.size(); ++axis)
    if (state[axis].isSplit())
      shards[state[axis].dim] *= mesh[axis];
  Sharding sharding;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    sharding.dims.push_back({static_cast<int64_t>(dim), shards[dim]});
  std::map<std::vector<int64_t>, std::vector<int64_t>> devices;
  for (int64_t rank = 0; rank < rankCount(mesh); ++rank) {
    std::vector<int64_t> offsets;
    for (const Interval &interval :
         localIntervals(state, shape, mesh, coordinates(mesh, rank)))
      offsets.push_back(interval.offset);
    devices[offsets].push_back(rank);
  }
  for (auto &[offsets, group] : devices)
    sharding.groups.push_back(group);
  return sharding;
}

TEST(Sharding, EveryStateThereAndBack) {
  const Shape shape = {8, 24};
  int states = 0;
  for (const Mesh &mesh : {Mesh{2}, Mesh{2, 2}, Mesh{4, 2}, Mesh{2, 2, 2}}) {
    std::vector<NdSbp> all = {{}};
    for (size_t axis = 0; axis < mesh.size(); ++axis) {
      std::vector<NdSbp> longer;
      for (const NdSbp &state : all)
        for (const Sbp &next : {kB, kS0, kS1}) {
          longer.push_back(state);
          longer.back().push_back(next);
        }
      all = longer;
    }
    for (const NdSbp &state : all) {
      Sharding sharding = shardingOf(state, shape, mesh);
      ASSERT_FALSE(checkSharding(sharding, shape, rankCount(mesh)));
      EXPECT_EQ(stateOf(sharding, shape, mesh), state) << toString(state);
      ++states;
    }
  }
  EXPECT_EQ(states, 3 + 9 + 9 + 27);
}
