//===- ElfImage.h - native code of a plan -----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the code section, a position-independent x86-64 shared object without
// undefined symbols, without the dynamic linker: nothing is searched, nothing
// is resolved, and no constructor runs. Only relative relocations are accepted.
// Text is mapped read-execute, relocated constants read-only, data read-write;
// no page is ever writable and executable.
//
// Format: System V ABI, chapters 4 and 5, and its AMD64 supplement.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_ELFIMAGE_H
#define ONEFLOW_RUNTIME_ELFIMAGE_H

#include "Memory.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace oneflow::runtime {

class DebugRegistration;

/// Code in memory. Immutable after load; symbols may be looked up by any
/// thread.
class ElfImage {
public:
  ElfImage();
  ~ElfImage();
  ElfImage(ElfImage &&) = delete;

  /// Copies and relocates the object of `bytes` bytes at `file`, which need not
  /// outlive the call. Reads nothing outside of it.
  Status load(const uint8_t *file, uint64_t bytes);

  /// Address of a defined symbol that lies in executable memory, else null.
  void *findFunction(std::string_view name) const;

private:
  friend class ElfLoader;

  MappedMemory memory;
  std::unordered_map<std::string, uint64_t> functions;
  std::unique_ptr<DebugRegistration> registration;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_ELFIMAGE_H
