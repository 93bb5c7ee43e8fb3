//===- oneflow-run/Arguments.cpp - command lines --------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options are `--name value` or `--name=value`; `--` ends them.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <utility>

using namespace oneflow::run;

namespace {

const Option kHelp = {"help", "", "Show this text and exit"};

const Option *findOption(const Command &command, const std::string &name) {
  if (name == kHelp.name)
    return &kHelp;
  for (const Option &option : command.options)
    if (name == option.name)
      return &option;
  return nullptr;
}

bool isNumber(const std::string &word) {
  return !word.empty() &&
         word.find_first_not_of("0123456789") == std::string::npos;
}

/// Edits (insert, delete, replace, swap of neighbours) from a to b.
size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1,
                                        std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      size_t replace = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      rows[i][j] = std::min({replace, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

/// What other tools call an option of this one, or what is not set here.
std::optional<std::string> knownAs(const std::string &name,
                                   const std::vector<std::string> &names) {
  constexpr std::pair<const char *, const char *> kSynonyms[] = {
      {"lr", "learning-rate"},   {"epoch", "epochs"},
      {"num-epochs", "epochs"},  {"max-steps", "steps"},
      {"val", "validation"},     {"test", "validation"},
      {"eval", "validation"},    {"train-data", "data"},
      {"checkpoint", "weights"}, {"load", "weights"},
      {"resume", "weights"},     {"out", "output"},
      {"benchmark", "bench"},    {"profile", "trace"}};
  for (auto [synonym, option] : kSynonyms)
    if (name == synonym &&
        std::find(names.begin(), names.end(), option) != names.end())
      return "did you mean '--" + std::string(option) + "'?";
  constexpr const char *kCompileTime[] = {
      "batch",        "batch-size", "mesh", "sbp",  "optimizer",
      "weight-decay", "momentum",   "dim",  "loss", "device"};
  for (const char *option : kCompileTime)
    if (name == option)
      return "the plan has that fixed: see oneflow-compile --help";
  return std::nullopt;
}

Error unknownOption(const Command &command, const std::string &name) {
  std::vector<std::string> names = {"help"};
  for (const Option &option : command.options)
    names.push_back(option.name);
  std::string message = "unknown option '--" + name + "'";
  if (std::optional<std::string> meant = knownAs(name, names))
    return {message + ", " + *meant};
  if (std::optional<std::string> near = nearMiss(name, names))
    message += ", did you mean '--" + *near + "'?";
  return {message};
}

} // namespace

std::optional<std::string>
oneflow::run::nearMiss(const std::string &word,
                       const std::vector<std::string> &candidates) {
  std::optional<std::string> best;
  size_t bestDistance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(word, candidate);
    // A word cut short is meant to be completed.
    if (word.size() >= 3 && candidate.compare(0, word.size(), word) == 0)
      distance = 1;
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string Arguments::get(const std::string &name,
                           const std::string &otherwise) const {
  auto found = values.find(name);
  return found == values.end() ? otherwise : found->second.back();
}

std::vector<std::string> Arguments::all(const std::string &name) const {
  auto found = values.find(name);
  return found == values.end() ? std::vector<std::string>() : found->second;
}

Expected<std::optional<int64_t>> Arguments::integer(const std::string &name,
                                                    int64_t least) const {
  std::string text = get(name);
  if (!has(name) || text.empty())
    return std::optional<int64_t>();
  char *end = nullptr;
  errno = 0;
  long long value = std::strtoll(text.c_str(), &end, 10);
  if (errno != 0 || *end != '\0' || value < least)
    return Error{"expected an integer of at least " + std::to_string(least) +
                 " for '--" + name + "', got: '" + text + "'"};
  return std::optional<int64_t>(value);
}

Expected<std::optional<double>>
Arguments::number(const std::string &name) const {
  std::string text = get(name);
  if (!has(name))
    return std::optional<double>();
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value))
    return Error{"expected a number for '--" + name + "', got: '" + text + "'"};
  return std::optional<double>(value);
}

Expected<Arguments>
oneflow::run::parseArguments(const Command &command,
                             const std::vector<std::string> &words) {
  Arguments arguments;
  for (const std::string &word : words) {
    if (word == "--")
      break;
    if (word == "--help" || word == "-h") {
      arguments.values["help"] = {""};
      return arguments;
    }
  }
  bool onlyPositionals = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (onlyPositionals || word.size() < 2 || word[0] != '-') {
      arguments.positionals.push_back(word);
      continue;
    }
    if (word == "--") {
      onlyPositionals = true;
      continue;
    }
    size_t equals = word.find('=');
    std::string name = word.substr(word[1] == '-' ? 2 : 1, std::string::npos);
    if (equals != std::string::npos)
      name.resize(name.find('='));
    const Option *option = word[1] == '-' ? findOption(command, name) : nullptr;
    if (!option)
      return unknownOption(command, name);
    bool takesValue = option->value[0] != '\0';
    bool mayLack = std::string(option->value) == "[N]";
    std::string value;
    if (equals != std::string::npos) {
      if (!takesValue)
        return Error{"option '--" + name + "' takes no value"};
      value = word.substr(equals + 1);
    } else if (mayLack) {
      if (i + 1 < words.size() && isNumber(words[i + 1]))
        value = words[++i];
    } else if (takesValue) {
      if (i + 1 < words.size())
        value = words[++i];
    }
    if (takesValue && !mayLack && value.empty())
      return Error{"option '--" + name + "' needs a value: " + option->value};
    std::vector<std::string> &given = arguments.values[name];
    if (!given.empty() && !option->repeatable)
      return Error{"option '--" + name + "' is given twice"};
    given.push_back(value);
  }
  if (arguments.positionals.size() < command.positionalCount)
    return Error{"expected " + std::string(command.positionals)};
  if (arguments.positionals.size() > command.positionalCount)
    return Error{"unexpected argument '" +
                 arguments.positionals[command.positionalCount] + "'"};
  return arguments;
}

std::string oneflow::run::helpText(const Command &command) {
  std::string text = "usage: oneflow-run " + std::string(command.name) + " " +
                     command.positionals + " [options]\n\n" +
                     command.description + "\n\noptions:\n";
  std::vector<Option> options = command.options;
  options.push_back(kHelp);
  constexpr size_t helpColumn = 26;
  for (const Option &option : options) {
    std::string line = "  --" + std::string(option.name);
    if (option.value[0])
      line += std::string(" ") + option.value;
    if (line.size() + 2 > helpColumn)
      line += "\n" + std::string(helpColumn, ' ');
    else
      line.resize(helpColumn, ' ');
    // Help that needs several lines goes on in the same column.
    for (const char *c = option.help; *c; ++c) {
      line += *c;
      if (*c == '\n')
        line.append(helpColumn, ' ');
    }
    text += line + "\n";
  }
  return text;
}
