//===- BatchesTest.cpp - batches and their order --------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What needs no session: how data is laid over batches, the order of an epoch,
// and the statistics of a benchmark.
//
//===----------------------------------------------------------------------===//

#include "Batches.h"
#include "Benchmark.h"
#include "Shuffle.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace oneflow::run;
using oneflow::tensorio::DType;
using oneflow::tensorio::Shape;

namespace {

Entry makeEntry(std::vector<Shape> inputs, std::vector<Shape> outputs) {
  Entry entry;
  entry.name = "main";
  for (Shape &shape : inputs)
    entry.inputs.push_back(
        {"in" + std::to_string(entry.inputs.size()), DType::F32, shape});
  for (Shape &shape : outputs)
    entry.outputs.push_back(
        {"out" + std::to_string(entry.outputs.size()), DType::F32, shape});
  return entry;
}

Expected<Batching> plan(const Entry &entry, std::vector<Shape> shapes,
                        DType dtype = DType::F32) {
  std::vector<Tensor> tensors;
  for (Shape &shape : shapes)
    tensors.push_back(Tensor::zeros(dtype, shape));
  std::vector<const Tensor *> pointers;
  for (const Tensor &tensor : tensors)
    pointers.push_back(&tensor);
  return planBatches(entry, pointers);
}

TEST(BatchesTest, EqualShapesNeedNone) {
  Entry entry = makeEntry({{4, 3}, {2}}, {{}});
  Expected<Batching> batching = plan(entry, {{4, 3}, {2}});
  ASSERT_TRUE(batching.ok()) << batching.message();
  EXPECT_FALSE(batching->isNeeded());
  EXPECT_EQ(batching->runs(), 1);
}

TEST(BatchesTest, MoreAndFewerSamplesAreCutAndPadded) {
  Entry entry = makeEntry({{4, 3}, {2}}, {{4, 5}, {4}});
  Expected<Batching> batching = plan(entry, {{10, 3}, {2}});
  ASSERT_TRUE(batching.ok()) << batching.message();
  EXPECT_EQ(batching->runs(), 3);
  EXPECT_EQ(batching->padding(), 2);
  EXPECT_EQ(batching->cut, (std::vector<bool>{true, false}));
  batching = plan(entry, {{1, 3}, {2}});
  ASSERT_TRUE(batching.ok()) << batching.message();
  EXPECT_EQ(batching->runs(), 1);
  EXPECT_EQ(batching->padding(), 3);
  batching = plan(entry, {{8, 3}, {2}});
  ASSERT_TRUE(batching.ok()) << batching.message();
  EXPECT_EQ(batching->padding(), 0);
}

TEST(BatchesTest, RefusesWithTheReason) {
  Entry entry = makeEntry({{4, 3}, {4}}, {{4}});
  auto message = [&](std::vector<Shape> shapes) {
    return plan(entry, shapes).message();
  };
  EXPECT_EQ(message({{10, 2}, {10}}),
            "input 'in0' expects f32 [4, 3], got: f32 [10, 2]");
  EXPECT_EQ(message({{10}, {10}}),
            "input 'in0' expects f32 [4, 3], got: f32 [10]");
  EXPECT_EQ(message({{0, 3}, {0}}), "input 'in0' has no samples");
  EXPECT_NE(message({{10, 3}, {9}}).find("in different ways"),
            std::string::npos);
  EXPECT_EQ(message({{10, 3}, {4}}),
            "input 'in1' has 4 samples, while 'in0' has 10");
  EXPECT_FALSE(plan(entry, {{4, 3}, {4}}, DType::F64).ok());
  Entry scalar = makeEntry({{4}}, {{4}, {}});
  EXPECT_NE(plan(scalar, {{10}}).message().find("output 'out1' of shape []"),
            std::string::npos);
  EXPECT_TRUE(plan(scalar, {{4}}).ok());
}

TEST(BatchesTest, GathersRowsAndPads) {
  Tensor source{DType::U8, {3, 2}, {1, 2, 3, 4, 5, 6}};
  Tensor target{DType::U8, {3, 2}, {9, 9, 9, 9, 9, 9}};
  const int64_t rows[] = {2, 0};
  gatherRows(source, rows, 2, target);
  EXPECT_EQ(target.bytes, (oneflow::tensorio::Bytes{5, 6, 1, 2, 0, 0}));
}

TEST(ShuffleTest, IsAPermutationOfItsOwn) {
  std::vector<int64_t> sorted(1000);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::vector<std::vector<int64_t>> orders;
  for (uint64_t seed : {0, 1})
    for (uint64_t epoch : {1, 2}) {
      std::vector<int64_t> order = epochOrder(1000, seed, epoch);
      EXPECT_EQ(order, epochOrder(1000, seed, epoch));
      orders.push_back(order);
      std::sort(order.begin(), order.end());
      EXPECT_EQ(order, sorted);
    }
  std::sort(orders.begin(), orders.end());
  EXPECT_EQ(std::unique(orders.begin(), orders.end()), orders.end());
  EXPECT_TRUE(epochOrder(0, 0, 1).empty());
}

TEST(ShuffleTest, EveryPermutationOfThreeIsAsLikely) {
  std::vector<int> counts(27);
  for (uint64_t epoch = 0; epoch < 6000; ++epoch) {
    std::vector<int64_t> order = epochOrder(3, 7, epoch);
    ++counts[static_cast<size_t>(9 * order[0] + 3 * order[1] + order[2])];
  }
  // Six permutations, 1000 each; the standard deviation is about 29.
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 0), 21);
  for (int count : counts)
    EXPECT_TRUE(count == 0 || (count > 850 && count < 1150)) << count;
}

TEST(BenchmarkTest, Statistics) {
  std::vector<double> seconds;
  for (int i = 100; i >= 1; --i)
    seconds.push_back(i);
  BenchmarkResult result = summarize(seconds);
  EXPECT_EQ(result.runs, 100);
  EXPECT_EQ(result.least, 1);
  EXPECT_EQ(result.median, 50.5);
  EXPECT_EQ(result.p95, 95);
  EXPECT_EQ(result.mean, 50.5);
  result = summarize({3});
  EXPECT_EQ(result.p95, 3);
  EXPECT_EQ(result.median, 3);
  EXPECT_EQ(summarize({3, 1, 2}).median, 2);
}

} // namespace
