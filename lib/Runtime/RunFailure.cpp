//===- RunFailure.cpp - the first failure of a run ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunFailure.h"

#include <cstring>
#include <vector>

using namespace oneflow::runtime;

bool Failure::precedes(const Failure &other) const {
  if (!happened() || !other.happened())
    return happened();
  bool cancelled = code == OF_STATUS_CANCELLED;
  bool otherCancelled = other.code == OF_STATUS_CANCELLED;
  if (cancelled != otherCancelled)
    return otherCancelled;
  return position < other.position;
}

void FailureSlot::record(Failure failure) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failure.precedes(first))
    first = std::move(failure);
  flag = true;
}

Failure FailureSlot::take() {
  std::lock_guard<std::mutex> lock(mutex);
  flag = false;
  Failure failure = std::move(first);
  first = Failure();
  return failure;
}

namespace {
// A failure in a fixed number of bytes.
struct WireFailure {
  int32_t code = 0;
  uint32_t position = 0;
  char message[384] = {};
  char location[120] = {};

  WireFailure() = default;
  explicit WireFailure(const Failure &failure)
      : code(failure.code), position(failure.position) {
    std::strncpy(message, failure.message.c_str(), sizeof(message) - 1);
    std::strncpy(location, failure.location.c_str(), sizeof(location) - 1);
  }
  Failure unpack() const {
    return {static_cast<of_status_code>(code), position, message, location};
  }
};
} // namespace

TransportResult oneflow::runtime::agreeOnFailure(Communicator &control,
                                                 Failure &failure) {
  // One word in the good case.
  uint32_t code = failure.code;
  TransportResult result =
      control.allReduce(&code, &code, 1, plan::DType::U32, plan::Reducer::Max);
  if (!result.ok || code == OF_STATUS_OK)
    return result;
  WireFailure own(failure);
  std::vector<WireFailure> all(control.size());
  std::vector<ByteRange> parts;
  for (int rank = 0; rank < control.size(); ++rank)
    parts.push_back({rank * sizeof(WireFailure), sizeof(WireFailure)});
  result = control.allGather(&own, all.data(), parts);
  if (!result.ok)
    return result;
  failure = Failure();
  for (const WireFailure &wire : all) {
    Failure theirs = wire.unpack();
    if (theirs.precedes(failure))
      failure = theirs;
  }
  return result;
}
