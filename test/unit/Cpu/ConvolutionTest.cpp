//===- ConvolutionTest.cpp - windows, and odd products --------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <gtest/gtest.h>

using namespace oneflow::test;

// A strided, padded convolution with bias and relu: the input is packed as it
// is read, through the padding.
TEST(Convolution, PaddedStridedWithEpilogue) {
  Kernels kernels(R"(
#id = affine_map<(n, c, h, w) -> (n, c, h, w)>
func.func @k(%x: tensor<2x3x19x21xf32>, %f: tensor<10x3x3x5xf32>, %bias: tensor<10xf32>) -> tensor<2x10x10x21xf32> attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 2] high[0, 0, 1, 2] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<2x3x19x21xf32> to tensor<2x3x21x25xf32>
  %e = tensor.empty() : tensor<2x10x10x21xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x10x10x21xf32>) -> tensor<2x10x10x21xf32>
  %y = linalg.conv_2d_nchw_fchw {strides = dense<[2, 1]> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%p, %f : tensor<2x3x21x25xf32>, tensor<10x3x3x5xf32>) outs(%i : tensor<2x10x10x21xf32>) -> tensor<2x10x10x21xf32>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(n, c, h, w) -> (c)>, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y, %bias : tensor<2x10x10x21xf32>, tensor<10xf32>) outs(%e : tensor<2x10x10x21xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<2x10x10x21xf32>
  return %r : tensor<2x10x10x21xf32>
})");
  auto x = randomF32(2 * 3 * 19 * 21), f = randomF32(10 * 45, -1, 1, 2),
       bias = randomF32(10, -1, 1, 3);
  std::vector<float> expected(2 * 10 * 10 * 21);
  for (int n = 0; n < 2; ++n)
    for (int o = 0; o < 10; ++o)
      for (int h = 0; h < 10; ++h)
        for (int w = 0; w < 21; ++w) {
          double sum = bias[o];
          for (int c = 0; c < 3; ++c)
            for (int i = 0; i < 3; ++i)
              for (int j = 0; j < 5; ++j) {
                int row = 2 * h + i - 1, column = w + j - 2;
                if (row >= 0 && row < 19 && column >= 0 && column < 21)
                  sum += double(x[((n * 3 + c) * 19 + row) * 21 + column]) *
                         f[((o * 3 + c) * 3 + i) * 5 + j];
              }
          expected[((n * 10 + o) * 10 + h) * 21 + w] = std::max(sum, 0.0);
        }
  Buffer out(expected.size() * 4);
  EXPECT_EQ(kernels.info["k"].workspace, 0);
  EXPECT_EQ(kernels.run("k",
                        {Buffer::of(x), Buffer::of(f), Buffer::of(bias), out},
                        {}, 1),
            0);
  expectNear(out.get<float>(), expected, 1e-4);
}

// The gradient of the filter: several k dims that A does not have in one run.
TEST(Convolution, FilterGradient) {
  Kernels kernels(R"(
func.func @k(%x: tensor<3x4x9x11xf32>, %dy: tensor<3x5x7x9xf32>) -> tensor<5x4x3x3xf32> attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x4x3x3xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<5x4x3x3xf32>) -> tensor<5x4x3x3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(o, c, i, j, n, h, w) -> (n, c, h + i, w + j)>, affine_map<(o, c, i, j, n, h, w) -> (n, o, h, w)>, affine_map<(o, c, i, j, n, h, w) -> (o, c, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %dy : tensor<3x4x9x11xf32>, tensor<3x5x7x9xf32>) outs(%i : tensor<5x4x3x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %o : f32
    linalg.yield %1 : f32
  } -> tensor<5x4x3x3xf32>
  return %r : tensor<5x4x3x3xf32>
})");
  auto x = randomF32(3 * 4 * 9 * 11), dy = randomF32(3 * 5 * 7 * 9, -1, 1, 2);
  std::vector<float> expected(5 * 4 * 9);
  for (int o = 0; o < 5; ++o)
    for (int c = 0; c < 4; ++c)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          double sum = 0;
          for (int n = 0; n < 3; ++n)
            for (int h = 0; h < 7; ++h)
              for (int w = 0; w < 9; ++w)
                sum += double(x[((n * 4 + c) * 9 + h + i) * 11 + w + j]) *
                       dy[((n * 5 + o) * 7 + h) * 9 + w];
          expected[((o * 4 + c) * 3 + i) * 3 + j] = sum;
        }
  Buffer out(expected.size() * 4);
  EXPECT_EQ(kernels.run("k", {Buffer::of(x), Buffer::of(dy), out}), 0);
  expectNear(out.get<float>(), expected, 1e-4);
}

// Depthwise: no two operands with dims of their own, so lanes along the width.
TEST(Convolution, Depthwise) {
  Kernels kernels(R"(
func.func @k(%x: tensor<2x3x10x40xf32>, %f: tensor<3x3x3xf32>) -> tensor<2x3x8x38xf32> attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x8x38xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x8x38xf32>) -> tensor<2x3x8x38xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, c, h, w, i, j) -> (n, c, h + i, w + j)>, affine_map<(n, c, h, w, i, j) -> (c, i, j)>, affine_map<(n, c, h, w, i, j) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %f : tensor<2x3x10x40xf32>, tensor<3x3x3xf32>) outs(%i : tensor<2x3x8x38xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %o : f32
    linalg.yield %1 : f32
  } -> tensor<2x3x8x38xf32>
  return %r : tensor<2x3x8x38xf32>
})");
  auto x = randomF32(2 * 3 * 10 * 40), f = randomF32(27, -1, 1, 2);
  std::vector<float> expected(2 * 3 * 8 * 38);
  for (int p = 0; p < 6; ++p)
    for (int h = 0; h < 8; ++h)
      for (int w = 0; w < 38; ++w) {
        double sum = 0;
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j)
            sum += double(x[(p * 10 + h + i) * 40 + w + j]) *
                   f[(p % 3 * 3 + i) * 3 + j];
        expected[(p * 8 + h) * 38 + w] = sum;
      }
  Buffer out(expected.size() * 4);
  EXPECT_EQ(kernels.run("k", {Buffer::of(x), Buffer::of(f), out}, {}, 1), 0);
  expectNear(out.get<float>(), expected, 1e-4);
}

// A sum that starts from an operand; integers; few rows by dot products.
TEST(Products, AccumulateIntegersAndFewRows) {
  Kernels kernels(R"(
func.func @acc(%a: tensor<20x30xf32>, %b: tensor<30x40xf32>, %c: tensor<20x40xf32>) -> tensor<20x40xf32> attributes {oneflow.kernel} {
  %r = linalg.matmul ins(%a, %b : tensor<20x30xf32>, tensor<30x40xf32>) outs(%c : tensor<20x40xf32>) -> tensor<20x40xf32>
  return %r : tensor<20x40xf32>
}
func.func @int(%a: tensor<20x30xi32>, %b: tensor<30x40xi32>, %c: tensor<20x40xi32>) -> tensor<20x40xi32> attributes {oneflow.kernel} {
  %r = linalg.matmul ins(%a, %b : tensor<20x30xi32>, tensor<30x40xi32>) outs(%c : tensor<20x40xi32>) -> tensor<20x40xi32>
  return %r : tensor<20x40xi32>
}
func.func @few(%a: tensor<2x300xf32>, %b: tensor<40x300xf32>, %bias: tensor<40xf32>) -> (tensor<2x40xf32>, tensor<2x40xf32>) attributes {oneflow.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x40xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x40xf32>) -> tensor<2x40xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2x300xf32>, tensor<40x300xf32>) outs(%i : tensor<2x40xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x40xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%p, %bias : tensor<2x40xf32>, tensor<40xf32>) outs(%e : tensor<2x40xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x40xf32>
  return %r, %r : tensor<2x40xf32>, tensor<2x40xf32>
})");
  auto a = randomF32(600), b = randomF32(1200, -1, 1, 2),
       c = randomF32(800, -1, 1, 3);
  std::vector<float> expected(800);
  std::vector<int32_t> ai, bi, ci, expectedI(800);
  for (float value : a)
    ai.push_back(value * 50);
  for (float value : b)
    bi.push_back(value * 50);
  for (float value : c)
    ci.push_back(value * 50);
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 40; ++j) {
      double sum = c[i * 40 + j];
      expectedI[i * 40 + j] = ci[i * 40 + j];
      for (int k = 0; k < 30; ++k) {
        sum += double(a[i * 30 + k]) * b[k * 40 + j];
        expectedI[i * 40 + j] += ai[i * 30 + k] * bi[k * 40 + j];
      }
      expected[i * 40 + j] = sum;
    }
  Buffer out(3200), outI(3200);
  EXPECT_EQ(
      kernels.run("acc", {Buffer::of(a), Buffer::of(b), Buffer::of(c), out}),
      0);
  expectNear(out.get<float>(), expected, 1e-5);
  EXPECT_EQ(kernels.run("int",
                        {Buffer::of(ai), Buffer::of(bi), Buffer::of(ci), outI}),
            0);
  EXPECT_EQ(outI.get<int32_t>(), expectedI);

  auto x = randomF32(600), w = randomF32(12000, -1, 1, 2), bias = randomF32(40);
  std::vector<float> few(80);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 40; ++j) {
      double sum = bias[j];
      for (int k = 0; k < 300; ++k)
        sum += double(x[i * 300 + k]) * w[j * 300 + k];
      few[i * 40 + j] = sum;
    }
  Buffer r0(320), r1(320);
  EXPECT_EQ(kernels.run("few", {Buffer::of(x), Buffer::of(w), Buffer::of(bias),
                                r0, r1}),
            0);
  expectNear(r0.get<float>(), few, 1e-4);
  EXPECT_EQ(r0.get<float>(), r1.get<float>());
}
