//===- Hints.cpp - what a user asks of names --------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses hints and meshes, matches patterns and finds what a mistyped name may
// mean.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Hints.h"
#include "oneflow/Sbp/Quoted.h"

#include <algorithm>

namespace oneflow::sbp {

static std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string toString(Hint::Endpoint endpoint, unsigned index) {
  switch (endpoint) {
  case Hint::Endpoint::Self:
    return "";
  case Hint::Endpoint::Operand:
    return ":in" + std::to_string(index);
  case Hint::Endpoint::Result:
    return ":out" + std::to_string(index);
  }
  return "";
}

std::string Hint::describe() const {
  return (origin.empty() ? "hint" : origin) + " " + inQuotes(text);
}

//===----------------------------------------------------------------------===//
// One hint
//===----------------------------------------------------------------------===//

/// Axis names are bare words in the text form of a placement.
static bool isWord(std::string_view name) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !isLetter(name[0]))
    return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return isLetter(c) || (c >= '0' && c <= '9');
  });
}

/// Splits at the commas outside of parentheses.
static std::vector<std::string_view> splitList(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    if (at == text.size() || (text[at] == ',' && depth == 0)) {
      parts.push_back(trim(text.substr(begin, at - begin)));
      begin = at + 1;
    } else if (text[at] == '(') {
      ++depth;
    } else if (text[at] == ')') {
      --depth;
    }
  }
  return parts;
}

/// Reads what follows the `=`; the reason where that is nothing.
static std::optional<std::string> parseTarget(std::string_view text,
                                              Hint &hint) {
  text = trim(text);
  hint.axis.clear();
  hint.sbps.clear();
  std::string reason;
  if (!text.empty() && text.front() == '[') {
    if (text.back() != ']')
      return "expected ']' after the last SBP";
    for (std::string_view part : splitList(text.substr(1, text.size() - 2))) {
      std::optional<Sbp> sbp;
      if (part != "?") {
        sbp = parseSbp(part, &reason);
        if (!sbp)
          return reason;
      }
      hint.sbps.push_back(sbp);
    }
    return std::nullopt;
  }
  size_t at = text.rfind('@');
  if (at == std::string_view::npos)
    return "expected '@' and an axis after the SBP";
  std::string_view axis = trim(text.substr(at + 1));
  if (!isWord(axis))
    return "expected the name of an axis after '@', got: " + inQuotes(axis);
  std::optional<Sbp> sbp = parseSbp(trim(text.substr(0, at)), &reason);
  if (!sbp)
    return reason;
  hint.axis = axis;
  hint.sbps.push_back(sbp);
  return std::nullopt;
}

/// Reads "in1" or "out0".
static bool parseEndpoint(std::string_view text, Hint &hint) {
  for (auto [word, endpoint] :
       {std::make_pair(std::string_view("in"), Hint::Endpoint::Operand),
        std::make_pair(std::string_view("out"), Hint::Endpoint::Result)}) {
    if (text.substr(0, word.size()) != word)
      continue;
    std::string_view digits = text.substr(word.size());
    // More digits than any op has operands.
    if (digits.empty() || digits.size() > 6 ||
        digits.find_first_not_of("0123456789") != std::string_view::npos)
      return false;
    hint.endpoint = endpoint;
    hint.index = static_cast<unsigned>(std::stoul(std::string(digits)));
    return true;
  }
  return false;
}

/// Whether `suffix` was meant as inN or outN: nothing but a number follows,
/// perhaps a wrong one, or none.
static bool isLikeEndpoint(std::string_view suffix) {
  for (std::string_view word : {"in", "out"})
    if (suffix.substr(0, word.size()) == word &&
        suffix.find_first_not_of("+-0123456789", word.size()) ==
            std::string_view::npos)
      return true;
  return false;
}

/// Takes a trailing `:inN` or `:outN` off the pattern; nothing, with the reason
/// in `error`, where it is meant to be one but is not.
static std::optional<std::string_view>
takeEndpoint(std::string_view pattern, Hint &hint, std::string &error) {
  size_t colon = pattern.rfind(':');
  if (colon == std::string_view::npos)
    return pattern;
  std::string_view suffix = trim(pattern.substr(colon + 1));
  if (parseEndpoint(suffix, hint))
    return trim(pattern.substr(0, colon));
  if (!isLikeEndpoint(suffix))
    return pattern;
  error = "expected :inN or :outN with N from 0 to 999999, got: " +
          inQuotes(":" + std::string(suffix));
  return std::nullopt;
}

/// parseHint without a comment; the reason in `error` where it fails.
static std::optional<Hint> parseBare(std::string_view text,
                                     std::string &error) {
  text = trim(text);
  error = "expected '=' after the pattern";
  bool first = true;
  for (size_t equal = text.find('='); equal != std::string_view::npos;
       equal = text.find('=', equal + 1)) {
    Hint hint;
    if (std::optional<std::string> why =
            parseTarget(text.substr(equal + 1), hint)) {
      if (first)
        error = *why;
      first = false;
      continue;
    }
    std::optional<std::string_view> found =
        takeEndpoint(trim(text.substr(0, equal)), hint, error);
    if (!found)
      return std::nullopt;
    std::string_view pattern = *found;
    if (pattern.empty()) {
      error = "expected a pattern before '='";
      return std::nullopt;
    }
    hint.pattern = pattern;
    hint.text = text;
    return hint;
  }
  return std::nullopt;
}

std::optional<Hint> parseHint(std::string_view text, std::string *error) {
  std::string reason;
  // A name may hold the sign of a comment: the first that follows a hint
  // begins one.
  for (size_t sign = text.find(" #"); sign != std::string_view::npos;
       sign = text.find(" #", sign + 1))
    if (std::optional<Hint> hint = parseBare(text.substr(0, sign), reason)) {
      hint->origin = trim(text.substr(sign + 2));
      return hint;
    }
  if (std::optional<Hint> hint = parseBare(text, reason))
    return hint;
  size_t sign = text.find(" #");
  if (sign != std::string_view::npos) {
    text = text.substr(0, sign);
    parseBare(text, reason);
  }
  if (error)
    *error = "expected PATTERN=SBP@AXIS or PATTERN=[SBP, ...], got: " +
             inQuotes(trim(text)) + ": " + reason;
  return std::nullopt;
}

std::optional<Hint> parsePin(std::string_view text, std::string *error) {
  Hint hint;
  hint.text = trim(text);
  std::string_view target = text;
  size_t equal = text.find('=');
  if (equal != std::string_view::npos &&
      parseEndpoint(trim(text.substr(0, equal)), hint))
    target = text.substr(equal + 1);
  std::optional<std::string> reason = parseTarget(target, hint);
  if (!reason)
    return hint;
  if (error)
    *error = "expected SBP@AXIS or [SBP, ...], perhaps after inN= or outN=, "
             "got: '" +
             hint.text + "': " + *reason;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Several hints
//===----------------------------------------------------------------------===//

/// True when every bracket and parenthesis is closed.
static bool bracketsMatch(std::string_view text) {
  std::string open;
  for (char c : text) {
    if (c == '(' || c == '[')
      open.push_back(c);
    if (c != ')' && c != ']')
      continue;
    if (open.empty() || open.back() != (c == ')' ? '(' : '['))
      return false;
    open.pop_back();
  }
  return open.empty();
}

std::vector<std::string> joinHints(const std::vector<std::string> &pieces) {
  std::vector<std::string> hints;
  for (size_t at = 0; at < pieces.size(); ++at) {
    hints.push_back(pieces[at]);
    if (bracketsMatch(pieces[at]) || parseHint(pieces[at]))
      continue;
    std::string joined = pieces[at];
    for (size_t next = at + 1; next < pieces.size(); ++next) {
      joined += "," + pieces[next];
      if (!bracketsMatch(joined))
        continue;
      hints.back() = joined;
      at = next;
      break;
    }
  }
  return hints;
}

std::vector<Hint> parseHintFile(std::string_view content, std::string_view path,
                                std::vector<HintFileError> &errors) {
  std::vector<Hint> hints;
  unsigned number = 0;
  // Editors on Windows begin a file of UTF-8 so.
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (content.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    content.remove_prefix(kByteOrderMark.size());
  while (!content.empty()) {
    size_t end = content.find_first_of("\r\n");
    std::string line(content.substr(0, end));
    bool isPair = content.substr(std::min(end, content.size()), 2) == "\r\n";
    content.remove_prefix(end == std::string_view::npos
                              ? content.size()
                              : end + (isPair ? 2 : 1));
    ++number;
    // One kind of blank before a comment.
    for (char &c : line)
      if (c == '\t')
        c = ' ';
    std::string_view text = trim(line);
    if (text.empty() || text.front() == '#')
      continue;
    std::string reason;
    std::optional<Hint> hint = parseHint(text, &reason);
    if (!hint) {
      errors.push_back({number, reason});
      continue;
    }
    hint->origin = std::string(path) + ":" + std::to_string(number);
    hints.push_back(std::move(*hint));
  }
  return hints;
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

static std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::optional<std::string>
checkAxes(const Hint &hint, const std::vector<std::string> &axisNames) {
  if (hint.isClosed()) {
    if (hint.sbps.size() == axisNames.size())
      return std::nullopt;
    return "expected one SBP for each of the axes " + join(axisNames) +
           " (? leaves one free), got: " + std::to_string(hint.sbps.size());
  }
  for (const std::string &name : axisNames)
    if (name == hint.axis)
      return std::nullopt;
  return "no axis '" + hint.axis + "', the axes are: " + join(axisNames) +
         "; nearest: " + nearestName(hint.axis, axisNames);
}

std::optional<NamedMesh> parseMesh(std::string_view text, std::string *error) {
  auto fail = [&](const std::string &reason) {
    if (error)
      *error = reason + " in " + inQuotes(text);
    return std::nullopt;
  };
  NamedMesh mesh;
  int64_t ranks = 1;
  for (std::string_view axis : splitList(text)) {
    size_t equal = axis.find('=');
    std::string_view name = trim(axis.substr(0, equal));
    std::string_view size =
        equal == std::string_view::npos ? "" : trim(axis.substr(equal + 1));
    if (!isWord(name) || size.empty() ||
        size.find_first_not_of("0123456789") != std::string_view::npos)
      return fail("expected AXIS=SIZE, separated by commas, got: " +
                  inQuotes(axis));
    // Nine digits fit in 32 bits; more are too many in any case.
    int64_t extent =
        size.size() > 9 ? kMaxRanks + 1 : std::stoll(std::string(size));
    if (extent < 1)
      return fail("expected a positive size, got: '" + std::string(axis) + "'");
    if (extent > kMaxRanks || (ranks *= extent) > kMaxRanks)
      return fail("expected at most " + std::to_string(kMaxRanks) +
                  " ranks in all, got more with " + inQuotes(axis));
    if (std::find(mesh.names.begin(), mesh.names.end(), name) !=
        mesh.names.end())
      return fail("expected distinct axis names, got '" + std::string(name) +
                  "' twice");
    mesh.names.emplace_back(name);
    mesh.sizes.push_back(extent);
  }
  return mesh;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

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
