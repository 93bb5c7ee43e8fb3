//===- KernelHarness.h - runs kernels given as text -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses a module of kernels, lowers it, links it, loads it with dlopen and
// calls kernels by name, as a runtime with any number of threads would.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_UNIT_CPU_KERNELHARNESS_H
#define ONEFLOW_TEST_UNIT_CPU_KERNELHARNESS_H

#include "oneflow/Plan/KernelAbi.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace oneflow::test {

/// A buffer aligned as the ABI asks, that ends, but for guard bytes up to the
/// next aligned address, where a page begins that cannot be touched.
class Buffer {
public:
  explicit Buffer(size_t bytes);
  template <typename T> static Buffer of(const std::vector<T> &values) {
    Buffer buffer(values.size() * sizeof(T));
    std::copy(values.begin(), values.end(), static_cast<T *>(buffer.data()));
    return buffer;
  }
  template <typename T> std::vector<T> get() const {
    const T *begin = static_cast<const T *>(data());
    return {begin, begin + bytes / sizeof(T)};
  }
  void *data() const { return memory.get(); }
  /// False if something was written behind the end.
  bool intact() const;

private:
  size_t bytes;
  std::shared_ptr<void> memory;
};

/// What the lowering says of a kernel.
struct KernelInfo {
  int64_t workspace = 0;
  std::vector<std::pair<int64_t, int64_t>> mayShare;
};

class Kernels {
public:
  /// Aborts the test run with a message if `module` does not compile.
  /// `generic` compiles for x86-64-v3 in place of this machine.
  explicit Kernels(const std::string &module, bool generic = false);
  ~Kernels();
  Kernels(const Kernels &) = delete;

  /// Runs all items, `step` at a time, in `threads` interleaved orders.
  int32_t run(const std::string &name, const std::vector<Buffer> &buffers,
              const std::vector<int64_t> &scalars = {}, int64_t step = 0);
  int64_t items(const std::string &name,
                const std::vector<int64_t> &scalars = {});
  OfKernelFn function(const std::string &name);

  std::map<std::string, KernelInfo> info;
  std::vector<std::string> features;
  std::string elf;

private:
  void *library = nullptr;
};

/// Uniform in [low, high), the same in every run.
std::vector<float> randomF32(size_t count, float low = -2, float high = 2,
                             unsigned seed = 1);
std::vector<double> randomF64(size_t count, double low = -2, double high = 2,
                              unsigned seed = 1);

/// Fails the current test at the first pair that differs by more than
/// `tolerance`, relative to the larger of the expected value and 1.
void expectNear(const std::vector<float> &got,
                const std::vector<float> &expected, double tolerance = 1e-5);
void expectNear(const std::vector<double> &got,
                const std::vector<double> &expected, double tolerance = 1e-12);

} // namespace oneflow::test

#endif // ONEFLOW_TEST_UNIT_CPU_KERNELHARNESS_H
