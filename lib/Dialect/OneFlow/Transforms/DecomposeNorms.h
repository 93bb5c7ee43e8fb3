//===- DecomposeNorms.h - norms over split dimensions -----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of --oneflow-decompose-split that is for layer norm and RMS norm.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_DECOMPOSENORMS_H
#define ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_DECOMPOSENORMS_H

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

namespace oneflow {

/// Ops before `op` that compute its results where normalized dimensions are
/// split, one value per result. The op must have static shapes and a legal
/// signature; it stays where it is.
llvm::SmallVector<mlir::Value> decompose(LayerNormOp op);
llvm::SmallVector<mlir::Value> decompose(RmsNormOp op);

} // namespace oneflow

#endif // ONEFLOW_LIB_DIALECT_ONEFLOW_TRANSFORMS_DECOMPOSENORMS_H
