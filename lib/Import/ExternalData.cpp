//===- ExternalData.cpp - tensors stored beside the model -----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model comes from anywhere and names the files that hold its weights. Only
// files in the model's folder or below it are read, so that importing a model
// cannot carry other files of the machine into what is built from it.
//
//===----------------------------------------------------------------------===//

#include "TensorData.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace oneflow::importer;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

struct Section {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

FailureOr<Section> parseSection(Location loc, StringRef what,
                                const ::onnx::TensorProto &tensor) {
  Section section;
  for (const auto &entry : tensor.external_data()) {
    if (entry.key() == "location") {
      section.location = entry.value();
      continue;
    }
    if (entry.key() != "offset" && entry.key() != "length")
      continue;
    uint64_t number;
    if (StringRef(entry.value()).getAsInteger(10, number))
      return emitError(loc) << what << ": the " << entry.key()
                            << " of its external data is not a number: '"
                            << entry.value() << "'";
    if (entry.key() == "offset")
      section.offset = number;
    else
      section.length = number;
  }
  if (section.location.empty())
    return emitError(loc) << what << ": its external data has no location";
  return section;
}

/// The file's path with symbolic links followed, inside the model's folder.
FailureOr<std::string> resolve(Location loc, StringRef what, StringRef location,
                               StringRef modelPath) {
  auto refuse = [&](StringRef why) {
    return emitError(loc) << what << ": external data in '" << location << "' "
                          << why;
  };
  if (location.contains('\0'))
    return refuse("is refused: the name has a zero byte");
  if (path::is_absolute(location))
    return refuse("is refused: the location must be relative to the model");
  for (auto part = path::begin(location), end = path::end(location);
       part != end; ++part)
    if (*part == "..")
      return refuse("is refused: the location must not have '..'");
  llvm::SmallString<256> folder(path::parent_path(modelPath));
  if (folder.empty())
    folder = ".";
  llvm::SmallString<256> joined(folder), realFolder, realFile;
  path::append(joined, location);
  if (std::error_code code = fs::real_path(folder, realFolder))
    return refuse("cannot be read: " + code.message());
  if (std::error_code code = fs::real_path(joined, realFile))
    return refuse("cannot be read: " + code.message());
  if (!realFolder.ends_with("/"))
    realFolder += "/";
  if (!realFile.starts_with(realFolder))
    return refuse("is refused: it lies outside the model's folder");
  return std::string(realFile);
}

} // namespace

LogicalResult oneflow::importer::readExternalData(
    Location loc, StringRef what, const ::onnx::TensorProto &tensor,
    StringRef modelPath, uint64_t expected, std::vector<char> *bytes) {
  FailureOr<Section> section = parseSection(loc, what, tensor);
  if (failed(section))
    return failure();
  FailureOr<std::string> file =
      resolve(loc, what, section->location, modelPath);
  if (failed(file))
    return failure();
  auto refuse = [&](const llvm::Twine &why) {
    return emitError(loc) << what << ": external data in '" << section->location
                          << "' " << why;
  };
  // Asked before opening: opening a pipe would wait for its other end.
  fs::file_status status;
  if (std::error_code code = fs::status(*file, status))
    return refuse("cannot be read: " + code.message());
  if (status.type() != fs::file_type::regular_file)
    return refuse("is not a regular file");
  uint64_t length = section->length.value_or(expected);
  if (length != expected)
    return refuse("has length " + llvm::Twine(length) + ", the tensor needs " +
                  llvm::Twine(expected) + " bytes");
  if (section->offset > status.getSize() ||
      length > status.getSize() - section->offset)
    return refuse("ends at byte " + llvm::Twine(status.getSize()) +
                  ", the tensor needs " + llvm::Twine(length) + " from byte " +
                  llvm::Twine(section->offset));
  if (!bytes)
    return success();

  auto opened = fs::openNativeFileForRead(*file);
  if (!opened)
    return refuse("cannot be read: " + llvm::toString(opened.takeError()));
  auto close = llvm::scope_exit([&] { fs::closeFile(*opened); });
  bytes->resize(length);
  uint64_t done = 0;
  while (done < length) {
    // The kernel reads no more than 2 GiB at once.
    size_t chunk = std::min<uint64_t>(length - done, uint64_t(1) << 30);
    auto count = fs::readNativeFileSlice(
        *opened, MutableArrayRef<char>(bytes->data() + done, chunk),
        section->offset + done);
    if (!count)
      return refuse("cannot be read: " + llvm::toString(count.takeError()));
    if (*count == 0)
      return refuse("became shorter while it was read");
    done += *count;
  }
  return success();
}
