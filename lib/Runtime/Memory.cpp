//===- Memory.cpp - mapped memory -----------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace oneflow::runtime;

MappedMemory &MappedMemory::operator=(MappedMemory &&other) noexcept {
  std::swap(base, other.base);
  std::swap(length, other.length);
  return *this;
}

MappedMemory::~MappedMemory() {
  if (base)
    munmap(base, length);
}

Status MappedMemory::allocate(uint64_t bytes, const char *what,
                              MappedMemory &result) {
  uint64_t length = bytes ? bytes : 1;
  void *base = length > UINT64_MAX / 2
                   ? MAP_FAILED
                   : mmap(nullptr, length, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return Status(OF_STATUS_OUT_OF_MEMORY,
                  concat("cannot allocate ", bytes, " bytes for ", what));
  // Large pages spare TLB misses; a kernel without them ignores the advice.
  if (length >= (2u << 20))
    madvise(base, length, MADV_HUGEPAGE);
  MappedMemory memory;
  memory.base = static_cast<uint8_t *>(base);
  memory.length = length;
  result = std::move(memory);
  return Status();
}

Status MappedMemory::mapFile(const char *path, MappedMemory &result) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return Status(errno == ENOENT ? OF_STATUS_NOT_FOUND : OF_STATUS_IO,
                  concat("cannot open '", path, "': ", std::strerror(errno)));
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    return Status(OF_STATUS_IO, concat("'", path, "' is not a regular file"));
  }
  auto length = static_cast<uint64_t>(info.st_size);
  if (length == 0) {
    close(descriptor);
    return invalidPlan("'", path, "' is empty");
  }
  void *base = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
  int error = errno;
  close(descriptor);
  if (base == MAP_FAILED)
    return Status(OF_STATUS_IO,
                  concat("cannot map '", path, "': ", std::strerror(error)));
  MappedMemory memory;
  memory.base = static_cast<uint8_t *>(base);
  memory.length = length;
  result = std::move(memory);
  return Status();
}
