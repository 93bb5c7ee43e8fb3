/*===-- hyperbolic.c - tanh, sinh, cosh and their inverses
------------------===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* All from expm1 and log1p, which keep small arguments exact.
|*
\*===----------------------------------------------------------------------===*/

#include "math.h"

EXPORT double oneflow_math_tanh_f64(double x) {
  double a = __builtin_fabs(x);
  double y = a > 22 ? 22 : a;
  double t = oneflow_math_expm1_f64(2 * y);
  return __builtin_copysign(t / (t + 2), x);
}
EXPORT float oneflow_math_tanh_f32(float x) {
  float a = __builtin_fabsf(x);
  float y = a > 10 ? 10 : a;
  float t = oneflow_math_expm1_f32(2 * y);
  return __builtin_copysignf(t / (t + 2), x);
}

EXPORT double oneflow_math_sinh_f64(double x) {
  double a = __builtin_fabs(x);
  double t = oneflow_math_expm1_f64(a > 700 ? 700 : a);
  double half = oneflow_math_exp_f64(a * 0.5);
  double value = a > 700 ? 0.5 * half * half : 0.5 * (t + t / (t + 1));
  return __builtin_copysign(value, x);
}
EXPORT double oneflow_math_cosh_f64(double x) {
  double a = __builtin_fabs(x);
  double half = oneflow_math_exp_f64(a * 0.5);
  double t = oneflow_math_exp_f64(a > 700 ? 700 : a);
  return a > 700 ? 0.5 * half * half : 0.5 * t + 0.5 / t;
}
EXPORT double oneflow_math_asinh_f64(double x) {
  double a = __builtin_fabs(x);
  double y = a > 0x1p28 ? 1 : a;
  double near =
      oneflow_math_log1p_f64(y + y * y / (1 + __builtin_sqrt(y * y + 1)));
  double far = oneflow_math_log_f64(a) + 0x1.62e42fefa39efp-1;
  return __builtin_copysign(a > 0x1p28 ? far : near, x);
}
EXPORT double oneflow_math_acosh_f64(double x) {
  double y = x > 0x1p28 ? 2 : x;
  double t = y - 1;
  double near = oneflow_math_log1p_f64(t + __builtin_sqrt(2 * t + t * t));
  double far = oneflow_math_log_f64(x) + 0x1.62e42fefa39efp-1;
  return x > 0x1p28 ? far : x < 1 ? NAN_F64 : near;
}
EXPORT double oneflow_math_atanh_f64(double x) {
  double a = __builtin_fabs(x);
  double value = 0.5 * oneflow_math_log1p_f64(2 * a / (1 - a));
  return __builtin_copysign(a > 1 ? NAN_F64 : value, x);
}

#define FROM_F64(name)                                                         \
  EXPORT float oneflow_math_##name##_f32(float x) {                            \
    return (float)oneflow_math_##name##_f64(x);                                \
  }
FROM_F64(sinh)
FROM_F64(cosh)
FROM_F64(asinh)
FROM_F64(acosh)
FROM_F64(atanh)
