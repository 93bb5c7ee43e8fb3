//===- MathTest.cpp - our math functions beside libm ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include <cmath>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace oneflow::test;

namespace {

struct Function {
  const char *name; // of the op in the math dialect
  long double (*exact)(long double);
  double low, high; // range of the random arguments
  double ulps32, ulps64;
};

#define EXACT(f) [](long double x) -> long double { return f(x); }
const Function kFunctions[] = {
    {"exp", EXACT(expl), -750, 710, 2, 2},
    {"exp2", EXACT(exp2l), -1080, 1024, 2, 2},
    {"expm1", EXACT(expm1l), -5, 5, 3, 3},
    {"expm1", EXACT(expm1l), -50, 710, 3, 3},
    {"log", EXACT(logl), 0, 10, 2, 2},
    {"log", EXACT(logl), 0, 1e30, 2, 2},
    {"log2", EXACT(log2l), 0, 10, 3, 3},
    {"log10", EXACT(log10l), 0, 1e6, 3, 3},
    {"log1p", EXACT(log1pl), -1, 3, 3, 3},
    {"log1p", EXACT(log1pl), -0.01, 0.01, 3, 3},
    {"tanh", EXACT(tanhl), -3, 3, 4, 4},
    {"tanh", EXACT(tanhl), -30, 30, 4, 4},
    {"erf", EXACT(erfl), -1.5, 1.5, 4, 4},
    {"erf", EXACT(erfl), -7, 7, 4, 4},
    {"erfc", EXACT(erfcl), -5, 26, 2, 8},
    {"sin", EXACT(sinl), -10, 10, 1, 2},
    {"sin", EXACT(sinl), -1e6, 1e6, 1, 2},
    {"cos", EXACT(cosl), -10, 10, 1, 2},
    {"cos", EXACT(cosl), -1e6, 1e6, 1, 2},
    {"tan", EXACT(tanl), -10, 10, 1, 4},
    {"asin", EXACT(asinl), -1, 1, 1, 4},
    {"acos", EXACT(acosl), -1, 1, 1, 4},
    {"atan", EXACT(atanl), -10, 10, 1, 3},
    {"sinh", EXACT(sinhl), -5, 5, 1, 4},
    {"cosh", EXACT(coshl), -700, 700, 1, 4},
    {"asinh", EXACT(asinhl), -100, 100, 1, 4},
    {"acosh", EXACT(acoshl), 1, 100, 1, 4},
    {"atanh", EXACT(atanhl), -1, 1, 1, 4},
    {"cbrt", EXACT(cbrtl), -1e6, 1e6, 1, 2},
    {"sqrt", EXACT(sqrtl), 0, 1e6, 1, 1},
    {"round", EXACT(roundl), -100, 100, 0, 0},
    {"rsqrt", [](long double x) { return 1 / sqrtl(x); }, 0, 1e6, 2, 2},
};

const double kSpecial[] = {0.0,
                           -0.0,
                           1,
                           -1,
                           0.5,
                           -0.5,
                           1.5,
                           2.5,
                           -2.5,
                           1e-300,
                           -1e-300,
                           1e-40,
                           -1e-40,
                           5e-324,
                           1e-20,
                           1e300,
                           -1e300,
                           3e38,
                           -3e38,
                           88.8,
                           -104,
                           709.9,
                           -745.2,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()};

std::string unary(const std::string &name, const std::string &element,
                  size_t count) {
  std::string t = "tensor<" + std::to_string(count) + "x" + element + ">";
  return "func.func @" + name + "_" + element + "(%x: " + t + ") -> " + t +
         " attributes {oneflow.kernel} {\n  %e = tensor.empty() : " + t +
         "\n  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, "
         "affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]} ins(%x : " +
         t + ") outs(%e : " + t + ") {\n  ^bb0(%a: " + element +
         ", %o: " + element + "):\n    %0 = math." + name + " %a : " + element +
         "\n    linalg.yield %0 : " + element + "\n  } -> " + t +
         "\n  return %r : " + t + "\n}\n";
}

/// The error in units of the last place of the exact value.
template <typename T> double ulps(T got, long double exact) {
  T rounded = static_cast<T>(exact);
  if (std::isnan(rounded) || std::isnan(got))
    return std::isnan(rounded) && std::isnan(got) ? 0 : 1e9;
  if (got == rounded)
    return 0;
  if (std::isinf(rounded) || std::isinf(got)) {
    // The largest finite value and infinity are one step apart.
    T other = std::isinf(rounded) ? got : rounded;
    return std::abs(other) == std::numeric_limits<T>::max() ? 1 : 1e9;
  }
  T magnitude = std::max(std::abs(rounded), std::numeric_limits<T>::min());
  T step =
      std::nextafter(magnitude, std::numeric_limits<T>::infinity()) - magnitude;
  return std::abs(
      static_cast<double>((static_cast<long double>(got) - exact) / step));
}

template <typename T>
void check(Kernels &kernels, const Function &function, size_t count) {
  std::string name =
      std::string(function.name) + (sizeof(T) == 4 ? "_f32" : "_f64");
  double low = function.low, high = function.high;
  if (sizeof(T) == 4) {
    low = std::max(low, -110.0 - (low < -1e3 ? 1e6 : 0));
    if (std::string(function.name).rfind("exp", 0) == 0)
      high = std::min(high, 90.0);
    if (std::string(function.name) == "cosh")
      low = -85, high = 85;
    if (std::string(function.name) == "erfc")
      high = 9;
  }
  std::vector<double> wide = randomF64(count, low, high);
  std::copy(std::begin(kSpecial), std::end(kSpecial), wide.begin());
  std::vector<T> x(wide.begin(), wide.end());
  Buffer out(count * sizeof(T));
  EXPECT_EQ(kernels.run(name, {Buffer::of(x), out}), 0);
  std::vector<T> got = out.get<T>();
  double worst = 0, limit = sizeof(T) == 4 ? function.ulps32 : function.ulps64;
  size_t where = 0;
  for (size_t i = 0; i < count; ++i) {
    // Beyond it only a bounded result is promised, not an accurate one.
    std::string op = function.name;
    if ((op == "sin" || op == "cos" || op == "tan") && std::abs(x[i]) > 1.6e6 &&
        !std::isinf(x[i]))
      continue;
    double error = ulps(got[i], function.exact(x[i]));
    if (error > worst) {
      worst = error;
      where = i;
    }
  }
  if (getenv("ONEFLOW_TEST_VERBOSE"))
    std::printf("%-10s [%g, %g]: %.2f ulps\n", name.c_str(), low, high, worst);
  EXPECT_LE(worst, limit + 0.51)
      << name << " of " << x[where] << ": got " << got[where] << ", expected "
      << static_cast<double>(function.exact(x[where]));
  // Zero keeps its sign wherever libm's does.
  for (size_t i = 0; i < std::size(kSpecial); ++i)
    if (got[i] == 0 && function.exact(x[i]) == 0)
      EXPECT_EQ(std::signbit(got[i]), std::signbit(function.exact(x[i])))
          << name << " of " << x[i];
}

} // namespace

TEST(Math, UnaryFunctions) {
  const size_t count = 100000;
  std::string module, last;
  for (const Function &function : kFunctions) {
    if (function.name != last)
      module += unary(function.name, "f32", count) +
                unary(function.name, "f64", count);
    last = function.name;
  }
  Kernels kernels(module);
  for (const Function &function : kFunctions) {
    check<float>(kernels, function, count);
    check<double>(kernels, function, count);
  }
}

TEST(Math, BinaryFunctions) {
  auto binary = [](const std::string &op, const std::string &name,
                   const std::string &element) {
    std::string t = "tensor<20000x" + element + ">";
    return "func.func @" + name + "_" + element + "(%x: " + t + ", %y: " + t +
           ") -> " + t +
           " attributes {oneflow.kernel} {\n  %e = tensor.empty() : " + t +
           "\n  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, "
           "affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = "
           "[\"parallel\"]} ins(%x, %y : " +
           t + ", " + t + ") outs(%e : " + t + ") {\n  ^bb0(%a: " + element +
           ", %b: " + element + ", %o: " + element + "):\n    %0 = " + op +
           " %a, %b : " + element + "\n    linalg.yield %0 : " + element +
           "\n  } -> " + t + "\n  return %r : " + t + "\n}\n";
  };
  std::string module;
  for (const char *element : {"f32", "f64"})
    module += binary("math.powf", "pow", element) +
              binary("math.atan2", "atan2", element) +
              binary("arith.remf", "fmod", element);
  Kernels kernels(module);
  std::vector<double> x = randomF64(20000, 0, 20),
                      y = randomF64(20000, -200, 200, 2);
  size_t next = 0;
  for (double a : kSpecial)
    for (double b : kSpecial) {
      x[next] = a;
      y[next++] = b;
    }
  for (; next < 2000; ++next) { // negative bases with whole exponents
    x[next] = -x[next];
    y[next] = std::round(y[next] / 10);
  }
  struct Case {
    const char *name;
    long double (*exact)(long double, long double);
    double ulps32, ulps64;
  };
  const Case cases[] = {
      {"pow", [](long double a, long double b) { return powl(a, b); }, 1, 4},
      {"atan2", [](long double a, long double b) { return atan2l(a, b); }, 1,
       4},
      {"fmod", [](long double a, long double b) { return fmodl(a, b); }, 0, 0}};
  for (const Case &function : cases) {
    std::vector<float> xf(x.begin(), x.end()), yf(y.begin(), y.end());
    Buffer of(80000), od(160000);
    EXPECT_EQ(kernels.run(std::string(function.name) + "_f32",
                          {Buffer::of(xf), Buffer::of(yf), of}),
              0);
    EXPECT_EQ(kernels.run(std::string(function.name) + "_f64",
                          {Buffer::of(x), Buffer::of(y), od}),
              0);
    auto gf = of.get<float>();
    auto gd = od.get<double>();
    int failures = 0;
    for (size_t i = 0; i < x.size() && failures < 10; ++i) {
      double ef = ulps(gf[i], function.exact(xf[i], yf[i]));
      double ed = ulps(gd[i], function.exact(x[i], y[i]));
      if (ef > function.ulps32 + 0.51 || ed > function.ulps64 + 0.51) {
        ++failures;
        ADD_FAILURE() << function.name << "(" << x[i] << ", " << y[i]
                      << "): got " << gf[i] << " (f32, error " << ef << "), "
                      << gd[i] << " (f64, error " << ed << "), expected "
                      << static_cast<double>(function.exact(x[i], y[i]));
      }
    }
  }
}
