//===- Hints.cpp - what a user asks of names --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses hints, matches their patterns and finds what a mistyped one may mean.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Hints.h"

#include <algorithm>

namespace oneflow::sbp {

static std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<Hint> parseHint(std::string_view text, std::string *error) {
  auto fail = [&](const std::string &reason) {
    if (error)
      *error = "expected PATTERN=SBP@AXIS, got: '" + std::string(text) + "'" +
               (reason.empty() ? "" : ": " + reason);
    return std::nullopt;
  };

  size_t at = text.rfind('@');
  if (at == std::string_view::npos)
    return fail("no '@' before an axis");
  std::string_view axis = trim(text.substr(at + 1));
  if (axis.empty())
    return fail("no axis after '@'");
  std::string_view rest = text.substr(0, at);

  std::string reason = "no '=' before an SBP";
  bool first = true;
  for (size_t equal = rest.find('='); equal != std::string_view::npos;
       equal = rest.find('=', equal + 1)) {
    std::string why;
    std::optional<Sbp> sbp = parseSbp(trim(rest.substr(equal + 1)), &why);
    if (!sbp) {
      if (first)
        reason = why;
      first = false;
      continue;
    }
    std::string_view pattern = trim(rest.substr(0, equal));
    if (pattern.empty())
      return fail("no pattern before '='");
    return Hint{std::string(pattern), *sbp, std::string(axis),
                std::string(trim(text))};
  }
  return fail(reason);
}

bool matchesPattern(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0;
  // Where to go on when a later part fails: let the last star take one more.
  size_t star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

/// Levenshtein distance where `*` and `?` of the pattern match for free.
static size_t editDistance(std::string_view pattern, std::string_view name) {
  std::vector<size_t> previous(name.size() + 1), current(name.size() + 1);
  for (size_t n = 0; n <= name.size(); ++n)
    previous[n] = n;
  for (char c : pattern) {
    bool star = c == '*';
    current[0] = previous[0] + (star ? 0 : 1);
    for (size_t n = 1; n <= name.size(); ++n) {
      size_t match = previous[n - 1] + (c == '?' || c == name[n - 1] ? 0 : 1);
      size_t skipPattern = previous[n] + (star ? 0 : 1);
      size_t skipName = current[n - 1] + (star ? 0 : 1);
      current[n] = std::min({match, skipPattern, skipName});
    }
    std::swap(previous, current);
  }
  return previous[name.size()];
}

std::string nearestName(std::string_view pattern,
                        const std::vector<std::string> &names) {
  std::string nearest;
  size_t least = static_cast<size_t>(-1);
  for (const std::string &name : names) {
    size_t distance = editDistance(pattern, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

} // namespace oneflow::sbp
