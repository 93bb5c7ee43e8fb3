//===- Memory.h - mapped memory ---------------------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owners of memory that comes from mmap: files, and the zero-filled
// page-aligned blocks of which arenas, variables and code images are made.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_MEMORY_H
#define ONEFLOW_RUNTIME_MEMORY_H

#include "Status.h"

#include <cstddef>
#include <cstdint>

namespace oneflow::runtime {

/// A mapped region, unmapped by the destructor. Page-aligned.
class MappedMemory {
public:
  MappedMemory() = default;
  MappedMemory(MappedMemory &&other) noexcept
      : base(other.base), length(other.length) {
    other.base = nullptr;
    other.length = 0;
  }
  MappedMemory &operator=(MappedMemory &&other) noexcept;
  ~MappedMemory();

  /// Zero-filled memory; of 0 bytes: a valid pointer that must not be read.
  /// `what` names the memory in the message when there is not enough.
  static Status allocate(uint64_t bytes, const char *what,
                         MappedMemory &result);

  /// A whole file, read-only.
  static Status mapFile(const char *path, MappedMemory &result);

  uint8_t *data() const { return base; }
  uint64_t size() const { return length; }

private:
  uint8_t *base = nullptr;
  uint64_t length = 0;
};

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_MEMORY_H
