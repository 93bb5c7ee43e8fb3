/*===-- trigonometric.c - sin, cos, tan and their inverses
------------------===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* x = k pi/2 + r with |r| <= pi/4, pi/2 in four parts of which three have 33
|* bits, so that k times a part is exact up to |k| = 2^20. Beyond |x| = 1.6e6
the
|* error grows with x; infinity gives NaN. The f32 functions are computed in
f64,
|* which needs no second set of constants and makes them exact but for rounding.
|*
\*===----------------------------------------------------------------------===*/

#include "math.h"

/* (-1)^n / (2n+1)!, (-1)^n / (2n)! from n = 1; the next term is below 2^-54. */
static const double sine[] = {-1.0 / 6,
                              1.0 / 120,
                              -1.0 / 5040,
                              1.0 / 362880,
                              -1.0 / 39916800.0,
                              1.0 / 6227020800.0,
                              -1.0 / 1307674368000.0,
                              1.0 / 355687428096000.0};
static const double cosine[] = {-1.0 / 2,
                                1.0 / 24,
                                -1.0 / 720,
                                1.0 / 40320,
                                -1.0 / 3628800.0,
                                1.0 / 479001600.0,
                                -1.0 / 87178291200.0,
                                1.0 / 20922789888000.0};

typedef struct {
  double sin, cos;
  uint64_t quadrant;
} circle;

INLINE circle reduce(double x) {
  double shifted = fma_f64(x, 0x1.45f306dc9c883p-1, ROUNDER_F64);
  double k = shifted - ROUNDER_F64;
  double r = fma_f64(-k, 0x1.921fb54400000p+0, x);
  r = fma_f64(-k, 0x1.0b4611a600000p-34, r);
  r = fma_f64(-k, 0x1.3198a2e000000p-69, r);
  r = fma_f64(-k, 0x1.b839a252049c1p-104, r);
  double z = r * r;
  circle result;
  result.sin = fma_f64(r * z, POLYNOMIAL_F64(z, sine), r);
  result.cos = fma_f64(z, POLYNOMIAL_F64(z, cosine), 1);
  result.quadrant = bits_f64(shifted);
  return result;
}

INLINE double with_sign(double x, uint64_t negative) {
  return from_bits_f64(bits_f64(x) ^ (negative << 63));
}

EXPORT double oneflow_math_sin_f64(double x) {
  circle c = reduce(x);
  double value = c.quadrant & 1 ? c.cos : c.sin;
  value = with_sign(value, (c.quadrant >> 1) & 1);
  return x == 0 ? x : value;
}
EXPORT double oneflow_math_cos_f64(double x) {
  circle c = reduce(x);
  double value = c.quadrant & 1 ? c.sin : c.cos;
  return with_sign(value, ((c.quadrant + 1) >> 1) & 1);
}
EXPORT double oneflow_math_tan_f64(double x) {
  circle c = reduce(x);
  double value = c.quadrant & 1 ? -c.cos / c.sin : c.sin / c.cos;
  return x == 0 ? x : value;
}

/* atan(x) / x in x^2, |x| <= tan(pi/8): relative error 3e-18. */
static const double arc_tangent[] = {
    0x1.0000000000000p+0,  -0x1.5555555555554p-2, 0x1.9999999999564p-3,
    -0x1.249249247068dp-3, 0x1.c71c71b55dca2p-4,  -0x1.745d147febbc6p-4,
    0x1.3b1369c745e29p-4,  -0x1.110c397b8303bp-4, 0x1.e16e10d6a2b27p-5,
    -0x1.ab667d35b4e26p-5, 0x1.709767ed8c5cdp-5,  -0x1.117ecb14b28afp-5,
    0x1.ef2d08f328606p-7};
#define HALF_PI_F64 0x1.921fb54442d18p+0
#define HALF_PI_LOW_F64 0x1.1a62633145c07p-54

/* atan(y / x) for x, y >= 0, not both zero nor both infinite. */
INLINE double quotient_angle(double y, double x) {
  int steep = y > x;
  double numerator = steep ? x : y, denominator = steep ? y : x;
  double t = numerator / denominator;
  int middle = t > 0x1.a827999fcef32p-2;
  t = middle ? (t - 1) / (t + 1) : t;
  double z = t * t;
  double angle = t * POLYNOMIAL_F64(z, arc_tangent);
  angle = middle ? angle + HALF_PI_F64 / 2 : angle;
  return steep ? HALF_PI_F64 - (angle - HALF_PI_LOW_F64) : angle;
}

EXPORT double oneflow_math_atan_f64(double x) {
  double a = __builtin_fabs(x);
  return __builtin_copysign(quotient_angle(a, 1), x);
}
EXPORT double oneflow_math_atan2_f64(double y, double x) {
  double a = __builtin_fabs(y), b = __builtin_fabs(x);
  int both_infinite = a == INFINITY_F64 && b == INFINITY_F64;
  double angle = quotient_angle(both_infinite ? 1 : a, both_infinite ? 1 : b);
  angle = a == 0 && b == 0 ? 0 : angle;
  angle = bits_f64(x) >> 63 ? (2 * HALF_PI_F64 - angle) + 2 * HALF_PI_LOW_F64
                            : angle;
  angle = __builtin_copysign(angle, y);
  return x != x || y != y ? NAN_F64 : angle;
}
EXPORT double oneflow_math_asin_f64(double x) {
  double a = __builtin_fabs(x);
  double angle = quotient_angle(a, __builtin_sqrt((1 - a) * (1 + a)));
  return __builtin_copysign(a > 1 ? NAN_F64 : angle, x);
}
EXPORT double oneflow_math_acos_f64(double x) {
  double other = __builtin_sqrt((1 - x) * (1 + x));
  double a = __builtin_fabs(x);
  double angle = quotient_angle(other, a);
  angle = x < 0 ? (2 * HALF_PI_F64 - angle) + 2 * HALF_PI_LOW_F64 : angle;
  return a > 1 ? NAN_F64 : angle;
}

#define FROM_F64(name)                                                         \
  EXPORT float oneflow_math_##name##_f32(float x) {                            \
    return (float)oneflow_math_##name##_f64(x);                                \
  }
FROM_F64(sin)
FROM_F64(cos)
FROM_F64(tan)
FROM_F64(asin)
FROM_F64(acos)
FROM_F64(atan)
EXPORT float oneflow_math_atan2_f32(float y, float x) {
  return (float)oneflow_math_atan2_f64(y, x);
}
