//===- ElementwiseTest.cpp - pointwise kernels ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace oneflow::test;

TEST(Elementwise, ChainWithBroadcasts) {
  // y = relu(x * s + b) - c, b along rows, c along columns, s a 0-d tensor.
  Kernels kernels(R"(
#id = affine_map<(i, j) -> (i, j)>
func.func @k(%x: tensor<67x129xf32>, %s: tensor<f32>, %b: tensor<129xf32>, %c: tensor<67x1xf32>) -> tensor<67x129xf32> attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<67x129xf32>
  %m = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (j)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %s, %b : tensor<67x129xf32>, tensor<f32>, tensor<129xf32>) outs(%e : tensor<67x129xf32>) {
  ^bb0(%a: f32, %t: f32, %u: f32, %o: f32):
    %0 = arith.mulf %a, %t : f32
    %1 = arith.addf %0, %u : f32
    %2 = arith.maximumf %1, %zero : f32
    linalg.yield %2 : f32
  } -> tensor<67x129xf32>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i, 0)>, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %c : tensor<67x129xf32>, tensor<67x1xf32>) outs(%e : tensor<67x129xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %0 = arith.subf %a, %t : f32
    linalg.yield %0 : f32
  } -> tensor<67x129xf32>
  return %r : tensor<67x129xf32>
})");
  auto x = randomF32(67 * 129), s = randomF32(1, -2, 2, 2),
       b = randomF32(129, -2, 2, 3), c = randomF32(67, -2, 2, 4);
  std::vector<float> expected(67 * 129);
  for (int i = 0; i < 67; ++i)
    for (int j = 0; j < 129; ++j)
      expected[i * 129 + j] =
          std::max(x[i * 129 + j] * s[0] + b[j], 0.0f) - c[i];
  Buffer out(expected.size() * 4);
  EXPECT_EQ(kernels.run("k",
                        {Buffer::of(x), Buffer::of(s), Buffer::of(b),
                         Buffer::of(c), out},
                        {}, 1),
            0);
  expectNear(out.get<float>(), expected);
  EXPECT_EQ(kernels.info["k"].workspace, 0);
  EXPECT_EQ(kernels.info["k"].mayShare,
            (std::vector<std::pair<int64_t, int64_t>>{{0, 0}}));
}

TEST(Elementwise, DynamicExtents) {
  Kernels kernels(R"(
#id = affine_map<(i, j) -> (i, j)>
func.func @k(%x: tensor<?x?xf64> {oneflow.extents = array<i64: 1, 0>}, %b: tensor<?xf64> {oneflow.extents = array<i64: 0>}, %n: index, %m: index) -> (tensor<?x?xf64> {oneflow.extents = array<i64: 1, 0>}) attributes {oneflow.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf64>
  %d1 = tensor.dim %x, %c1 : tensor<?x?xf64>
  %e = tensor.empty(%d0, %d1) : tensor<?x?xf64>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<?x?xf64>, tensor<?xf64>) outs(%e : tensor<?x?xf64>) {
  ^bb0(%a: f64, %t: f64, %o: f64):
    %0 = arith.addf %a, %t : f64
    linalg.yield %0 : f64
  } -> tensor<?x?xf64>
  return %r : tensor<?x?xf64>
})");
  for (auto [m, n] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {3, 7}, {130, 65}, {2, 40000}, {9000, 3}, {0, 5}}) {
    auto x = randomF64(m * n), b = randomF64(n, -2, 2, 2);
    std::vector<double> expected(m * n);
    for (int64_t i = 0; i < m * n; ++i)
      expected[i] = x[i] + b[i % n];
    Buffer out(expected.size() * 8);
    EXPECT_EQ(kernels.run("k", {Buffer::of(x), Buffer::of(b), out}, {n, m}, 1),
              0);
    expectNear(out.get<double>(), expected);
  }
}

TEST(Elementwise, OptimizerUpdatesInPlace) {
  // Adam without bias correction: three results from one loop.
  Kernels kernels(R"(
#v = affine_map<(i) -> (i)>
func.func @adam(%p: tensor<50001xf32>, %g: tensor<50001xf32>, %m: tensor<50001xf32>, %v: tensor<50001xf32>, %lr: tensor<f32>) -> (tensor<50001xf32>, tensor<50001xf32>, tensor<50001xf32>) attributes {oneflow.kernel} {
  %b1 = arith.constant 0.9 : f32
  %c1 = arith.constant 0.1 : f32
  %b2 = arith.constant 0.99 : f32
  %c2 = arith.constant 0.01 : f32
  %eps = arith.constant 1.0e-8 : f32
  %e = tensor.empty() : tensor<50001xf32>
  %m2 = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]} ins(%m, %g : tensor<50001xf32>, tensor<50001xf32>) outs(%e : tensor<50001xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b1 : f32
    %1 = arith.mulf %b, %c1 : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<50001xf32>
  %v2 = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]} ins(%v, %g : tensor<50001xf32>, tensor<50001xf32>) outs(%e : tensor<50001xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b2 : f32
    %s = arith.mulf %b, %b : f32
    %1 = arith.mulf %s, %c2 : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<50001xf32>
  %p2 = linalg.generic {indexing_maps = [#v, #v, #v, affine_map<(i) -> ()>, #v], iterator_types = ["parallel"]} ins(%p, %m2, %v2, %lr : tensor<50001xf32>, tensor<50001xf32>, tensor<50001xf32>, tensor<f32>) outs(%e : tensor<50001xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %l: f32, %o: f32):
    %0 = math.sqrt %c : f32
    %1 = arith.addf %0, %eps : f32
    %2 = arith.divf %b, %1 : f32
    %3 = arith.mulf %l, %2 : f32
    %4 = arith.subf %a, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<50001xf32>
  return %p2, %m2, %v2 : tensor<50001xf32>, tensor<50001xf32>, tensor<50001xf32>
})");
  const size_t n = 50001;
  auto p = randomF32(n), g = randomF32(n, -2, 2, 2), m = randomF32(n, -1, 1, 3),
       v = randomF32(n, 0.1f, 1, 4);
  std::vector<float> lr{0.01f}, p2(n), m2(n), v2(n);
  for (size_t i = 0; i < n; ++i) {
    m2[i] = m[i] * 0.9f + g[i] * 0.1f;
    v2[i] = v[i] * 0.99f + g[i] * g[i] * 0.01f;
    p2[i] = p[i] - lr[0] * (m2[i] / (std::sqrt(v2[i]) + 1e-8f));
  }
  const auto &share = kernels.info["adam"].mayShare;
  auto mayShare = [&](int64_t operand, int64_t result) {
    return std::find(share.begin(), share.end(),
                     std::make_pair(operand, result)) != share.end();
  };
  EXPECT_TRUE(mayShare(0, 0) && mayShare(2, 1) && mayShare(3, 2));
  EXPECT_FALSE(mayShare(4, 0));
  Buffer bp = Buffer::of(p), bm = Buffer::of(m), bv = Buffer::of(v);
  EXPECT_EQ(kernels.run("adam",
                        {bp, Buffer::of(g), bm, bv, Buffer::of(lr), bp, bm, bv},
                        {}, 1),
            0);
  expectNear(bp.get<float>(), p2);
  expectNear(bm.get<float>(), m2);
  expectNear(bv.get<float>(), v2);
  // Crosswise sharing, as far as it is allowed: the gradient's buffer takes p.
  if (mayShare(1, 0)) {
    Buffer bg = Buffer::of(g), om(n * 4), ov(n * 4);
    EXPECT_EQ(kernels.run("adam", {Buffer::of(p), bg, Buffer::of(m),
                                   Buffer::of(v), Buffer::of(lr), bg, om, ov}),
              0);
    expectNear(bg.get<float>(), p2);
    expectNear(om.get<float>(), m2);
    expectNear(ov.get<float>(), v2);
  }
}

TEST(Elementwise, ComparesSelectsAndCasts) {
  Kernels kernels(R"(
#v = affine_map<(i) -> (i)>
func.func @k(%x: tensor<1000xi32>, %y: tensor<1000xi64>) -> (tensor<1000xi1>, tensor<1000xf32>, tensor<1000xi64>) attributes {oneflow.kernel} {
  %e0 = tensor.empty() : tensor<1000xi1>
  %e1 = tensor.empty() : tensor<1000xf32>
  %e2 = tensor.empty() : tensor<1000xi64>
  %c = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]} ins(%x, %y : tensor<1000xi32>, tensor<1000xi64>) outs(%e0 : tensor<1000xi1>) {
  ^bb0(%a: i32, %b: i64, %o: i1):
    %0 = arith.extsi %a : i32 to i64
    %1 = arith.cmpi slt, %0, %b : i64
    linalg.yield %1 : i1
  } -> tensor<1000xi1>
  %f = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]} ins(%c, %x : tensor<1000xi1>, tensor<1000xi32>) outs(%e1 : tensor<1000xf32>) {
  ^bb0(%a: i1, %b: i32, %o: f32):
    %0 = arith.sitofp %b : i32 to f32
    %z = arith.constant 0.5 : f32
    %1 = arith.select %a, %0, %z : f32
    linalg.yield %1 : f32
  } -> tensor<1000xf32>
  %g = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%f : tensor<1000xf32>) outs(%e2 : tensor<1000xi64>) {
  ^bb0(%a: f32, %o: i64):
    %0 = arith.fptosi %a : f32 to i64
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %1 = arith.addi %0, %j : i64
    linalg.yield %1 : i64
  } -> tensor<1000xi64>
  return %c, %f, %g : tensor<1000xi1>, tensor<1000xf32>, tensor<1000xi64>
})");
  std::vector<int32_t> x(1000);
  std::vector<int64_t> y(1000);
  for (int i = 0; i < 1000; ++i) {
    x[i] = i * 7919 % 1000 - 500;
    y[i] = i * 104729 % 1000 - 500;
  }
  Buffer c(1000), f(4000), g(8000);
  EXPECT_EQ(kernels.run("k", {Buffer::of(x), Buffer::of(y), c, f, g}), 0);
  auto gotC = c.get<uint8_t>();
  auto gotF = f.get<float>();
  auto gotG = g.get<int64_t>();
  for (int i = 0; i < 1000; ++i) {
    bool less = x[i] < y[i];
    EXPECT_EQ(gotC[i], less);
    EXPECT_EQ(gotF[i], less ? static_cast<float>(x[i]) : 0.5f);
    EXPECT_EQ(gotG[i], (less ? x[i] : 0) + i);
  }
}

TEST(Elementwise, TransposesAndOutputPermutation) {
  Kernels kernels(R"(
func.func @k(%x: tensor<5x33x70xf32>) -> (tensor<70x5x33xf32>, tensor<33x5xf32>) attributes {oneflow.kernel} {
  %e = tensor.empty() : tensor<70x5x33xf32>
  %t = linalg.transpose ins(%x : tensor<5x33x70xf32>) outs(%e : tensor<70x5x33xf32>) permutation = [2, 0, 1]
  %e2 = tensor.empty() : tensor<33x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j, 3)>, affine_map<(i, j) -> (j, i)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x33x70xf32>) outs(%e2 : tensor<33x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<33x5xf32>
  return %t, %r : tensor<70x5x33xf32>, tensor<33x5xf32>
})");
  auto x = randomF32(5 * 33 * 70);
  std::vector<float> t(x.size()), r(33 * 5);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 33; ++j) {
      r[j * 5 + i] = x[(i * 33 + j) * 70 + 3];
      for (int k = 0; k < 70; ++k)
        t[(k * 5 + i) * 33 + j] = x[(i * 33 + j) * 70 + k];
    }
  Buffer bt(t.size() * 4), br(r.size() * 4);
  EXPECT_EQ(kernels.run("k", {Buffer::of(x), bt, br}, {}, 1), 0);
  EXPECT_EQ(bt.get<float>(), t);
  EXPECT_EQ(br.get<float>(), r);
}

TEST(Elementwise, PackAndUnpackPanels) {
  Kernels kernels(R"(
func.func @pack(%x: tensor<19x70xf32>) -> (tensor<19x70xf32> {oneflow.panel = 32 : i64}) attributes {oneflow.kernel} {
  return %x : tensor<19x70xf32>
}
func.func @unpack(%x: tensor<19x70xf32> {oneflow.panel = 32 : i64}) -> tensor<19x70xf32> attributes {oneflow.kernel} {
  return %x : tensor<19x70xf32>
}
func.func @pack0(%x: tensor<70x19xf32>) -> (tensor<70x19xf32> {oneflow.panel = 32 : i64, oneflow.panel_dim = 0 : i64}) attributes {oneflow.kernel} {
  return %x : tensor<70x19xf32>
})");
  auto x = randomF32(19 * 70);
  std::vector<float> packed(3 * 19 * 32, 0.0f), transposed(70 * 19);
  for (int k = 0; k < 19; ++k)
    for (int n = 0; n < 70; ++n) {
      packed[(n / 32 * 19 + k) * 32 + n % 32] = x[k * 70 + n];
      transposed[n * 19 + k] = x[k * 70 + n];
    }
  Buffer p(packed.size() * 4), back(x.size() * 4), p0(packed.size() * 4);
  EXPECT_EQ(kernels.run("pack", {Buffer::of(x), p}, {}, 1), 0);
  EXPECT_EQ(p.get<float>(), packed);
  EXPECT_EQ(kernels.run("unpack", {p, back}), 0);
  EXPECT_EQ(back.get<float>(), x);
  EXPECT_EQ(kernels.run("pack0", {Buffer::of(transposed), p0}), 0);
  EXPECT_EQ(p0.get<float>(), packed);
}
