//===- oneflow-run/Benchmark.cpp - timing runs ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clock is monotonic; what a run does not need (reading files, printing)
// lies outside it.
//
//===----------------------------------------------------------------------===//

#include "Benchmark.h"
#include "Launch.h"

#include <algorithm>
#include <numeric>

using namespace oneflow::run;

BenchmarkResult oneflow::run::summarize(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  size_t count = seconds.size();
  BenchmarkResult result;
  result.runs = static_cast<int64_t>(count);
  result.least = seconds.front();
  result.median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
  result.p95 = seconds[(95 * count + 99) / 100 - 1];
  result.mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) /
                static_cast<double>(count);
  return result;
}

Expected<BenchmarkResult>
oneflow::run::benchmark(Session &session, const Entry &entry,
                        const std::vector<const Tensor *> &inputs, int64_t runs,
                        Console &console) {
  std::vector<Tensor> outputs = makeOutputs(entry);
  int64_t warmUp = std::max<int64_t>(1, runs / 10);
  std::vector<double> seconds;
  for (int64_t i = 0; i < warmUp + runs; ++i) {
    if (Status status = checkInterrupt(); !status.ok())
      return status.error();
    auto start = std::chrono::steady_clock::now();
    Status status = session.run(entry, inputs, outputs);
    double elapsed = secondsSince(start);
    if (!status.ok())
      return status.error();
    if (i >= warmUp)
      seconds.push_back(elapsed);
    console.progress(format("run %lld of %lld", static_cast<long long>(i + 1),
                            static_cast<long long>(warmUp + runs)));
  }
  return summarize(std::move(seconds));
}
