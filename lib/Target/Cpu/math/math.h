/*===-- math.h - what the math functions of kernels share
-------------------===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* The functions of this folder replace libm in kernels. They are inlined into
|* loops that LLVM then vectorizes, so the common ones have no branches and no
|* tables: both sides of a choice are computed, then selected. Rounding is to
|* nearest, no exception flag is promised. Polynomials are Taylor series, or
fits
|* on Chebyshev nodes made with 60 digits; the interval and the relative error
|* stand beside each.
|*
\*===----------------------------------------------------------------------===*/

#ifndef ONEFLOW_LIB_TARGET_CPU_MATH_MATH_H
#define ONEFLOW_LIB_TARGET_CPU_MATH_MATH_H

#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#define EXPORT __attribute__((always_inline))
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

INLINE uint64_t bits_f64(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
INLINE double from_bits_f64(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
INLINE uint32_t bits_f32(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
INLINE float from_bits_f32(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

INLINE double fma_f64(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
INLINE float fma_f32(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}

/* Horner's rule, coefficients from the constant upwards; unrolled away. */
#define POLYNOMIAL(T, FMA, x, c)                                               \
  __extension__({                                                              \
    T sum = (c)[COUNT(c) - 1];                                                 \
    _Pragma("clang loop unroll(full)") for (int i = COUNT(c) - 2; i >= 0; --i) \
        sum = FMA(sum, (x), (c)[i]);                                           \
    sum;                                                                       \
  })
#define POLYNOMIAL_F64(x, c) POLYNOMIAL(double, fma_f64, x, c)
#define POLYNOMIAL_F32(x, c) POLYNOMIAL(float, fma_f32, x, c)

#define INFINITY_F64 __builtin_inf()
#define INFINITY_F32 __builtin_inff()
#define NAN_F64 __builtin_nan("")
#define NAN_F32 __builtin_nanf("")

/* 2^k for -1022 <= k <= 1023. */
INLINE double power_of_two_f64(int64_t k) {
  return from_bits_f64((uint64_t)(k + 1023) << 52);
}
INLINE float power_of_two_f32(int32_t k) {
  return from_bits_f32((uint32_t)(k + 127) << 23);
}

/* Adding it rounds to an integer, which then is in the low bits. */
#define ROUNDER_F64 0x1.8p52
#define ROUNDER_F32 0x1.8p23f

double oneflow_math_exp_f64(double x);
double oneflow_math_expm1_f64(double x);
double oneflow_math_log_f64(double x);
double oneflow_math_log1p_f64(double x);
float oneflow_math_exp_f32(float x);
float oneflow_math_expm1_f32(float x);
float oneflow_math_log_f32(float x);

#define LN2_HIGH_F64 0x1.62e42fefa3800p-1
#define LN2_LOW_F64 0x1.ef35793c76730p-45
#define LOG2E_F64 0x1.71547652b82fep+0
/* 16 bits, so that products with exponents are exact. */
#define LN2_HIGH_F32 0x1.62e4p-1f
#define LN2_LOW_F32 0x1.7f7d1cp-20f
#define LOG2E_F32 0x1.715476p+0f

#endif /* ONEFLOW_LIB_TARGET_CPU_MATH_MATH_H */
