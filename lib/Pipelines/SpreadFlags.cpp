//===- SpreadFlags.cpp - meshes and hints as typed ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See SpreadFlags.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Pipelines/SpreadFlags.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Sbp/Hints.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace oneflow;

std::optional<std::string> oneflow::checkMeshFlag(StringRef mesh) {
  std::string reason;
  if (sbp::parseMesh(mesh, &reason))
    return std::nullopt;
  return "--mesh: " + reason;
}

bool oneflow::hasSeveralRanks(StringRef mesh) {
  std::optional<sbp::NamedMesh> named = sbp::parseMesh(mesh);
  return named && sbp::rankCount(named->sizes) > 1;
}

std::vector<std::string>
oneflow::readHintFlags(ArrayRef<std::string> texts, ArrayRef<std::string> files,
                       std::vector<std::string> &mistakes) {
  std::vector<std::string> hints;
  auto add = [&](const sbp::Hint &hint, const std::string &origin) {
    hints.push_back(hint.text + " # " + origin);
  };
  for (const std::string &text : texts) {
    std::string reason;
    if (std::optional<sbp::Hint> hint = sbp::parseHint(text, &reason))
      add(*hint, "--sbp");
    else
      mistakes.push_back("--sbp: " + reason);
  }
  for (const std::string &path : files) {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
    if (std::error_code error = buffer.getError()) {
      mistakes.push_back("--sbp-file: cannot read " + path + ": " +
                         error.message());
      continue;
    }
    std::vector<sbp::HintFileError> errors;
    for (const sbp::Hint &hint : sbp::parseHintFile(
             std::string_view((*buffer)->getBuffer()), path, errors))
      add(hint, hint.origin);
    for (const sbp::HintFileError &error : errors)
      mistakes.push_back(path + ":" + std::to_string(error.line) + ": " +
                         error.reason);
  }
  return hints;
}

std::optional<std::string> oneflow::checkHintAxes(ArrayRef<std::string> hints,
                                                  StringRef mesh,
                                                  ModuleOp module) {
  if (!module.getOps<PlacementOp>().empty())
    return std::nullopt;
  std::optional<sbp::NamedMesh> axes = sbp::parseMesh(mesh);
  for (const std::string &text : hints) {
    std::optional<sbp::Hint> hint = sbp::parseHint(text);
    if (!axes || !hint)
      continue;
    if (auto mistake = sbp::checkAxes(*hint, axes->names))
      return hint->describe() + ": --mesh " + mesh.str() + ": " + *mistake;
  }
  return std::nullopt;
}
