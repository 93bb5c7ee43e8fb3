//===- MergePads.h - parts that are put together again ----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a tensor that is taken apart is a sum of padded parts, each
// with zeros where the others are. Where the parts follow one another, it is
// their concatenation, which is written once.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_MERGEPADS_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_MERGEPADS_H

#include "mlir/IR/Block.h"

namespace oneflow {

/// Replaces sums of adjacent parts in `block`, of ops without a signature; what
/// nothing uses then is left to the caller. Shapes are static.
void mergePads(mlir::Block &block);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_MERGEPADS_H
