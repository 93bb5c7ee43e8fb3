//===- oneflow-run/Benchmark.h - timing runs --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs an entry again and again with the same inputs and reports the time per
// run.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_BENCHMARK_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_BENCHMARK_H

#include "Console.h"
#include "Handles.h"

#include <vector>

namespace oneflow::run {

/// Of one run, in seconds.
struct BenchmarkResult {
  int64_t runs = 0;
  double median = 0;
  double least = 0;
  /// The time that 95 of 100 runs do not pass (nearest rank).
  double p95 = 0;
  double mean = 0;
};

/// Of times in any order; there must be at least one.
BenchmarkResult summarize(std::vector<double> seconds);

/// Warms up with a tenth of the runs, at least one, then times `runs` of them.
Expected<BenchmarkResult> benchmark(Session &session, const Entry &entry,
                                    const std::vector<const Tensor *> &inputs,
                                    int64_t runs, Console &console);

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_BENCHMARK_H
