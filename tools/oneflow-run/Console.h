//===- oneflow-run/Console.h - what the user sees ---------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a command's output goes: results to standard output, progress and
// warnings to standard error, and from ranks other than the first nothing.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_CONSOLE_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_CONSOLE_H

#include <chrono>
#include <string>

namespace oneflow::run {

class Console {
public:
  /// With `json`, standard output is kept for one JSON document, and what
  /// people read goes to standard error.
  Console(bool isLeader, bool json) : isLeader(isLeader), json(json) {}

  /// A line of results for people.
  void print(const std::string &line);
  /// The JSON document, if it is wanted.
  void document(const std::string &text);
  void warn(const std::string &message);

  /// The state of a long run: a line that is rewritten on a terminal, else a
  /// new line every few seconds. Calls may come as often as they like.
  void progress(const std::string &state);

private:
  void clearProgress();

  bool isLeader;
  bool json;
  bool showsProgress = false;
  std::chrono::steady_clock::time_point lastProgress =
      std::chrono::steady_clock::now();
};

/// Seconds since `start`.
double secondsSince(std::chrono::steady_clock::time_point start);

/// printf to a string.
std::string format(const char *pattern, ...)
    __attribute__((format(printf, 1, 2)));

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_CONSOLE_H
