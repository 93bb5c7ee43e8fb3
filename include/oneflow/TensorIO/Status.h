//===- oneflow/TensorIO/Status.h - errors as values -------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the readers and writers of tensor files report errors: a Status, or an
// Expected that holds a value or the message of what went wrong. Messages name
// the file and what is wrong with it, start in lower case and end without a
// full stop. Nothing here or in the readers throws on bad input.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TENSORIO_STATUS_H
#define ONEFLOW_TENSORIO_STATUS_H

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace oneflow::tensorio {

/// Why something failed. Converts to a failed Status and to any Expected.
struct Error {
  std::string message;
};

/// Success, or an error with its message.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failed(true), text(std::move(error.message)) {}

  bool ok() const { return !failed; }
  /// Empty on success.
  const std::string &message() const { return text; }
  /// The error again, to be returned as another type. Only of a failed status.
  Error error() const {
    assert(failed && "a successful status has no error");
    return {text};
  }

private:
  bool failed = false;
  std::string text;
};

/// A value, or the error that kept it from being made.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state(std::move(value)) {}
  Expected(Error error) : state(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(state); }
  /// Empty on success.
  std::string message() const { return ok() ? "" : error().message; }
  /// Only of a failed one.
  Error error() const { return std::get<Error>(state); }

  /// The value; only when ok().
  T &operator*() { return std::get<T>(state); }
  const T &operator*() const { return std::get<T>(state); }
  T *operator->() { return &std::get<T>(state); }
  const T *operator->() const { return &std::get<T>(state); }

private:
  std::variant<T, Error> state;
};

} // namespace oneflow::tensorio

#endif // ONEFLOW_TENSORIO_STATUS_H
