/*===-- log.c - log, log2, log10, log1p
-------------------------------------===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* x = 2^k m, m within [sqrt(1/2), sqrt(2)); f = m - 1, s = f / (2 + f):
|* log(m) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R)), R = 2 (s^2/3 + s^4/5 ...).
|*
\*===----------------------------------------------------------------------===*/

#include "math.h"

/* 2/(2n+1) from n = 1; |s| <= 0.172, so what follows is below 2^-58 (2^-26). */
static const double atanh_f64[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,
                                   2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17,
                                   2.0 / 19, 2.0 / 21, 2.0 / 23};
static const float atanh_f32[] = {2.0f / 3, 2.0f / 5, 2.0f / 7, 2.0f / 9,
                                  2.0f / 11};

/* For positive, finite x: log(x) = k ln2 + f - tail. */
typedef struct {
  double k, f, tail;
} parts_f64;
typedef struct {
  float k, f, tail;
} parts_f32;

INLINE parts_f64 split_f64(double x) {
  int small = x < 0x1p-1022;
  double y = small ? x * 0x1p54 : x;
  /* Adding the distance from sqrt(1/2) to 1 makes the exponent that of m. */
  uint64_t bits =
      bits_f64(y) + (bits_f64(1.0) - bits_f64(0x1.6a09e667f3bcdp-1));
  int64_t k = (int64_t)(bits >> 52) - 1023;
  double m = from_bits_f64((bits & 0xfffffffffffffull) +
                           bits_f64(0x1.6a09e667f3bcdp-1));
  parts_f64 parts;
  /* To double by bits: k is small, and the conversion would not vectorize. */
  parts.k = from_bits_f64(bits_f64(ROUNDER_F64) + (uint64_t)k) - ROUNDER_F64;
  parts.k = small ? parts.k - 54 : parts.k;
  parts.f = m - 1;
  double s = parts.f / (2 + parts.f), z = s * s;
  double half = 0.5 * parts.f * parts.f;
  parts.tail = half - s * (half + z * POLYNOMIAL_F64(z, atanh_f64));
  return parts;
}

INLINE parts_f32 split_f32(float x) {
  int small = x < 0x1p-126f;
  float y = small ? x * 0x1p24f : x;
  uint32_t bits = bits_f32(y) + (bits_f32(1.0f) - bits_f32(0x1.6a09e6p-1f));
  int32_t k = (int32_t)(bits >> 23) - 127;
  float m = from_bits_f32((bits & 0x7fffff) + bits_f32(0x1.6a09e6p-1f));
  parts_f32 parts;
  parts.k = small ? (float)k - 24 : (float)k;
  parts.f = m - 1;
  float s = parts.f / (2 + parts.f), z = s * s;
  float half = 0.5f * parts.f * parts.f;
  parts.tail = half - s * (half + z * POLYNOMIAL_F32(z, atanh_f32));
  return parts;
}

/* What the logarithm is where x is not positive and finite. */
INLINE double special_f64(double x, double result) {
  result = x == INFINITY_F64 ? x : result;
  result = x == 0 ? -INFINITY_F64 : result;
  result = x < 0 ? NAN_F64 : result;
  return x != x ? x : result;
}
INLINE float special_f32(float x, float result) {
  result = x == INFINITY_F32 ? x : result;
  result = x == 0 ? -INFINITY_F32 : result;
  result = x < 0 ? NAN_F32 : result;
  return x != x ? x : result;
}

INLINE double natural_f64(double x) {
  parts_f64 p = split_f64(x);
  return p.k * LN2_HIGH_F64 - ((p.tail - p.k * LN2_LOW_F64) - p.f);
}
INLINE float natural_f32(float x) {
  parts_f32 p = split_f32(x);
  return p.k * LN2_HIGH_F32 - ((p.tail - p.k * LN2_LOW_F32) - p.f);
}

EXPORT double oneflow_math_log_f64(double x) {
  return special_f64(x, natural_f64(x));
}
EXPORT float oneflow_math_log_f32(float x) {
  return special_f32(x, natural_f32(x));
}

/* k is added last, so that powers of two come out whole. */
EXPORT double oneflow_math_log2_f64(double x) {
  parts_f64 p = split_f64(x);
  double m = p.f - p.tail, error = (p.f - m) - p.tail;
  double high = m * LOG2E_F64;
  double low = fma_f64(m, LOG2E_F64, -high) + m * 0x1.777d0ffda0d24p-56 +
               error * LOG2E_F64;
  return special_f64(x, p.k + (high + low));
}
EXPORT float oneflow_math_log2_f32(float x) {
  parts_f32 p = split_f32(x);
  float m = p.f - p.tail, error = (p.f - m) - p.tail;
  float high = m * LOG2E_F32;
  float low =
      fma_f32(m, LOG2E_F32, -high) + m * 0x1.4ae0cp-26f + error * LOG2E_F32;
  return special_f32(x, p.k + (high + low));
}

EXPORT double oneflow_math_log10_f64(double x) {
  return special_f64(x, natural_f64(x) * 0x1.bcb7b1526e50ep-2);
}
EXPORT float oneflow_math_log10_f32(float x) {
  return (float)special_f64(x, natural_f64(x) * 0x1.bcb7b1526e50ep-2);
}

/* log(1 + x) = log(u) + (x - (u - 1)) / u with u = 1 + x rounded. */
EXPORT double oneflow_math_log1p_f64(double x) {
  double u = 1 + x;
  double rest = x - (u - 1);
  /* Above 2^53, 1 is lost in x, and what is lost may be more than it. */
  double error = u > 0x1p53 ? 0 : rest / u;
  double result = special_f64(u, natural_f64(u) + error);
  return __builtin_fabs(x) < 0x1p-54 ? x : result;
}
EXPORT float oneflow_math_log1p_f32(float x) {
  float u = 1 + x;
  float rest = x - (u - 1);
  float error = u > 0x1p24f ? 0 : rest / u;
  float result = special_f32(u, natural_f32(u) + error);
  return __builtin_fabsf(x) < 0x1p-25f ? x : result;
}
