//===- CollectiveTest.cpp - collectives against brute force ---------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kind, every pair of dimensions, even and uneven extents, blocks, on
// groups of every size; expected values come from indexing the logical tensor
// element by element.
//
//===----------------------------------------------------------------------===//

#include "Collective.h"
#include "RankHarness.h"

using namespace oneflow;
using namespace oneflow::runtime;
using namespace oneflow::test;
using plan::CollectiveKind;
using plan::DType;
using plan::Interval;
using plan::Reducer;

using Index = std::vector<int64_t>;

// Row-major indices of a box.
static std::vector<Index> indicesOf(const Box &box) {
  std::vector<Index> result = {{}};
  for (const Interval &interval : box) {
    std::vector<Index> longer;
    for (const Index &index : result)
      for (int64_t i = 0; i < interval.extent; ++i) {
        longer.push_back(index);
        longer.back().push_back(interval.offset + i);
      }
    result = std::move(longer);
  }
  return result;
}

static size_t linear(const Index &index, const std::vector<int64_t> &shape) {
  size_t result = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    result = result * shape[d] + index[d];
  return result;
}

// A second, plain definition of the balanced split.
static Interval partOf(int64_t size, int parts, int index, int64_t block) {
  int64_t begin = 0;
  for (int i = 0; i <= index; ++i) {
    int64_t blocks = size / block / parts + (i < size / block % parts ? 1 : 0);
    if (i == index)
      return {begin, blocks * block};
    begin += blocks * block;
  }
  return {};
}

// What is only moved, not combined: few equal neighbours, so that a wrong place
// shows.
static double movedValue(size_t i) { return static_cast<double>(i * 7 % 101); }

static void runCase(Communicator &group, const CollectiveSpec &spec) {
  int size = group.size(), rank = group.rank();
  Box whole;
  for (int64_t extent : spec.shape)
    whole.push_back({0, extent});
  Box source = whole, target = whole;
  bool gathers = spec.kind == CollectiveKind::AllGather ||
                 spec.kind == CollectiveKind::AllToAll;
  bool scatters = spec.kind == CollectiveKind::ReduceScatter ||
                  spec.kind == CollectiveKind::AllToAll;
  bool reduces = spec.kind == CollectiveKind::ReduceScatter ||
                 spec.kind == CollectiveKind::AllReduce;
  if (gathers)
    source[spec.sourceDim] =
        partOf(spec.shape[spec.sourceDim], size, rank, spec.sourceBlock);
  if (scatters)
    target[spec.targetDim] =
        partOf(spec.shape[spec.targetDim], size, rank, spec.targetBlock);
  std::vector<double> own, wanted;
  for (const Index &index : indicesOf(source))
    own.push_back(reduces ? testValue(rank, linear(index, spec.shape))
                          : movedValue(linear(index, spec.shape)));
  for (const Index &index : indicesOf(target)) {
    size_t at = linear(index, spec.shape);
    double value = reduces ? testValue(0, at) : movedValue(at);
    for (int peer = 1; reduces && peer < size; ++peer)
      value = combine(spec.dtype, spec.reducer, value, testValue(peer, at));
    wanted.push_back(value);
  }
  Array from(spec.dtype, own), to(spec.dtype, wanted.size()),
      expected(spec.dtype, wanted);
  Collective collective;
  Status status = collective.bind(spec, size, rank, from.bytes(), to.bytes());
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<double> staging(collective.stagingBytes() / 8 + 1);
  for (int repeat = 0; repeat < 2; ++repeat) {
    TransportResult result =
        collective.run(group, from.data(), to.data(), staging.data());
    ASSERT_TRUE(result.ok) << result.message;
    EXPECT_TRUE(to.equals(expected))
        << "kind " << static_cast<int>(spec.kind) << ", source dim "
        << spec.sourceDim << ", target dim " << spec.targetDim << ", "
        << dtypeName(spec.dtype) << ", ranks " << size;
  }
}

TEST(Collective, EveryKindDimensionAndSplit) {
  const std::vector<std::vector<int64_t>> shapes = {
      {60},   {7},        {3},       {12, 5},  {5, 12},
      {7, 9}, {4, 6, 10}, {3, 5, 7}, {2, 0, 3}};
  onGroupsOfEverySize([&](Communicator &group) {
    for (const auto &shape : shapes)
      for (DType dtype : {DType::F32, DType::U8, DType::F16, DType::I64}) {
        CollectiveSpec spec;
        spec.shape = shape;
        spec.dtype = dtype;
        auto dims = static_cast<int32_t>(shape.size());
        spec.kind = CollectiveKind::AllReduce;
        runCase(group, spec);
        for (int32_t a = 0; a < dims; ++a) {
          spec.kind = CollectiveKind::AllGather;
          spec.sourceDim = a;
          spec.targetDim = -1;
          runCase(group, spec);
          spec.kind = CollectiveKind::ReduceScatter;
          spec.sourceDim = -1;
          spec.targetDim = a;
          spec.reducer = dtype == DType::U8 ? Reducer::Max : Reducer::Sum;
          runCase(group, spec);
          for (int32_t b = 0; b < dims; ++b) {
            spec.kind = CollectiveKind::AllToAll;
            spec.sourceDim = a;
            spec.targetDim = b;
            runCase(group, spec);
          }
        }
      }
  });
}

TEST(Collective, SplitsFallOnBlocks) {
  onGroupsOfEverySize([](Communicator &group) {
    CollectiveSpec spec;
    spec.shape = {12, 21};
    spec.kind = CollectiveKind::AllToAll;
    spec.sourceDim = 0;
    spec.sourceBlock = 4;
    spec.targetDim = 1;
    spec.targetBlock = 7;
    runCase(group, spec);
    spec.kind = CollectiveKind::AllGather;
    runCase(group, spec);
    spec.kind = CollectiveKind::ReduceScatter;
    runCase(group, spec);
    // From one blocking of a dimension to another.
    spec.shape = {12, 5};
    spec.kind = CollectiveKind::AllToAll;
    spec.targetDim = 0;
    spec.targetBlock = 3;
    runCase(group, spec);
  });
}

TEST(Collective, StagesNoMoreThanItsBuffers) {
  CollectiveSpec spec;
  spec.shape = {4, 6};
  spec.kind = CollectiveKind::AllToAll;
  auto staged = [&](int32_t from, int32_t to) {
    spec.sourceDim = from;
    spec.targetDim = to;
    Collective collective;
    Status status = collective.bind(spec, 2, 0, 48, 48);
    EXPECT_TRUE(status.ok()) << status.message();
    return collective.stagingBytes();
  };
  // Columns of the own rows are packed, and come as one run of rows.
  EXPECT_EQ(staged(0, 1), 48u);
  EXPECT_EQ(staged(1, 0), 48u);
}

TEST(Collective, RefusesWhatDoesNotFit) {
  CollectiveSpec spec;
  spec.shape = {4, 6};
  spec.kind = CollectiveKind::AllGather;
  spec.sourceDim = 1;
  EXPECT_TRUE(Collective().bind(spec, 2, 0, 48, 96).ok());
  EXPECT_EQ(Collective().bind(spec, 2, 0, 47, 96).code(),
            OF_STATUS_INVALID_PLAN);
  EXPECT_EQ(Collective().bind(spec, 2, 0, 48, 95).code(),
            OF_STATUS_INVALID_PLAN);
  spec.sourceBlock = 4;
  EXPECT_EQ(Collective().bind(spec, 2, 0, 96, 96).code(),
            OF_STATUS_INVALID_PLAN);
  spec.shape = {-1, 6};
  EXPECT_EQ(Collective().bind(spec, 2, 0, 96, 96).code(),
            OF_STATUS_INVALID_PLAN);
  spec.shape = {int64_t(1) << 40, int64_t(1) << 40};
  EXPECT_EQ(Collective().bind(spec, 2, 0, 96, 96).code(),
            OF_STATUS_INVALID_PLAN);
}

TEST(Collective, BytesSentAddUpToTheTable) {
  constexpr uint64_t kRoom = 1 << 20;
  for (int size = 1; size <= 7; ++size)
    for (int64_t extent : {1, 3, 10, 64})
      for (DType dtype : {DType::U8, DType::F16, DType::F32, DType::I64}) {
        auto passes = [&](CollectiveKind kind) {
          CollectiveSpec spec;
          spec.kind = kind;
          spec.shape = {extent, 3};
          spec.dtype = dtype;
          if (kind == CollectiveKind::AllGather)
            spec.sourceDim = 0;
          if (kind == CollectiveKind::ReduceScatter)
            spec.targetDim = 0;
          uint64_t sent = 0;
          for (int rank = 0; rank < size; ++rank) {
            Collective collective;
            Status status = collective.bind(spec, size, rank, kRoom, kRoom);
            EXPECT_TRUE(status.ok()) << status.message();
            sent += collective.bytesSent();
          }
          return sent;
        };
        uint64_t once =
            static_cast<uint64_t>(size - 1) * extent * 3 * dtypeBytes(dtype);
        EXPECT_EQ(passes(CollectiveKind::AllGather), once);
        EXPECT_EQ(passes(CollectiveKind::ReduceScatter), once);
        EXPECT_EQ(passes(CollectiveKind::AllReduce), 2 * once);
      }
}
