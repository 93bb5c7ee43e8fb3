//===- Checksum.cpp - the container's checksum, fast ----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checksum.h"

#include "oneflow/Plan/Container.h"

#include <array>
#include <cstring>

using namespace oneflow;

namespace {

using Tables = std::array<std::array<uint64_t, 256>, 8>;

// tables[k][b]: what byte b contributes after k more zero bytes.
constexpr Tables makeTables() {
  Tables tables{};
  tables[0] = plan::detail::kCrc64Table;
  for (int k = 1; k < 8; ++k)
    for (int b = 0; b < 256; ++b) {
      uint64_t previous = tables[k - 1][b];
      tables[k][b] = (previous >> 8) ^ tables[0][previous & 0xff];
    }
  return tables;
}

constexpr Tables kTables = makeTables();

} // namespace

uint64_t oneflow::runtime::fastChecksum(const void *data, size_t bytes) {
  const auto *cursor = static_cast<const unsigned char *>(data);
  uint64_t crc = ~0ull;
  for (; bytes >= 8; bytes -= 8, cursor += 8) {
    uint64_t word;
    std::memcpy(&word, cursor, 8);
    word ^= crc;
    crc = 0;
    for (int k = 0; k < 8; ++k)
      crc ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; bytes > 0; --bytes, ++cursor)
    crc = (crc >> 8) ^ kTables[0][(crc ^ *cursor) & 0xff];
  return ~crc;
}
