//===- ScatterTest.cpp - sums into rows whose numbers are data ------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace oneflow::test;

/// Sums the rows of dy into those of a table of 3000, as gather_grad says it.
static const char *kScatter = R"(
func.func @k(%dy: tensor<500x9xf32>, %ids: tensor<500xi64>) -> tensor<3000x9xf32> attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3000x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3000x9xf32>) -> tensor<3000x9xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(v, j, i) -> (i, j)>, affine_map<(v, j, i) -> (i)>, affine_map<(v, j, i) -> (v, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%dy, %ids : tensor<500x9xf32>, tensor<500xi64>) outs(%f : tensor<3000x9xf32>) {
  ^bb0(%a: f32, %id: i64, %o: f32):
    %v = linalg.index 0 : index
    %row = arith.index_cast %v : index to i64
    %here = arith.cmpi eq, %row, %id : i64
    %add = arith.select %here, %a, %zero : f32
    %s = arith.addf %o, %add : f32
    linalg.yield %s : f32
  } -> tensor<3000x9xf32>
  return %r : tensor<3000x9xf32>
})";

// Many ids name one row, whose sum then depends on the order: it must be that
// of the ids, for any way of handing out items. Ids of no row add nothing.
TEST(Scatter, AddsInTheOrderOfTheIds) {
  Kernels kernels(kScatter);
  auto dy = randomF32(500 * 9);
  std::vector<int64_t> ids;
  std::vector<float> expected(3000 * 9, 0);
  for (int64_t i = 0; i < 500; ++i) {
    ids.push_back(i % 3 == 0   ? 1234
                  : i % 50 < 2 ? (i % 4 < 2 ? -1 - i : 3000 + i)
                               : i * 7919 % 3000);
    for (int64_t j = 0; ids[i] >= 0 && ids[i] < 3000 && j < 9; ++j)
      expected[ids[i] * 9 + j] += dy[i * 9 + j];
  }
  EXPECT_GT(kernels.items("k"), 1);
  EXPECT_LE(kernels.items("k"), 64);
  for (int64_t step : {0, 1, 2}) {
    Buffer out(3000 * 9 * sizeof(float));
    EXPECT_EQ(
        kernels.run("k", {Buffer::of(dy), Buffer::of(ids), out}, {}, step), 0);
    EXPECT_EQ(out.get<float>(), expected);
    EXPECT_TRUE(out.intact());
  }
}

// A row is found by its index, not by trying all: that would be 1.4e12
// additions, and this test would not end.
TEST(Scatter, OfAWideTableIsFast) {
  std::string text = kScatter;
  for (size_t at; (at = text.find("3000x9")) != std::string::npos;)
    text.replace(at, 6, "3000000x9");
  for (size_t at; (at = text.find("500x9")) != std::string::npos;)
    text.replace(at, 5, "50000x9");
  for (size_t at; (at = text.find("500xi64")) != std::string::npos;)
    text.replace(at, 7, "50000xi64");
  Kernels kernels(text);
  std::vector<float> dy(50000 * 9, 1);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 50000; ++i)
    ids.push_back(i * 59 + 7);
  Buffer out(3000000 * 9 * sizeof(float));
  EXPECT_EQ(kernels.run("k", {Buffer::of(dy), Buffer::of(ids), out}), 0);
  auto found = out.get<float>();
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0.0), 450000);
  EXPECT_EQ(found[(49999 * 59 + 7) * 9], 1);
}
