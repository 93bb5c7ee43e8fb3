//===- Quoted.cpp - what a user wrote, in messages --------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Quoted.h.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Sbp/Quoted.h"

#include <algorithm>

namespace oneflow::sbp {

/// How many bytes at the begin of `text`, which is not empty, are one printable
/// character of UTF-8; 0 where they are none.
static size_t printableBytes(std::string_view text) {
  auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  unsigned char first = byte(0);
  if (first < 0x80)
    return first >= 0x20 && first != 0x7f ? 1 : 0;
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length)
    return 0;
  for (size_t at = 1; at < length; ++at)
    if ((byte(at) & 0xc0) != 0x80)
      return 0;
  // U+0080 to U+009f are control characters, too.
  return first == 0xc2 && byte(1) < 0xa0 ? 0 : length;
}

std::string inQuotes(std::string_view text) {
  constexpr size_t kLongest = 120;
  static const char digits[] = "0123456789abcdef";
  std::string result = "'";
  while (!text.empty()) {
    size_t bytes = printableBytes(text);
    if (result.size() + std::max<size_t>(bytes, 4) > kLongest)
      return result + "...' (" + std::to_string(text.size()) + " bytes more)";
    if (bytes) {
      result += text.substr(0, bytes);
    } else {
      auto byte = static_cast<unsigned char>(text[0]);
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      bytes = 1;
    }
    text.remove_prefix(bytes);
  }
  return result + "'";
}

} // namespace oneflow::sbp
