//===- oneflow/Plan/Container.h - the .ofp file -----------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan file is a header, a table of sections, and the sections, each
// beginning on a page boundary so that it can be mapped on its own. All
// integers are little-endian. The graph and the code section carry checksums
// that loading always verifies; those of data sections are verified on request.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_PLAN_CONTAINER_H
#define ONEFLOW_PLAN_CONTAINER_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace oneflow::plan {

/// First eight bytes of every plan file.
inline constexpr char kMagic[8] = {'O', 'F', 'P', 'L', 'A', 'N', '\r', '\n'};

/// Raised by every change that an older runtime could misread.
inline constexpr uint32_t kFormatVersion = 1;

/// Sections begin on multiples of this many bytes.
inline constexpr uint64_t kSectionAlignment = 4096;

/// No plan has more sections than this; a file that claims to is damaged.
inline constexpr uint32_t kMaxSections = 64;

enum class SectionKind : uint32_t {
  /// The FlatBuffers graph of Plan.fbs. Exactly one.
  Graph = 1,
  /// A position-independent x86-64 ELF shared object without undefined symbols.
  /// At most one.
  CpuCode = 2,
  /// Initial variables and constants. At most one.
  Data = 3,
  /// The model the plan was compiled from, for writing weights back: a
  /// serialised
  /// ONNX ModelProto whose weights were left out. At most one.
  SourceModel = 4,
};

struct FileHeader {
  char magic[8];
  uint32_t formatVersion;
  uint32_t sectionCount;
  /// Size of the whole file, to tell a truncated one.
  uint64_t fileBytes;
  /// Checksum of the section table that follows the header.
  uint64_t tableChecksum;
};
static_assert(sizeof(FileHeader) == 32);

struct SectionEntry {
  SectionKind kind;
  uint32_t reserved;
  uint64_t offset;
  uint64_t bytes;
  uint64_t checksum;
};
static_assert(sizeof(SectionEntry) == 32);

namespace detail {
constexpr std::array<uint64_t, 256> makeCrc64Table() {
  std::array<uint64_t, 256> table{};
  for (uint64_t i = 0; i < 256; ++i) {
    uint64_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ ((value & 1) ? 0xC96C5795D7870F42ull : 0);
    table[i] = value;
  }
  return table;
}
inline constexpr std::array<uint64_t, 256> kCrc64Table = makeCrc64Table();
} // namespace detail

/// CRC-64/XZ (ECMA-182, reflected): finds every burst error of up to 64 bits.
/// It guards against damage, not against malice; a plan holds native code and
/// is trusted like a shared library.
inline uint64_t checksum(const void *data, size_t bytes) {
  const auto *cursor = static_cast<const unsigned char *>(data);
  uint64_t crc = ~0ull;
  for (size_t i = 0; i < bytes; ++i)
    crc = (crc >> 8) ^ detail::kCrc64Table[(crc ^ cursor[i]) & 0xff];
  return ~crc;
}

} // namespace oneflow::plan

#endif // ONEFLOW_PLAN_CONTAINER_H
