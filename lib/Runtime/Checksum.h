//===- Checksum.h - the container's checksum, fast --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same CRC-64/XZ as Container.h defines, eight bytes at a time ("slicing by
// eight", Kounavis and Berry 2005), since data sections may hold gigabytes.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_RUNTIME_CHECKSUM_H
#define ONEFLOW_RUNTIME_CHECKSUM_H

#include <cstddef>
#include <cstdint>

namespace oneflow::runtime {

/// Equals plan::checksum(data, bytes) for every input.
uint64_t fastChecksum(const void *data, size_t bytes);

} // namespace oneflow::runtime

#endif // ONEFLOW_RUNTIME_CHECKSUM_H
