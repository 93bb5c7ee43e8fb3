//===- Library.h - the code that every kernel may use -----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM bitcode compiled from math/*.c and memory.c when the library is built.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_TARGET_CPU_LIBRARY_H
#define ONEFLOW_LIB_TARGET_CPU_LIBRARY_H

#include "llvm/ADT/StringRef.h"

namespace oneflow::cpu {

/// Functions `oneflow_math_*`.
llvm::StringRef mathBitcode();
/// memset, memcpy, memmove.
llvm::StringRef memoryBitcode();

} // namespace oneflow::cpu

#endif // ONEFLOW_LIB_TARGET_CPU_LIBRARY_H
