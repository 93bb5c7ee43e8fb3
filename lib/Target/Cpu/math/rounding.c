/*===-- rounding.c - round, fmod
--------------------------------------------===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* What x86 has no instruction for.
|*
\*===----------------------------------------------------------------------===*/

#include "math.h"

/* Halves go away from zero. */
EXPORT double oneflow_math_round_f64(double x) {
  double whole = __builtin_trunc(x);
  double step = __builtin_fabs(x - whole) >= 0.5 ? 1 : 0;
  double value = whole + __builtin_copysign(step, x);
  return __builtin_copysign(x - x == 0 ? value : x, x);
}
EXPORT float oneflow_math_round_f32(float x) {
  float whole = __builtin_truncf(x);
  float step = __builtin_fabsf(x - whole) >= 0.5f ? 1 : 0;
  float value = whole + __builtin_copysignf(step, x);
  return __builtin_copysignf(x - x == 0 ? value : x, x);
}

/* Exact: subtracts the largest b 2^n that fits, over and over. Each step clears
 * the leading bit of what is left. */
double oneflow_math_fmod_f64(double x, double y) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y);
  if (!(a < INFINITY_F64) || !(b > 0))
    return NAN_F64;
  if (b == INFINITY_F64)
    return x;
  while (a >= b) {
    int64_t distance =
        (int64_t)(bits_f64(a) >> 52) - (int64_t)(bits_f64(b) >> 52);
    double part = b;
    /* Doubling by the exponent would be wrong for denormals. */
    if (bits_f64(b) >> 52 == 0)
      while (part <= a * 0.5)
        part *= 2;
    else {
      part = from_bits_f64(bits_f64(b) + ((uint64_t)distance << 52));
      part = part > a ? part * 0.5 : part;
    }
    a -= part;
  }
  return __builtin_copysign(a, x);
}
float oneflow_math_fmod_f32(float x, float y) {
  return (float)oneflow_math_fmod_f64(x, y);
}
