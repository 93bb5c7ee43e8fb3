//===- oneflow/TensorIO/AtomicFile.h - whole files only ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files that exist whole or not at all: written beside their path, synchronised
// to the disk, then renamed. A reader never sees half a file, and a failed or
// interrupted writer leaves what was there before.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_TENSORIO_ATOMICFILE_H
#define ONEFLOW_TENSORIO_ATOMICFILE_H

#include "oneflow/TensorIO/Status.h"
#include "oneflow/TensorIO/Tensor.h"

namespace oneflow::tensorio {

/// A file that is being written. Not for use by several threads at once. Unless
/// committed, the destructor removes what was written.
class AtomicFile {
public:
  /// Creates a temporary file in the folder of `path`, which must exist. Links
  /// are followed; devices and pipes, which no rename can replace, are written
  /// directly.
  static Expected<AtomicFile> create(const std::string &path);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&other) noexcept;
  ~AtomicFile();

  Status write(const void *data, size_t bytes);
  /// Synchronises and renames to the path; nothing may be written afterwards.
  Status commit();

private:
  AtomicFile() = default;
  void discard();

  std::string path;
  /// Empty when `path` is written directly.
  std::string temporary;
  int descriptor = -1;
};

/// Replaces or creates `path` by `bytes`, atomically.
Status writeFile(const std::string &path, const Bytes &bytes);

/// Reads a regular file whole.
Expected<Bytes> readFile(const std::string &path);

} // namespace oneflow::tensorio

#endif // ONEFLOW_TENSORIO_ATOMICFILE_H
