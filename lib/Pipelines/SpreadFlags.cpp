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

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"

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

bool oneflow::hasAxis(StringRef mesh, StringRef name) {
  std::optional<sbp::NamedMesh> named = sbp::parseMesh(mesh);
  return named && llvm::is_contained(named->names, name);
}

/// Of hints; a larger file is none.
constexpr size_t kLargestFile = size_t(16) << 20;
/// Of one file; with more, it is probably none of hints.
constexpr size_t kMostErrors = 10;

/// Reads a file of hints; the reason where it cannot be. Not by way of
/// llvm::MemoryBuffer, which reads to the end, wherever that is, and takes the
/// size of special files for granted.
static std::optional<std::string> readHintFile(const std::string &path,
                                               std::string &content) {
  namespace fs = llvm::sys::fs;
  auto reasonOf = [](llvm::Error error) {
    return llvm::toString(std::move(error));
  };
  fs::file_status status;
  if (std::error_code error = fs::status(path, status))
    return error.message();
  if (status.type() != fs::file_type::regular_file &&
      status.type() != fs::file_type::fifo_file)
    return "expected a file or a pipe";
  llvm::Expected<fs::file_t> file = fs::openNativeFileForRead(path);
  if (!file)
    return reasonOf(file.takeError());
  llvm::scope_exit close([&] { fs::closeFile(*file); });
  for (;;) {
    size_t known = content.size();
    content.resize(known + (1 << 16));
    llvm::Expected<size_t> count = fs::readNativeFile(
        *file, llvm::MutableArrayRef<char>(&content[known], 1 << 16));
    if (!count)
      return reasonOf(count.takeError());
    content.resize(known + *count);
    if (*count == 0)
      return std::nullopt;
    if (content.size() > kLargestFile)
      return "expected at most " + std::to_string(kLargestFile) + " bytes";
  }
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
    std::string content;
    if (std::optional<std::string> reason = readHintFile(path, content)) {
      mistakes.push_back("--sbp-file: cannot read " + path + ": " + *reason);
      continue;
    }
    std::vector<sbp::HintFileError> errors;
    for (const sbp::Hint &hint : sbp::parseHintFile(content, path, errors))
      add(hint, hint.origin);
    for (const sbp::HintFileError &error :
         ArrayRef(errors).take_front(kMostErrors))
      mistakes.push_back(path + ":" + std::to_string(error.line) + ": " +
                         error.reason);
    if (errors.size() > kMostErrors)
      mistakes.push_back(path + ": " +
                         std::to_string(errors.size() - kMostErrors) +
                         " more lines are no hints");
  }
  return hints;
}

std::optional<std::string> oneflow::checkHintAxes(ArrayRef<std::string> hints,
                                                  StringRef mesh,
                                                  ModuleOp module,
                                                  bool isDefault) {
  if (!module.getOps<PlacementOp>().empty())
    return std::nullopt;
  std::optional<sbp::NamedMesh> axes = sbp::parseMesh(mesh);
  for (const std::string &text : hints) {
    std::optional<sbp::Hint> hint = sbp::parseHint(text);
    if (!axes || !hint)
      continue;
    auto mistake = sbp::checkAxes(*hint, axes->names);
    if (mistake && isDefault)
      return hint->describe() + ": no --mesh was given, and the default, " +
             mesh.str() + ", " +
             (hint->isClosed()
                  ? "has one axis, expected " +
                        std::to_string(hint->sbps.size()) +
                        ": say --mesh with their names and sizes"
                  : "has no axis '" + hint->axis + "': say --mesh " +
                        hint->axis + "=N with the number of ranks");
    if (mistake)
      return hint->describe() + ": --mesh " + mesh.str() + ": " + *mistake;
  }
  return std::nullopt;
}

LogicalResult oneflow::checkDevices(ModuleOp module) {
  for (auto placement : module.getOps<PlacementOp>())
    if (placement.getDevice() != Device::Cpu)
      return placement.emitOpError("this version generates code for cpu only, "
                                   "got: ")
             << stringifyDevice(placement.getDevice());
  return success();
}
