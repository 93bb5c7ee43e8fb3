/*===-- power.c - pow, cbrt
-------------------------------------------------===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* pow(x, y) = exp(y log x). An error of the logarithm is multiplied by up to
745,
|* so log x is carried as a sum of two doubles (about 2^-70 of relative error).
|*
\*===----------------------------------------------------------------------===*/

#include "math.h"

/* 2/(2n+1) from n = 1: the series of atanh, times two. */
static const double atanh_series[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,
                                      2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17,
                                      2.0 / 19, 2.0 / 21, 2.0 / 23};

typedef struct {
  double high, low;
} pair;

/* a + b exactly, |a| >= |b|. */
INLINE pair sum(double a, double b) {
  pair result = {a + b, 0};
  result.low = b - (result.high - a);
  return result;
}

INLINE pair log_pair(double x) {
  int small = x < 0x1p-1022;
  double y = small ? x * 0x1p54 : x;
  uint64_t bits =
      bits_f64(y) + (bits_f64(1.0) - bits_f64(0x1.6a09e667f3bcdp-1));
  int64_t exponent = (int64_t)(bits >> 52) - 1023;
  double m = from_bits_f64((bits & 0xfffffffffffffull) +
                           bits_f64(0x1.6a09e667f3bcdp-1));
  double k =
      from_bits_f64(bits_f64(ROUNDER_F64) + (uint64_t)exponent) - ROUNDER_F64;
  k = small ? k - 54 : k;
  /* s = f / (2 + f), with its remainder: 2 + f = m + 1 is not exact. */
  double f = m - 1;
  pair d = sum(2, f);
  double s = f / d.high;
  double s_low = (fma_f64(-s, d.high, f) - s * d.low) / d.high;
  double z = s * s;
  double series = s * z * POLYNOMIAL_F64(z, atanh_series);
  /* k ln2 + 2 s + (2 s_low + series): the terms by falling size. */
  double first = k * LN2_HIGH_F64; /* exact: 42 and 11 bits */
  pair total = sum(first, 2 * s);
  pair other = sum(2 * s, first);
  total.low = k == 0 ? other.low : total.low;
  double rest = total.low + (fma_f64(k, LN2_LOW_F64, 2 * s_low) + series);
  return sum(total.high, rest);
}

EXPORT double oneflow_math_pow_f64(double x, double y) {
  double a = __builtin_fabs(x);
  pair l = log_pair(a);
  double product = y * l.high;
  double rest = fma_f64(y, l.high, -product) + y * l.low;
  /* Where the product is out of range, so is the result; no inf - inf. */
  rest = __builtin_fabs(product) < 800 ? rest : 0;
  double value = oneflow_math_exp_f64(product);
  value = value < INFINITY_F64 ? fma_f64(value, rest, value) : value;
  /* Signs: y odd keeps x's; y not an integer has no result for x < 0. */
  int integer = __builtin_trunc(y) == y;
  int odd = integer && __builtin_fabs(y) < 0x1p53 &&
            __builtin_trunc(y * 0.5) * 2 != y;
  int negative = bits_f64(x) >> 63 != 0;
  value = a == 0 ? (y < 0 ? INFINITY_F64 : 0) : value;
  value = a == INFINITY_F64 ? (y < 0 ? 0 : INFINITY_F64) : value;
  int infinite = __builtin_fabs(y) == INFINITY_F64;
  value = infinite ? ((a > 1) == (y > 0) ? INFINITY_F64 : 0) : value;
  value = infinite && a == 1 ? 1 : value;
  value = x < 0 && a != INFINITY_F64 && !integer ? NAN_F64 : value;
  value = negative && odd ? -value : value;
  value = x != x || y != y ? NAN_F64 : value;
  return x == 1 || y == 0 ? 1 : value;
}

EXPORT float oneflow_math_pow_f32(float x, float y) {
  double a = __builtin_fabs((double)x);
  double value = oneflow_math_exp_f64((double)y * oneflow_math_log_f64(a));
  int integer = __builtin_truncf(y) == y;
  int odd = integer && __builtin_fabsf(y) < 0x1p24f &&
            __builtin_truncf(y * 0.5f) * 2 != y;
  int negative = bits_f32(x) >> 31 != 0;
  int infinite = __builtin_fabsf(y) == INFINITY_F32;
  value = infinite && a == 1 ? 1 : value;
  value = x < 0 && a != INFINITY_F64 && !integer ? NAN_F64 : value;
  value = negative && odd ? -value : value;
  value = x != x || y != y ? NAN_F64 : value;
  return x == 1 || y == 0 ? 1 : (float)value;
}

EXPORT double oneflow_math_cbrt_f64(double x) {
  double a = __builtin_fabs(x);
  double y = oneflow_math_exp_f64(oneflow_math_log_f64(a) / 3);
  /* One step of Newton's method; y y could overflow only where a is infinite.
   */
  double step = (y - a / (y * y)) / 3;
  double value = a == 0 || a == INFINITY_F64 ? a : y - step;
  return __builtin_copysign(x != x ? x : value, x);
}
EXPORT float oneflow_math_cbrt_f32(float x) {
  return (float)oneflow_math_cbrt_f64(x);
}
