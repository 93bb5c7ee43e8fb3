//===- oneflow-run/Trace.cpp - recording what a run does ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file per process, since each knows its own ranks only.
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

using namespace oneflow::run;

/// Actions kept per stream: some minutes of small steps, at some megabytes.
static constexpr size_t kTraceCapacity = 1 << 16;

Status oneflow::run::startTrace(Session &session, const std::string &path) {
  if (path.empty())
    return {};
  return takeStatus(of_session_start_trace(session.handle(), kTraceCapacity));
}

Status oneflow::run::writeTrace(Session &session, const std::string &path) {
  if (path.empty())
    return {};
  std::string own = path;
  if (session.rank() != 0) {
    size_t slash = own.rfind('/');
    size_t dot = own.rfind('.');
    if (dot == std::string::npos || (slash != std::string::npos && dot < slash))
      dot = own.size();
    own.insert(dot, ".rank" + std::to_string(session.rank()));
  }
  return takeStatus(of_session_write_trace(session.handle(), own.c_str()));
}
