//===- Link.h - objects to a shared object ----------------------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_TARGET_CPU_LINK_H
#define ONEFLOW_LIB_TARGET_CPU_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace oneflow::cpu {

/// Links relocatable objects into a shared object with no undefined symbols.
llvm::Expected<llvm::SmallVector<char, 0>>
linkShared(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects);

} // namespace oneflow::cpu

#endif // ONEFLOW_LIB_TARGET_CPU_LINK_H
