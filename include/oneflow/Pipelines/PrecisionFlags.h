//===- oneflow/Pipelines/PrecisionFlags.h - precision as typed --*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks what the flag --precision-ops of a tool says before a model is read,
// so that mistakes are told in terms of the flag.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_PIPELINES_PRECISIONFLAGS_H
#define ONEFLOW_PIPELINES_PRECISIONFLAGS_H

#include "mlir/IR/MLIRContext.h"

#include <optional>
#include <string>

namespace oneflow {

/// What is wrong with `ops`, such as "matmul=high,gelu=low"; nullopt when
/// nothing is. Loads the oneflow dialect, whose ops they are; `context` has it
/// registered.
std::optional<std::string> checkPrecisionOps(mlir::MLIRContext &context,
                                             llvm::StringRef ops);

} // namespace oneflow

#endif // ONEFLOW_PIPELINES_PRECISIONFLAGS_H
