/*===-- exp.c - exp, exp2, expm1
--------------------------------------------===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* x = k ln2 + r with |r| <= ln2 / 2; exp(x) = 2^k exp(r), exp(r) by Taylor.
|*
\*===----------------------------------------------------------------------===*/

#include "math.h"

/* 1/n! from n = 2. The next term is below 2^-56 of the sum. */
static const double taylor_f64[] = {
    1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
    1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
    1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
/* The next term is below 2^-27 of the sum. */
static const float taylor_f32[] = {1.0f / 2,   1.0f / 6,   1.0f / 24,
                                   1.0f / 120, 1.0f / 720, 1.0f / 5040};

/* 2^k (1 + p) for any k in [-2044, 2046]: in two steps, for the ends of the
 * range. */
INLINE double scale_f64(double p, int64_t k) {
  int64_t half = k >> 1;
  double result = (1 + p) * power_of_two_f64(half);
  return result * power_of_two_f64(k - half);
}
INLINE float scale_f32(float p, int32_t k) {
  int32_t half = k >> 1;
  float result = (1 + p) * power_of_two_f32(half);
  return result * power_of_two_f32(k - half);
}

EXPORT double oneflow_math_exp_f64(double x) {
  double y = x > 710 ? 710 : x;
  y = y < -750 ? -750 : y;
  double shifted = fma_f64(y, LOG2E_F64, ROUNDER_F64);
  int64_t k = (int64_t)(bits_f64(shifted) - bits_f64(ROUNDER_F64));
  double n = shifted - ROUNDER_F64;
  double r = fma_f64(-n, LN2_HIGH_F64, y);
  r = fma_f64(-n, LN2_LOW_F64, r);
  double p = fma_f64(r * r, POLYNOMIAL_F64(r, taylor_f64), r);
  k = x != x ? 0 : k;
  return scale_f64(p, k);
}

EXPORT float oneflow_math_exp_f32(float x) {
  float y = x > 89 ? 89 : x;
  y = y < -105 ? -105 : y;
  float shifted = fma_f32(y, LOG2E_F32, ROUNDER_F32);
  int32_t k = (int32_t)(bits_f32(shifted) - bits_f32(ROUNDER_F32));
  float n = shifted - ROUNDER_F32;
  float r = fma_f32(-n, LN2_HIGH_F32, y);
  r = fma_f32(-n, LN2_LOW_F32, r);
  float p = fma_f32(r * r, POLYNOMIAL_F32(r, taylor_f32), r);
  k = x != x ? 0 : k;
  return scale_f32(p, k);
}

EXPORT double oneflow_math_exp2_f64(double x) {
  double y = x > 1025 ? 1025 : x;
  y = y < -1080 ? -1080 : y;
  double shifted = y + ROUNDER_F64;
  int64_t k = (int64_t)(bits_f64(shifted) - bits_f64(ROUNDER_F64));
  double f = y - (shifted - ROUNDER_F64);
  /* f ln2, its rounding error kept. */
  double r = f * 0x1.62e42fefa39efp-1;
  double e = fma_f64(f, 0x1.62e42fefa39efp-1, -r) + f * 0x1.abc9e3b39803fp-56;
  double p = fma_f64(r * r, POLYNOMIAL_F64(r, taylor_f64), e) + r;
  k = x != x ? 0 : k;
  return scale_f64(p, k);
}

EXPORT float oneflow_math_exp2_f32(float x) {
  float y = x > 129 ? 129 : x;
  y = y < -152 ? -152 : y;
  float shifted = y + ROUNDER_F32;
  int32_t k = (int32_t)(bits_f32(shifted) - bits_f32(ROUNDER_F32));
  float f = y - (shifted - ROUNDER_F32);
  float r = f * 0x1.62e43p-1f;
  float e = fma_f32(f, 0x1.62e43p-1f, -r) + f * -0x1.05c61p-29f;
  float p = fma_f32(r * r, POLYNOMIAL_F32(r, taylor_f32), e) + r;
  k = x != x ? 0 : k;
  return scale_f32(p, k);
}

/* 2^k p + (2^k - 1), halved so that k = 1024 does not overflow early. */
EXPORT double oneflow_math_expm1_f64(double x) {
  double y = x > 710 ? 710 : x;
  y = y < -40 ? -40 : y;
  double shifted = fma_f64(y, LOG2E_F64, ROUNDER_F64);
  int64_t k = (int64_t)(bits_f64(shifted) - bits_f64(ROUNDER_F64));
  double n = shifted - ROUNDER_F64;
  double r = fma_f64(-n, LN2_HIGH_F64, y);
  r = fma_f64(-n, LN2_LOW_F64, r);
  double p = fma_f64(r * r, POLYNOMIAL_F64(r, taylor_f64), r);
  k = x != x ? 0 : k;
  double half = power_of_two_f64(k - 1);
  double result = fma_f64(half, p, half - 0.5) * 2;
  /* Of a tiny x the square is lost, and the sign of zero must not be. */
  return __builtin_fabs(x) < 0x1p-54 ? x : result;
}

EXPORT float oneflow_math_expm1_f32(float x) {
  float y = x > 89 ? 89 : x;
  y = y < -20 ? -20 : y;
  float shifted = fma_f32(y, LOG2E_F32, ROUNDER_F32);
  int32_t k = (int32_t)(bits_f32(shifted) - bits_f32(ROUNDER_F32));
  float n = shifted - ROUNDER_F32;
  float r = fma_f32(-n, LN2_HIGH_F32, y);
  r = fma_f32(-n, LN2_LOW_F32, r);
  float p = fma_f32(r * r, POLYNOMIAL_F32(r, taylor_f32), r);
  k = x != x ? 0 : k;
  float half = power_of_two_f32(k - 1);
  float result = fma_f32(half, p, half - 0.5f) * 2;
  return __builtin_fabsf(x) < 0x1p-25f ? x : result;
}
