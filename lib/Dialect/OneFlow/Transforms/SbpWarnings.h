//===- SbpWarnings.h - pins that do not mean what they seem to --*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can be done as asked, and is likely not what was meant.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPWARNINGS_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPWARNINGS_H

#include "SbpPins.h"

namespace oneflow {

/// Warns, once for each pin, of variables that are
///
///   1. split within the blocks that a reshape makes of what they produce, such
///      as attention heads: all that works by blocks has to gather them
///   2. stored otherwise than the model's own sharding uses them, so that they
///      are boxed in every step
void warnOfPins(mlir::ModuleOp module, const SbpPins &pins);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_SBPWARNINGS_H
