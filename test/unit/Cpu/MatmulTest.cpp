//===- MatmulTest.cpp - matrix products -----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace oneflow::test;

namespace {

enum class Layout { Plain, TransposedA, TransposedB, Panels };

std::string type(int64_t rows, int64_t columns, const std::string &element) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
         "x" + element + ">";
}

std::string matmul(int64_t m, int64_t n, int64_t k, Layout layout,
                   const std::string &element) {
  bool ta = layout == Layout::TransposedA, tb = layout == Layout::TransposedB;
  std::string a = ta ? type(k, m, element) : type(m, k, element);
  std::string b = tb ? type(n, k, element) : type(k, n, element);
  std::string c = type(m, n, element);
  return "func.func @k(%a: " + a + ", %b: " + b +
         (layout == Layout::Panels ? " {oneflow.panel = 32 : i64}" : "") +
         ") -> " + c +
         " attributes {oneflow.kernel} {\n  %z = arith.constant 0.0 : " +
         element + "\n  %e = tensor.empty() : " + c +
         "\n  %f = linalg.fill ins(%z : " + element + ") outs(%e : " + c +
         ") -> " + c +
         "\n  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> " +
         (ta ? "(k, i)" : "(i, k)") + ">, affine_map<(i, j, k) -> " +
         (tb ? "(j, k)" : "(k, j)") +
         ">, affine_map<(i, j, k) -> (i, j)>], iterator_types = [\"parallel\", "
         "\"parallel\", \"reduction\"]} ins(%a, %b : " +
         a + ", " + b + ") outs(%f : " + c + ") {\n  ^bb0(%x: " + element +
         ", %y: " + element + ", %o: " + element +
         "):\n    %0 = arith.mulf %x, %y : " + element +
         "\n    %1 = arith.addf %o, %0 : " + element +
         "\n    linalg.yield %1 : " + element + "\n  } -> " + c +
         "\n  return %r : " + c + "\n}";
}

std::vector<float> randoms(size_t count, unsigned seed, float) {
  return randomF32(count, -1, 1, seed);
}
std::vector<double> randoms(size_t count, unsigned seed, double) {
  return randomF64(count, -1, 1, seed);
}

template <typename T>
void check(int64_t m, int64_t n, int64_t k, Layout layout, bool generic) {
  SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" +
               std::to_string(k) + " layout " + std::to_string(int(layout)) +
               (generic ? " generic" : ""));
  std::string element = sizeof(T) == 4 ? "f32" : "f64";
  Kernels kernels(matmul(m, n, k, layout, element), generic);
  std::vector<T> a = randoms(m * k, 1, T()), b = randoms(k * n, 2, T());
  std::vector<T> expected(m * n), stored = b;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double(layout == Layout::TransposedA ? a[l * m + i]
                                                    : a[i * k + l]) *
               (layout == Layout::TransposedB ? b[j * k + l] : b[l * n + j]);
      expected[i * n + j] = sum;
    }
  if (layout == Layout::Panels) {
    stored.assign((n + 31) / 32 * 32 * k, T(0));
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j)
        stored[(j / 32 * k + l) * 32 + j % 32] = b[l * n + j];
  }
  Buffer out(expected.size() * sizeof(T));
  EXPECT_EQ(kernels.run("k", {Buffer::of(a), Buffer::of(stored), out}, {}, 1),
            0);
  expectNear(out.template get<T>(), expected, sizeof(T) == 4 ? 1e-4 : 1e-12);
  // The same bits, however the items are handed out.
  Buffer whole(expected.size() * sizeof(T));
  EXPECT_EQ(kernels.run("k", {Buffer::of(a), Buffer::of(stored), whole}), 0);
  EXPECT_EQ(out.template get<T>(), whole.template get<T>());
}

} // namespace

TEST(Matmul, Shapes) {
  const int64_t shapes[][3] = {
      {1, 1, 1},     {2, 3, 5},    {8, 32, 16},  {7, 31, 13},  {131, 67, 97},
      {64, 33, 300}, {129, 65, 1}, {1, 100, 50}, {100, 1, 50}, {256, 64, 600}};
  for (auto [m, n, k] : shapes)
    for (Layout layout : {Layout::Plain, Layout::TransposedA,
                          Layout::TransposedB, Layout::Panels}) {
      check<float>(m, n, k, layout, false);
      if (testing::Test::HasFailure())
        return;
    }
}

TEST(Matmul, DoublesAndGenericTarget) {
  for (Layout layout : {Layout::Plain, Layout::TransposedA, Layout::TransposedB,
                        Layout::Panels}) {
    check<double>(37, 41, 43, layout, false);
    check<double>(70, 70, 700, layout, true);
    check<float>(61, 59, 53, layout, true);
    if (testing::Test::HasFailure())
      return;
  }
}

// Batched, with dynamic extents and an epilogue: gelu(x w + bias) and the sum
// before it.
TEST(Matmul, BatchEpilogueDynamic) {
  Kernels kernels(R"(
#id = affine_map<(b, i, j) -> (b, i, j)>
func.func @k(%a: tensor<3x?x?xf32> {oneflow.extents = array<i64: -1, 0, 1>}, %w: tensor<3x?x50xf32> {oneflow.extents = array<i64: -1, 1, -1>}, %bias: tensor<50xf32>, %m: index, %n: index) -> (tensor<3x?x50xf32> {oneflow.extents = array<i64: -1, 0, -1>}, tensor<3x?x50xf32> {oneflow.extents = array<i64: -1, 0, -1>}) attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root = arith.constant 0.70710678 : f32
  %e = tensor.empty(%m) : tensor<3x?x50xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x?x50xf32>) -> tensor<3x?x50xf32>
  %p = linalg.batch_matmul ins(%a, %w : tensor<3x?x?xf32>, tensor<3x?x50xf32>) outs(%f : tensor<3x?x50xf32>) -> tensor<3x?x50xf32>
  %s = linalg.generic {indexing_maps = [#id, affine_map<(b, i, j) -> (j)>, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p, %bias : tensor<3x?x50xf32>, tensor<50xf32>) outs(%e : tensor<3x?x50xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<3x?x50xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<3x?x50xf32>) outs(%e : tensor<3x?x50xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.mulf %x, %root : f32
    %1 = math.erf %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.mulf %x, %half : f32
    %4 = arith.mulf %2, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<3x?x50xf32>
  return %g, %s : tensor<3x?x50xf32>, tensor<3x?x50xf32>
})");
  EXPECT_EQ(kernels.info["k"].workspace, 0);
  for (auto [m, k] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {9, 20}, {140, 530}, {0, 3}, {5, 0}}) {
    auto a = randomF32(3 * m * k, -1, 1), w = randomF32(3 * k * 50, -1, 1, 2),
         bias = randomF32(50, -1, 1, 3);
    std::vector<float> sums(3 * m * 50), gelus(3 * m * 50);
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < 50; ++j) {
          double sum = bias[j];
          for (int64_t l = 0; l < k; ++l)
            sum += double(a[(b * m + i) * k + l]) * w[(b * k + l) * 50 + j];
          sums[(b * m + i) * 50 + j] = sum;
          gelus[(b * m + i) * 50 + j] =
              0.5 * sum * (1 + std::erf(sum * 0.70710678));
        }
    Buffer g(gelus.size() * 4), s(sums.size() * 4);
    EXPECT_EQ(
        kernels.run("k", {Buffer::of(a), Buffer::of(w), Buffer::of(bias), g, s},
                    {m, k}, 1),
        0);
    expectNear(g.get<float>(), gelus, 1e-4);
    expectNear(s.get<float>(), sums, 1e-4);
  }
}

// Heads split off by a reshape and a transpose, scores by q k^T: operands that
// are views, several batch dims, then a softmax that reads the product.
TEST(Matmul, AttentionScores) {
  Kernels kernels(R"(
#id = affine_map<(b, h, s, t) -> (b, h, s, t)>
#row = affine_map<(b, h, s, t) -> (b, h, s)>
func.func @k(%q: tensor<2x17x24xf32>, %k: tensor<2x17x24xf32>) -> tensor<2x3x17x17xf32> attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %q4 = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 17, 3, 8] : tensor<2x17x24xf32> into tensor<2x17x3x8xf32>
  %k4 = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 17, 3, 8] : tensor<2x17x24xf32> into tensor<2x17x3x8xf32>
  %qe = tensor.empty() : tensor<2x3x17x8xf32>
  %qt = linalg.transpose ins(%q4 : tensor<2x17x3x8xf32>) outs(%qe : tensor<2x3x17x8xf32>) permutation = [0, 2, 1, 3]
  %e = tensor.empty() : tensor<2x3x17x17xf32>
  %er = tensor.empty() : tensor<2x3x17xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x17x17xf32>) -> tensor<2x3x17x17xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, s, t, d) -> (b, h, s, d)>, affine_map<(b, h, s, t, d) -> (b, t, h, d)>, affine_map<(b, h, s, t, d) -> (b, h, s, t)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%qt, %k4 : tensor<2x3x17x8xf32>, tensor<2x17x3x8xf32>) outs(%f : tensor<2x3x17x17xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x3x17x17xf32>
  %fl = linalg.fill ins(%low : f32) outs(%er : tensor<2x3x17xf32>) -> tensor<2x3x17xf32>
  %mx = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%p : tensor<2x3x17x17xf32>) outs(%fl : tensor<2x3x17xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.maximumf %x, %o : f32
    linalg.yield %0 : f32
  } -> tensor<2x3x17xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%p, %mx : tensor<2x3x17x17xf32>, tensor<2x3x17xf32>) outs(%e : tensor<2x3x17x17xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.subf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3x17x17xf32>
  return %r : tensor<2x3x17x17xf32>
})");
  auto q = randomF32(2 * 17 * 24), k = randomF32(2 * 17 * 24, -2, 2, 2);
  std::vector<float> expected(2 * 3 * 17 * 17);
  for (int b = 0; b < 2; ++b)
    for (int h = 0; h < 3; ++h)
      for (int s = 0; s < 17; ++s) {
        double row[17], top = -1e30;
        for (int t = 0; t < 17; ++t) {
          row[t] = 0;
          for (int d = 0; d < 8; ++d)
            row[t] += double(q[(b * 17 + s) * 24 + h * 8 + d]) *
                      k[(b * 17 + t) * 24 + h * 8 + d];
          top = std::max(top, row[t]);
        }
        for (int t = 0; t < 17; ++t)
          expected[((b * 3 + h) * 17 + s) * 17 + t] = row[t] - top;
      }
  Buffer out(expected.size() * 4);
  EXPECT_EQ(kernels.run("k", {Buffer::of(q), Buffer::of(k), out}), 0);
  expectNear(out.get<float>(), expected, 1e-4);
}

// An operand that is computed in the kernel is kept in the workspace.
TEST(Matmul, ComputedOperands) {
  Kernels kernels(R"(
#id = affine_map<(i, j) -> (i, j)>
func.func @k(%a: tensor<90x200xf32>, %b: tensor<200x70xf32>) -> tensor<90x70xf32> attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<90x200xf32>
  %eb = tensor.empty() : tensor<200x70xf32>
  %e = tensor.empty() : tensor<90x70xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<90x200xf32>) outs(%ea : tensor<90x200xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = math.tanh %x : f32
    linalg.yield %0 : f32
  } -> tensor<90x200xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<200x70xf32>) outs(%eb : tensor<200x70xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.negf %x : f32
    linalg.yield %0 : f32
  } -> tensor<200x70xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<90x70xf32>) -> tensor<90x70xf32>
  %p = linalg.matmul ins(%t, %n : tensor<90x200xf32>, tensor<200x70xf32>) outs(%f : tensor<90x70xf32>) -> tensor<90x70xf32>
  return %p : tensor<90x70xf32>
})");
  auto a = randomF32(90 * 200), b = randomF32(200 * 70, -1, 1, 2);
  std::vector<float> expected(90 * 70);
  for (int i = 0; i < 90; ++i)
    for (int j = 0; j < 70; ++j) {
      double sum = 0;
      for (int k = 0; k < 200; ++k)
        sum -= std::tanh(double(a[i * 200 + k])) * b[k * 70 + j];
      expected[i * 70 + j] = sum;
    }
  EXPECT_EQ(kernels.info["k"].workspace, 90 * 200 * 4);
  EXPECT_EQ(kernels.items("k"), 1);
  Buffer out(expected.size() * 4);
  EXPECT_EQ(kernels.run("k", {Buffer::of(a), Buffer::of(b), out}), 0);
  expectNear(out.get<float>(), expected, 1e-4);
}
