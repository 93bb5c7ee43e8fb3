//===- oneflow-run/Console.cpp - what the user sees -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Standard error decides about rewriting: it may be a terminal while standard
// output is a file.
//
//===----------------------------------------------------------------------===//

#include "Console.h"

#include <cstdarg>
#include <cstdio>
#include <unistd.h>

using namespace oneflow::run;

double oneflow::run::secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

std::string oneflow::run::format(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  int size = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(size > 0 ? static_cast<size_t>(size) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

void Console::clearProgress() {
  if (showsProgress)
    std::fputs("\r\033[K", stderr);
  showsProgress = false;
}

void Console::print(const std::string &line) {
  if (!isLeader)
    return;
  clearProgress();
  std::FILE *stream = json ? stderr : stdout;
  std::fprintf(stream, "%s\n", line.c_str());
  std::fflush(stream);
}

void Console::document(const std::string &text) {
  if (!isLeader || !json)
    return;
  clearProgress();
  std::fprintf(stdout, "%s\n", text.c_str());
}

void Console::warn(const std::string &message) {
  if (!isLeader)
    return;
  clearProgress();
  std::fprintf(stderr, "oneflow-run: warning: %s\n", message.c_str());
}

void Console::progress(const std::string &state) {
  if (!isLeader)
    return;
  static const bool isTerminal = ::isatty(STDERR_FILENO);
  if (secondsSince(lastProgress) < (isTerminal ? 0.1 : 5.0))
    return;
  lastProgress = std::chrono::steady_clock::now();
  if (isTerminal)
    std::fprintf(stderr, "\r\033[K%s", state.c_str());
  else
    std::fprintf(stderr, "%s\n", state.c_str());
  std::fflush(stderr);
  showsProgress = isTerminal;
}
