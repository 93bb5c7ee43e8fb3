//===- RowsTest.cpp - reductions fused with their readers -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace oneflow::test;

static std::string softmax(const std::string &rows, const std::string &columns,
                           bool dynamicColumns) {
  std::string t = "tensor<" + rows + "x" + columns + "xf32>";
  std::string v = "tensor<" + rows + "xf32>";
  std::string extents =
      dynamicColumns ? "array<i64: 0, 1>" : "array<i64: 0, -1>";
  std::string both = dynamicColumns ? "%n, %m" : "%n";
  return R"(
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @k(%x: )" +
         t + " {oneflow.extents = " + extents +
         "}, %n: index, %m: index) -> (" + t +
         " {oneflow.extents = " + extents + R"(}) attributes {oneflow.kernel} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty(%n) : )" +
         v + "\n  %e2 = tensor.empty(" + both + ") : " + t + R"(
  %f1 = linalg.fill ins(%low : f32) outs(%e1 : )" +
         v + ") -> " + v + R"(
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : )" +
         t + ") outs(%f1 : " + v + R"() {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.maximumf %a, %b : f32
    linalg.yield %0 : f32
  } -> )" +
         v + R"(
  %exp = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %max : )" +
         t + ", " + v + ") outs(%e2 : " + t + R"() {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> )" +
         t + R"(
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : )" +
         v + ") -> " + v + R"(
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : )" +
         t + ") outs(%f2 : " + v + R"() {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> )" +
         v + R"(
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : )" +
         t + ", " + v + ") outs(%e2 : " + t + R"() {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> )" +
         t + "\n  return %r : " + t + "\n}";
}

TEST(Rows, Softmax) {
  for (bool dynamic : {false, true}) {
    Kernels kernels(dynamic ? softmax("?", "?", true)
                            : softmax("?", "1000", false));
    EXPECT_EQ(kernels.info["k"].workspace, 0);
    for (int64_t rows : {1, 37}) {
      int64_t columns = dynamic ? 77 : 1000;
      auto x = randomF32(rows * columns, -20, 20);
      std::vector<float> expected(x.size());
      for (int64_t i = 0; i < rows; ++i) {
        double top = -1e30, sum = 0;
        for (int64_t j = 0; j < columns; ++j)
          top = std::max<double>(top, x[i * columns + j]);
        for (int64_t j = 0; j < columns; ++j)
          sum += std::exp(x[i * columns + j] - top);
        for (int64_t j = 0; j < columns; ++j)
          expected[i * columns + j] = std::exp(x[i * columns + j] - top) / sum;
      }
      Buffer out(x.size() * 4);
      EXPECT_EQ(kernels.run("k", {Buffer::of(x), out}, {rows, columns}, 1), 0);
      expectNear(out.get<float>(), expected, 1e-6);
    }
  }
}

// Mean and variance per column over rows, then normalization: lanes, and a
// stage with an inner dim kept on the stack.
TEST(Rows, NormalizesColumns) {
  Kernels kernels(R"(
#id = affine_map<(i, j) -> (i, j)>
#col = affine_map<(i, j) -> (j)>
func.func @k(%x: tensor<50x300xf64>) -> (tensor<50x300xf64>, tensor<300xf64>) attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f64
  %n = arith.constant 50.0 : f64
  %e1 = tensor.empty() : tensor<300xf64>
  %e2 = tensor.empty() : tensor<50x300xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e1 : tensor<300xf64>) -> tensor<300xf64>
  %sum = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<50x300xf64>) outs(%f : tensor<300xf64>) {
  ^bb0(%a: f64, %b: f64):
    %0 = arith.addf %a, %b : f64
    linalg.yield %0 : f64
  } -> tensor<300xf64>
  %c = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<50x300xf64>, tensor<300xf64>) outs(%e2 : tensor<50x300xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %0 = arith.divf %b, %n : f64
    %1 = arith.subf %a, %0 : f64
    linalg.yield %1 : f64
  } -> tensor<50x300xf64>
  %var = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]} ins(%c : tensor<50x300xf64>) outs(%f : tensor<300xf64>) {
  ^bb0(%a: f64, %b: f64):
    %0 = arith.mulf %a, %a : f64
    %1 = arith.addf %0, %b : f64
    linalg.yield %1 : f64
  } -> tensor<300xf64>
  %r = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %var : tensor<50x300xf64>, tensor<300xf64>) outs(%e2 : tensor<50x300xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %0 = arith.divf %b, %n : f64
    %1 = math.rsqrt %0 : f64
    %2 = arith.mulf %a, %1 : f64
    linalg.yield %2 : f64
  } -> tensor<50x300xf64>
  return %r, %var : tensor<50x300xf64>, tensor<300xf64>
})");
  auto x = randomF64(50 * 300);
  std::vector<double> expected(x.size()), variance(300);
  for (int j = 0; j < 300; ++j) {
    double mean = 0, square = 0;
    for (int i = 0; i < 50; ++i)
      mean += x[i * 300 + j] / 50;
    for (int i = 0; i < 50; ++i)
      square += (x[i * 300 + j] - mean) * (x[i * 300 + j] - mean);
    variance[j] = square;
    for (int i = 0; i < 50; ++i)
      expected[i * 300 + j] = (x[i * 300 + j] - mean) / std::sqrt(square / 50);
  }
  Buffer out(x.size() * 8), var(300 * 8);
  EXPECT_GT(kernels.items("k"), 1);
  EXPECT_EQ(kernels.run("k", {Buffer::of(x), out, var}, {}, 1), 0);
  expectNear(out.get<double>(), expected);
  expectNear(var.get<double>(), variance);
}

// A full reduction read by every element: two stages, one item.
TEST(Rows, DependentStages) {
  Kernels kernels(R"(
#v = affine_map<(i) -> (i)>
func.func @k(%x: tensor<20000xf32>) -> (tensor<20000xf32>) attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<f32>
  %e1 = tensor.empty() : tensor<20000xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#v, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<20000xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#v, affine_map<(i) -> ()>, #v], iterator_types = ["parallel"]} ins(%x, %s : tensor<20000xf32>, tensor<f32>) outs(%e1 : tensor<20000xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<20000xf32>
  return %r : tensor<20000xf32>
})");
  auto x = randomF32(20000, 0, 2);
  double sum = 0;
  for (float value : x)
    sum += value;
  std::vector<float> expected;
  for (float value : x)
    expected.push_back(value / sum);
  Buffer out(x.size() * 4);
  EXPECT_EQ(kernels.items("k"), 1);
  EXPECT_TRUE(kernels.info["k"].mayShare.empty());
  EXPECT_EQ(kernels.run("k", {Buffer::of(x), out}), 0);
  expectNear(out.get<float>(), expected, 1e-6);
}

// Rows beside columns of one operand: stages without dependence share the
// items.
TEST(Rows, IndependentStages) {
  Kernels kernels(R"(
#id = affine_map<(i, j) -> (i, j)>
func.func @k(%x: tensor<90x1000xf32>) -> (tensor<90xf32>, tensor<1000xf32>) attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<90xf32>
  %e1 = tensor.empty() : tensor<1000xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<90xf32>) -> tensor<90xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1000xf32>) -> tensor<1000xf32>
  %a = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<90x1000xf32>) outs(%f0 : tensor<90xf32>) {
  ^bb0(%p: f32, %q: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<90xf32>
  %b = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<90x1000xf32>) outs(%f1 : tensor<1000xf32>) {
  ^bb0(%p: f32, %q: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<1000xf32>
  return %a, %b : tensor<90xf32>, tensor<1000xf32>
})");
  auto x = randomF32(90 * 1000);
  std::vector<float> a(90), b(1000);
  std::vector<double> columns(1000);
  for (int i = 0; i < 90; ++i) {
    double sum = 0;
    for (int j = 0; j < 1000; ++j) {
      sum += x[i * 1000 + j];
      columns[j] += x[i * 1000 + j];
    }
    a[i] = sum;
  }
  b.assign(columns.begin(), columns.end());
  Buffer oa(90 * 4), ob(1000 * 4);
  EXPECT_GT(kernels.items("k"), 8);
  EXPECT_EQ(kernels.run("k", {Buffer::of(x), oa, ob}, {}, 1), 0);
  expectNear(oa.get<float>(), a, 1e-4);
  expectNear(ob.get<float>(), b, 1e-4);
}

// Layer normalization and its gradients, with kept dims of extent one: row
// stages that write rows, beside columns summed over the rows' statistics.
static const char *kLayerNorm = R"(
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#keep = affine_map<(i, j) -> (i, 0)>
#col = affine_map<(i, j) -> (j)>
func.func @forward(%x: tensor<60x130xf32>, %g: tensor<130xf32>) -> (tensor<60x130xf32>, tensor<60x1xf32>, tensor<60x1xf32>) attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 130.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %e1 = tensor.empty() : tensor<60xf32>
  %e2 = tensor.empty() : tensor<60x130xf32>
  %ek = tensor.empty() : tensor<60x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<60xf32>) -> tensor<60xf32>
  %s = linalg.reduce ins(%x : tensor<60x130xf32>) outs(%f : tensor<60xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  %sk = tensor.expand_shape %s [[0, 1]] output_shape [60, 1] : tensor<60xf32> into tensor<60x1xf32>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%sk : tensor<60x1xf32>) outs(%ek : tensor<60x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.divf %a, %n : f32
    linalg.yield %0 : f32
  } -> tensor<60x1xf32>
  %c = linalg.generic {indexing_maps = [#id, #keep, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<60x130xf32>, tensor<60x1xf32>) outs(%e2 : tensor<60x130xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<60x130xf32>
  %fk = linalg.fill ins(%zero : f32) outs(%ek : tensor<60x1xf32>) -> tensor<60x1xf32>
  %v = linalg.generic {indexing_maps = [#id, #keep], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<60x130xf32>) outs(%fk : tensor<60x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %0, %o : f32
    linalg.yield %1 : f32
  } -> tensor<60x1xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<60x1xf32>) outs(%ek : tensor<60x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.divf %a, %n : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    linalg.yield %2 : f32
  } -> tensor<60x1xf32>
  %y = linalg.generic {indexing_maps = [#id, #keep, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %r, %g : tensor<60x130xf32>, tensor<60x1xf32>, tensor<130xf32>) outs(%e2 : tensor<60x130xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.mulf %0, %d : f32
    linalg.yield %1 : f32
  } -> tensor<60x130xf32>
  return %y, %m, %r : tensor<60x130xf32>, tensor<60x1xf32>, tensor<60x1xf32>
}
func.func @gamma(%x: tensor<60x130xf32>, %dy: tensor<60x130xf32>, %m: tensor<60x1xf32>, %r: tensor<60x1xf32>) -> (tensor<130xf32>, tensor<130xf32>) attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<130xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<130xf32>) -> tensor<130xf32>
  %dg = linalg.generic {indexing_maps = [#id, #id, #keep, #keep, #col], iterator_types = ["reduction", "parallel"]} ins(%x, %dy, %m, %r : tensor<60x130xf32>, tensor<60x130xf32>, tensor<60x1xf32>, tensor<60x1xf32>) outs(%f : tensor<130xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32):
    %0 = arith.subf %a, %c : f32
    %1 = arith.mulf %0, %d : f32
    %2 = arith.mulf %1, %b : f32
    %3 = arith.addf %2, %o : f32
    linalg.yield %3 : f32
  } -> tensor<130xf32>
  %db = linalg.reduce ins(%dy : tensor<60x130xf32>) outs(%f : tensor<130xf32>) dimensions = [0] (%a: f32, %b: f32) {
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return %dg, %db : tensor<130xf32>, tensor<130xf32>
}
)";

TEST(Rows, LayerNorm) {
  Kernels kernels(kLayerNorm);
  auto x = randomF32(60 * 130), g = randomF32(130, -1, 1, 2),
       dy = randomF32(60 * 130, -1, 1, 3);
  std::vector<float> y(x.size()), mean(60), rstd(60), dg(130), db(130);
  std::vector<double> sumG(130), sumB(130);
  for (int i = 0; i < 60; ++i) {
    double m = 0, v = 0;
    for (int j = 0; j < 130; ++j)
      m += x[i * 130 + j] / 130.0;
    for (int j = 0; j < 130; ++j)
      v += (x[i * 130 + j] - m) * (x[i * 130 + j] - m) / 130.0;
    double r = 1 / std::sqrt(v + 1e-5);
    mean[i] = m;
    rstd[i] = r;
    for (int j = 0; j < 130; ++j) {
      y[i * 130 + j] = (x[i * 130 + j] - m) * r * g[j];
      sumG[j] += (x[i * 130 + j] - m) * r * dy[i * 130 + j];
      sumB[j] += dy[i * 130 + j];
    }
  }
  dg.assign(sumG.begin(), sumG.end());
  db.assign(sumB.begin(), sumB.end());
  Buffer oy(y.size() * 4), om(240), orr(240), og(520), ob(520);
  EXPECT_EQ(kernels.info["forward"].workspace, 0);
  EXPECT_GE(kernels.items("forward"), 1);
  EXPECT_EQ(kernels.run("forward", {Buffer::of(x), Buffer::of(g), oy, om, orr},
                        {}, 1),
            0);
  expectNear(oy.get<float>(), y, 1e-5);
  expectNear(om.get<float>(), mean, 1e-5);
  expectNear(orr.get<float>(), rstd, 1e-5);
  EXPECT_EQ(kernels.run("gamma",
                        {Buffer::of(x), Buffer::of(dy), om, orr, og, ob}, {},
                        1),
            0);
  expectNear(og.get<float>(), dg, 1e-4);
  expectNear(ob.get<float>(), db, 1e-4);
}

// Statistics needed in memory by a second stage, rows of dynamic number:
// refused without a bound, kept in the workspace with one.
TEST(Rows, DynamicIntermediateNeedsBound) {
  Kernels kernels(R"(
#id = affine_map<(i, j) -> (i, j)>
func.func @k(%x: tensor<?x40xf32> {oneflow.extents = array<i64: 0, -1>, oneflow.bounds = array<i64: 20000, -1>}, %n: index) -> tensor<40xf32> attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %e2 = tensor.empty() : tensor<40xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<40xf32>) -> tensor<40xf32>
  %s = linalg.reduce ins(%x : tensor<?x40xf32>) outs(%f : tensor<?xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  %r = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x, %s : tensor<?x40xf32>, tensor<?xf32>) outs(%f2 : tensor<40xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %o : f32
    linalg.yield %1 : f32
  } -> tensor<40xf32>
  return %r : tensor<40xf32>
})");
  EXPECT_EQ(kernels.info["k"].workspace, 20000 * 4);
  for (int64_t n : {1, 500, 20000}) {
    auto x = randomF32(n * 40, 0, 0.1f);
    std::vector<double> sums(40);
    for (int64_t i = 0; i < n; ++i) {
      double row = 0;
      for (int j = 0; j < 40; ++j)
        row += x[i * 40 + j];
      for (int j = 0; j < 40; ++j)
        sums[j] += row * x[i * 40 + j];
    }
    Buffer out(160);
    EXPECT_EQ(kernels.items("k", {n}), 1);
    EXPECT_EQ(kernels.run("k", {Buffer::of(x), out}, {n}), 0);
    expectNear(out.get<float>(), {sums.begin(), sums.end()}, 1e-4);
  }
}
