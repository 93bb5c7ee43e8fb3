//===- oneflow/Sbp/Quoted.h - what a user wrote, in messages ----*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text of a user in messages, whatever it holds: a file that was meant to be
// another may be binary, and its first line may be all of it.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_SBP_QUOTED_H
#define ONEFLOW_SBP_QUOTED_H

#include <string>
#include <string_view>

namespace oneflow::sbp {

/// `text` in single quotes: control characters and what is no UTF-8 as \xNN,
/// and cut off, saying so, where it is longer than a line.
std::string inQuotes(std::string_view text);

} // namespace oneflow::sbp

#endif // ONEFLOW_SBP_QUOTED_H
