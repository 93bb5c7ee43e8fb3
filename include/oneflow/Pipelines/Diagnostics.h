//===- Pipelines/Diagnostics.h - messages for model owners ------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Diagnostics in terms of the source model.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_PIPELINES_DIAGNOSTICS_H
#define ONEFLOW_PIPELINES_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

namespace oneflow {

/// Prints a diagnostic and its notes with the names of the source nodes, which
/// are what the owner of an ONNX model knows; `fallback` where a location has
/// no name.
void printDiagnostic(mlir::Diagnostic &diagnostic, llvm::StringRef fallback,
                     llvm::raw_ostream &out);

} // namespace oneflow

#endif // ONEFLOW_PIPELINES_DIAGNOSTICS_H
