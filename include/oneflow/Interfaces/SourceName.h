//===- Interfaces/SourceName.h - what the user calls an op ------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The name of the source node that an op came from, for kernels, traces and
// messages.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_INTERFACES_SOURCENAME_H
#define ONEFLOW_INTERFACES_SOURCENAME_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace oneflow {

/// The names of the innermost NameLocs of `loc`, in order, joined by "+"; empty
/// when it has none. At most `limit` names, then "+...".
inline std::string sourceName(mlir::Location loc, unsigned limit = 4) {
  std::string text;
  llvm::StringSet<> seen;
  loc->walk([&](mlir::Location part) {
    auto name = mlir::dyn_cast<mlir::NameLoc>(part);
    if (!name || !seen.insert(name.getName().getValue()).second)
      return mlir::WalkResult::advance();
    if (seen.size() > limit) {
      text += "+...";
      return mlir::WalkResult::interrupt();
    }
    if (!text.empty())
      text += "+";
    text += name.getName().getValue();
    return mlir::WalkResult::advance();
  });
  return text;
}

/// "name (file:line)" as far as `loc` knows them; for messages.
inline std::string sourceLocation(mlir::Location loc) {
  std::string text = sourceName(loc);
  loc->walk([&](mlir::Location part) {
    auto file = mlir::dyn_cast<mlir::FileLineColLoc>(part);
    if (!file)
      return mlir::WalkResult::advance();
    std::string place =
        file.getFilename().str() + ":" + std::to_string(file.getLine());
    text = text.empty() ? place : text + " (" + place + ")";
    return mlir::WalkResult::interrupt();
  });
  return text;
}

} // namespace oneflow

#endif // ONEFLOW_INTERFACES_SOURCENAME_H
