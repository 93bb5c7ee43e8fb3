//===- oneflow-run/main.cpp - executes plans ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `oneflow-run`: finds the subcommand, parses its arguments, and turns its
// result into messages and an exit code.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Launch.h"

#include <cstdio>
#include <exception>
#include <new>

using namespace oneflow::run;

namespace {

struct CommandRow {
  Command command;
  CommandFunction function;
};

std::vector<CommandRow> commands() {
  return {{infoCommand(), runInfo},
          {inferCommand(), runInfer},
          {trainCommand(), runTrain}};
}

std::string overview() {
  std::string text =
      "usage: oneflow-run COMMAND PLAN [options]\n\n"
      "Executes plans (.ofp files) that oneflow-compile wrote. Under mpirun "
      "every\n"
      "process is one rank of the plan; else all ranks are threads of this\n"
      "process.\n\ncommands:\n";
  for (const CommandRow &row : commands()) {
    std::string name = row.command.name;
    name.resize(8, ' ');
    text += "  " + name + row.command.summary + "\n";
  }
  return text +
         "\noptions:\n"
         "  --help    Show this text, or that of a command, and exit\n"
         "  --version Show the version and exit\n\n"
         "Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted.\n";
}

/// Errors of the command line are the same on every rank.
int failUsage(const std::string &message, const std::string &command) {
  if (launcherRank() == 0)
    std::fprintf(stderr, "oneflow-run: error: %s\nsee oneflow-run %s--help\n",
                 message.c_str(),
                 command.empty() ? "" : (command + " ").c_str());
  return kUsage;
}

int fail(const std::string &message) {
  // What went wrong may be known to one rank only, so every rank says it.
  std::string rank = launcherRank() == 0
                         ? ""
                         : "rank " + std::to_string(launcherRank()) + ": ";
  std::fprintf(stderr, "oneflow-run: %serror: %s\n", rank.c_str(),
               message.c_str());
  return kFailure;
}

int runCommand(const CommandRow &row, const std::vector<std::string> &words) {
  Expected<Arguments> arguments = parseArguments(row.command, words);
  if (!arguments.ok())
    return failUsage(arguments.message(), row.command.name);
  if (arguments->has("help")) {
    std::fputs(helpText(row.command).c_str(), stdout);
    return kSuccess;
  }
  std::string usageError;
  Status status = row.function(*arguments, usageError);
  if (!usageError.empty())
    return failUsage(usageError, row.command.name);
  // Whatever an interrupt made fail, the interrupt is the reason.
  if (!status.ok() && interruptSignal() != 0) {
    if (launcherRank() == 0)
      std::fputs("oneflow-run: interrupted\n", stderr);
    return 128 + interruptSignal();
  }
  return status.ok() ? kSuccess : fail(status.message());
}

int dispatch(const std::vector<std::string> &words) {
  if (words.empty())
    return failUsage("expected a command: info, infer or train", "");
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::fputs(overview().c_str(), stdout);
    return kSuccess;
  }
  if (words[0] == "--version") {
    std::printf("oneflow-run %s\n", of_version());
    return kSuccess;
  }
  std::vector<std::string> names;
  for (const CommandRow &row : commands()) {
    if (words[0] == row.command.name)
      return runCommand(row, {words.begin() + 1, words.end()});
    names.push_back(row.command.name);
  }
  std::string message = "unknown command '" + words[0] + "'";
  if (std::optional<std::string> near = nearMiss(words[0], names))
    message += ", did you mean '" + *near + "'?";
  return failUsage(message, "");
}

} // namespace

int main(int argc, char **argv) {
  try {
    return dispatch({argv + 1, argv + argc});
  } catch (const std::bad_alloc &) {
    return fail("out of memory");
  } catch (const std::exception &exception) {
    return fail(exception.what());
  }
}
