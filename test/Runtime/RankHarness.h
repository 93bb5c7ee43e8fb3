//===- RankHarness.h - tests on every rank of a transport -------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conformance tests run on whatever transport the command line names: local
// (five ranks, each a thread) or a plug-in, then each process of the launcher
// is a rank. Every rank knows what every other one holds, so each checks its
// own results.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TEST_RUNTIME_RANKHARNESS_H
#define ONEFLOW_TEST_RUNTIME_RANKHARNESS_H

#include "DataType.h"

#include "oneflow/Runtime/Transport.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <thread>

namespace oneflow::test {

/// The transport under test; created once, by main().
runtime::Transport &transportUnderTest();

/// Calls `body(rank, communicator)` on every local rank that is in one of
/// `groups`, each on a thread of its own.
inline void
onGroups(const std::vector<std::vector<int>> &groups,
         const std::function<void(int, runtime::Communicator &)> &body) {
  runtime::Transport &transport = transportUnderTest();
  std::vector<std::unique_ptr<runtime::Communicator>> members;
  auto result = transport.createGroups(groups, members);
  ASSERT_TRUE(result.ok) << result.message;
  std::vector<int> ranks = transport.localRanks();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks.size(); ++i)
    if (members[i])
      threads.emplace_back([&, i] { body(ranks[i], *members[i]); });
  for (std::thread &thread : threads)
    thread.join();
}

/// The same for the first 1, 2, ... ranks.
inline void
onGroupsOfEverySize(const std::function<void(runtime::Communicator &)> &body) {
  for (int size = 1; size <= transportUnderTest().rankCount(); ++size) {
    std::vector<int> group(size);
    std::iota(group.begin(), group.end(), 0);
    onGroups({group}, [&](int, runtime::Communicator &each) { body(each); });
  }
}

/// Writes the element types from their definitions, for values that they hold
/// exactly; independent of the conversions under test.
inline uint16_t encodeFloat(double value, int exponentBits, int mantissaBits) {
  if (value == 0)
    return 0;
  int exponent;
  double fraction = std::frexp(std::fabs(value), &exponent); // [0.5, 1)
  int bias = (1 << (exponentBits - 1)) - 1;
  auto mantissa =
      static_cast<uint16_t>(std::ldexp(fraction * 2 - 1, mantissaBits));
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) |
                               ((exponent - 1 + bias) << mantissaBits) |
                               mantissa);
}

inline void storeElement(plan::DType dtype, void *data, size_t i,
                         double value) {
  auto store = [&](auto typed) {
    std::memcpy(static_cast<uint8_t *>(data) + i * sizeof(typed), &typed,
                sizeof(typed));
  };
  switch (dtype) {
  case plan::DType::Bool:
    return store(static_cast<uint8_t>(value != 0));
  case plan::DType::I8:
    return store(static_cast<int8_t>(value));
  case plan::DType::I16:
    return store(static_cast<int16_t>(value));
  case plan::DType::I32:
    return store(static_cast<int32_t>(value));
  case plan::DType::I64:
    return store(static_cast<int64_t>(value));
  case plan::DType::U8:
    return store(static_cast<uint8_t>(value));
  case plan::DType::U16:
    return store(static_cast<uint16_t>(value));
  case plan::DType::U32:
    return store(static_cast<uint32_t>(value));
  case plan::DType::U64:
    return store(static_cast<uint64_t>(value));
  case plan::DType::F16:
    return store(encodeFloat(value, 5, 10));
  case plan::DType::BF16:
    return store(encodeFloat(value, 8, 7));
  case plan::DType::F32:
    return store(static_cast<float>(value));
  case plan::DType::F64:
    return store(value);
  }
}

/// An array of any element type.
struct Array {
  plan::DType dtype;
  std::vector<uint64_t> storage; // aligned for every type
  size_t count;

  Array(plan::DType dtype, size_t count)
      : dtype(dtype), storage(count + 1, 0x5555555555555555u), count(count) {}
  Array(plan::DType dtype, const std::vector<double> &values)
      : Array(dtype, values.size()) {
    for (size_t i = 0; i < count; ++i)
      storeElement(dtype, storage.data(), i, values[i]);
  }
  void *data() { return storage.data(); }
  size_t bytes() const { return count * runtime::dtypeBytes(dtype); }
  bool equals(const Array &other) const {
    return count == other.count &&
           std::memcmp(storage.data(), other.storage.data(), bytes()) == 0;
  }
};

/// Combines in double; exact for the small integers of the tests.
inline double combine(plan::DType dtype, plan::Reducer reducer, double a,
                      double b) {
  if (dtype == plan::DType::Bool)
    return reducer == plan::Reducer::Sum || reducer == plan::Reducer::Max
               ? (a != 0 || b != 0)
               : (a != 0 && b != 0);
  switch (reducer) {
  case plan::Reducer::Sum:
    return a + b;
  case plan::Reducer::Max:
    return std::fmax(a, b);
  case plan::Reducer::Min:
    return std::fmin(a, b);
  case plan::Reducer::Prod:
    return a * b;
  }
  return 0;
}

/// What rank `rank` holds at element `i`: 0 to 2, so that every type holds all
/// sums and products of five ranks exactly.
inline double testValue(int rank, size_t i) {
  return static_cast<double>((rank * 7 + i * 5 + (i / 3) * rank) % 3);
}

} // namespace oneflow::test

#endif // ONEFLOW_TEST_RUNTIME_RANKHARNESS_H
