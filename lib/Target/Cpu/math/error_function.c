/*===-- error_function.c - erf, erfc
----------------------------------------===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* erf(x) = x P(x^2) up to 1; erfc(x) = exp(-x^2) Q(t) / (1 + 2x) from 0.4 (0.9
|* for f32) on, with t = (x - 3.75) / (x + 3.75).
|*
\*===----------------------------------------------------------------------===*/

#include "math.h"

/* On [0, 1]: relative error 1.6e-17. */
static const double near_f64[] = {
    0x1.20dd750429b6dp+0,   -0x1.812746b0379e6p-2,  0x1.ce2f21a042b30p-4,
    -0x1.b82ce31284e00p-6,  0x1.565bcd0dbaa38p-8,   -0x1.c02db3dac435fp-11,
    0x1.f9a321d5b8e1ep-14,  -0x1.f4d1e3183f7aep-17, 0x1.b9df224ca4b97p-20,
    -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27,  -0x1.389d4f2641625p-30,
    0x1.05ffd737fb32ep-34};
/* On [0, 1]: relative error 1.4e-9. */
static const float near_f32[] = {0x1.20dd74fece720p+0f, -0x1.81273e7a02443p-2f,
                                 0x1.ce2d10ed44e09p-4f, -0x1.b7faba961c85ap-6f,
                                 0x1.541270c79ca2cp-8f, -0x1.a45087f1a200ap-11f,
                                 0x1.4a5690869d13fp-14f};
/* For x in [0.4, 28]: relative error 1e-16. */
static const double far_f64[] = {
    0x1.3ccda0b5d5dc2p+0,   -0x1.1f367683f89a7p-3, 0x1.d5f2948159cf8p-9,
    0x1.510169d0967e6p-4,   -0x1.bda9309a28876p-4, 0x1.7a14188a9a14bp-4,
    -0x1.e0d0fa6e004a6p-5,  0x1.d0b0037da8502p-6,  -0x1.3f603c3412a45p-7,
    0x1.cc3a0e3f25f46p-10,  0x1.33fb252cd1989p-12, -0x1.303fa10af4b7ap-12,
    0x1.b14415b98ecc1p-15,  0x1.778b37754cb09p-16, -0x1.8004aeea2f045p-17,
    -0x1.055ae6bd4dc29p-20, 0x1.d6556b617e83ep-20, -0x1.e6cad39b21d1ep-25,
    -0x1.1587aa46366d8p-22, 0x1.7de6d2c75364fp-26, 0x1.429ab2e088e6bp-25,
    -0x1.86f60f3f0a96fp-29, -0x1.13a941053e594p-28};
/* For x in [0.9, 11]: relative error 3e-9. */
static const float far_f32[] = {0x1.3ccda0bad72c7p+0f,  -0x1.1f367c393ed87p-3f,
                                0x1.d5ecc6ed9da94p-9f,  0x1.5103e4e7706ecp-4f,
                                -0x1.bda47eea1ea53p-4f, 0x1.79eeb0425edefp-4f,
                                -0x1.e12def1d4e636p-5f, 0x1.d416fede41b4ap-6f,
                                -0x1.39174bdc64485p-7f, 0x1.50775ab141414p-10f};

/* erfc(a) for a >= 0.4. */
INLINE double tail_f64(double a) {
  double x = a > 28 ? 28 : a;
  double t = (x - 3.75) / (x + 3.75);
  double square = x * x;
  /* exp(-(square + rest)) = exp(-square) (1 - rest) */
  double rest = fma_f64(x, x, -square);
  double e = oneflow_math_exp_f64(-square);
  return e * (1 - rest) * (POLYNOMIAL_F64(t, far_f64) / fma_f64(2, x, 1));
}

EXPORT double oneflow_math_erf_f64(double x) {
  double a = __builtin_fabs(x), z = a * a;
  double low = a * POLYNOMIAL_F64(z, near_f64);
  double value = a < 1 ? low : 1 - tail_f64(a);
  value = x != x ? x : value;
  return __builtin_copysign(value, x);
}

EXPORT float oneflow_math_erf_f32(float x) {
  float a = __builtin_fabsf(x), z = a * a;
  float low = a * POLYNOMIAL_F32(z, near_f32);
  float y = a > 5 ? 5 : a;
  float t = (y - 3.75f) / (y + 3.75f);
  float tail = oneflow_math_exp_f32(-y * y) * POLYNOMIAL_F32(t, far_f32) /
               fma_f32(2, y, 1);
  float value = a < 1 ? low : 1 - tail;
  value = x != x ? x : value;
  return __builtin_copysignf(value, x);
}

EXPORT double oneflow_math_erfc_f64(double x) {
  double a = __builtin_fabs(x), z = a * a;
  double low = a * POLYNOMIAL_F64(z, near_f64);
  double tail = tail_f64(a);
  double value = x < 0 ? 2 - tail : tail;
  value = a < 0.5 ? 1 - __builtin_copysign(low, x) : value;
  return x != x ? x : value;
}
EXPORT float oneflow_math_erfc_f32(float x) {
  return (float)oneflow_math_erfc_f64(x);
}
