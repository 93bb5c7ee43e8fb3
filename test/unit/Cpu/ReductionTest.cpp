//===- ReductionTest.cpp - reductions -------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace oneflow::test;

namespace {

struct Reducer {
  const char *name, *op, *start;
  double identity;
  std::function<double(double, double)> combine;
};

const Reducer kReducers[] = {
    {"sum", "arith.addf", "0.0", 0, [](double a, double b) { return a + b; }},
    {"prod", "arith.mulf", "1.0", 1, [](double a, double b) { return a * b; }},
    {"max", "arith.maximumf", "0xFF800000",
     -std::numeric_limits<double>::infinity(),
     [](double a, double b) { return std::max(a, b); }},
    {"min", "arith.minimumf", "0x7F800000",
     std::numeric_limits<double>::infinity(),
     [](double a, double b) { return std::min(a, b); }},
};

} // namespace

// Every reducer over every subset of the axes of a rank 3 tensor.
TEST(Reduction, AllReducersOverAllAxes) {
  const int64_t size[] = {7, 33, 150};
  const char *names[] = {"i", "j", "k"};
  for (const Reducer &reducer : kReducers)
    for (int subset = 1; subset < 8; ++subset) {
      std::string dims, types, shape;
      for (int axis = 0; axis < 3; ++axis) {
        bool reduced = subset >> axis & 1;
        types += std::string(axis ? ", " : "") +
                 (reduced ? "\"reduction\"" : "\"parallel\"");
        if (!reduced) {
          dims += (dims.empty() ? "" : ", ") + std::string(names[axis]);
          shape += std::to_string(size[axis]) + "x";
        }
      }
      std::string out = "tensor<" + shape + "f32>";
      Kernels kernels(
          "func.func @k(%x: tensor<7x33x150xf32>) -> " + out +
          " attributes {oneflow.kernel} {\n"
          "  %s = arith.constant " +
          reducer.start +
          " : f32\n"
          "  %e = tensor.empty() : " +
          out +
          "\n"
          "  %f = linalg.fill ins(%s : f32) outs(%e : " +
          out + ") -> " + out +
          "\n  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> "
          "(i, j, k)>, affine_map<(i, j, k) -> (" +
          dims +
          ")>], "
          "iterator_types = [" +
          types +
          "]} ins(%x : tensor<7x33x150xf32>) "
          "outs(%f : " +
          out +
          ") {\n"
          "  ^bb0(%a: f32, %b: f32):\n    %0 = " +
          reducer.op + " %a, %b : f32\n    linalg.yield %0 : f32\n  } -> " +
          out + "\n  return %r : " + out + "\n}");
      auto x = randomF32(7 * 33 * 150, 0.97f, 1.03f);
      int64_t strides[3], next = 1;
      for (int axis = 3; axis-- > 0;) {
        strides[axis] = subset >> axis & 1 ? 0 : next;
        next *= subset >> axis & 1 ? 1 : size[axis];
      }
      std::vector<double> total(next, reducer.identity);
      for (int64_t i = 0; i < 7; ++i)
        for (int64_t j = 0; j < 33; ++j)
          for (int64_t k = 0; k < 150; ++k) {
            double &t = total[i * strides[0] + j * strides[1] + k * strides[2]];
            t = reducer.combine(t, x[(i * 33 + j) * 150 + k]);
          }
      std::vector<float> expected(total.begin(), total.end());
      Buffer all(next * 4), split(next * 4);
      EXPECT_EQ(kernels.run("k", {Buffer::of(x), all}), 0);
      EXPECT_EQ(kernels.run("k", {Buffer::of(x), split}, {}, 1), 0);
      expectNear(all.get<float>(), expected, 1e-3);
      // The same bits, however the items are handed out.
      EXPECT_EQ(all.get<float>(), split.get<float>());
      if (testing::Test::HasFailure())
        FAIL() << reducer.name << " over subset " << subset;
    }
}

TEST(Reduction, ArgMaxWithTwoResults) {
  Kernels kernels(R"(
func.func @k(%x: tensor<20x77xf32>) -> (tensor<20xf32>, tensor<20xi64>) attributes {oneflow.kernel} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e0 = tensor.empty() : tensor<20xf32>
  %e1 = tensor.empty() : tensor<20xi64>
  %f0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<20xf32>) -> tensor<20xf32>
  %f1 = linalg.fill ins(%zero : i64) outs(%e1 : tensor<20xi64>) -> tensor<20xi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<20x77xf32>) outs(%f0, %f1 : tensor<20xf32>, tensor<20xi64>) {
  ^bb0(%a: f32, %b: f32, %n: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %more = arith.cmpf ogt, %a, %b : f32
    %0 = arith.select %more, %a, %b : f32
    %1 = arith.select %more, %j, %n : i64
    linalg.yield %0, %1 : f32, i64
  } -> (tensor<20xf32>, tensor<20xi64>)
  return %r#0, %r#1 : tensor<20xf32>, tensor<20xi64>
})");
  auto x = randomF32(20 * 77);
  Buffer value(80), where(160);
  EXPECT_EQ(kernels.run("k", {Buffer::of(x), value, where}), 0);
  for (int i = 0; i < 20; ++i) {
    auto begin = x.begin() + i * 77;
    auto top = std::max_element(begin, begin + 77);
    EXPECT_EQ(value.get<float>()[i], *top);
    EXPECT_EQ(where.get<int64_t>()[i], top - begin);
  }
}
