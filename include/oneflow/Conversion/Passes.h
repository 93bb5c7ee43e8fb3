//===- oneflow/Conversion/Passes.h - dialect-to-dialect passes --*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between the levels; documented in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef ONEFLOW_CONVERSION_PASSES_H
#define ONEFLOW_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace oneflow {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "oneflow/Conversion/Passes.h.inc"

} // namespace oneflow

#endif // ONEFLOW_CONVERSION_PASSES_H
