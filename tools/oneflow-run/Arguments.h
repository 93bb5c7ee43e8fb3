//===- oneflow-run/Arguments.h - command lines ------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small parser of command lines: a command is a table of options, from which
// its help text, its checks and the suggestions for misspelt options come.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TOOLS_ONEFLOWRUN_ARGUMENTS_H
#define ONEFLOW_TOOLS_ONEFLOWRUN_ARGUMENTS_H

#include "oneflow/TensorIO/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace oneflow::run {

using tensorio::Error;
using tensorio::Expected;
using tensorio::Status;

/// One option of a command.
struct Option {
  /// Without the dashes.
  const char *name;
  /// What stands for its value in the help text; empty for a flag. "[N]": the
  /// value is a number and may be left out.
  const char *value;
  const char *help;
  bool repeatable = false;
};

struct Command {
  const char *name;
  /// One line, for the list of commands.
  const char *summary;
  /// What stands behind the name in the usage line, "PLAN".
  const char *positionals;
  size_t positionalCount;
  /// What it does, with examples; paragraphs of at most 80 columns.
  const char *description;
  std::vector<Option> options;
};

/// What was given on a command line.
class Arguments {
public:
  std::vector<std::string> positionals;

  bool has(const std::string &name) const { return values.count(name) != 0; }
  /// The last value given; empty when the option was not given.
  std::string get(const std::string &name,
                  const std::string &otherwise = "") const;
  /// All values given, in order.
  std::vector<std::string> all(const std::string &name) const;
  /// The value as an integer of at least `least`; nothing when not given.
  Expected<std::optional<int64_t>> integer(const std::string &name,
                                           int64_t least) const;
  /// The value as a finite number; nothing when not given.
  Expected<std::optional<double>> number(const std::string &name) const;

private:
  friend Expected<Arguments> parseArguments(const Command &command,
                                            const std::vector<std::string> &);
  std::map<std::string, std::vector<std::string>> values;
};

/// Parses what stands behind the command's name. `--help` and `-h` anywhere
/// make has("help") true and suppress all complaints.
Expected<Arguments> parseArguments(const Command &command,
                                   const std::vector<std::string> &words);

/// The help text of one command.
std::string helpText(const Command &command);

/// The candidate that `word` most likely meant, if any is close.
std::optional<std::string> nearMiss(const std::string &word,
                                    const std::vector<std::string> &candidates);

} // namespace oneflow::run

#endif // ONEFLOW_TOOLS_ONEFLOWRUN_ARGUMENTS_H
