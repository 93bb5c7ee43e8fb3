//===- TensorTest.cpp - slices, indices, checks ---------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <gtest/gtest.h>

using namespace oneflow::test;

// Each row's element at its label, counted from a run-time offset; rows whose
// label lies elsewhere get zero.
TEST(Tensor, PicksLabelsFromAnOffset) {
  Kernels kernels(R"(
func.func @k(%x: tensor<40x10xf32>, %labels: tensor<40xi64>, %offset: index) -> tensor<40xf32> attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<40xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<40xf32>) -> tensor<40xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %labels : tensor<40x10xf32>, tensor<40xi64>) outs(%f : tensor<40xf32>) {
  ^bb0(%a: f32, %l: i64, %o: f32):
    %j = linalg.index 1 : index
    %g = arith.addi %j, %offset : index
    %h = arith.index_cast %g : index to i64
    %hit = arith.cmpi eq, %h, %l : i64
    %v = arith.select %hit, %a, %zero : f32
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<40xf32>
  return %r : tensor<40xf32>
})");
  auto x = randomF32(400);
  std::vector<int64_t> labels;
  std::vector<float> expected;
  for (int i = 0; i < 40; ++i) {
    labels.push_back(i * 13 % 30);
    int64_t local = labels[i] - 10;
    expected.push_back(local >= 0 && local < 10 ? x[i * 10 + local] : 0);
  }
  Buffer out(160);
  EXPECT_EQ(kernels.run("k", {Buffer::of(x), Buffer::of(labels), out}, {10}),
            0);
  EXPECT_EQ(out.get<float>(), expected);
}

// A gather whose ids are checked: one out of range gives the status, and no
// read leaves the table.
TEST(Tensor, GatherChecksIds) {
  Kernels kernels(R"(
func.func @k(%table: tensor<50x24xf32>, %ids: tensor<33xi64>) -> tensor<33x24xf32> attributes {oneflow.kernel} {
  %e = tensor.empty() : tensor<33x24xf32>
  %lim = arith.constant 50 : index
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<33xi64>) outs(%e : tensor<33x24xf32>) {
  ^bb0(%id: i64, %o: f32):
    %row = arith.index_cast %id : i64 to index
    %ok = arith.cmpi ult, %row, %lim : index
    cf.assert %ok, "id out of range"
    %j = linalg.index 1 : index
    %v = tensor.extract %table[%row, %j] : tensor<50x24xf32>
    linalg.yield %v : f32
  } -> tensor<33x24xf32>
  return %r : tensor<33x24xf32>
})");
  auto table = randomF32(50 * 24);
  std::vector<int64_t> ids;
  std::vector<float> expected;
  for (int i = 0; i < 33; ++i) {
    ids.push_back(i * 17 % 50);
    for (int j = 0; j < 24; ++j)
      expected.push_back(table[ids[i] * 24 + j]);
  }
  Buffer out(expected.size() * 4);
  EXPECT_EQ(kernels.run("k", {Buffer::of(table), Buffer::of(ids), out}), 0);
  EXPECT_EQ(out.get<float>(), expected);
  for (int64_t bad : {int64_t(50), int64_t(-1), INT64_MAX, INT64_MIN}) {
    ids[12] = bad;
    EXPECT_EQ(kernels.run("k", {Buffer::of(table), Buffer::of(ids), out}),
              ONEFLOW_KERNEL_INDEX_OUT_OF_RANGE);
  }
}

TEST(Tensor, SlicesWithRunTimeOffsets) {
  // y = x[offset : offset + n, 3:43:2]; z = y laid into w at the same place.
  Kernels kernels(R"(
func.func @cut(%x: tensor<100x50xf32>, %n: index, %offset: index) -> (tensor<?x20xf32> {oneflow.extents = array<i64: 0, -1>}) attributes {oneflow.kernel} {
  %y = tensor.extract_slice %x[%offset, 3] [%n, 20] [1, 2] : tensor<100x50xf32> to tensor<?x20xf32>
  return %y : tensor<?x20xf32>
}
func.func @lay(%y: tensor<?x20xf32> {oneflow.extents = array<i64: 0, -1>}, %w: tensor<100x50xf32>, %n: index, %offset: index) -> tensor<100x50xf32> attributes {oneflow.kernel} {
  %z = tensor.insert_slice %y into %w[%offset, 3] [%n, 20] [1, 2] : tensor<?x20xf32> into tensor<100x50xf32>
  return %z : tensor<100x50xf32>
})");
  auto x = randomF32(5000), w = randomF32(5000, -2, 2, 2);
  for (auto [n, offset] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 0}, {30, 70}, {100, 0}, {0, 9}}) {
    std::vector<float> y(n * 20), z = w;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < 20; ++j)
        z[(offset + i) * 50 + 3 + 2 * j] = y[i * 20 + j] =
            x[(offset + i) * 50 + 3 + 2 * j];
    Buffer oy(y.size() * 4), oz(z.size() * 4);
    EXPECT_EQ(kernels.run("cut", {Buffer::of(x), oy}, {n, offset}, 1), 0);
    EXPECT_EQ(oy.get<float>(), y);
    EXPECT_EQ(kernels.run("lay", {oy, Buffer::of(w), oz}, {n, offset}, 1), 0);
    EXPECT_EQ(oz.get<float>(), z);
  }
}

TEST(Tensor, ReshapesPadsConcatenatesAndTables) {
  Kernels kernels(R"(
func.func @reshape(%x: tensor<6x35x4xf32>) -> tensor<5x42x4xf32> attributes {oneflow.kernel} {
  %c = tensor.collapse_shape %x [[0, 1, 2]] : tensor<6x35x4xf32> into tensor<840xf32>
  %e = tensor.expand_shape %c [[0, 1, 2]] output_shape [5, 42, 4] : tensor<840xf32> into tensor<5x42x4xf32>
  return %e : tensor<5x42x4xf32>
}
func.func @pad(%x: tensor<5x7xf32>) -> tensor<8x9xf32> attributes {oneflow.kernel} {
  %v = arith.constant 3.5 : f32
  %p = tensor.pad %x low[1, 2] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  } : tensor<5x7xf32> to tensor<8x9xf32>
  return %p : tensor<8x9xf32>
}
func.func @concat(%a: tensor<3x4xi32>, %b: tensor<3x2xi32>, %c: tensor<3x5xi32>) -> tensor<3x11xi32> attributes {oneflow.kernel} {
  %r = tensor.concat dim(1) %a, %b, %c : (tensor<3x4xi32>, tensor<3x2xi32>, tensor<3x5xi32>) -> tensor<3x11xi32>
  return %r : tensor<3x11xi32>
}
func.func @table(%x: tensor<2x3xi32>) -> tensor<2x3xi32> attributes {oneflow.kernel} {
  %t = arith.constant dense<[[1, 2, 3], [40, 50, 60]]> : tensor<2x3xi32>
  %e = tensor.empty() : tensor<2x3xi32>
  %r = linalg.add ins(%x, %t : tensor<2x3xi32>, tensor<2x3xi32>) outs(%e : tensor<2x3xi32>) -> tensor<2x3xi32>
  return %r : tensor<2x3xi32>
})");
  auto x = randomF32(840);
  Buffer flat(840 * 4);
  EXPECT_EQ(kernels.run("reshape", {Buffer::of(x), flat}), 0);
  EXPECT_EQ(flat.get<float>(), x);

  auto small = randomF32(35);
  std::vector<float> padded(72, 3.5f);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 7; ++j)
      padded[(i + 1) * 9 + j + 2] = small[i * 7 + j];
  Buffer p(72 * 4);
  EXPECT_EQ(kernels.run("pad", {Buffer::of(small), p}), 0);
  EXPECT_EQ(p.get<float>(), padded);

  std::vector<int32_t> a(12), b(6), c(15), joined(33);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j)
      joined[i * 11 + j] = a[i * 4 + j] = 100 + i * 4 + j;
    for (int j = 0; j < 2; ++j)
      joined[i * 11 + 4 + j] = b[i * 2 + j] = 200 + i * 2 + j;
    for (int j = 0; j < 5; ++j)
      joined[i * 11 + 6 + j] = c[i * 5 + j] = 300 + i * 5 + j;
  }
  Buffer j(33 * 4);
  EXPECT_EQ(
      kernels.run("concat", {Buffer::of(a), Buffer::of(b), Buffer::of(c), j}),
      0);
  EXPECT_EQ(j.get<int32_t>(), joined);

  Buffer t(24);
  EXPECT_EQ(
      kernels.run("table", {Buffer::of(std::vector<int32_t>(6, 1000)), t}), 0);
  EXPECT_EQ(t.get<int32_t>(),
            (std::vector<int32_t>{1001, 1002, 1003, 1040, 1050, 1060}));
}
