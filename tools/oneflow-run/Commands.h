//===- oneflow-run/Commands.h - the subcommands -----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table rows of the subcommands and the functions behind them.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_COMMANDS_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_COMMANDS_H

#include "Arguments.h"

namespace oneflow::run {

/// Exit codes of the tool. A run ended by a signal exits with 128 plus its
/// number.
enum ExitCode { kSuccess = 0, kFailure = 1, kUsage = 2 };

/// Runs a subcommand. What is wrong with the command line itself goes to
/// `usageError`, any other failure to the result.
using CommandFunction = Status (*)(const Arguments &arguments,
                                   std::string &usageError);

Command infoCommand();
Command inferCommand();
Command trainCommand();

Status runInfo(const Arguments &arguments, std::string &usageError);
Status runInfer(const Arguments &arguments, std::string &usageError);
Status runTrain(const Arguments &arguments, std::string &usageError);

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_COMMANDS_H
