//===- FoldReshapes.h - kernels without reshapes inside ---------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reshape between two ops hides that their loops are the same. Expanding the
// loops of one side makes it go.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_COMM_TRANSFORMS_FOLDRESHAPES_H
#define ONEFLOW_LIB_DIALECT_COMM_TRANSFORMS_FOLDRESHAPES_H

#include "oneflow/Dialect/Comm/IR/Comm.h"

namespace oneflow::comm {

/// True if the kernel holds a reshape of something that it computes or reads.
bool hasReshape(KernelOp kernel);

/// Expands the loops of ops that read or make reshaped tensors. Where that
/// needs index arithmetic that kernels may not hold, the body becomes so as
/// well: the caller classifies the kernel and drops it.
void foldReshapes(KernelOp kernel);

} // namespace oneflow::comm

#endif // ONEFLOW_LIB_DIALECT_COMM_TRANSFORMS_FOLDRESHAPES_H
