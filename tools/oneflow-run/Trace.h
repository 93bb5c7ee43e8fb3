//===- oneflow-run/Trace.h - recording what a run does ----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The `--trace` option: starts the session's recorder and writes what it has.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_TRACE_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_TRACE_H

#include "Handles.h"

namespace oneflow::run {

/// Starts recording unless `path` is empty.
Status startTrace(Session &session, const std::string &path);

/// Ends recording and writes the events of this process's ranks to `path`,
/// unless that is empty; processes other than the first put their rank before
/// the extension: `trace.rank1.json`.
Status writeTrace(Session &session, const std::string &path);

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_TRACE_H
