//===- oneflow/Sbp/Hints.h - what a user asks of names ----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hints such as `fc1.*=S(0)@tp`: their text, and the names that they match.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SBP_HINTS_H
#define ONEFLOW_SBP_HINTS_H

#include "oneflow/Sbp/Sbp.h"

namespace oneflow::sbp {

/// "Whatever `pattern` names lies as `sbp` along the mesh axis `axis`."
struct Hint {
  std::string pattern;
  Sbp sbp;
  std::string axis;
  /// As the user wrote it, for messages.
  std::string text;
};

/// Parses `PATTERN=SBP@AXIS`; blanks around the parts are free. The pattern may
/// itself hold `=` and `@`: the axis follows the last `@`, the SBP the first
/// `=` after which one can be read. nullopt when the text is no hint, with the
/// reason in *error if given.
std::optional<Hint> parseHint(std::string_view text,
                              std::string *error = nullptr);

/// True when `pattern` matches all of `name`: `*` stands for any characters,
/// also none, `?` for exactly one, every other character for itself.
bool matchesPattern(std::string_view pattern, std::string_view name);

/// The name that is the fewest edits (insert, delete, replace a character) away
/// from `pattern`, the first of several; its wildcards may stand for anything.
/// Empty when there are no names.
std::string nearestName(std::string_view pattern,
                        const std::vector<std::string> &names);

} // namespace oneflow::sbp

#endif // ONEFLOW_SBP_HINTS_H
