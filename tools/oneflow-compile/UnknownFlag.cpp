//===- oneflow-compile/UnknownFlag.cpp - flags that there are not ---------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See UnknownFlag.h.
//
//===----------------------------------------------------------------------===//

#include "UnknownFlag.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace oneflow;
namespace cl = llvm::cl;

/// What users of other tools type, and what it is here.
static constexpr std::pair<const char *, const char *> kSynonyms[] = {
    {"lr", "--learning-rate"},
    {"wd", "--weight-decay"},
    {"out", "-o"},
    {"output", "-o"},
    {"hint", "--sbp"},
    {"hints", "--sbp"},
    {"hints-file", "--sbp-file"},
    {"shard", "--sbp"},
    {"sharding", "--sbp"},
    {"shape", "--dim"},
    {"batch", "--dim batch=N"},
    {"batch-size", "--dim batch=N"},
    {"dp", "--mesh dp=N"},
    {"tp", "--mesh tp=N"},
    {"ranks", "--mesh dp=N"},
    {"target", "--device"},
    {"march", "--cpu"},
    {"opt", "--optimizer"},
    {"stop-at", "--emit"}};

/// What a plan is told when it runs.
static constexpr const char *kRunTime[] = {
    "epochs", "epoch",   "steps",  "data",  "validation", "seed",  "weights",
    "save",   "threads", "resume", "input", "bench",      "trace", "labels"};

static std::string suggest(llvm::StringRef name,
                           const cl::OptionCategory &category) {
  for (auto [synonym, flag] : kSynonyms)
    if (name.equals_insensitive(synonym))
      return std::string(", did you mean ") + flag + "?";
  if (llvm::is_contained(kRunTime, name))
    return ", which is told to oneflow-run: see oneflow-run train --help";
  std::string nearest;
  // More edits than a third of the name would be another word.
  unsigned best = std::max<unsigned>(1, name.size() / 3) + 1;
  for (const auto &entry : cl::getRegisteredOptions()) {
    llvm::StringRef flag = entry.first;
    if (!llvm::is_contained(entry.second->Categories, &category))
      continue;
    // A flag cut short is meant to be completed.
    bool isStart = name.size() >= 3 && flag.starts_with(name);
    unsigned distance =
        isStart ? 1
                : name.edit_distance(flag, /*AllowReplacements=*/true, best);
    // In alphabetical order, since the options are in none.
    if (distance < best || (distance == best && !nearest.empty() &&
                            flag < llvm::StringRef(nearest))) {
      best = distance;
      nearest = flag.str();
    }
  }
  if (nearest.empty())
    return "";
  return ", did you mean " + std::string(nearest.size() > 1 ? "--" : "-") +
         nearest + "?";
}

std::optional<std::string>
oneflow::findUnknownFlag(llvm::ArrayRef<const char *> words,
                         const cl::OptionCategory &category) {
  const auto &options = cl::getRegisteredOptions();
  for (size_t i = 0; i < words.size(); ++i) {
    llvm::StringRef word = words[i];
    if (word == "--")
      return std::nullopt;
    if (word.size() < 2 || word[0] != '-')
      continue;
    llvm::StringRef name = word.drop_front(word[1] == '-' ? 2 : 1);
    auto [flag, value] = name.split('=');
    auto known = options.find(flag);
    if (known == options.end())
      return "unknown flag " +
             word.take_front(word.size() - name.size()).str() + flag.str() +
             suggest(flag, category);
    // A value may begin with a dash.
    bool takesNext = known->second->getValueExpectedFlag() == cl::ValueRequired;
    if (takesNext && !name.contains('='))
      ++i;
  }
  return std::nullopt;
}
