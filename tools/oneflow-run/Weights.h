//===- oneflow-run/Weights.h - variables in and out of files ----*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces a session's variables from files and saves them.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_WEIGHTS_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_WEIGHTS_H

#include "Console.h"
#include "Handles.h"

namespace oneflow::run {

/// Sets the variables that the file names. A tensor that is no variable, or of
/// another dtype or shape, is an error; trainable variables that the file lacks
/// keep their values, with a warning.
Status loadWeights(Session &session, const Plan &plan, const std::string &path,
                   Console &console);

/// Sets a one-element float variable.
Status setScalar(Session &session, const Plan &plan, const std::string &name,
                 double value);

/// Reads variables from the session: all, or the trainable ones and what the
/// source model has of running statistics. Collective.
Expected<TensorMap> collectVariables(Session &session, const Plan &plan,
                                     bool all);

/// An error unless the plan holds a source model with a tensor for every
/// trainable variable; to be asked before a long training.
Status checkSourceModel(const Plan &plan);

/// The plan's source model with these variables' values: all that it names.
Expected<tensorio::Bytes> trainedModel(const Plan &plan,
                                       const TensorMap &variables);

/// An error when the folder of `path` is not there or cannot be written to. An
/// empty path is fine.
Status checkWritable(const std::string &path);

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_WEIGHTS_H
