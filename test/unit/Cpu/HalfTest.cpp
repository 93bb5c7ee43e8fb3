//===- HalfTest.cpp - 16-bit floats ---------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace oneflow::test;

static std::string kernel(const std::string &type) {
  std::string t = "tensor<500x" + type + ">";
  return "#v = affine_map<(i) -> (i)>\nfunc.func @k(%x: " + t + ", %y: " + t +
         ") -> (" + t +
         ", tensor<500xf32>, tensor<f32>) attributes "
         "{oneflow.kernel} {\n"
         "  %e = tensor.empty() : " +
         t +
         "\n  %g = tensor.empty() : tensor<500xf32>\n"
         "  %zero = arith.constant 0.0 : f32\n  %s = tensor.empty() : "
         "tensor<f32>\n"
         "  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> "
         "tensor<f32>\n"
         "  %a = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types "
         "= "
         "[\"parallel\"]} ins(%x, %y : " +
         t + ", " + t + ") outs(%e : " + t + ") {\n  ^bb0(%p: " + type +
         ", %q: " + type + ", %o: " + type +
         "):\n    %0 = arith.mulf %p, %q : " + type +
         "\n    %1 = math.exp %0 : " + type +
         "\n    linalg.yield %1 : " + type + "\n  } -> " + t +
         "\n  %w = linalg.generic {indexing_maps = [#v, #v], iterator_types = "
         "[\"parallel\"]} ins(%x : " +
         t +
         ") outs(%g : tensor<500xf32>) {\n"
         "  ^bb0(%p: " +
         type + ", %o: f32):\n    %0 = arith.extf %p : " + type +
         " to f32\n    linalg.yield %0 : f32\n  } -> tensor<500xf32>\n"
         "  %r = linalg.generic {indexing_maps = [#v, affine_map<(i) -> ()>], "
         "iterator_types = [\"reduction\"]} ins(%w : tensor<500xf32>) outs(%f "
         ": "
         "tensor<f32>) {\n  ^bb0(%p: f32, %o: f32):\n    %0 = arith.addf %p, "
         "%o : "
         "f32\n    linalg.yield %0 : f32\n  } -> tensor<f32>\n"
         "  return %a, %w, %r : " +
         t + ", tensor<500xf32>, tensor<f32>\n}";
}

static float fromBfloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  memcpy(&value, &wide, 4);
  return value;
}

TEST(Half, ComputesAndConverts) {
  for (bool brain : {false, true})
    for (bool generic : {false, true}) {
      SCOPED_TRACE(brain ? "bf16" : "f16");
      Kernels kernels(kernel(brain ? "bf16" : "f16"), generic);
      auto x = randomF32(500), y = randomF32(500, -2, 2, 2);
      auto narrow = [&](std::vector<float> &values) {
        std::vector<uint16_t> bits(values.size());
        for (size_t i = 0; i < values.size(); ++i) {
          if (brain) {
            uint32_t wide;
            memcpy(&wide, &values[i], 4);
            bits[i] = wide >> 16;
            values[i] = fromBfloat(bits[i]);
          } else {
            _Float16 half = values[i];
            memcpy(&bits[i], &half, 2);
            values[i] = half;
          }
        }
        return bits;
      };
      auto xb = narrow(x), yb = narrow(y);
      Buffer out(1000), wide(2000), sum(4);
      EXPECT_EQ(
          kernels.run("k", {Buffer::of(xb), Buffer::of(yb), out, wide, sum}),
          0);
      EXPECT_EQ(wide.get<float>(), x);
      double total = 0;
      auto bits = out.get<uint16_t>();
      for (int i = 0; i < 500; ++i) {
        total += x[i];
        float got;
        if (brain) {
          got = fromBfloat(bits[i]);
        } else {
          _Float16 half;
          memcpy(&half, &bits[i], 2);
          got = half;
        }
        double expected = std::exp(double(x[i]) * y[i]);
        // One rounding of the product, which exp widens, and one of the result.
        EXPECT_NEAR(got / expected, 1, brain ? 0.025 : 0.004);
      }
      EXPECT_NEAR(sum.get<float>()[0], total, 1e-3);
    }
}
