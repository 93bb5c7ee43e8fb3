//===- DataType.cpp - element types ---------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataType.h"

const char *oneflow::runtime::dtypeName(plan::DType dtype) {
  static const char *const names[] = {"bool", "i8",  "i16", "i32", "i64",
                                      "u8",   "u16", "u32", "u64", "f16",
                                      "bf16", "f32", "f64"};
  return dtypeBytes(dtype) ? names[static_cast<size_t>(dtype)] : "?";
}
