//===- Status.h - errors inside the runtime ---------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one error type of the runtime: a thin owner of the C API's of_status_t,
// so that nothing is converted on the way out.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_STATUS_H
#define ONEFLOW_RUNTIME_STATUS_H

#include "oneflow/Runtime/RuntimeC.h"

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

struct of_status_t {
  of_status_code code;
  std::string message;
  std::string location;
};

namespace oneflow::runtime {

namespace detail {
inline void append(std::string &text, std::string_view part) { text += part; }
template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
void append(std::string &text, T value) {
  text += std::to_string(value);
}
} // namespace detail

/// Joins strings and numbers into one message.
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::string text;
  (detail::append(text, parts), ...);
  return text;
}

/// Success, or a code with a one-line message and a source location. Success
/// costs one null pointer and never allocates.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(of_status_code code, std::string message, std::string location = "")
      : info(new of_status_t{code, std::move(message), std::move(location)}) {}

  bool ok() const { return !info; }
  /// Whether there is an error, so that `if (Status s = f()) return s;` reads
  /// as it does with llvm::Error.
  explicit operator bool() const { return info != nullptr; }
  of_status_code code() const { return info ? info->code : OF_STATUS_OK; }
  std::string message() const { return info ? info->message : std::string(); }
  std::string location() const { return info ? info->location : std::string(); }
  /// Hands the status to a caller of the C API; null for success.
  of_status_t *release() { return info.release(); }

private:
  std::unique_ptr<of_status_t> info;
};

template <typename... Parts> Status invalidPlan(const Parts &...parts) {
  return Status(OF_STATUS_INVALID_PLAN, concat(parts...));
}
template <typename... Parts> Status invalidArgument(const Parts &...parts) {
  return Status(OF_STATUS_INVALID_ARGUMENT, concat(parts...));
}
template <typename... Parts> Status unsupported(const Parts &...parts) {
  return Status(OF_STATUS_UNSUPPORTED, concat(parts...));
}

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_STATUS_H
