//===- oneflow/Sbp/Hints.h - what a user asks of names ----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hints such as `fc1.*=S(0)@tp` or `fc1:in1=[B, S(1)]`: their text, and the
// names that they match.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SBP_HINTS_H
#define ONEFLOW_SBP_HINTS_H

#include "oneflow/Sbp/Sbp.h"

namespace oneflow::sbp {

/// "Whatever `pattern` names lies so."
struct Hint {
  /// What of the named thing is meant.
  enum class Endpoint : uint8_t {
    /// A variable's storage, an input, or the first result of a node.
    Self,
    /// `:inN`, an operand of a node.
    Operand,
    /// `:outN`, a result of a node.
    Result,
  };

  /// Empty in hints without one, see parsePin.
  std::string pattern;
  Endpoint endpoint = Endpoint::Self;
  /// Of the operand or result; 0 for Self.
  unsigned index = 0;
  /// The axis of an open hint, `SBP@AXIS`; empty for a closed one.
  std::string axis;
  /// Of an open hint one; of a closed one, `[SBP, ...]`, one per mesh axis,
  /// empty where it says `?`.
  std::vector<std::optional<Sbp>> sbps;
  /// As the user wrote it, without the comment.
  std::string text;
  /// Where the user wrote it, "--sbp" or "FILE:LINE"; may be empty.
  std::string origin;

  bool isClosed() const { return axis.empty(); }
  /// "hint 'w=B@tp'", "--sbp 'w=B@tp'" or "hints.txt:3 'w=B@tp'", for messages.
  std::string describe() const;
};

/// "", ":in1" or ":out0".
std::string toString(Hint::Endpoint endpoint, unsigned index);

/// Parses `PATTERN[:inN|:outN]=SBP@AXIS` or `PATTERN[:inN|:outN]=[SBP, ...]`,
/// where an SBP in brackets may be `?`; blanks around the parts are free. What
/// follows ` #` is a comment, which becomes the origin. The pattern may itself
/// hold `=`, `@`, `:` and `#`: what it is told is what follows the first `=`
/// after which all of the rest can be read. nullopt when the text is no hint,
/// with the reason in *error if given.
std::optional<Hint> parseHint(std::string_view text,
                              std::string *error = nullptr);

/// Parses the same without a pattern, as it stands on what it speaks of:
/// `S(0)@dp`, `in1=S(1)@tp`, `out0=[S(0), ?]`.
std::optional<Hint> parsePin(std::string_view text,
                             std::string *error = nullptr);

/// Undoes a split at commas inside of brackets: pieces that are no hint are
/// joined with those after them to the first text whose brackets match.
std::vector<std::string> joinHints(const std::vector<std::string> &pieces);

/// A line of a file that is no hint.
struct HintFileError {
  unsigned line;
  std::string reason;
};

/// Parses one hint per line; `#` at the start of a line or after a blank begins
/// a comment, empty lines are skipped. Lines end in LF, CR or both; a byte
/// order mark of UTF-8 is skipped. `path` is for the hints' origins.
std::vector<Hint> parseHintFile(std::string_view content, std::string_view path,
                                std::vector<HintFileError> &errors);

/// Why `hint` cannot be about a mesh of these axes, or nullopt: its axis is
/// none of them, or it has not one SBP for each. Says what there is and which
/// axis is nearest.
std::optional<std::string> checkAxes(const Hint &hint,
                                     const std::vector<std::string> &axisNames);

/// As many ranks as a placement may span, counted from rank 0: the runtime
/// loads no plan with more.
inline constexpr int64_t kMaxRanks = 1 << 20;

/// A mesh with names, as `dp=2,tp=4` spells it.
struct NamedMesh {
  std::vector<std::string> names;
  Mesh sizes;
};

/// Parses `AXIS=SIZE,...`; blanks are free. Names are words of letters, digits
/// and `_` that differ, sizes are positive, their product at most kMaxRanks.
/// nullopt when the text is no mesh,
/// with the reason in *error if given.
std::optional<NamedMesh> parseMesh(std::string_view text,
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
